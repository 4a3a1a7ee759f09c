package compare

import (
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// generated matches what runners and loops put into the names of tests: parameters, addresses, and
// numbers of cases, of subtests and of repetitions.
var generated = lazyregexp.New(`\[.*\]$|\b0x[0-9a-fA-F]+|\d+`)

// groupOf is the name of a test without what is generated in it. Tests of one group have the
// same text, and which of them is which may change with a line above.
func groupOf(id string) string {
	file, name, isTest := strings.Cut(id, "::")
	if !isTest {
		return id
	}
	return file + "::" + generated.ReplaceAllString(name, "N")
}

// fresh counts the tests of a candidate that the baseline does not have and that pass, by
// group and in the files that the patch wrote.
type fresh struct {
	byGroup map[string]int
	written int
}

// newFresh counts them; before has the tests of the baseline under the names that they would have now.
func newFresh(d check.Diff, before map[string]check.TestResult, cand []check.TestResult) *fresh {
	f := &fresh{byGroup: map[string]int{}}
	for _, r := range cand {
		file, _, isTest := strings.Cut(r.ID, "::")
		if _, known := before[r.ID]; known || !isTest || r.Outcome != "passed" {
			continue
		}
		f.byGroup[groupOf(r.ID)]++
		if d.Touched[file] {
			f.written++
		}
	}
	return f
}

// replaced reports whether a test that is gone has come back within its group, and counts it.
func (f *fresh) replaced(d check.Diff, id string) bool {
	group := groupOf(id)
	if f.byGroup[group] == 0 {
		return false
	}
	f.byGroup[group]--
	if file, _, _ := strings.Cut(id, "::"); d.Touched[file] {
		f.written--
	}
	return true
}

// Successors tells which tests may stand in the place of one that is gone: those that pass in
// cand and that base does not have, of its group or, without any, of its file.
func Successors(d check.Diff, base, cand []check.TestResult) func(id string) []string {
	known := map[string]bool{}
	for _, r := range base {
		known[d.NewID(r.ID)] = true
	}
	groups, files := map[string][]string{}, map[string][]string{}
	for _, r := range cand {
		if file, _, isTest := strings.Cut(r.ID, "::"); isTest && !known[r.ID] && r.Outcome == "passed" {
			groups[groupOf(r.ID)], files[file] = append(groups[groupOf(r.ID)], r.ID), append(files[file], r.ID)
		}
	}
	return func(id string) []string {
		if list := groups[groupOf(id)]; len(list) > 0 {
			return list
		}
		file, _, _ := strings.Cut(id, "::")
		return files[file]
	}
}
