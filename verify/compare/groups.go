package compare

import (
	"path"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// generated matches what runners and loops put into the names of tests: parameters, addresses, and
// numbers of cases, of subtests and of repetitions.
var generated = lazyregexp.New(`\[.*\]$|\b0x[0-9a-fA-F]+|\d+`)

// GroupOf is the name of a test without what is generated in it. Tests of one group have the
// same text, and which of them is which may change with a line above.
func GroupOf(id string) string {
	file, name, isTest := strings.Cut(id, "::")
	if !isTest {
		return id
	}
	return file + "::" + generated.ReplaceAllString(name, "N")
}

// surroundings is what tests of the baseline say of the machine.
type surroundings struct {
	// missed has how tests ended that could not begin, for want of a fixture, a module or a
	// service, in the words of whoever missed it.
	missed map[string]bool
	// places are the files of all tests and their folders, by their names now.
	places map[string]bool
}

func newSurroundings(d check.Diff, base []check.TestResult) surroundings {
	s := surroundings{map[string]bool{}, map[string]bool{}}
	for _, r := range base {
		file, _, _ := strings.Cut(d.NewID(r.ID), "::")
		s.places[file], s.places[path.Dir(file)] = true, true
		if r.Outcome == "error" && r.Message != "" {
			s.missed[check.Unplaced(r.Message)] = true
		}
	}
	return s
}

// lack reports whether a test could not begin, for want of what tests of the baseline missed too.
// A file or package that does not load takes its tests with it, so one that had some lacks nothing.
func (s surroundings) lack(r check.TestResult) bool {
	return r.Outcome == "error" && s.missed[check.Unplaced(r.Message)] && !s.places[r.ID]
}

// fresh counts the tests of a candidate that the baseline does not have: those that pass, by
// group and in the files that the patch wrote, and those that cannot begin here, by file.
type fresh struct {
	byGroup map[string]int
	written int
	idle    map[string]int
}

// newFresh counts them; before has the tests of the baseline under the names that they would have now.
func newFresh(d check.Diff, env surroundings, before map[string]check.TestResult, cand []check.TestResult) *fresh {
	f := &fresh{byGroup: map[string]int{}, idle: map[string]int{}}
	for _, r := range cand {
		file, _, isTest := strings.Cut(r.ID, "::")
		if _, known := before[r.ID]; known || !isTest {
			continue
		}
		if env.lack(r) {
			f.idle[file]++
		}
		if r.Outcome != "passed" {
			continue
		}
		f.byGroup[GroupOf(r.ID)]++
		if d.Touched[file] {
			f.written++
		}
	}
	return f
}

// replaced reports whether a test that is gone has come back within its group, and counts it.
func (f *fresh) replaced(d check.Diff, id string) bool {
	group := GroupOf(id)
	if f.byGroup[group] == 0 {
		return false
	}
	f.byGroup[group]--
	if file, _, _ := strings.Cut(id, "::"); d.Touched[file] {
		f.written--
	}
	return true
}

// unable reports whether a file has a new test that cannot begin here, and counts it.
func (f *fresh) unable(file string) bool {
	if f.idle[file] == 0 {
		return false
	}
	f.idle[file]--
	return true
}

// Successors tells which tests may stand in the place of one that is gone: those that pass in
// cand and that base does not have, of its group or, without any, of its file, or where no test is left in that, of those that the
// patch wrote.
func Successors(d check.Diff, base, cand []check.TestResult) func(id string) []string {
	known := map[string]bool{}
	for _, r := range base {
		known[d.NewID(r.ID)] = true
	}
	groups, files, left, written := map[string][]string{}, map[string][]string{}, map[string]bool{}, []string{}
	for _, r := range cand {
		file, _, isTest := strings.Cut(r.ID, "::")
		left[file] = left[file] || isTest
		if isTest && !known[r.ID] && r.Outcome == "passed" {
			if d.Touched[file] {
				written = append(written, r.ID)
			}
			groups[GroupOf(r.ID)], files[file] = append(groups[GroupOf(r.ID)], r.ID), append(files[file], r.ID)
		}
	}
	return func(id string) []string {
		if list := groups[GroupOf(id)]; len(list) > 0 {
			return list
		}
		file, _, _ := strings.Cut(id, "::")
		if !left[file] {
			return written
		}
		return files[file]
	}
}
