package verify

import (
	"slices"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/golang"
	"agent/verify/policy"
	"agent/verify/trial"
	"agent/verify/verifytest"
)

// A commit changes what the program should do, and the test for it. Real boxes measure whether the test still proves that, and the hold
// depends on the result.
func TestARewrittenTestBlocksOnlyWhereItProvesLess(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"stock.py":      "def price(count: int, each: int) -> int:\n    return count * each\n",
		"test_stock.py": "from stock import price\n\n\ndef test_one():\n    assert price(1, 3) == 3\n\n\ndef test_two():\n    assert price(2, 3) == 6\n\n\ndef test_ten():\n    assert price(10, 3) == 30\n",
	}
	program := "LEAST = 10\n\n\ndef price(count: int, each: int) -> int:\n    return count * each - (count >= LEAST)\n"
	test := func(now string) string {
		return strings.Replace(files["test_stock.py"], "assert price(10, 3) == 30", now, 1)
	}
	s := newSite(t, files).only(check.GateTests)
	for name, c := range map[string]struct {
		test string
		held string // the kinds, with a question mark if they do not block
		said string
	}{
		"another expectation": {test("assert price(10, 3) == 29"), "changed-test?", "fails on the unpatched program: assert 30 == 29"},
		"a name that is new": {
			"from stock import LEAST\n" + test("assert price(LEAST, 3) == 29"), "changed-test?", "does not run on the unpatched program: ImportError: cannot import name 'LEAST'",
		},
		"made to accept both":      {test("assert price(10, 3) in (29, 30)"), "changed-test weaker-test", "passes on the unpatched program too"},
		"both, in words unknown":   {test("assert price(10, 3) == (29 if price(11, 3) == 32 else 30)"), "changed-test", "passes on the unpatched program too"},
		"emptied":                  {test("pass"), "changed-test weaker-test", "passes on the unpatched program too"},
		"emptied, with a new name": {"from stock import LEAST\n" + test("price(LEAST, 3)"), "changed-test? weaker-test", "does not run"},
	} {
		cs := verifytest.Change(t, s.base, map[string]string{"stock.py": program, "test_stock.py": c.test})
		r := s.judge(t, cs)
		var kinds []string
		for _, h := range policy.Review(t.Context(), s.base, r.Changeset, nil, r.Holds) {
			if !h.Block {
				h.Kind += "?"
			}
			kinds = append(kinds, h.Kind)
		}
		slices.Sort(kinds)
		if got := strings.Join(slices.Compact(kinds), " "); r.Verdict != check.Pass || got != c.held || len(r.Holds) != 1 || !strings.Contains(r.Holds[0].Reason, c.said) {
			t.Errorf("%s: %s, held by %q %+v", name, r.Verdict, got, r.Holds)
		}
	}
}

// A check of tests is judged only after the rewritten tests have run once more. A test that could not run proves nothing.
func TestAJudgementWaitsForTheSecondRun(t *testing.T) {
	t.Parallel()
	outcome := func(of, other string) check.Outcome {
		return check.Outcome{Tests: []check.TestResult{{ID: "a_test.go::TestA", Outcome: of, Message: "got 5"}, {ID: "a_test.go::TestB", Outcome: other}}}
	}
	for name, c := range map[string]struct {
		out   check.Outcome
		block bool
	}{
		"it fails":        {outcome("failed", "passed"), false},
		"it passes":       {outcome("passed", "passed"), true},
		"no box":          {check.Infraf("no box"), true},
		"nothing was run": {check.Outcome{}, true},
	} {
		s := empty(nil)
		r := s.results
		r.await(golang.TestsName, trial.Trial{})
		r.proven(map[string]string{})
		r.baseline(golang.TestsName, outcome("passed", "passed"))
		r.candidate(golang.TestsName, outcome("passed", "passed"))
		if r.tried(golang.TestsName, outcome("failed", "passed")); len(r.judged) != 0 {
			t.Errorf("%s: judged before it was asked: %+v", name, r.judged)
		}
		if ids := r.due((*trial.Trial).Asked)[golang.TestsName]; !slices.Equal(ids, []string{"a_test.go::TestA"}) {
			t.Errorf("%s: asks %q", name, ids)
		}
		r.answered(golang.TestsName, c.out)
		if doubted := len(r.due((*trial.Trial).Doubted)) > 0; doubted != c.block {
			t.Errorf("%s: doubts %t", name, doubted)
		} else if doubted {
			r.confirmed(golang.TestsName, nil)
		}
		holds := r.trials[golang.TestsName].Holds
		if g := r.judged[golang.TestsName]; g.Verdict != check.Pass || len(holds) != 1 || holds[0].Block != c.block || len(r.due((*trial.Trial).Asked)) != 0 {
			t.Errorf("%s: %+v, held %+v, asks %v", name, g, holds, r.due((*trial.Trial).Asked))
		}
	}
}

// A test that failed once in its old form is judged by the result of running it again.
func TestAJudgementWaitsForTheConfirmation(t *testing.T) {
	t.Parallel()
	const id = "a_test.go::TestA"
	outcome := func(of string) check.Outcome {
		return check.Outcome{Tests: []check.TestResult{{ID: id, Outcome: of, Message: "took 2s"}, {ID: "a_test.go::TestB", Outcome: "passed"}}}
	}
	for name, c := range map[string]struct {
		again compare.Tally
		holds int
	}{
		"it passes when it runs again": {compare.Tally{Passed: 1}, 0},
		"it fails again":               {compare.Tally{Failed: 3}, 1},
		"it could not run":             {compare.Tally{}, 1},
	} {
		ends := 0
		s := empty(func(e Event) {
			if e.Done && e.Gate == check.GateTests {
				ends++
			}
		})
		r := s.results
		r.await(golang.TestsName, trial.Trial{})
		r.proven(map[string]string{})
		r.baseline(golang.TestsName, outcome("passed"))
		r.candidate(golang.TestsName, outcome("passed"))
		r.tried(golang.TestsName, outcome("failed"))
		r.answered(golang.TestsName, outcome("passed"))
		if ids := r.due((*trial.Trial).Doubted)[golang.TestsName]; !slices.Equal(ids, []string{id}) || len(r.judged) != 0 {
			t.Errorf("%s: doubts %q, judged %+v", name, ids, r.judged)
		}
		r.confirmed(golang.TestsName, map[string]compare.Tally{id: c.again})
		holds := r.trials[golang.TestsName].Holds
		if g := r.judged[golang.TestsName]; g.Verdict != check.Pass || len(holds) != c.holds || len(r.due((*trial.Trial).Doubted)) != 0 {
			t.Errorf("%s: %+v, held %+v", name, g, holds)
		}
	}
}
