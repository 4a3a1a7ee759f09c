package verify

import (
	"testing"

	"agent/sandbox/workspace"
)

// A cached baseline took its time in an earlier run; who watches this one must
// not be told that they waited for it.
func TestAKnownBaselineIsNotShownAsIfItHadRun(t *testing.T) {
	t.Parallel()
	var got []Event
	r := newResults(func(e Event) { got = append(got, e) }, Request{Base: &workspace.Manifest{}})
	r.baseline(gateLint, outcome{Seconds: 5, Detail: "ruff check over the workspace"})
	r.begin(gateTypes, true)
	r.baseline(gateTypes, outcome{Seconds: 7, Detail: "mypy over the workspace"})
	want := []Event{
		{Gate: gateLint, Baseline: true, Done: true, Detail: "known from before"},
		{Gate: gateTypes, Baseline: true},
		{Gate: gateTypes, Baseline: true, Done: true, Seconds: 7, Detail: "mypy over the workspace"},
	}
	if len(got) != len(want) {
		t.Fatalf("events %+v", got)
	}
	for i, e := range got {
		if e != want[i] {
			t.Errorf("event %d: %+v, want %+v", i, e, want[i])
		}
	}
}
