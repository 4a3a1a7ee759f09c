package check

import (
	"slices"
	"strings"

	"agent/sandbox/workspace"
)

// OldPath returns the path of a changed file before the change.
func OldPath(c workspace.Change) string {
	if c.Op == workspace.Rename {
		return c.From
	}
	return c.Path
}

// SplitChanges separates the changes to files that such selects from the rest. A rename between the two sets becomes a
// deletion and a creation: otherwise a source file that begins or ends as configuration would be put back with the
// configuration and never be checked.
func SplitChanges(cs workspace.Changeset, such func(p string) bool) (those, rest workspace.Changeset) {
	add := func(c workspace.Change) {
		if such(c.Path) {
			those.Changes = append(those.Changes, c)
		} else {
			rest.Changes = append(rest.Changes, c)
		}
	}
	for _, c := range cs.Changes {
		if c.Op != workspace.Rename || such(c.Path) == such(c.From) {
			add(c)
			continue
		}
		// OldMode is set only if the rename alters the mode.
		before := c.Mode
		if c.OldMode != 0 {
			before = c.OldMode
		}
		add(workspace.Change{Op: workspace.Delete, Path: c.From, Before: c.Before, Mode: before})
		add(workspace.Change{Op: workspace.Create, Path: c.Path, After: c.After, Mode: c.Mode})
	}
	sortChanges(those.Changes)
	sortChanges(rest.Changes)
	return those, rest
}

// sortChanges puts changes in the order of a Changeset.
func sortChanges(changes []workspace.Change) {
	slices.SortFunc(changes, func(a, b workspace.Change) int { return strings.Compare(a.Path, b.Path) })
}
