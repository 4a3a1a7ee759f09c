package check

import "strings"

// A Diff is what the comparison of two outcomes needs to know about the candidate.
type Diff struct {
	// Moved maps the old path of a renamed file to the new one.
	Moved map[string]string
	// Deleted has the paths that are gone and have no new path.
	Deleted map[string]bool
	// Touched has the paths that the candidate writes.
	Touched map[string]bool
	// Hunks are the rewritten places, by path after the change.
	Hunks map[string][]Region
	// Names are the names in these places, before and after the patch, those of the definitions around them, and those
	// of files that are added or removed.
	Names map[string]bool
	// Given are the Names that a definition, an assignment, an import or a parameter binds there.
	Given map[string]bool
	// Sources reads the candidate's files: the place of a failing test is shown with its line.
	Sources *sources
}

// A Region is one rewritten place of a file: lines [OldFrom, OldTo) became [NewFrom, NewTo), counted from 1.
type Region struct{ OldFrom, OldTo, NewFrom, NewTo int }

// NewID translates a test ID of the base into the one after the renames of test files.
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
