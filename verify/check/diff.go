package check

import "strings"

// A Diff is what the comparison of two outcomes needs to know of the candidate.
type Diff struct {
	// Old path of a renamed file to the new one.
	Moved map[string]string
	// Paths that are gone without a new one.
	Deleted map[string]bool
	// Paths that the candidate writes.
	Touched map[string]bool
	// Rewritten places, by path after the change.
	Hunks map[string][]Region
	// The names in these places, before the patch and after it, those of the definitions
	// around them, and those of files that come or go.
	Names map[string]bool
	// Those of them that are given to something there: by a definition, an assignment, an
	// import or a parameter.
	Given map[string]bool
	// Of the candidate: the place of a failing test is shown with its line.
	Sources *sources
}

// A Region is one rewritten place of a file: the lines [OldFrom, OldTo) became
// [NewFrom, NewTo), counted from 1.
type Region struct{ OldFrom, OldTo, NewFrom, NewTo int }

// NewID follows renames of test files.
func (d Diff) NewID(id string) string {
	file, rest, cut := strings.Cut(id, "::")
	if to, ok := d.Moved[file]; ok {
		file = to
	}
	if !cut {
		return file
	}
	return file + "::" + rest
}
