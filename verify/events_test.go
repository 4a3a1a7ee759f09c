package verify

import (
	"slices"
	"testing"

	"agent/sandbox/workspace"
)

// A cached baseline took its time in an earlier run; who watches this one must
// not be told that they waited for it.
func TestAKnownBaselineIsNotShownAsIfItHadRun(t *testing.T) {
	t.Parallel()
	var got []Event
	r := newResults(func(e Event) { got = append(got, e) }, Request{Base: &workspace.Manifest{}})
	skipAllBut(r, checkRuff, checkMypy)
	r.baseline(checkRuff, outcome{Seconds: 5, Detail: "ruff check over the workspace"})
	r.begin(checkMypy, true)
	r.baseline(checkMypy, outcome{Seconds: 7, Detail: "mypy over the workspace"})
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

// skipAllBut leaves these checks to do.
func skipAllBut(r *results, names ...string) {
	for _, c := range allChecks() {
		if !slices.Contains(names, c.name) {
			r.skip(c.name, "not of this test")
		}
	}
}

// A gate of several checks begins once and is done when the last of them is.
func TestAGateIsToldOfOnce(t *testing.T) {
	t.Parallel()
	var got []Event
	r := newResults(func(e Event) { got = append(got, e) }, Request{Base: &workspace.Manifest{}})
	skipAllBut(r, checkRuff, checkShell)
	for _, name := range []string{checkRuff, checkShell} {
		r.begin(name, true)
		r.baseline(name, outcome{Seconds: 1, Detail: name})
	}
	for _, name := range []string{checkShell, checkRuff} {
		r.begin(name, false)
		r.candidate(name, outcome{Seconds: 2, Detail: name})
	}
	r.proven(map[string]string{checkShell: "it sees nothing"})
	want := []Event{
		{Gate: gateLint, Baseline: true},
		{Gate: gateLint, Baseline: true, Done: true, Seconds: 2, Detail: "ruff; shellcheck"},
		{Gate: gateLint},
		{Gate: gateLint, Done: true, Verdict: Infra, Seconds: 4, Detail: "it sees nothing; ruff"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("events %+v\nwant %+v", got, want)
	}
}
