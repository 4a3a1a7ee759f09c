package trial

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/mutate"
	"agent/verify/policy"
)

// A Weighing measures whether the tests that a patch rewrites prove as much as before: mutants of the program that failed
// them must also fail their replacements. It mutates only lines that the patch leaves alone, so that a mutant is the same
// on both sides. It mutates lines that the patch writes only for a test that passes with either program, since nothing
// else can vouch for it. A Weighing says what to run, and what came of it. The caller takes one side after the other:
// Began for the tests without a mutant, Tried for each mutant that is Due, and Confirmed for the one that Weaker finds.
type Weighing struct {
	// The IDs of the tests to run, by side: those that the patch rewrites, the same ones before the last promotions,
	// and with the patch all tests in the files that it writes.
	Tests [3][]string
	// The changeset that turns the tests of the base into those of before the last promotions.
	Back workspace.Changeset
	// The lines of the base for which to find out whether the rewritten tests execute them.
	Lines check.Lines

	base, cand check.View
	diff       check.Diff
	// For the tests of AsWas, whether each passes as it was on the patched program: then nothing that it asks has
	// changed. For the others, the trial says which ones pass with either program.
	kept  map[string]bool
	alone bool // the patch leaves the program alone
	// Tests that only mutants can vouch for.
	silent []rewriting

	mutants []*mutation
	// The tests by side, and whether each passes without a mutant.
	sound   [3]map[string]bool
	ran     check.Lines // of the patched program, executed by the tests as they are now
	spent   float64
	trouble string
	late    bool // time ran out before all mutants were tried
}

// A Side is the tests and the program on which a mutant is tried.
type Side int

// The sides, in order.
const (
	AsWas   Side = iota // the base
	Earlier             // the base with the tests as they were before the last promotions
	AsIs                // the patch
)

// A mutation is a mutant and what became of it.
type mutation struct {
	mutate.Mutant
	// Its place with the patch, and whether it was drawn from the base.
	path   string
	line   int
	before bool
	// Whether the patch writes the line. A mutant that is neither before nor fresh shows only that a test asserts something.
	fresh bool
	// Whether it is not a mutant but the patched program with an empty line at the end of its files.
	same  bool
	tried bool // without the patch
	// The tests as they were that fail on it, their side, and whether the tests as they are now were asked and all pass.
	killers  []string
	by       Side
	asked    bool
	survived bool
	failing  []string // the tests as they are now that fail on it
}

// Bounds on the lines examined and the mutants tried: reading a large program for one test costs more than the answer is worth.
const (
	mostFiles   = 60
	mostAskedOf = 20_000 // lines
	mostSource  = 200 << 10
	mostMutants = 16
	mostFresh   = 8 // of the lines that the patch writes
	mostExtra   = 4
	leastKilled = 2 // for a test to be as strong
)

// Weigh prepares the measurement of a patch that passed. It returns nil if the patch touches no existing test, or
// only tests whose text already shows that they prove less.
func (t *Trial) Weigh(base, cand check.Outcome, d check.Diff, cs workspace.Changeset, v check.View) *Weighing {
	if t == nil || t.Old == nil || t.Old.Verdict != "" || t.Before.Base == nil {
		return nil
	}
	w := &Weighing{base: t.Before, cand: v, diff: d, kept: map[string]bool{}}
	text := policy.ReviewText(cs, nil)
	alone, tested := byID(t.Old.Tests), []string{}
	for _, c := range SplitPatch(t.Before.Base, cs).Tests.Changes {
		if c.Op == workspace.Create || slices.ContainsFunc(text, func(h policy.Hold) bool { return h.Kind == policy.WeakerTest && h.Path == c.Path }) {
			continue
		}
		names, all, ok := policy.Rewritten(c)
		if c.Op == workspace.Delete {
			all, ok = true, true
		}
		if !ok || len(names) == 0 && !all {
			continue
		}
		was := rewrittenOf(base.Tests, check.OldPath(c), names, all)
		if c.Op == workspace.Delete {
			was = t.inOthers(was, base.Tests, d, alone)
		}
		for _, id := range was {
			w.kept[id] = alone[id].Outcome == "passed"
		}
		if len(was) > 0 {
			w.Tests[AsWas], tested = append(w.Tests[AsWas], was...), append(tested, check.OldPath(c))
		}
	}
	for _, file := range readsData(t.Before, SplitPatch(t.Before.Base, cs).Tests) {
		tested = append(tested, file)
		for _, id := range rewrittenOf(base.Tests, file, nil, true) {
			if !slices.Contains(w.Tests[AsWas], id) {
				w.Tests[AsWas], w.kept[id] = append(w.Tests[AsWas], id), alone[id].Outcome == "passed"
			}
		}
		w.Tests[AsIs] = append(w.Tests[AsIs], rewrittenOf(cand.Tests, d.NewID(file), nil, true)...)
	}
	for _, x := range t.rewritten {
		if x.helped { // its own text need not say what has changed
			if !slices.Contains(w.Tests[AsWas], x.oldID) {
				file, _, _ := strings.Cut(x.oldID, "::")
				w.Tests[AsWas], tested = append(w.Tests[AsWas], x.oldID), append(tested, file)
			}
			if !d.Touched[x.file()] {
				w.Tests[AsIs] = append(w.Tests[AsIs], x.now...)
			}
		}
		if len(x.aids) == 0 && (x.proof != accepting || !slices.Contains(w.Tests[AsWas], x.oldID)) {
			continue
		}
		w.silent = append(w.silent, x)
	}
	if len(w.Tests[AsWas]) == 0 {
		return nil
	}
	for _, r := range cand.Tests {
		if file, _, isTest := strings.Cut(r.ID, "::"); isTest && d.Touched[file] && r.Outcome == "passed" {
			w.Tests[AsIs] = append(w.Tests[AsIs], r.ID)
		}
	}
	slices.Sort(w.Tests[AsIs])
	w.Tests[AsIs] = slices.Compact(w.Tests[AsIs])
	w.goBack(t.Earlier, len(SplitPatch(t.Before.Base, cs).Program.Changes) == 0)
	for side := range w.Tests {
		w.Tests[side] = w.Tests[side][:min(len(w.Tests[side]), mostAsked)]
	}
	w.Lines = asked(t.Before, tested)
	return w
}

// inOthers keeps those tests of a deleted file that others replaced. The rest are already reported as gone, or went with their subject.
func (t *Trial) inOthers(ids []string, tests []check.TestResult, d check.Diff, alone map[string]check.TestResult) []string {
	known := byID(tests)
	return slices.DeleteFunc(ids, func(id string) bool {
		_, lost := t.lostSubject(known[id], alone)
		return lost || t.removed[compare.Removed(d.NewID(id))]
	})
}

// goBack has the rewritten tests also compared with what they were before the last promotions. alone says that the
// patch leaves the program alone, so that nothing that they asked of it has changed.
func (w *Weighing) goBack(earlier map[string][]byte, alone bool) {
	for _, id := range w.Tests[AsWas] {
		file, title, _ := strings.Cut(id, "::")
		text, known := earlier[file]
		if !known || string(text) == w.base.Text(file) {
			continue
		}
		// A parameter may have changed since, and a name that was not there before is not a test to run.
		title, _, _ = strings.Cut(title, "[")
		words := strings.FieldsFunc(title, func(r rune) bool { return r == ':' || r == '/' })
		if len(words) == 0 || !strings.Contains(string(text), strings.TrimSpace(words[len(words)-1])) && !strings.Contains(string(text), strings.TrimSpace(words[0])) {
			continue
		}
		if id = file + "::" + title; !slices.Contains(w.Tests[Earlier], id) {
			w.Tests[Earlier] = append(w.Tests[Earlier], id)
		}
		w.alone = alone
		if !slices.ContainsFunc(w.Back.Changes, func(c workspace.Change) bool { return c.Path == file }) {
			e, _ := w.base.Base.Lookup(file)
			w.Back.Changes = append(w.Back.Changes, workspace.Change{Op: workspace.Modify, Path: file, Before: []byte(w.base.Text(file)), After: text, Mode: e.Mode})
		}
	}
}

// rewrittenOf lists the tests of a file that passed and have one of these names. If none has, it lists all of them,
// since a name need not be in the ID.
func rewrittenOf(tests []check.TestResult, file string, names []string, all bool) []string {
	var some, every []string
	for _, r := range tests {
		of, title, isTest := strings.Cut(r.ID, "::")
		if !isTest || of != file || r.Outcome != "passed" {
			continue
		}
		every = append(every, r.ID)
		if slices.ContainsFunc(names, func(name string) bool { return bears(title, name) }) {
			some = append(some, r.ID)
		}
	}
	if all || len(some) == 0 {
		return every
	}
	return some
}

// bears reports whether the rest of an ID belongs to a test with this name or title: "TestA::test_b[1]", "TestB/one", "adds > one".
func bears(title, name string) bool {
	i := strings.Index(title, name)
	return i >= 0 && name != ""
}

// asked returns the lines of the program that tests in these files may execute: lines of files next to one of them or
// named by one, and of all files if there are few.
func asked(v check.View, tested []string) check.Lines {
	words, dirs, families := map[string]bool{}, map[string]bool{}, map[lang.Family]bool{}
	for _, p := range tested {
		dirs[path.Dir(p)] = true
		if l := lang.Of(p); l != nil {
			families[l.Family] = true
		}
		for _, w := range word.FindAllString(v.Text(p), -1) {
			words[w] = true
		}
	}
	var near, far []string
	for _, p := range v.Paths() {
		l := lang.Of(p)
		if l == nil || !families[l.Family] || l.MayTest(p) || lang.InTests(p) || isTestModule(p) || path.Dir(p) != "." && check.Installed(path.Dir(p)) {
			continue
		}
		parts := strings.Split(strings.TrimSuffix(p, path.Ext(p)), "/")
		if dirs[path.Dir(p)] || slices.ContainsFunc(parts, func(part string) bool { return words[part] }) {
			near = append(near, p)
		} else {
			far = append(far, p)
		}
	}
	lines, total := check.Lines{}, 0
	for i, p := range append(near, far...) {
		if len(lines) == mostFiles || i >= len(near) && len(near)+len(far) > mostFiles {
			break
		}
		text := v.Text(p)
		n := strings.Count(text, "\n") + 1
		if len(text) > mostSource || total+n > mostAskedOf {
			continue
		}
		total += n
		for line := range n {
			lines[p] = append(lines[p], line+1)
		}
	}
	return lines
}
