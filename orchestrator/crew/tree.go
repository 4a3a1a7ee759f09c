package crew

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"agent/orchestrator/blame"
	"agent/sandbox/workspace"
)

// A ClashError says that two changes touch the same lines of files, or that one needs a file in a state that it is not in.
type ClashError struct{ Paths []string }

// Error names the files.
func (e *ClashError) Error() string {
	return "both changed the same lines of " + strings.Join(e.Paths, ", ")
}

// Rebase turns a changeset into one that does the same to the workspace of onto, whose files may have changed since. It
// merges texts three ways, by lines. moved says that a file of the changeset differs in onto from what the changeset
// was made on. Rebase does not know whether the result is right: that is for the gates. The error is a *ClashError, or
// comes from reading the workspace.
func Rebase(cs workspace.Changeset, onto *workspace.Manifest) (rebased workspace.Changeset, moved bool, err error) {
	flat, err := cs.Flatten()
	if err != nil {
		return workspace.Changeset{}, false, err
	}
	var clash ClashError
	for _, c := range flat {
		entry, there := onto.Lookup(c.Path)
		var now []byte
		if there {
			if entry.Kind != workspace.File {
				clash.Paths = append(clash.Paths, c.Path)
				continue
			}
			if now, err = onto.ReadFile(c.Path); err != nil {
				return workspace.Changeset{}, false, fmt.Errorf("read the workspace: %w", err)
			}
		}
		moved = moved || there != c.Existed || there && !bytes.Equal(now, c.Before)
		after, ok := Merged(c, now, there)
		switch {
		case !ok:
			clash.Paths = append(clash.Paths, c.Path)
		case there && c.Exists && bytes.Equal(now, after) && c.FinalMode(entry.Mode) == entry.Mode.Perm(): // it is in that state already
		case c.Exists && there:
			ch := workspace.Change{Op: workspace.Modify, Path: c.Path, Before: now, After: after, Mode: c.FinalMode(entry.Mode)}
			if ch.Mode != entry.Mode.Perm() {
				ch.OldMode = entry.Mode.Perm()
			}
			rebased.Changes = append(rebased.Changes, ch)
		case c.Exists:
			kept, _ := onto.Lookup(c.Keep) // of a rename
			rebased.Changes = append(rebased.Changes, workspace.Change{Op: workspace.Create, Path: c.Path, After: after, Mode: c.FinalMode(cmp.Or(kept.Mode, 0o644))})
		case there:
			rebased.Changes = append(rebased.Changes, workspace.Change{Op: workspace.Delete, Path: c.Path, Before: now, Mode: entry.Mode.Perm()})
		}
	}
	if len(clash.Paths) > 0 {
		return workspace.Changeset{}, true, &clash
	}
	return rebased, moved, nil
}

// Merged returns what a file holds after a change, given that it holds now or does not exist. It merges texts by lines.
// ok is false if both changed the same lines, or one of them is not text.
func Merged(c workspace.PathChange, now []byte, there bool) (after []byte, ok bool) {
	switch {
	case there == c.Exists && (!there || bytes.Equal(now, c.After)):
		return c.After, true // it is in that state already
	case there == c.Existed && (!there || bytes.Equal(now, c.Before)):
		return c.After, true
	case !there || !c.Existed || !c.Exists || workspace.IsBinary(now) || workspace.IsBinary(c.Before) || workspace.IsBinary(c.After):
		return nil, false
	}
	whole, clashes := blame.Merge(string(c.Before), string(now), string(c.After))
	return []byte(whole), len(clashes) == 0
}

// Integrate combines the changes of tasks, in the order in which they landed, into one changeset on a workspace, and
// returns the integration tree: that workspace with the changeset. The error of a clash names the number of the change,
// from 1, and wraps a *ClashError.
func Integrate(disk *workspace.Manifest, landed []workspace.Changeset) (whole workspace.Changeset, tree *workspace.Manifest, err error) {
	tree = disk
	for i, cs := range landed {
		next, _, err := Rebase(cs, tree)
		if err != nil {
			return workspace.Changeset{}, nil, fmt.Errorf("change %d: %w", i+1, err)
		}
		if whole, err = whole.Then(next); err != nil {
			return workspace.Changeset{}, nil, fmt.Errorf("change %d: %w", i+1, err)
		}
		// A changeset that does not pass would silently leave the tree as it was.
		if err := whole.Check(); err != nil {
			return workspace.Changeset{}, nil, fmt.Errorf("change %d: %w", i+1, err)
		}
		tree = disk.With(whole)
	}
	return whole, tree, nil
}
