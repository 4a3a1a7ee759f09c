package trial

import (
	"fmt"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy"
)

// A Trial is the tests of a check run once more, with the program as the patch
// leaves it, and the tests and all that they are made of as they were before. A
// patch could otherwise make every test pass in conftest.py. What was rewritten is run
// a second time, as it is now, on the program as it was.
type Trial struct {
	// What of the patch is taken back that is no test itself, sorted.
	Aids []string
	// Of Aids the code in which the patch changes values alone; see Split.Values.
	Values []string
	// The tests as they were on the patched program; nil until they ran.
	Old *check.Outcome
	// The tests that Ask names on the program as it was; nil until they ran.
	New *check.Outcome
	// What it tells and no verdict hangs on.
	Holds []policy.Hold
	// The names that the program loses with the patch; see Split.Lost. Nil where no test may be gone
	// with its subject.
	Names map[string]bool
	// The workspace before the patch.
	Before check.View
	// What test files of it held before the last promotions, by path; of those of which that is known.
	Earlier map[string][]byte
	// The patch leaves the tests alone that it does not remove: how the others end is known, and of these it is asked
	// only where new ones stand in their place.
	OnlyRemoved bool

	asked []string
	// What Judge made Holds of.
	shown     []policy.Hold
	rewritten []rewriting
	keptAs    int // tests that pass as they were
	// See Doubted.
	doubted   map[string]int // how often each has to pass
	confirmed bool
	// What is told of tests that are gone, see compare.Removed.
	removed map[string]bool
}

// Beside puts the results that the baseline has of what was left out beside those of the trial; see Outcome.Beside.
func (t *Trial) Beside(base check.Outcome, r check.Reach) {
	if t != nil && t.Old != nil {
		out := t.Old.Beside(base, r)
		t.Old = &out
	}
}

// Waits reports whether the first run of the trial of a check is still to come.
func (t *Trial) Waits() bool { return t != nil && t.Old == nil }

// Asked lists the tests of the second run, by their IDs with the patch; nil when none is due.
func (t *Trial) Asked() []string {
	if t == nil || t.New != nil {
		return nil
	}
	return t.asked
}

// mostAsked bounds the tests of the second run: what of a larger rewriting is not run
// is not proved.
const mostAsked = 1000

// Ask reports whether a judgement g has to wait for the second run, whose tests Asked then lists.
func (t *Trial) Ask(g check.Gate, base, cand check.Outcome, d check.Diff) bool {
	if t == nil || t.New != nil || !judges(g) || t.Old.Verdict == check.Infra {
		return false
	}
	t.note(g)
	list, _ := t.rewritings(base, cand, d)
	for _, x := range list {
		t.asked = append(t.asked, x.now...)
	}
	slices.Sort(t.asked)
	t.asked = slices.Compact(t.asked)
	t.asked = t.asked[:min(len(t.asked), mostAsked)]
	return len(t.asked) > 0
}

// note keeps which tests a judgement misses: of these there is nothing more to be shown.
func (t *Trial) note(g check.Gate) {
	t.removed = map[string]bool{}
	for _, f := range g.Findings {
		if f.Rule == compare.RuleTestRemoved {
			t.removed[f.Message] = true
		}
	}
}

// judges reports whether the tests as they are now leave anything to be asked.
func judges(g check.Gate) bool { return g.Verdict == check.Pass || g.Verdict == check.Policy }

// Judge holds against a judgement what the trial tells: tests that passed with
// the patch's helpers and do not without. Those that the patch brings cannot
// pass without, and prove nothing of what was there before. Where a test itself was rewritten
// it tells that in Holds: what a program is to do may change.
func (t *Trial) Judge(g check.Gate, base, cand check.Outcome, d check.Diff) check.Gate {
	if t == nil || !judges(g) {
		return g
	}
	if t.Old.Verdict == check.Infra {
		g.Verdict, g.Detail = check.Infra, "tried with the tests and helpers as they were: "+t.Old.Detail
		return g
	}
	t.note(g)
	shown := t.excuse(&g, base, d)
	list, kept := t.rewritings(base, cand, d)
	var rewritten []rewriting
	results, used := t.results(), map[string]bool{}
	t.doubted = nil
	for _, x := range list {
		x.proof, x.why = t.proofOf(x, results, used)
		told := !x.helped || x.proof == pinned || x.proof == unloaded
		if x.helped && (x.proof == unloaded || !t.tells(x, d)) {
			x.aids = t.Aids
		}
		if !told || x.blocks() || len(list) > kept {
			t.doubt(x, d)
		}
		if told {
			rewritten = append(rewritten, x)
		} else if len(g.Findings) < compare.MaxOld {
			g.Findings, g.Verdict = append(g.Findings, t.helped(x)), check.Policy
		}
	}
	t.shown, t.rewritten, t.keptAs = shown, slices.Clone(rewritten), kept
	t.Holds = slices.Concat(shown, holds(rewritten, kept))
	return g
}

// helped is what is held against a test that passes with the patch's aids only.
func (t *Trial) helped(x rewriting) check.Finding {
	why := x.was.Message
	if !x.ran {
		why = check.Join([]string{"it does not run without them", t.Old.Blocked, t.Old.Detail}, ": ")
	}
	return check.Finding{
		File: x.file(), Rule: compare.RuleTestHelper,
		Message: fmt.Sprintf("%s passes only with what the patch makes of %s: %s", check.Shorten(x.oldID), check.Shorten(strings.Join(t.Aids, ", ")), check.Shorten(why)),
	}
}

// A rewriting is a test that fails on the patched program as it was before the patch, and
// that passes as it is now or is gone.
type rewriting struct {
	// The test under its old name, and under the one that it would have now.
	oldID, id string
	// How it ended as it was, if it ran.
	was check.TestResult
	ran bool
	// It passes now, and besides tests the patch changed what they are made of.
	helped bool
	// The tests that pass in its place: itself, or those that took its place.
	now []string

	proof proof
	why   string // of the proof
	// The aids that it needs, where these might tell the two programs apart by themselves: mutants have to speak for it.
	aids []string
}

// file is where the test is now.
func (x rewriting) file() string {
	file, _, _ := strings.Cut(x.id, "::")
	return file
}

// otherNames matches how a test ends that calls what has another name or another
// form: its callers were rewritten with it, which the tests that run tell.
var otherNames = lazyregexp.New(`^(?:ImportError|ModuleNotFoundError|AttributeError|NameError|TypeError|ReferenceError)\b`)

// rewritings lists the tests that were rewritten, and counts those that pass as they were.
func (t *Trial) rewritings(base, cand check.Outcome, d check.Diff) (list []rewriting, kept int) {
	now, alone := map[string]string{}, byID(t.Old.Tests)
	for _, r := range cand.Tests {
		now[r.ID] = r.Outcome
	}
	successors := compare.Successors(d, base.Tests, cand.Tests)
	for _, old := range base.Tests {
		r, ran := alone[old.ID]
		id := d.NewID(old.ID)
		outcome, there := now[id]
		if !old.Ran() || there && outcome != "passed" {
			continue
		}
		if r.Outcome == "passed" {
			kept++
			continue
		}
		if _, lost := t.lostSubject(old, alone); lost && !there || t.OnlyRemoved && (there || t.removed[compare.Removed(id)]) {
			continue
		}
		x := rewriting{oldID: old.ID, id: id, was: r, ran: ran, helped: there && len(t.Aids) > 0, now: []string{id}}
		// Of a test that has another name or other parameters now nothing else tells
		// whether it would pass.
		if !there {
			x.now = successors(id)
		}
		if x.helped || r.Outcome == "failed" && !otherNames.MatchString(r.Message) {
			list = append(list, x)
		}
	}
	return list, kept
}

// tells reports whether the second run alone can clear a test that needs the patch's aids: the test
// itself was rewritten too, or the aids are data. Code beside it could tell the
// two programs apart and let each fail as it likes.
func (t *Trial) tells(x rewriting, d check.Diff) bool {
	return d.Touched[x.file()] || !slices.ContainsFunc(t.Aids, func(p string) bool { return !isData(p) && !slices.Contains(t.Values, p) })
}
