package verify

import (
	"slices"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/python"
	"agent/verify/shell"
)

// A cached baseline took its time in an earlier run, so the events of this run must not show that time as waiting.
func TestAKnownBaselineIsNotShownAsIfItHadRun(t *testing.T) {
	t.Parallel()
	var got []Event
	r := newResults(func(e Event) { got = append(got, e) }, Request{Base: &workspace.Manifest{}})
	skipAllBut(r, python.RuffName, python.MypyName)
	r.baseline(python.RuffName, check.Outcome{Seconds: 5, Detail: "ruff check over the workspace"})
	r.begin(python.MypyName, true)
	r.baseline(python.MypyName, check.Outcome{Seconds: 7, Detail: "mypy over the workspace"})
	want := []Event{
		{Gate: check.GateLint, Baseline: true, Done: true, Detail: "baseline cached"},
		{Gate: check.GateTypes, Baseline: true},
		{Gate: check.GateTypes, Baseline: true, Done: true, Seconds: 7, Detail: "mypy over the workspace"},
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

// skipAllBut skips all checks except these.
func skipAllBut(r *results, names ...string) {
	for _, c := range allChecks() {
		if !slices.Contains(names, c.Name) {
			r.skip(c.Name, "not of this test")
		}
	}
}

// A gate of several checks begins once, and is done when its last check is.
func TestAGateIsToldOfOnce(t *testing.T) {
	t.Parallel()
	var got []Event
	r := newResults(func(e Event) { got = append(got, e) }, Request{Base: &workspace.Manifest{}})
	skipAllBut(r, python.RuffName, shell.Name)
	for _, name := range []string{python.RuffName, shell.Name} {
		r.begin(name, true)
		r.baseline(name, check.Outcome{Seconds: 1, Detail: name})
	}
	for _, name := range []string{shell.Name, python.RuffName} {
		r.begin(name, false)
		r.candidate(name, check.Outcome{Seconds: 2, Detail: name})
	}
	r.proven(map[string]string{shell.Name: "it sees nothing"})
	want := []Event{
		{Gate: check.GateLint, Baseline: true},
		{Gate: check.GateLint, Baseline: true, Done: true, Seconds: 2, Detail: "ruff; shellcheck"},
		{Gate: check.GateLint},
		{Gate: check.GateLint, Done: true, Verdict: check.Infra, Seconds: 4, Detail: "it sees nothing; ruff"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("events %+v\nwant %+v", got, want)
	}
}
