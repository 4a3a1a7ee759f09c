package trial

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy"
	"agent/verify/verifytest"
)

// Deleted tests run in their old form only if others may replace them.
func TestDeletedTestsAreRunWhereOthersComeForThem(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"grade.py": weighedProgram, "test_grade.py": weighedTest, "README.md": "grades\n"})
	for name, c := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"alone":                      {map[string]string{"test_grade.py": "-"}, false},
		"with its subject":           {map[string]string{"test_grade.py": "-", "grade.py": "-", "README.md": "nothing\n"}, false},
		"for others":                 {map[string]string{"test_grade.py": "-", "test_more.py": weighedTest}, true},
		"for those of the program":   {map[string]string{"test_grade.py": "-", "grade.py": weighedProgram + "\n\ndef test_one():\n    pass\n"}, true},
		"others, and none that goes": {map[string]string{"test_more.py": weighedTest}, false},
	} {
		if s := SplitPatch(base, verifytest.Change(t, base, c.files)); s.Wanted() != c.want || s.Wanted() && !s.OnlyRemoves() {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// If a test file is deleted and another brings as many tests, they are judged as if the first file had been rewritten.
func TestWhatStandsForDeletedTestsIsMeasured(t *testing.T) {
	t.Parallel()
	moved := []string{"test_more.py::test_one passed", "test_more.py::test_two passed"}
	failing := []string{one + " failed AssertionError: x", two + " passed"}
	boundary := func(id string) func(Side, string) string {
		return func(side Side, program string) string {
			if !strings.Contains(program, "points > 90") {
				return ""
			}
			if side == AsIs {
				return id
			}
			return one
		}
	}
	for name, c := range map[string]struct {
		old  []string // in their old form on the patched program
		now  []string
		new  []string // on the program as it was
		gate check.Gate
		on   func(Side, string) string
		held string // part of the only hold that blocks
		none bool   // nothing is weighed
	}{
		"moved":              {old: []string{one + " passed", two + " passed"}, now: moved, on: boundary("test_more.py::test_one")},
		"weaker":             {old: []string{one + " passed", two + " passed"}, now: moved, on: boundary(""), held: "proves less than before: grade.py:2 with `>` for `>=`"},
		"broken":             {old: failing, now: moved, new: moved, on: boundary("test_more.py::test_one"), held: "its old version fails on the patched program (AssertionError: x), and its new version passes on the unpatched program too"},
		"another promise":    {old: failing, now: moved, new: []string{"test_more.py::test_one failed AssertionError: y", moved[1]}, on: boundary("test_more.py::test_one")},
		"gone, and said so":  {old: failing, now: moved[:1], none: true, gate: check.Gate{Verdict: check.Policy, Findings: []check.Finding{{Rule: compare.RuleTestRemoved, Message: compare.Removed(one)}, {Rule: compare.RuleTestRemoved, Message: compare.Removed(two)}}}},
		"without its module": {old: []string{"test_grade.py error ModuleNotFoundError: grade"}, now: moved, on: boundary("test_more.py::test_one")},
	} {
		base := verifytest.Scan(t, map[string]string{"grade.py": weighedProgram, "test_grade.py": weighedTest})
		cs := verifytest.Change(t, base, map[string]string{"test_grade.py": "-", "test_more.py": weighedTest})
		v := check.NewView(base, cs)
		d := compare.NewDiff(cs, v)
		before, cand := ended(one+" passed", two+" passed"), ended(c.now...)
		if c.gate.Verdict == "" {
			c.gate.Verdict = check.Pass
		}
		tried := &Trial{Old: ended(c.old...), Before: check.OnBase(base), OnlyRemoved: true}
		if asks := tried.Ask(c.gate, *before, *cand, d); asks != (c.new != nil) {
			t.Errorf("%s: asks %v", name, tried.Asked())
		}
		if c.new != nil {
			tried.New = ended(c.new...)
		}
		tried.Judge(c.gate, *before, *cand, d)
		w := tried.Weigh(*before, *cand, d, cs, v)
		if (w == nil) != c.none {
			t.Errorf("%s: weighed %v", name, w != nil)
		}
		if w != nil {
			if !slices.Equal(w.Tests[AsWas], []string{one, two}) || !slices.Equal(w.Tests[AsIs], slices.Sorted(maps.Keys(byID(cand.Tests)))) {
				t.Errorf("%s: %q", name, w.Tests)
			}
			measure(w, false, c.on)
			tried.Weighed(w)
		}
		held := slices.DeleteFunc(slices.Clone(tried.Holds), func(h policy.Hold) bool { return !h.Block })
		if (len(held) > 0) != (c.held != "") || len(held) > 0 && !strings.Contains(held[0].Reason, c.held) {
			t.Errorf("%s: %+v, want %q", name, tried.Holds, c.held)
		}
	}
}
