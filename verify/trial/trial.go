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

// A Trial is another run of the tests of a check, with the program as the patch leaves it, and with the tests and
// everything that they are made of as they were before. Otherwise a patch could make every test pass in conftest.py.
// Rewritten tests also run as they are now on the program as it was.
type Trial struct {
	// The files of the patch that are taken back and are not tests themselves, sorted.
	Aids []string
	// The code files among Aids in which the patch changes only values; see Split.Values.
	Values []string
	// The results of the tests as they were on the patched program; nil until they ran.
	Old *check.Outcome
	// The results of the tests that Ask names on the program as it was; nil until they ran.
	New *check.Outcome
	// The holds that the trial gives and on which no verdict depends.
	Holds []policy.Hold
	// The names that the program loses with the patch; see Split.Lost. Nil if no test may be removed with its subject.
	Names map[string]bool
	// The workspace before the patch.
	Before check.View
	// The content of its test files before the last promotions, by path, where it is known.
	Earlier map[string][]byte
	// Whether the patch leaves alone the tests that it does not remove. How those end is known, and a removed test
	// matters only if new ones replace it.
	OnlyRemoved bool

	asked []string
	// What Judge made Holds from.
	shown     []policy.Hold
	rewritten []rewriting
	keptAs    int // tests that pass as they were
	// See Doubted.
	doubted   map[string]int // how often each must pass
	confirmed bool
	// The messages about tests that are gone; see compare.Removed.
	removed map[string]bool
}

// Beside adds the baseline's results of tests that were left out to those of the trial; see Outcome.Beside.
func (t *Trial) Beside(base check.Outcome, r check.Reach) {
	if t != nil && t.Old != nil {
		out := t.Old.Beside(base, r)
		t.Old = &out
	}
}

// Waits reports whether the first run of the trial is still to come.
func (t *Trial) Waits() bool { return t != nil && t.Old == nil }

// Asked lists the tests of the second run, by their IDs with the patch, or nil if no such run is due.
func (t *Trial) Asked() []string {
	if t == nil || t.New != nil {
		return nil
	}
	return t.asked
}

// mostAsked bounds the tests of the second run: rewritten tests beyond it do not run and are not proved.
const mostAsked = 1000

// Ask reports whether a judgement g must wait for the second run, whose tests Asked then lists.
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

// note records the tests that a judgement reports as removed: there is nothing more to show about them.
func (t *Trial) note(g check.Gate) {
	t.removed = map[string]bool{}
	for _, f := range g.Findings {
		if f.Rule == compare.RuleTestRemoved {
			t.removed[f.Message] = true
		}
	}
}

// judges reports whether the tests as they are now leave a question open.
func judges(g check.Gate) bool { return g.Verdict == check.Pass || g.Verdict == check.Policy }

// Judge adds what the trial shows to a judgement: tests that passed with the patch's helpers and do not pass without
// them. Tests that the patch adds cannot pass without them, and prove nothing about what was there before. If a test
// itself was rewritten, Judge says so in Holds, since what a program is meant to do may change.
func (t *Trial) Judge(g check.Gate, base, cand check.Outcome, d check.Diff) check.Gate {
	if t == nil || !judges(g) {
		return g
	}
	if t.Old.Verdict == check.Infra {
		g.Verdict, g.Detail = check.Infra, "tried with the tests and helpers from before the patch: "+t.Old.Detail
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

// helped returns the finding against a test that passes only with the patch's aids.
func (t *Trial) helped(x rewriting) check.Finding {
	why := x.was.Message
	if !x.ran {
		why = check.Join([]string{"it does not run without them", t.Old.Blocked, t.Old.Detail}, ": ")
	}
	return check.Finding{
		File: x.file(), Rule: compare.RuleTestHelper,
		Message: fmt.Sprintf("%s passes only with the patch's version of %s: %s", check.Shorten(x.oldID), check.Shorten(strings.Join(t.Aids, ", ")), check.Shorten(why)),
	}
}

// A rewriting is a test that, as it was before the patch, fails on the patched program, and that passes as it is now or is gone.
type rewriting struct {
	// The test's old ID, and the ID that it would have now.
	oldID, id string
	// Its result as it was, if it ran.
	was check.TestResult
	ran bool
	// Whether it passes now and the patch changed not only tests but also what they are made of.
	helped bool
	// The tests that pass in its place: the test itself, or those that replaced it.
	now []string

	proof proof
	why   string // of the proof
	// The aids that it needs, if they might tell the two programs apart on their own: then mutants must vouch for it.
	aids []string
}

// file returns the file where the test is now.
func (x rewriting) file() string {
	file, _, _ := strings.Cut(x.id, "::")
	return file
}

// otherNames matches the message of a test that calls something whose name or form has changed: its callers were
// rewritten with it, as the tests that run show.
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
		// For a test that now has another name or other parameters, nothing else tells whether it would pass.
		if !there {
			x.now = successors(id)
		}
		if x.helped || r.Outcome == "failed" && !otherNames.MatchString(r.Message) {
			list = append(list, x)
		}
	}
	return list, kept
}

// tells reports whether the second run alone can clear a test that needs the patch's aids: the test itself was rewritten
// too, or the aids are data. Code in an aid could tell the two programs apart and let the test fail on either at will.
func (t *Trial) tells(x rewriting, d check.Diff) bool {
	return d.Touched[x.file()] || !slices.ContainsFunc(t.Aids, func(p string) bool { return !isData(p) && !slices.Contains(t.Values, p) })
}
