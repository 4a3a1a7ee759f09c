package compare

import (
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/verifytest"
)

func TestARecordInWhichWitnessesEndOtherwiseIsForged(t *testing.T) {
	t.Parallel()
	manifest := verifytest.Scan(t, map[string]string{"old_test.py": "1\n", "b.py": "1\n"})
	cs := verifytest.Change(t, manifest, map[string]string{"b.py": "2\n", "new_test.py": "3\n"})
	d := NewDiff(cs, check.NewView(manifest, cs))
	drawn := check.Witness{Place: "old_test.py", Failing: 2, Passing: 2}
	with := func(place string, passed, failed, missing int) check.Witness {
		return check.Witness{Place: place, Failing: 2, Passing: 2, Passed: passed, Failed: failed, Missing: missing}
	}
	by := func(use string, w check.Witness) check.Witness { w.Use = use; return w }
	const old, fresh = "old_test.py", "new_test.py"
	outcome := func(list ...check.Witness) check.Outcome {
		out := check.Outcome{Witnesses: list, Tests: []check.TestResult{{ID: old + "::test_a", Outcome: "passed"}}}
		for _, w := range list {
			if w.Place == fresh {
				out.Tests = append(out.Tests, check.TestResult{ID: fresh + "::test_b", Outcome: "passed"})
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		base, cand check.Outcome
		says       string // in the finding; "" for a pass
		detail     string
	}{
		"as drawn":                          {outcome(drawn), outcome(drawn), "", ""},
		"one that had to fail passed":       {outcome(drawn), outcome(with(old, 1, 0, 0)), "of 2 tests that were added to old_test.py for this run and had to fail, 1 are reported as passed", ""},
		"all that had to pass failed":       {outcome(drawn), outcome(with(old, 0, 2, 0)), "had to pass, 2 are reported as failed", ""},
		"one that had to pass failed":       {outcome(drawn), outcome(with(old, 0, 1, 0)), "", "not witnessed in old_test.py"},
		"none is there":                     {outcome(drawn), outcome(with(old, 0, 0, 4)), "it lacks 4 tests that were added to old_test.py for this run", ""},
		"some are there":                    {outcome(drawn), outcome(with(old, 0, 0, 3)), "", "not witnessed in old_test.py"},
		"they never ran":                    {outcome(with(old, 0, 0, 4)), outcome(with(old, 0, 0, 4)), "", "not witnessed in old_test.py"},
		"they always passed":                {outcome(with(old, 2, 0, 0)), outcome(with(old, 2, 0, 0)), "", "not witnessed in old_test.py"},
		"a new file":                        {outcome(drawn), outcome(drawn, with(fresh, 2, 0, 0)), "added to new_test.py", ""},
		"none in a new file":                {outcome(drawn), outcome(drawn, with(fresh, 0, 0, 4)), "", "not witnessed in new_test.py"},
		"a new file, others are not drawn":  {outcome(with(old, 0, 0, 4)), outcome(with(old, 0, 0, 4), with(fresh, 2, 0, 0)), "", "not witnessed in old_test.py, new_test.py"},
		"no witnesses before":               {outcome(), outcome(with(old, 2, 0, 0)), "", "not witnessed in old_test.py"},
		"no witnesses of it before":         {outcome(with("other_test.py", 0, 0, 0)), outcome(with(old, 0, 0, 4)), "it lacks", ""},
		"one command leaves them out":       {outcome(with(old, 0, 0, 4), by("b", drawn)), outcome(with(old, 0, 0, 4), by("b", drawn)), "", ""},
		"a command of two leaves them out":  {outcome(drawn, by("b", drawn)), outcome(with(old, 0, 0, 4), by("b", drawn)), "it lacks", ""},
		"the second of two commands":        {outcome(with(old, 0, 0, 4), by("b", drawn)), outcome(with(old, 0, 0, 4), by("b", with(old, 1, 0, 0))), "1 are reported as passed", ""},
		"one of two commands loses them":    {outcome(with(old, 0, 0, 3), by("b", drawn)), outcome(with(old, 0, 0, 3), by("b", drawn)), "", "not witnessed in old_test.py"},
		"a new file where none was drawn":   {outcome(with(old, 2, 0, 0), by("b", drawn)), outcome(with(old, 2, 0, 0), by("b", drawn), with(fresh, 2, 0, 0)), "", "not witnessed in old_test.py, new_test.py"},
		"a new file in one command of two":  {outcome(with(old, 0, 0, 4), by("b", drawn)), outcome(with(old, 0, 0, 4), by("b", drawn), by("b", with(fresh, 2, 0, 0))), "added to new_test.py", ""},
		"a file of which no test is passed": {outcome(drawn), check.Outcome{Witnesses: []check.Witness{with("gone_test.py", 0, 0, 4)}, Tests: outcome().Tests}, "", ""},
	} {
		g := JudgeTests(c.base, c.cand, d)
		if c.says == "" {
			if g.Verdict != check.Pass || !strings.Contains(g.Detail, c.detail) || c.detail == "" && g.Detail != "" {
				t.Errorf("%s: %s %q %+v", name, g.Verdict, g.Detail, g.Findings)
			}
			continue
		}
		if g.Verdict != check.Fail || len(g.Findings) != 1 || g.Findings[0].Rule != RuleForged || !strings.Contains(g.Findings[0].Message, c.says) {
			t.Errorf("%s: %s %+v", name, g.Verdict, g.Findings)
		}
	}
	// A known failure is enough by itself.
	bad := outcome(with(old, 1, 0, 0))
	bad.Tests[0].Outcome = "failed"
	if g := JudgeTests(outcome(drawn), bad, d); len(g.Findings) != 1 || g.Findings[0].Rule != RuleTestFailed {
		t.Errorf("%+v", g.Findings)
	}
}

func TestWitnessesFollowTheirFiles(t *testing.T) {
	t.Parallel()
	base := check.Outcome{Witnesses: []check.Witness{{Place: "a/a_test.go", Failing: 1}, {Place: "b/b_test.go", Failing: 1}}}
	o := check.Outcome{Witnesses: []check.Witness{{Place: "a/a_test.go", Failing: 2}}}.Beside(base, check.Reach{"a": true, "b": false})
	if len(o.Witnesses) != 2 || o.Witnesses[0].Failing != 2 || o.Witnesses[1].Place != "b/b_test.go" {
		t.Errorf("%+v", o.Witnesses)
	}
	if in := o.Within(func(file string) bool { return file == "b/b_test.go" }); len(in.Witnesses) != 1 || len(o.Witnesses) != 2 {
		t.Errorf("%+v", in.Witnesses)
	}
}
