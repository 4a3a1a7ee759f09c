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

// A Weighing measures whether the tests that a patch rewrites prove as much as before: mutants of
// the program that failed them must fail what stands in their place. Only lines that the patch
// leaves alone are mutated, so that a mutant is the same on both sides; those that it writes are
// mutated for a test that passes with either program, which they alone can speak for. It says
// what to run, and what came of it. Whoever runs it does so for one side after the other: Began for the tests without
// a mutant, Tried for each one that is Due, Confirmed for the one that Weaker finds.
type Weighing struct {
	// By side the tests to run, by their IDs: those that the patch rewrites, the same before the last promotions,
	// and with the patch all in the files that it writes.
	Tests [3][]string
	// What makes the tests of the base those of before the last promotions.
	Back workspace.Changeset
	// The lines of the base of which it is asked whether the rewritten tests execute them.
	Lines check.Lines

	base, cand check.View
	diff       check.Diff
	// Of Was those that pass on the patched program as they were: nothing that they ask of it
	// has changed. Of the others it is told which passes with either program.
	kept  map[string]bool
	alone bool // the patch leaves the program alone
	// Tests that nothing but mutants can speak for.
	silent []rewriting

	mutants []*mutation
	// By side the tests that pass without any mutant.
	sound   [3]map[string]bool
	ran     check.Lines // of the patched program, by Now
	spent   float64
	trouble string
	late    bool // the time was up before all mutants were tried
}

// A Side is the tests and the program that a mutant is tried on.
type Side int

// The sides, in their order.
const (
	AsWas   Side = iota // the base
	Earlier             // the base with the tests as they were before the last promotions
	AsIs                // the patch
)

// A mutation is a mutant and what became of it.
type mutation struct {
	mutate.Mutant
	// Where it is with the patch; before is false for a line that the patch writes.
	path   string
	line   int
	before bool
	// The patch writes the line; where neither is true it shows no more than that a test asserts something.
	fresh bool
	// No mutant: the program of the patch with an empty line at the end of its files.
	same  bool
	tried bool // without the patch
	// Of the tests as they were those that fail on it, of which side, and whether those of now were asked and pass all.
	killers  []string
	by       Side
	asked    bool
	survived bool
	failing  []string // of those of now
}

// Bounds of what is asked and of how many mutants are tried: who reads a large program for one test
// pays more than the answer is worth.
const (
	mostFiles   = 60
	mostAskedOf = 20_000 // lines
	mostSource  = 200 << 10
	mostMutants = 16
	mostFresh   = 8 // of the lines that the patch writes
	mostExtra   = 4
	leastKilled = 2 // for a test to be as strong
)

// Weigh prepares the measure of a patch that passed; nil where it touches no test that was there, or
// none of which the text does not say already that it proves less.
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

// inOthers keeps of the tests of a file that is deleted those that others took the place of: of the rest it is told that they are
// gone, or they went with their subject.
func (t *Trial) inOthers(ids []string, tests []check.TestResult, d check.Diff, alone map[string]check.TestResult) []string {
	known := byID(tests)
	return slices.DeleteFunc(ids, func(id string) bool {
		_, lost := t.lostSubject(known[id], alone)
		return lost || t.removed[compare.Removed(d.NewID(id))]
	})
}

// goBack has the rewritten tests compared with what they were before the last promotions as well. alone says that the
// patch leaves the program alone, so that nothing that they asked of it has changed.
func (w *Weighing) goBack(earlier map[string][]byte, alone bool) {
	for _, id := range w.Tests[AsWas] {
		file, title, _ := strings.Cut(id, "::")
		text, known := earlier[file]
		if !known || string(text) == w.base.Text(file) {
			continue
		}
		// A parameter may be another one by now, and a name that was not there is no test to run.
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

// rewrittenOf lists the tests of a file that passed and that have one of these names; all of them
// where none has, for a name need not be in the ID.
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

// bears reports whether the rest of an ID is that of a test with this name or title: "TestA::test_b[1]",
// "TestB/one", "adds > one".
func bears(title, name string) bool {
	i := strings.Index(title, name)
	return i >= 0 && name != ""
}

// asked are the lines of the program that tests in these files may execute: of the files that lie beside
// one or that one names, and of all where these are few.
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
