// Package contrary checks whether tests still say anything about a patched program: it changes the values that tests
// expect, and then the tests must fail. If a test with changed values fails on the program as it was and passes with
// the patch, it passes whatever it expects: the program reads what its tests ask for, returns values that are equal to
// anything, or has put something in the place of its tests.
//
// The package draws the values, decides what is run on which side, and interprets the results. It runs nothing. It does
// not detect a program that knows the answers to its tests by heart and gives them whatever is asked.
package contrary

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy"
)

// Bounds on what is asked: a patch that deceives its tests deceives those nearest to it. If too few are near, others
// stand in for them.
const (
	mostFiles = 6
	mostFar   = 2
	mostTests = 200
	mostBytes = 256 << 10 // of a file
)

// A Question is tests of the base with other expected values, to be run up to three times: on the patch; if some pass,
// on the base with the same values; if these fail there, on the patch again with new values. If changing the first
// value of each expectation shows nothing, the question is asked once more with another value of each, and with values
// in tables. Next returns the run that is due, and Ended takes its result, until Next has no more.
type Question struct {
	// Tests are the IDs of the tests to run next.
	Tests []string

	base, cand check.View
	program    []string // the program files that the patch touches
	files      []string
	texts      map[string]string // the test files by path, as last drawn
	all        map[string][]string
	at         uint64 // selects which of several values is changed
	second     bool
	step       int
	passing    []string
	// How many tests passed on the patch, and on the base, by group.
	with, without map[string]int
	trouble       string
}

// The steps of a question.
const (
	withPatch = iota
	without
	again
	answered
)

// Ask prepares the question for a patch that passed. It returns nil if the patch leaves the program alone, or if no test that passed before
// names an expected value. tests are the results of the base; program has the patch's changes to files that are not tests.
func Ask(base, cand check.View, tests []check.TestResult, program workspace.Changeset) *Question {
	q := &Question{base: base, cand: cand}
	families, words, dirs, changed := map[lang.Family]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range program.Changes {
		l := lang.Of(c.Path)
		if c.Op == workspace.Delete || l == nil || l.Values != lang.Code {
			continue
		}
		q.program = append(q.program, c.Path)
		families[l.Family], dirs[path.Dir(c.Path)] = true, true
		words[strings.TrimSuffix(path.Base(c.Path), path.Ext(c.Path))] = true
		wordsOf(c, changed)
	}
	passed := map[string][]string{}
	for _, r := range tests {
		if file, _, isTest := strings.Cut(r.ID, "::"); isTest && r.Outcome == "passed" {
			passed[file] = append(passed[file], r.ID)
		}
	}
	var near, far []string
	for file := range passed {
		l, text := lang.Of(file), base.Text(file)
		switch {
		case l == nil || !families[l.Family] || len(text) > mostBytes || otherwise(l, text) == text && further(l, text, 0) == text:
		case l.Family == lang.Go && dirs[path.Dir(file)] || l.Family != lang.Go && slices.ContainsFunc(word.FindAllString(text, -1), func(w string) bool { return words[w] }):
			near = append(near, file)
		default:
			far = append(far, file)
		}
	}
	slices.Sort(far)
	q.files = nearest(near, changed, base)
	q.files = append(q.files, far[:min(len(far), max(0, mostFar-len(q.files)))]...)
	q.all, q.at = passed, rand.Uint64()
	if q.draw(); len(q.Tests) == 0 {
		q.second = true
		q.draw()
	}
	if len(q.Tests) == 0 {
		return nil
	}
	return q
}

// definition matches the name of a function or class in its definition.
var definition = lazyregexp.New(`\b(?:def|func|function|class)\s+(?:\([^()]*\)\s*)?(\w+)`)

// wordsOf adds to words those of the lines that a change writes, and the names of the definitions that contain them.
func wordsOf(c workspace.Change, words map[string]bool) {
	if len(c.After) > mostBytes {
		return
	}
	wrote := map[int]bool{}
	for _, n := range compare.Lines(c) {
		wrote[n] = true
	}
	within, n := "", 0
	for line := range strings.Lines(string(c.After)) {
		if m := definition.FindStringSubmatch(line); m != nil {
			within = m[1]
		}
		if n++; !wrote[n] {
			continue
		}
		words[within] = true
		for _, w := range word.FindAllString(line, -1) {
			words[w] = true
		}
	}
}

// nearest returns the files that contain most of the words. Among equals it draws at random, so that the choice is unpredictable.
func nearest(files []string, words map[string]bool, base check.View) []string {
	rand.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	shared := map[string]int{}
	for _, file := range files {
		seen := map[string]bool{}
		for _, w := range word.FindAllString(base.Text(file), -1) {
			if words[w] && !seen[w] {
				seen[w] = true
				shared[file]++
			}
		}
	}
	slices.SortStableFunc(files, func(a, b string) int { return shared[b] - shared[a] })
	return files[:min(len(files), mostFiles)]
}

// draw writes texts that expect other values than the base and the previous draw, and selects the tests in them.
func (q *Question) draw() {
	q.texts, q.Tests = map[string]string{}, nil
	for _, file := range q.files {
		l, text := lang.Of(file), q.base.Text(file)
		now := otherwise(l, text)
		if q.second {
			now = further(l, text, q.at)
		}
		if now != text {
			q.texts[file] = now
			for _, id := range q.all[file] {
				q.Tests = append(q.Tests, q.nameOf(id))
			}
		}
	}
	q.Tests = slices.Compact(q.Tests)
	q.Tests = q.Tests[:min(len(q.Tests), mostTests)]
}

// nameOf returns the name under which a test is run. Other values in a pytest table change the names of its rows, so
// all rows share the name of their test.
func (q *Question) nameOf(id string) string {
	file, test, _ := strings.Cut(id, "::")
	if l := lang.Of(file); q.second && l != nil && l.Family == lang.Python {
		test, _, _ = strings.Cut(test, "[")
	}
	return file + "::" + test
}

// Next returns the run that is due: whether it is on the patch or on the base, and the changes that give its tests
// other expected values. ok is false when everything is known.
func (q *Question) Next() (patched bool, cs workspace.Changeset, ok bool) {
	if q.step == answered {
		return false, cs, false
	}
	v := q.cand
	if q.step == without {
		v = q.base
	}
	for _, file := range slices.Sorted(maps.Keys(q.texts)) {
		c := workspace.Change{Op: workspace.Create, Path: file, After: []byte(q.texts[file]), Mode: 0o644}
		if v.Has(file) {
			c.Op, c.Before = workspace.Modify, []byte(v.Text(file))
		}
		if e, known := v.Base.Lookup(file); known {
			c.Mode = e.Mode
		}
		if changed, is := v.Changed[file]; is && changed.Mode != 0 {
			c.Mode = changed.Mode
		}
		cs.Changes = append(cs.Changes, c)
	}
	return q.step != without, cs, true
}

// Ended takes the results of the run that was due.
func (q *Question) Ended(out check.Outcome) {
	if out.Verdict != "" {
		q.trouble, q.step = fmt.Sprintf("the tests with altered expected values did not finish: %s", out.Verdict), answered
		q.passing = nil
		return
	}
	ended := map[string]check.TestResult{}
	for _, r := range out.Tests {
		// If a test has several rows, one that does not pass decides how the test ended.
		if id := q.nameOf(r.ID); ended[id].Outcome == "" || ended[id].Outcome == "passed" {
			ended[id] = r
		}
	}
	// Parameters may be assigned to other IDs in each run, as the order of a set may change. How many of a group pass
	// stays the same.
	passed := map[string]int{}
	for _, id := range q.Tests {
		if ended[id].Outcome == "passed" {
			passed[compare.GroupOf(id)]++
		}
	}
	switch q.step {
	case withPatch:
		q.passing, q.with = slices.DeleteFunc(slices.Clone(q.Tests), func(id string) bool { return ended[id].Outcome != "passed" }), passed
	case without:
		q.passing, q.without = slices.DeleteFunc(q.passing, func(id string) bool {
			group := compare.GroupOf(id)
			return ended[id].Outcome != "failed" || passed[group] >= q.with[group]
		}), passed
		q.draw()
	case again:
		q.passing = slices.DeleteFunc(q.passing, func(id string) bool {
			group := compare.GroupOf(id)
			return ended[id].Outcome != "passed" || passed[group] <= q.without[group]
		})
	}
	if q.step++; len(q.passing) > 0 {
		return
	}
	q.step = answered
	if !q.second {
		q.second = true
		if q.draw(); len(q.Tests) > 0 {
			q.step = withPatch
		}
	}
}

// Fail records why the question could not be asked.
func (q *Question) Fail(why string) { q.trouble, q.step, q.passing = why, answered, nil }

// Holds returns what the answers hold against the patch.
func (q *Question) Holds() []policy.Hold {
	if len(q.passing) == 0 || q.step != answered {
		return nil
	}
	more := ""
	if n := len(q.passing) - 1; n > 0 {
		more = fmt.Sprintf("; so do %d more", n)
	}
	return []policy.Hold{{Path: slices.Min(q.program), Kind: policy.Runner, Block: true, Reason: fmt.Sprintf(
		"%s passes with the patch whatever it expects: with other values in its assertions it fails on the unpatched program, and passes on the patched one%s.",
		check.Shorten(q.passing[0]), more)}}
}

// Trouble returns a sentence on why there is no answer, or "" if there is one.
func (q *Question) Trouble() string { return q.trouble }
