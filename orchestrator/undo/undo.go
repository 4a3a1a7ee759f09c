// Package undo takes back the changes of a run underneath later edits of the same files, or finds out which of those edits are in the
// way. It reads the workspace and writes nothing: its result goes through a promotion, which compares the files again.
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

// A History returns the timeline of a file, named relative to its workspace; now is its current text.
type History func(ctx context.Context, name, now string) (*blame.Timeline, error)

// A Merge is the result of taking a run back. Either all of its changes are to be written or none, and none if an edit is in the way.
type Merge struct {
	Changes workspace.Changeset
	Notes   []string // which files were merged, as sentences
	// Conflicts are the places where later edits touch what is undone, and whose edits they are. All of them are listed, so that
	// removing one does not just reveal the next.
	Conflicts []string
}

// An unmerge is a Merge in progress.
type unmerge struct {
	Merge
	dir, run string
	history  History
}

// Plan turns back, the reverse of what a run did to the workspace dir, into what can be written there now. It writes nothing. Conflicts
// are not an error; an error says that the history could not be read. Without an error, changes and conflicts may both be empty: then
// nothing is left to undo. The workspace may change before the result is written: each change carries what it found.
func Plan(ctx context.Context, dir, run string, back workspace.Changeset, history History) (Merge, error) {
	u := unmerge{dir: dir, run: run, history: history}
	for _, c := range back.Changes {
		if err := u.change(ctx, c); err != nil {
			return u.Merge, err
		}
	}
	return u.Merge, nil
}

// change takes over one change, merged with what was done to its file since. It merges only texts: what should become of a file that
// was created, deleted, moved or changed its mode meanwhile would be a guess. c is the reverse: Create brings back what the run
// deleted, and Before is what the run left.
func (u *unmerge) change(ctx context.Context, c workspace.Change) error {
	name := c.Path
	if c.Op == workspace.Rename {
		// The path to which the run moved the file.
		name = c.From
	}
	// Links are not followed: a link that is there now is in the way, like any other edit.
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
		return u.touched(ctx, name, string(now), "exists again", nil)
	case c.Op != workspace.Modify || c.OldMode != 0:
		return u.touched(ctx, name, string(now), "was edited", nil)
	case workspace.IsBinary(now) || workspace.IsBinary(c.Before) || workspace.IsBinary(c.After):
		return u.touched(ctx, name, string(now), "is binary and was changed", nil)
	}
	// What the run left is the base; later edits are one side, and the undo is the other.
	text, clashes := blame.Merge(string(c.Before), string(now), string(c.After))
	if len(clashes) > 0 {
		return u.touched(ctx, name, string(now), "", clashes)
	}
	// Already taken back by hand: nothing is left to do here.
	if text == string(now) {
		return nil
	}
	_, later, err := u.later(ctx, name, string(now))
	c.Before, c.After = now, []byte(text)
	u.Changes.Changes = append(u.Changes.Changes, c)
	u.Notes = append(u.Notes, fmt.Sprintf("%s is merged with later edits (%s): the merged text is not proved", name, strings.Join(later, ", ")))
	return err
}

// touched notes that later edits of a file are in the way: at the places given, or as a whole. now is the file's text. why is about the
// whole file, and unused with places. The error comes from the record.
func (u *unmerge) touched(ctx context.Context, name, now, why string, places []blame.Clash) error {
	lines, later, err := u.later(ctx, name, now)
	if err != nil {
		return err
	}
	if len(places) == 0 {
		u.Conflicts = append(u.Conflicts, fmt.Sprintf("%s %s (%s)", name, why, strings.Join(later, ", ")))
	}
	for _, p := range places {
		// Nothing tells who removed lines that are gone.
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

// later tells who brought each line of a file, and who edited it since the run: people, and runs that were not undone. lines has an
// entry for each line of now. later is in the order of the first edits, without duplicates.
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
