package compare

import (
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
)

func TestOnlyTestsThatFailByChanceAreExcused(t *testing.T) {
	t.Parallel()
	one := Suspect{"test_a.py::test_b", "test_new.py::test_b"}
	for _, c := range []struct {
		name       string
		base, cand Tally
		want       string
	}{
		{"once before the patch", Tally{2, 1}, Tally{1, 2}, "flaky: failed 1 of 3 times before the patch"},
		{"twice", Tally{1, 2}, Tally{3, 0}, "flaky: failed 2 of 3 times before the patch"},
		{"only with the patch", Tally{3, 0}, Tally{1, 2}, ""},
		{"always with the patch", Tally{2, 1}, Tally{0, 3}, ""},
		{"always when it runs alone", Tally{0, 3}, Tally{1, 2}, ""},
		{"never repeated before the patch", Tally{}, Tally{1, 2}, ""},
		{"never repeated", Tally{}, Tally{}, ""},
	} {
		again := &Repetition{Suspects: []Suspect{one}, Base: map[string]Tally{one.Base: c.base}, Cand: map[string]Tally{one.Cand: c.cand}}
		base := check.Outcome{Tests: []check.TestResult{{ID: one.Base, Outcome: "passed"}, {ID: "test_a.py::test_c", Outcome: "passed"}}}
		cand := check.Outcome{Tests: []check.TestResult{{ID: one.Cand, Outcome: "failed", Message: "assert 0"}, {ID: "test_new.py::test_c", Outcome: "passed"}}}
		d := check.Diff{Moved: map[string]string{"test_a.py": "test_new.py"}, Sources: check.NewSources(check.NewView(&workspace.Manifest{}, workspace.Changeset{}))}
		if list := Suspects(JudgeTests(base, cand, d), base, cand, d); len(list) != 1 || list[0] != one {
			t.Errorf("%s: suspects %+v", c.name, list)
		}
		b, a := again.Excuse(base, cand)
		g := JudgeTests(b, a, d)
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
		if got := Suspects(JudgeTests(c.base, c.cand, d), c.base, c.cand, d); len(got) != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// A test has a part in a change if nothing was measured, if it executed any of the change, or if it is a Go test next to a changed one.
func TestApartIsWhatExecutesNothingOfTheChange(t *testing.T) {
	t.Parallel()
	passed := func(id string) []check.TestResult { return []check.TestResult{{ID: id, Outcome: "passed"}} }
	trace := func(ran ...int) *check.Trace {
		return &check.Trace{Code: check.Lines{"a.py": {1, 2}}, Ran: check.Lines{"a.py": ran}}
	}
	for name, c := range map[string]struct {
		out   check.Outcome
		lines check.Lines
		want  bool
	}{
		"nothing of it":        {check.Outcome{Tests: passed("t.py::t"), Traced: trace()}, check.Lines{"a.py": {1, 2}}, true},
		"a line":               {check.Outcome{Tests: passed("t.py::t"), Traced: trace(2)}, check.Lines{"a.py": {1, 2}}, false},
		"not measured":         {check.Outcome{Tests: passed("t.py::t")}, check.Lines{"a.py": {1, 2}}, false},
		"a file not measured":  {check.Outcome{Tests: passed("t.py::t"), Traced: trace()}, check.Lines{"a.py": {1}, "b.py": {1}}, false},
		"it fails":             {check.Outcome{Tests: []check.TestResult{{ID: "t.py::t", Outcome: "failed"}}, Traced: trace()}, check.Lines{"a.py": {1}}, false},
		"it did not run":       {check.Outcome{Tests: passed("t.py::other"), Traced: trace()}, check.Lines{"a.py": {1}}, false},
		"the session is lost":  {check.Outcome{Tests: passed("t.py::t"), Blocked: "why", Traced: trace()}, check.Lines{"a.py": {1}}, false},
		"tests of Go there":    {check.Outcome{Tests: passed("t.py::t"), Traced: trace()}, check.Lines{"a.py": {1}, "x/b_test.go": {1}}, true},
		"tests of Go beside":   {check.Outcome{Tests: passed("x/t_test.go::T"), Traced: trace()}, check.Lines{"a.py": {1}, "x/b_test.go": {1}}, false},
		"tests of Go, at home": {check.Outcome{Tests: passed("t_test.go::T"), Traced: trace()}, check.Lines{"a.py": {1}, "b_test.go": {1}}, false},
	} {
		id := "t.py::t"
		if strings.Contains(name, "Go beside") {
			id = "x/t_test.go::T"
		} else if strings.Contains(name, "at home") {
			id = "t_test.go::T"
		}
		if got := Apart(c.out, []string{id}, c.lines); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
