package audit

import (
	"slices"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/compare"
)

// Texts returns the numbers of all lines in the files that a changeset touches, before and after it.
func Texts(cs workspace.Changeset) (before, after check.Lines) {
	before, after = check.Lines{}, check.Lines{}
	for _, c := range cs.Changes {
		if c.Op != workspace.Create {
			before[check.OldPath(c)] = check.LinesOf(c.Before)
		}
		if c.Op != workspace.Delete {
			after[c.Path] = check.LinesOf(c.After)
		}
	}
	return before, after
}

// Does counts the lines in a changeset's files that the program executed: before the patch, in then, and after it, in now.
func Does(cs workspace.Changeset, then, now check.Lines) check.Does {
	does := check.Does{Then: then.Count(), Now: now.Count()}
	for _, c := range cs.Changes {
		if c.Op == workspace.Create || c.Op == workspace.Delete {
			continue
		}
		before, after := compare.Kept(c)
		for i, n := range after {
			_, still := slices.BinarySearch(now[c.Path], n)
			_, was := slices.BinarySearch(then[check.OldPath(c)], before[i])
			switch {
			case still:
				does.Kept++
			case was:
				does.Lost++
			}
		}
	}
	return does
}
