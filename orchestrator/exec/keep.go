package exec

import (
	"context"
	"fmt"
	"slices"
	"time"

	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

const (
	// KeptFor is the longest time that a workbench is kept, from its first command on.
	KeptFor = 8 * time.Hour
	// MostKept is how many workbenches may be kept at the same time: each holds its files in memory.
	MostKept = 4
)

// Held is what a kept workbench holds.
type Held struct {
	// Run is the run that left it.
	Run string
	// Changes is what its last command left, relative to the workspace at that time.
	Changes workspace.Changeset
	// Promoted says that the changes were written to the workspace.
	Promoted bool
}

// A stopped says why no command may run.
type stopped struct {
	state run.State
	told  *run.Problem
}

// name returns the name of a box for people.
func name(box Box) string { return fmt.Sprintf("%.12s", box.ID()) }

// prepare makes a workbench ready for a command. A kept one gets what was edited on the host since. Every one gets a git repository, in
// which a command may commit.
func prepare(ctx context.Context, x *run.Execution, box Box, base *workspace.Manifest, in *Held) *stopped {
	if in == nil {
		begin(ctx, box, base)
		return nil
	}
	found, _, err := takeOut(ctx, box, base)
	if err != nil {
		state, told := untaken(ctx, x, err)
		return &stopped{state, told}
	}
	newer, conflict := in.outdated(found)
	if conflict != "" {
		problem := &run.Problem{
			Kind: run.ProblemConflict, Message: conflict + " has changed both in the kept workbench and on the host; the host's version stays",
			Next: "omit --in to begin with a fresh one; what was changed there is in run " + in.Run,
		}
		if err := box.Keep(ctx, in.Run); err != nil { // unchanged: nothing has happened to it
			problem.Next += "; the workbench is gone"
		}
		return &stopped{run.Conflicted, problem}
	}
	if !newer.Empty() {
		x.Notify(run.Event{Note: "update the workbench with what is newer here: " + run.Count(len(newer.Changes), "file")})
		if err := box.Apply(ctx, newer); err != nil {
			return &stopped{run.Failed, x.Trouble(ctx, "bring the workbench up to date", err)}
		}
	}
	if len(newer.Changes) == len(found.Changes) { // it equals the workspace now: what is committed from here on is new
		begin(ctx, box, base)
	}
	return nil
}

// outdated returns the changes that turn a workbench that differs from the workspace by found into one that differs only by its own
// changes: files that it did not change, or whose change was written meanwhile, become those of the host. conflict names a file that
// both changed.
func (h *Held) outdated(found workspace.Changeset) (newer workspace.Changeset, conflict string) {
	for _, c := range found.Changes {
		i := slices.IndexFunc(h.Changes.Changes, func(own workspace.Change) bool { return own.Path == c.Path || own.From == c.Path })
		switch {
		case h.Promoted || i < 0:
		case h.Changes.Changes[i].Path == c.Path && h.Changes.Changes[i].BeforeDigest() == c.BeforeDigest():
			continue // the host has what it had when the workbench changed it
		case h.Changes.Changes[i].AfterDigest() != c.BeforeDigest(): // otherwise it was written by hand, or by another run
			return workspace.Changeset{}, c.Path
		}
		newer.Changes = append(newer.Changes, c)
	}
	return newer.Reverse(), ""
}
