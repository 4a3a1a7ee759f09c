package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/blame"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

// An unmerge takes the changes of a run back from under later edits of the
// same files, or finds out which of them stand in the way.
// It is used once, by one goroutine.
type unmerge struct {
	*session
	of   run.Record
	back workspace.Changeset // the reverse of what the run did
	// Filled in by merge.
	merged workspace.Changeset
	notes  []string // which files were merged
	// Not nil where later edits are in the way: then nothing is written.
	conflict *run.Problem
	// All of them are gathered before anything is said: whoever clears one out of the way
	// should not meet the next by running it again.
	inWay []string // where later edits touch what is undone, and whose they are
}

// merge makes of back what can be written to the workspace as it is now, all
// of it or nothing.
// It writes nothing. A conflict is no error, as it goes on record as the end of the
// undo; an error says that the record or the workspace could not be read, or that
// nothing is left to do. The workspace may change before what it made is written: each
// change carries what it found, and the promotion compares.
func (u *unmerge) merge(ctx context.Context) error {
	if err := checkDirectory(u.of.Workspace); err != nil {
		return err
	}
	for _, c := range u.back.Changes {
		if err := u.change(ctx, c); err != nil {
			return err
		}
	}
	show := "`agent runs diff " + u.of.ID + "` shows what it did"
	switch {
	case len(u.inWay) > 0:
		u.conflict = &run.Problem{
			Kind: "conflict", Next: "undo the later runs first, the newest first, or edit by hand: " + show,
			Message: fmt.Sprintf("run %s cannot be taken back from under later edits: %s; nothing was written", u.of.ID, strings.Join(u.inWay, "; ")),
		}
	case u.merged.Empty():
		return fault.Usage(show, "nothing of run %s is left to undo: its files are as they were before it", u.of.ID)
	}
	return nil
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
	now, err := workspace.ReadFile(u.of.Workspace, name)
	gone := errors.Is(err, fs.ErrNotExist)
	switch {
	case c.Op == workspace.Create && gone, c.Op != workspace.Create && err == nil && bytes.Equal(now, c.Before):
		u.merged.Changes = append(u.merged.Changes, c) // as the run left it
		return nil
	case gone:
		return u.touched(ctx, name, "", "is gone", nil)
	case err != nil:
		u.inWay = append(u.inWay, err.Error())
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
	u.merged.Changes = append(u.merged.Changes, c)
	u.notes = append(u.notes, fmt.Sprintf("%s is merged with later edits (%s): nobody has proved the text that comes of it", name, strings.Join(later, ", ")))
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
		u.inWay = append(u.inWay, fmt.Sprintf("%s %s (%s)", name, why, strings.Join(later, ", ")))
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
		u.inWay = append(u.inWay, at+" ("+strings.Join(who, ", ")+")")
	}
	return nil
}

// later tells who brought each line of a file, and who edited it since the run:
// runs that stand, and people.
// lines has an entry for each line of now; later is in the order of the first edits,
// without repetition.
func (u *unmerge) later(ctx context.Context, name, now string) (lines, later []string, err error) {
	t, err := u.timeline(ctx, u.of.Workspace, name, now)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range t.lines() {
		lines = append(lines, o.who())
	}
	for i, o := range t.by {
		// The version after the one that the promotion found is what it made.
		after := i > t.before[u.of.ID]+1
		if after && !t.undone[o.Run] && !slices.Contains(later, o.who()) {
			later = append(later, o.who())
		}
	}
	return lines, later, nil
}
