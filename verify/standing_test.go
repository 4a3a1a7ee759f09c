package verify

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/keylock"
	"agent/verify/verifytest"
)

// What a look at the base finds is what Verify later compares with, and vice versa, but only under the same configuration.
func TestFindingsOfTheBaseAreThoseOfTheBaseline(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"})
	cache := verifytest.NewMemory()
	s, started := offline(base, cache, workspace.Changeset{})
	req := s.req
	cache.Rows[s.store.BaselineKey(base.Digest(), check.GroupStatic)] = []byte(`{"ruff": {"findings": [{"file": "a.py", "line": 1, "rule": "E1", "message": "m"}]}, "mypy": {}}`)
	v := &Verifier{Boxes: closedEngine{started}, Cache: cache}
	gates, err := v.Findings(t.Context(), req, nil)
	if err != nil || len(gates) != 2 || gates[0].Name != check.GateLint || len(gates[0].Findings) != 1 || gates[1].Findings == nil || len(*started) != 0 {
		t.Errorf("%+v, %v, boxes %q", gates, err, *started)
	}
	// The findings are masked before a model sees them, as after a change.
	v.Hide = func(text string) string { return strings.ReplaceAll(text, "m", "[key]") }
	if gates, err := v.Findings(t.Context(), req, nil); err != nil || gates[0].Findings[0].Message != "[key]" {
		t.Errorf("%+v, %v", gates, err)
	}
	v.Hide = nil
	req.Config.Timeout = time.Minute
	gates, err = v.Findings(t.Context(), req, nil)
	if err != nil || len(*started) != 1 || gates[0].Verdict != check.Infra || len(gates[0].Findings) != 0 {
		t.Errorf("another configuration: %+v, %v, boxes %q", gates, err, *started)
	}
}

// If several callers judge on one base at the same time, one makes its baseline and the others read it.
func TestABaselineIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.py": "import os\n"})
	boxes := &counter{Launcher: s.lab.Engine, started: map[string]int{}}
	s.verifier = &Verifier{Boxes: boxes, Cache: s.lab.Cache, Making: &keylock.Locks{}}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			gates, err := s.verifier.Findings(t.Context(), s.request(workspace.Changeset{}), nil)
			if err != nil || len(gates) == 0 || len(gates[0].Findings) != 1 {
				t.Errorf("%+v, %v", gates, err)
			}
		})
	}
	all.Wait()
	if n := boxes.started["baseline-"+check.GroupStatic]; n != 1 {
		t.Errorf("%d boxes", n)
	}
}

// A caller without boxes gets what is known, which may be nothing.
func TestFindingsWithoutBoxesComeFromTheCache(t *testing.T) {
	t.Parallel()
	for name, cache := range map[string]Cache{"empty": verifytest.NewMemory(), "broken": brokenCache{}, "none": nil} {
		v := &Verifier{Cache: cache}
		gates, err := v.Findings(t.Context(), Request{Base: verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"})}, nil)
		if err != nil || len(gates) != 0 {
			t.Errorf("%s: %+v, %v", name, gates, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&Verifier{Cache: verifytest.NewMemory()}).Findings(ctx, Request{Base: verifytest.Scan(t, nil)}, nil); err == nil {
		t.Error("a look that was cancelled ended well")
	}
}

// With the real engine, a look reports the faults in the files, and its results serve the judgement of a patch: no baseline of these
// gates is made again.
func TestFindingsOfARealWorkspaceServeTheRunToo(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.py": "print(y)\n", "b.py": "x: int = \"a\"\n"})
	gates, err := s.verifier.Findings(t.Context(), s.request(workspace.Changeset{}), nil)
	if err != nil || len(gates) != 2 {
		t.Fatalf("%+v, %v", gates, err)
	}
	checktest.Single(t, gates[0], "F821", "a.py", 1)
	if len(gates[1].Findings) != 2 || gates[1].Tool == "" {
		t.Errorf("types: %+v", gates[1])
	}
	var again []string
	_, err = s.verifier.Verify(t.Context(), s.request(verifytest.Change(t, s.base, map[string]string{"a.py": "print(1)\n"})), func(e Event) {
		if e.Baseline && !e.Done && (e.Gate == check.GateLint || e.Gate == check.GateTypes) {
			again = append(again, e.Gate)
		}
	})
	if err != nil || len(again) > 0 {
		t.Errorf("%v; judged again: %q", err, again)
	}
}

// everyGate asks for all gates.
var everyGate = append(slices.Clone(gateOrder), check.GateOwn)

// A workspace without a patch gets a report on everything that is judged: what static checks find, which tests fail, and which checks had
// nothing to do.
func TestAWorkspaceIsJudgedAsItStands(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"shop.py":      "import os\n\n\ndef price():\n    return 2\n",
		"test_shop.py": "from shop import price\n\n\ndef test_price():\n    assert price() == 2\n\n\ndef test_wrong():\n    assert price() == 3\n",
	})
	list, err := s.verifier.Standing(t.Context(), s.request(workspace.Changeset{}), everyGate, nil)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]check.Standing{}
	for _, st := range list {
		by[st.Check] = st
		if st.Skipped == "" && st.Gate.Verdict == "" {
			t.Errorf("%s is neither judged nor skipped", st.Check)
		}
	}
	checktest.Single(t, by["ruff"].Gate, "F401", "shop.py", 1)
	if tests := by["pytest"]; tests.Passed != 1 || tests.Failed != 1 || tests.Gate.Verdict != check.Fail || len(tests.Gate.Findings) != 1 || tests.Gate.Findings[0].Line != 9 {
		t.Errorf("tests: %+v", tests)
	}
	if by["imports"].Gate.Verdict != check.Pass {
		t.Errorf("imports: %+v", by["imports"])
	}
	if by["gotest"].Skipped == "" && by["go test"].Skipped == "" {
		t.Errorf("the tests of Go are not skipped: %v", by)
	}
	// What is known is not determined again.
	var began []string
	if _, err := s.verifier.Standing(t.Context(), s.request(workspace.Changeset{}), everyGate, func(e Event) {
		if e.Baseline && !e.Done {
			began = append(began, e.Gate)
		}
	}); err != nil || len(began) > 0 {
		t.Errorf("%v; judged again: %q", err, began)
	}
}

// Asking for one gate starts no box for another. The workspace's own gates can only be asked for together.
func TestTheGatesThatAreAskedAreJudgedAlone(t *testing.T) {
	t.Parallel()
	defs := []check.Check{{Name: "ruff", Gate: check.GateLint}, {Name: "mypy", Gate: check.GateTypes}, {Name: "licences", Gate: "licences"}}
	for want, asked := range map[string][]string{"ruff": {check.GateLint}, "licences": {check.GateOwn}, "": nil, "mypy licences": {check.GateTypes, check.GateOwn}} {
		var names []string
		for _, c := range check.Among(defs, asked, gateOrder) {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%v: %q, want %q", asked, got, want)
		}
	}
	base := verifytest.Scan(t, map[string]string{"a.py": "x = 1\n", "test_a.py": "def test_a():\n    pass\n"})
	s, started := offline(base, verifytest.NewMemory(), workspace.Changeset{})
	list, err := (&Verifier{Boxes: closedEngine{started}}).Standing(t.Context(), s.req, []string{check.GateLint}, nil)
	if err != nil || slices.ContainsFunc(*started, func(p string) bool { return strings.Contains(p, "tests") }) {
		t.Errorf("%v, boxes %q", err, *started)
	}
	for _, st := range list {
		if st.Skipped == "" && st.Check != "ruff" {
			t.Errorf("%s was judged", st.Check)
		}
	}
}

// Without an engine nothing passes: every check that applies is infra.
func TestWithoutAnEngineNothingStands(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"a.py": "x = 1\n", "test_a.py": "def test_a():\n    pass\n"})
	s, started := offline(base, verifytest.NewMemory(), workspace.Changeset{})
	list, err := (&Verifier{Boxes: closedEngine{started}}).Standing(t.Context(), s.req, everyGate, nil)
	if err != nil || len(list) == 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, st := range list {
		if st.Skipped == "" && st.Gate.Verdict != check.Infra {
			t.Errorf("%s: %+v", st.Check, st.Gate)
		}
	}
}

// A failing test is repeated before it counts as failing, and is reported as flaky if it passes.
func TestAFlakyTestIsNoFailingOne(t *testing.T) {
	t.Parallel()
	out := check.Outcome{Tests: []check.TestResult{{ID: "t.py::a", Outcome: "failed"}, {ID: "t.py::b", Outcome: "failed"}, {ID: "t.py::c", Outcome: "passed"}}}
	repeated := check.Check{Name: "pytest", Gate: check.GateTests, Repeats: true}
	ids := compare.Failing(repeated, out)
	if !slices.Equal(ids, []string{"t.py::a", "t.py::b"}) {
		t.Fatal(ids)
	}
	got := check.NewStanding(repeated, check.Gate{}, "", compare.Again(out, map[string]compare.Tally{"t.py::a": {Passed: 1, Failed: 1}, "t.py::b": {Failed: 2}}).Tests)
	if got.Passed != 2 || got.Failed != 1 || !slices.Equal(got.Flaky, []string{"t.py::a"}) || out.Tests[0].Outcome != "failed" {
		t.Errorf("%+v", got)
	}
	for name, def := range map[string]check.Check{"cannot repeat": {}, "blocked": repeated} {
		if name == "blocked" {
			out.Blocked = "it stopped"
		}
		if ids := compare.Failing(def, out); ids != nil {
			t.Errorf("%s: %v", name, ids)
		}
	}
	if hidden := got.Hidden(func(s string) string { return strings.ReplaceAll(s, "t.py", "[key]") }); hidden.Flaky[0] != "[key]::a" || got.Flaky[0] != "t.py::a" {
		t.Errorf("%+v", hidden)
	}
}
