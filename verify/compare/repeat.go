package compare

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/verify/check"
)

// maxSuspects is how many failing tests are repeated. A patch that breaks more has really broken something.
const maxSuspects = 5

// A Suspect is a test that passed before the patch and failed with it, by its ID on each side.
type Suspect struct{ Base, Cand string }

// A Repetition records the repeats of the suspects of one check: how often each ended how, by its ID on that side.
type Repetition struct {
	Suspects   []Suspect
	Base, Cand map[string]Tally
	// Whole records how all tests ended in another run with the patch, by ID, if that was done; see Apart.
	Whole map[string]Tally
}

// A Tally counts the repeats of one test.
type Tally struct{ Passed, Failed int }

// Suspects lists the tests whose failure is all that a judgement holds against the patch. It returns nil if there are
// too many, or if something else also counts against the patch: then it does not matter which of them are flaky.
func Suspects(g check.Gate, base, cand check.Outcome, d check.Diff) []Suspect {
	if g.Verdict != check.Fail || base.Verdict != "" || base.Blocked != "" || cand.Blocked != "" {
		return nil
	}
	passed := map[string]string{}
	for _, r := range base.Tests {
		if r.Outcome == "passed" {
			passed[d.NewID(r.ID)] = r.ID
		}
	}
	var list []Suspect
	for _, r := range cand.Tests {
		// A test can be selected by its ID, unless its runner would take the ID for an option. A test that fails
		// because of the tests in it is repeated with them.
		if old, ok := passed[r.ID]; ok && r.Bad() && r.Ran() && !r.Within && !strings.HasPrefix(r.ID, "-") && !strings.HasPrefix(old, "-") {
			list = append(list, Suspect{old, r.ID})
		}
	}
	against := 0
	for _, f := range g.Findings {
		if !TestPolicy[f.Rule] {
			against++
		}
	}
	if len(list) != against || len(list) > maxSuspects {
		return nil
	}
	return list
}

// passes reports whether a test passed every time that it ran.
func (t Tally) passes() bool { return t.Passed > 0 && t.Failed == 0 }

// Doubtful reports whether each suspect has passed on both sides. Its failure in a run of all tests may be due to a
// lack of time or to what ran at the same time.
func (r *Repetition) Doubtful() bool {
	return !slices.ContainsFunc(r.Suspects, func(s Suspect) bool { return r.Base[s.Base].Passed == 0 || r.Cand[s.Cand].Passed == 0 })
}

// Apart reports whether the tests with these IDs passed in a run that measured all of lines and executed none of them.
// Then they have no part in a change that wrote these lines.
func Apart(out check.Outcome, ids []string, lines check.Lines) bool {
	if out.Traced == nil {
		return false
	}
	count := map[string]Tally{}
	Count(count, out)
	for p := range lines {
		// Go compiles a test file only for the tests of its directory, and never measures it.
		beside := func(id string) bool {
			file, _, _ := strings.Cut(id, "::")
			return path.Dir(file) == path.Dir(p)
		}
		if strings.HasSuffix(p, "_test.go") && !slices.ContainsFunc(ids, beside) {
			continue
		}
		if _, measured := out.Traced.Code[p]; !measured || len(out.Traced.Ran[p]) > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(ids, func(id string) bool { return !count[id].passes() })
}

// flaky reports whether a test fails by chance. Either some repeats failed and some passed before the patch, and some
// passed with it; or the test passed on both sides and in a second run of all tests, and has no part in what the patch
// changes. If a test fails every time with the patch, the patch is to blame, whatever happened before.
func (r *Repetition) flaky(s Suspect) (why string, ok bool) {
	base, cand := r.Base[s.Base], r.Cand[s.Cand]
	if r.Whole[s.Cand].passes() && base.Passed > 0 && cand.Passed > 0 {
		return "flaky: failed in one of two runs of all tests, and executes no changed line", true
	}
	if base.Failed == 0 || base.Passed == 0 || cand.Passed == 0 {
		return "", false
	}
	return fmt.Sprintf("flaky: failed %d of %d times before the patch", base.Failed, base.Failed+base.Passed), true
}

// Excuse returns both sides as if the flaky tests had failed before the patch too, so they are reported as old.
func (r *Repetition) Excuse(base, cand check.Outcome) (check.Outcome, check.Outcome) {
	if r == nil {
		return base, cand
	}
	base.Tests, cand.Tests = slices.Clone(base.Tests), slices.Clone(cand.Tests)
	for _, s := range r.Suspects {
		why, ok := r.flaky(s)
		if !ok {
			continue
		}
		for i, t := range base.Tests {
			if t.ID == s.Base {
				base.Tests[i].Outcome = "failed"
			}
		}
		for i, t := range cand.Tests {
			if t.ID == s.Cand {
				cand.Tests[i].Message = why + ": " + t.Message
			}
		}
	}
	return base, cand
}

// Count adds the results of one run to count.
func Count(count map[string]Tally, out check.Outcome) {
	if out.Verdict != "" || out.AnyBlocked() {
		return
	}
	for _, t := range out.Tests {
		n := count[t.ID]
		switch {
		case t.Bad():
			n.Failed++
		case t.Outcome == "passed":
			n.Passed++
		}
		count[t.ID] = n
	}
}

// Failing lists the tests of an outcome that fail and can be repeated alone. It returns nil if there are too many or if
// the outcome is not from a complete run.
func Failing(def check.Check, out check.Outcome) (ids []string) {
	for _, r := range out.Tests {
		if r.Bad() && r.Ran() && !r.Within && !strings.HasPrefix(r.ID, "-") {
			ids = append(ids, r.ID)
		}
	}
	if !def.Repeats || out.Verdict != "" || out.Blocked != "" || len(ids) > maxSuspects {
		return nil
	}
	return ids
}

// Again returns an outcome in which tests that passed in some repeat no longer fail: they are flaky.
func Again(out check.Outcome, repeats map[string]Tally) check.Outcome {
	out.Tests = slices.Clone(out.Tests)
	for i, r := range out.Tests {
		if r.Bad() && repeats[r.ID].Passed > 0 {
			out.Tests[i].Outcome = check.Flaky
		}
	}
	return out
}
