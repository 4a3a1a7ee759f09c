// Package undo takes the changes of a run back from under later edits of the same files, or
// finds out which of them are in the way. It reads the workspace and writes nothing: what it
// makes goes through a promotion, which compares the files again.
package undo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"agent/orchestrator/blame"
	"agent/sandbox/workspace"
)

// A History returns the timeline of a file, named relative to its workspace, that holds now.
type History func(ctx context.Context, name, now string) (*blame.Timeline, error)

// A Merge is what taking a run back comes to. Its changes are to be written all or none, and
// none where an edit is in the way.
type Merge struct {
	Changes workspace.Changeset
	Notes   []string // which files were merged, as sentences
	// Conflicts are the places where later edits touch what is undone, and whose they are.
	// All of them are gathered, so that clearing one out of the way does not lead to the next.
	Conflicts []string
}

// An unmerge is a merge under way.
type unmerge struct {
	Merge
	dir, run string
	history  History
}

// Plan makes of back, the reverse of what a run did to the workspace dir, what can be written
// there now. It writes nothing.
// Conflicts are no error; an error says that the history could not be read. Without an error,
// changes and conflicts may all be empty: then nothing is left to undo. The workspace may
// change before the result is written: each change carries what it found.
func Plan(ctx context.Context, dir, run string, back workspace.Changeset, history History) (Merge, error) {
	u := unmerge{dir: dir, run: run, history: history}
	for _, c := range back.Changes {
		if err := u.change(ctx, c); err != nil {
			return u.Merge, err
		}
	}
	return u.Merge, nil
}

// change takes one change over, merged with what was done to its file since.
// Only texts are merged: what is to become of a file that came, went, moved or
// changed its mode meanwhile would be a guess.
// c is the reverse: Create brings back what the run deleted, and Before is what the run
// left.
func (u *unmerge) change(ctx context.Context, c workspace.Change) error {
	name := c.Path
	if c.Op == workspace.Rename {
		// Where the file lies since the run moved it.
		name = c.From
	}
	// No link is followed: one that stands there now is in the way, like any other edit.
	now, err := workspace.ReadFile(u.dir, name)
	gone := errors.Is(err, fs.ErrNotExist)
	switch {
	case c.Op == workspace.Create && gone, c.Op != workspace.Create && err == nil && bytes.Equal(now, c.Before):
		u.Changes.Changes = append(u.Changes.Changes, c) // as the run left it
		return nil
	case gone:
		return u.touched(ctx, name, "", "is gone", nil)
	case err != nil:
		u.Conflicts = append(u.Conflicts, err.Error())
		return nil
	case c.Op == workspace.Create:
		return u.touched(ctx, name, string(now), "is there again", nil)
	case c.Op != workspace.Modify || c.OldMode != 0:
		return u.touched(ctx, name, string(now), "was edited", nil)
	case workspace.IsBinary(now) || workspace.IsBinary(c.Before) || workspace.IsBinary(c.After):
		return u.touched(ctx, name, string(now), "is binary and was changed", nil)
	}
	// What the run left is the base; later edits are one side, the undo the other.
	text, clashes := blame.Merge(string(c.Before), string(now), string(c.After))
	if len(clashes) > 0 {
		return u.touched(ctx, name, string(now), "", clashes)
	}
	// Taken back by hand already: nothing is left to do here.
	if text == string(now) {
		return nil
	}
	_, later, err := u.later(ctx, name, string(now))
	c.Before, c.After = now, []byte(text)
	u.Changes.Changes = append(u.Changes.Changes, c)
	u.Notes = append(u.Notes, fmt.Sprintf("%s is merged with later edits (%s): the merged text is not proved", name, strings.Join(later, ", ")))
	return err
}

// touched notes that later edits of a file, which holds now, stand in the way:
// at the places given, or as a whole.
// why is for the file as a whole, and not used with places. The error is that of the
// record.
func (u *unmerge) touched(ctx context.Context, name, now, why string, places []blame.Clash) error {
	lines, later, err := u.later(ctx, name, now)
	if err != nil {
		return err
	}
	if len(places) == 0 {
		u.Conflicts = append(u.Conflicts, fmt.Sprintf("%s %s (%s)", name, why, strings.Join(later, ", ")))
	}
	for _, p := range places {
		// Of lines that were taken away nothing tells who did it.
		who := later
		if p.Last >= p.First {
			who = slices.Compact(slices.Sorted(slices.Values(lines[p.First-1 : p.Last])))
		}
		at := fmt.Sprintf("%s:%d-%d", name, p.First, p.Last)
		if p.Last <= p.First {
			at = fmt.Sprintf("%s:%d", name, p.First)
		}
		u.Conflicts = append(u.Conflicts, at+" ("+strings.Join(who, ", ")+")")
	}
	return nil
}

// later tells who brought each line of a file, and who edited it since the run:
// runs that stand, and people.
// lines has an entry for each line of now; later is in the order of the first edits,
// without repetition.
func (u *unmerge) later(ctx context.Context, name, now string) (lines, later []string, err error) {
	t, err := u.history(ctx, name, now)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range t.Origins() {
		lines = append(lines, o.Who())
	}
	for _, o := range t.Since(u.run) {
		if !t.Undone(o.Run) && !slices.Contains(later, o.Who()) {
			later = append(later, o.Who())
		}
	}
	return lines, later, nil
}
