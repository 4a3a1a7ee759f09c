package verify

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/verifytest"
)

func TestOnlyTestsThatFailByChanceAreExcused(t *testing.T) {
	t.Parallel()
	one := suspect{"test_a.py::test_b", "test_new.py::test_b"}
	for _, c := range []struct {
		name       string
		base, cand tally
		want       string
	}{
		{"once before the patch", tally{2, 1}, tally{1, 2}, "flaky: failed 1 of 3 times before the patch"},
		{"twice", tally{1, 2}, tally{3, 0}, "flaky: failed 2 of 3 times before the patch"},
		{"only with the patch", tally{3, 0}, tally{1, 2}, ""},
		{"always with the patch", tally{2, 1}, tally{0, 3}, ""},
		{"always when it runs alone", tally{0, 3}, tally{1, 2}, ""},
		{"never repeated before the patch", tally{}, tally{1, 2}, ""},
		{"never repeated", tally{}, tally{}, ""},
	} {
		again := &repetition{[]suspect{one}, map[string]tally{one.base: c.base}, map[string]tally{one.cand: c.cand}}
		base := check.Outcome{Tests: []check.TestResult{{ID: one.base, Outcome: "passed"}, {ID: "test_a.py::test_c", Outcome: "passed"}}}
		cand := check.Outcome{Tests: []check.TestResult{{ID: one.cand, Outcome: "failed", Message: "assert 0"}, {ID: "test_new.py::test_c", Outcome: "passed"}}}
		d := check.Diff{Moved: map[string]string{"test_a.py": "test_new.py"}, Sources: check.NewSources(check.NewView(&workspace.Manifest{}, workspace.Changeset{}))}
		if list := suspects(compare.JudgeTests(base, cand, d), base, cand, d); len(list) != 1 || list[0] != one {
			t.Errorf("%s: suspects %+v", c.name, list)
		}
		b, a := again.excuse(base, cand)
		g := compare.JudgeTests(b, a, d)
		if excused := c.want != ""; excused != (g.Verdict == check.Pass && g.Old == 1) || excused && !strings.Contains(g.OldFindings[0].Message, c.want) {
			t.Errorf("%s: %s %+v %+v", c.name, g.Verdict, g.Findings, g.OldFindings)
		}
		if base.Tests[0].Outcome != "passed" || cand.Tests[0].Message != "assert 0" {
			t.Errorf("%s: what was found is changed", c.name)
		}
	}
}

func TestSuspectsAreFewAndAllThereIs(t *testing.T) {
	t.Parallel()
	results := func(outcome string, names ...string) (list []check.TestResult) {
		for _, name := range names {
			list = append(list, check.TestResult{ID: "test_a.py::" + name, Outcome: outcome})
		}
		return list
	}
	few, many := []string{"a", "b"}, []string{"a", "b", "c", "d", "e", "f"}
	for _, c := range []struct {
		name       string
		base, cand check.Outcome
		want       int
	}{
		{"two", check.Outcome{Tests: results("passed", few...)}, check.Outcome{Tests: results("failed", few...)}, 2},
		{"an error beside a test", check.Outcome{Tests: results("passed", "a")}, check.Outcome{Tests: results("error", "a")}, 1},
		{"too many", check.Outcome{Tests: results("passed", many...)}, check.Outcome{Tests: results("failed", many...)}, 0},
		{"one is new", check.Outcome{Tests: results("passed", "a")}, check.Outcome{Tests: results("failed", few...)}, 0},
		{"one is lost", check.Outcome{Tests: results("passed", few...)}, check.Outcome{Tests: results("failed", "a")}, 0},
		{"the session broke off", check.Outcome{Tests: results("passed", "a")}, check.Outcome{Tests: results("failed", "a"), Blocked: "gone"}, 0},
		{"skipped before", check.Outcome{Tests: results("skipped", "a")}, check.Outcome{Tests: results("failed", "a")}, 0},
		{"a module", check.Outcome{Tests: []check.TestResult{{ID: "test_a.py", Outcome: "passed"}}}, check.Outcome{Tests: []check.TestResult{{ID: "test_a.py", Outcome: "error"}}}, 0},
		{"nothing failed", check.Outcome{Tests: results("passed", "a")}, check.Outcome{Tests: results("passed", "a")}, 0},
	} {
		d := check.Diff{Sources: check.NewSources(check.NewView(&workspace.Manifest{}, workspace.Changeset{}))}
		if got := suspects(compare.JudgeTests(c.base, c.cand, d), c.base, c.cand, d); len(got) != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// heads says of the boxes of each purpose, in the order in which they start, whether
// the coin of test_coin shows heads there.
var heads = map[string][]bool{
	"baseline-tests": {true},
	check.GroupTests: {false},
	// The patched workspace, then the unpatched one.
	"repeat-tests": {true, false, false, true, false, true},
}

// A mint starts boxes and tosses their coins.
type mint struct {
	Launcher
	mu      sync.Mutex
	started map[string]int
}

func (m *mint) Start(ctx context.Context, spec sandbox.Spec) (*sandbox.Box, error) {
	m.mu.Lock()
	n := m.started[spec.Purpose]
	m.started[spec.Purpose]++
	m.mu.Unlock()
	box, err := m.Launcher.Start(ctx, spec)
	if err == nil && n < len(heads[spec.Purpose]) && heads[spec.Purpose][n] {
		_, err = box.Run(ctx, guest.Command{Args: []string{"/bin/touch", "/tmp/heads"}})
	}
	return box, err
}

func TestFlakyTestIsShownAndNotHeldAgainstThePatch(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"test_coin.py": "import os\n\n\ndef test_coin() -> None:\n    assert os.path.exists(\"/tmp/heads\")\n\n\ndef test_two() -> None:\n    pass\n",
		"notes.txt":    "one\n",
	})
	m, cache := &mint{Launcher: s.lab.Engine, started: map[string]int{}}, verifytest.NewMemory()
	cache.Rows[proofKey(s.lab)] = allProved()
	s.verifier = &Verifier{Boxes: m, Cache: cache}
	r := s.verify(t, map[string]string{"notes.txt": "two\n"})
	expect(t, r, check.Pass)
	g := find(t, r, check.GateTests)
	const want = "test_coin.py::test_coin: flaky: failed 1 of 3 times before the patch: "
	if g.Old != 1 || len(g.OldFindings) != 1 || !strings.HasPrefix(g.OldFindings[0].Message, want) {
		t.Errorf("%d old: %+v, want %q", g.Old, g.OldFindings, want)
	}
	if n := m.started["repeat-tests"]; n != 2*maxRepeats {
		t.Errorf("%d boxes for repeats", n)
	}
	// What failed by chance is no measure for the next patch.
	key := newStore(nil, s.lab.Toolchain.ID, check.Toolchain, withTimeout(s.config)).baselineKey(s.base.With(r.Changeset).Digest(), check.GroupTests)
	if slices.Contains(cache.Saves, key) {
		t.Error("the failing test is kept as the next baseline")
	}
}
