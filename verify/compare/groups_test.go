package compare

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"agent/sandbox/workspace"
	"agent/verify/check"
)

// The tests of a group are compared by count, however they are numbered, and each missing one is reported once.
func TestAGroupOfTestsIsComparedByItsSize(t *testing.T) {
	t.Parallel()
	forms := []string{"a.py::T::t[%d-x]", "far_test.go::TestT/#%02d", "far_test.go::TestT/case_%d", "b.test.js::adds %d numbers"}
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom(forms).Draw(t, "form")
		ids := rapid.SliceOfNDistinct(rapid.IntRange(0, 99), 1, 12, rapid.ID[int])
		list := func(label, outcome string) (tests []check.TestResult) {
			for _, n := range ids.Draw(t, label) {
				tests = append(tests, check.TestResult{ID: fmt.Sprintf(form, n), Outcome: outcome})
			}
			return tests
		}
		base, cand := list("base", "passed"), list("cand", "passed")
		d := check.Diff{Touched: map[string]bool{"a.py": true}, Sources: check.NewSources(check.NewView(&workspace.Manifest{}, workspace.Changeset{}))}
		g := JudgeTests(check.Outcome{Tests: base}, check.Outcome{Tests: cand}, d)
		if want := max(0, len(base)-len(cand)); len(g.Findings) != want {
			t.Fatalf("%d tests, then %d: %+v", len(base), len(cand), g.Findings)
		}
	})
}

func TestGeneratedPartsOfNamesAreNoNames(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"a.py::t[1-x]": "a.py::tN",
		"a_test.go::T/&{LHS:(*x.Y)(0xdfb57d875c0)}": "a_test.go::T/&{LHS:(*x.Y)(N)}",
		"a.py::t[a[0]-b]":      "a.py::tN",
		"v2/a_test.go::T/#17":  "v2/a_test.go::T/#N",
		"a.js::case 3 of many": "a.js::case N of many",
		"a.py::t_plain":        "a.py::t_plain",
		"module_7.py":          "module_7.py",
	} {
		if got := GroupOf(id); got != want {
			t.Errorf("%s is of %s, want %s", id, got, want)
		}
	}
}

// A test that is gone is replaced by the tests of its group that are new and pass. If there are none, those of its file replace it, and
// if no test is left there, those of the files that the patch wrote.
func TestSuccessors(t *testing.T) {
	t.Parallel()
	result := func(id, outcome string) check.TestResult { return check.TestResult{ID: id, Outcome: outcome} }
	base := []check.TestResult{result("old.py::t[1]", "passed"), result("old.py::kept", "passed"), result("b.py::gone", "passed")}
	cand := []check.TestResult{
		result("a.py::kept", "passed"), result("a.py::t[2]", "passed"), result("a.py::t[3]", "failed"), result("a.py::other", "passed"),
		result("b.py", "error"), result("b.py::more", "passed"), result("b.py::skipped", "skipped"), result("c.py::more", "passed"),
	}
	of := Successors(check.Diff{Moved: map[string]string{"old.py": "a.py"}, Touched: map[string]bool{"a.py": true}}, base, cand)
	for id, want := range map[string]string{
		"a.py::t[1]": "[a.py::t[2]]", "a.py::gone": "[a.py::t[2] a.py::other]", "b.py::gone": "[b.py::more]", "d.py::gone": "[a.py::t[2] a.py::other]",
	} {
		if got := fmt.Sprint(of(id)); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}
