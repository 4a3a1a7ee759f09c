package edit

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"agent/cmd/agent/internal/checkpoint"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
	"agent/verify/policy"
)

// editJournal is the prefix of every journal that `agent edit` writes. A run's name has no dash, so one is never
// mistaken for the other.
const editJournal = "edit-"

// hold takes the workspace's lock and settles what a dead process left in it; release gives the lock back. Without
// --write, even a locked workspace can be read: the digest of a file reveals a change under the reader.
func (e *editing) hold(ctx context.Context) (release func(), err error) {
	lock, err := e.found.Acquire()
	var moved *promotion.ConflictError
	switch {
	// A run holds its workspace for minutes; a reader need not wait.
	case errors.Is(err, promotion.ErrLocked) && !e.write:
		return func() {}, nil
	case errors.Is(err, promotion.ErrLocked):
		return nil, &fault.Error{
			Exit: run.ExitConflict, Kind: run.ProblemConflict, Err: err,
			Next: "wait for it to end, or stop that process, then run the same command again",
		}
	case errors.As(err, &moved):
		return nil, e.unplaced(moved)
	case err != nil:
		return nil, e.unread(err)
	}
	e.lock = lock
	release = func() { lock.Release() } // a descriptor that was only read: nothing to lose
	if err := e.settle(ctx); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// settle completes writes that a dead process left half-done. A run's journal is evidence that the record still needs:
// its files are repaired here, and the journal stays for a command that has the record.
func (e *editing) settle(ctx context.Context) error {
	found, err := e.lock.Recover(ctx)
	if err != nil {
		return fault.Infra("make sure that "+e.dir+" can be written, then run again", "settle an interrupted write: %w", err)
	}
	if old := e.lock.OldJournals(); len(old) > 0 {
		fmt.Fprintln(e.Stderr, "note: "+term.Clean(run.OldJournalNote(old)))
	}
	// Recovery can be repeated until a journal is discarded, so leaving one in place loses nothing.
	for _, r := range found {
		if !strings.HasPrefix(r.ID, editJournal) {
			if !e.write {
				continue
			}
			return fault.Infra("run `agent runs list`, which records how it ended, then this command again",
				"run %s was interrupted while it wrote; its files are settled, its record is not", r.ID)
		}
		fmt.Fprintf(e.Stderr, "agent: cleaned up after an interrupted edit: %s\n", r.Outcome)
		if err := e.note(r.Discard()); err != nil {
			return fault.Infra("make sure that "+e.dir+" can be written, then run again", "remove an old journal: %w", err)
		}
	}
	return nil
}

// note reports bytes that were written at the last moment and were saved next to their file: worth a line, but no
// problem. It returns any other error.
func (e *editing) note(err error) error {
	var kept *promotion.KeptError
	if errors.As(err, &kept) {
		fmt.Fprintln(e.Stderr, "note: "+term.Clean(kept.Error()))
		return nil
	}
	return err
}

// approve decides whether the changeset may be written. --write answers everything except blocking holds: those need
// --allow, or a person at the terminal.
func (e *editing) approve(ctx context.Context) error {
	open := checkpoint.Open(e.doc.Holds, e.allow)
	if len(open) == 0 {
		return nil
	}
	held := fault.Policy("look at the diff, then add"+allowing(open), "the patch changes files that --write alone does not approve: %s", checkpoint.ListHolds(open))
	if !e.Attended() {
		return held
	}
	// With --json nothing has been shown yet.
	if e.json {
		checkpoint.Preview(&e.Console, e.doc.Diff, "`agent edit --json` shows all")
	}
	switch said, err := checkpoint.Confirm(ctx, &e.Console, checkpoint.ListHolds(open)+"\n"); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // the end of input, or of the terminal: no one is there
		return held
	case !said:
		return fault.Policy("nothing was written", "the patch was not approved")
	}
	return nil
}

// allowing returns the flags that approve holds.
func allowing(holds []policy.Hold) string {
	// One flag per kind, however many files it concerns.
	var flags []string
	for _, h := range holds {
		if flag := " --allow " + h.Kind; !slices.Contains(flags, flag) {
			flags = append(flags, flag)
		}
	}
	return strings.Join(flags, "")
}

// place writes the changeset through the journal of every promotion. From the first rename on it cannot be cancelled:
// the rest takes milliseconds and completes.
func (e *editing) place(ctx context.Context, base *workspace.Manifest, cs workspace.Changeset) error {
	// Two edits never share a name, even if a clock is set back.
	prepared, err := e.lock.Prepare(ctx, cs, editJournal+rand.Text(), base)
	if err != nil {
		return e.unplaced(err)
	}
	steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err = prepared.Commit(steady)
	// There is no record to write: the journal is no longer needed once the files are in place, or back.
	if cerr := e.note(prepared.Close()); cerr != nil {
		fmt.Fprintln(e.Stderr, "note: remove the journal: "+term.Clean(cerr.Error())+"; the next command removes it")
	}
	if err != nil {
		return e.unplaced(err)
	}
	return nil
}

// unplaced returns the error for a changeset that was not written.
func (e *editing) unplaced(err error) error {
	var conflict *promotion.ConflictError
	if errors.As(err, &conflict) {
		return &fault.Error{
			Exit: run.ExitConflict, Kind: run.ProblemConflict, Err: conflict,
			Next: cmp.Or(conflict.Next, "the files were kept as they are; make the patch again from them"),
		}
	}
	var path *workspace.PathError
	if errors.As(err, &path) {
		return &fault.Error{Exit: run.ExitFail, Kind: run.ProblemPatch, Next: "fix that path, then run again", Err: fmt.Errorf("the patch may not write that: %w", path)}
	}
	// A full disk is the only cause with a remedy of its own; the error describes anything else that a file system
	// refuses.
	next := "make sure that " + e.dir + " can be written, then run again"
	if errors.Is(err, syscall.ENOSPC) {
		next = "make room on the disk, then run again"
	}
	return fault.Infra(next, "write to the workspace: %w", err)
}
