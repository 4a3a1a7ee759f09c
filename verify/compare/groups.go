package compare

import (
	"path"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// generated matches what runners and loops put into the names of tests: parameters, addresses, and numbers of cases,
// subtests and repetitions.
var generated = lazyregexp.New(`\[.*\]$|\b0x[0-9a-fA-F]+|\d+`)

// GroupOf returns the name of a test without its generated parts. Tests in one group have the same text, and an edit
// above may change which of them is which.
func GroupOf(id string) string {
	file, name, isTest := strings.Cut(id, "::")
	if !isTest {
		return id
	}
	return file + "::" + generated.ReplaceAllString(name, "N")
}

// surroundings is what the baseline's tests reveal about the machine.
type surroundings struct {
	// missed has the messages of tests that could not begin because they lacked a fixture, a module or a service.
	missed map[string]bool
	// places has the files of all tests and their directories, by their current names.
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

// lack reports whether a test could not begin because it lacks what tests of the baseline also lacked. A file or
// package that does not load takes its tests with it, so one that had tests lacks nothing.
func (s surroundings) lack(r check.TestResult) bool {
	return r.Outcome == "error" && s.missed[check.Unplaced(r.Message)] && !s.places[r.ID]
}

// fresh counts the candidate's tests that the baseline does not have: those that pass, by group and in the files that
// the patch wrote, and those that cannot begin in the box, by file.
type fresh struct {
	byGroup map[string]int
	written int
	idle    map[string]int
}

// newFresh counts them; before has the tests of the baseline under their current names.
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

// replaced reports whether a test that is gone has a replacement in its group, and uses that up.
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

// unable reports whether a file has a new test that cannot begin in the box, and uses that up.
func (f *fresh) unable(file string) bool {
	if f.idle[file] == 0 {
		return false
	}
	f.idle[file]--
	return true
}

// Successors returns a function that lists the tests that may replace one that is gone. They pass in cand and are not
// in base. They are the tests of its group; if there are none, those of its file; or, if that file has no tests left,
// those that the patch wrote.
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
