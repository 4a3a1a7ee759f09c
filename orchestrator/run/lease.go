package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"agent/orchestrator/gate"
	"agent/sandbox"
	"agent/sandbox/workspace/promotion"
	"agent/verify"
)

// Execute records rec as a new run in the workspace at place, starts its heartbeat, takes the workspace's lock, calls work and records
// the ending that work returns. The document is always complete.
func (r *Runner) Execute(ctx context.Context, rec Record, place *promotion.Place, work func(context.Context, *Execution) Ending) Document {
	return r.execute(ctx, rec, place, func(ctx context.Context, x *Execution) Ending { return x.locked(ctx, work) })
}

// execute is like Execute, but leaves it to work to take the lock if it needs it.
func (r *Runner) execute(ctx context.Context, rec Record, place *promotion.Place, work func(context.Context, *Execution) Ending) Document {
	rec.Workspace = place.Path
	rec.ID, rec.Owner, rec.Token, rec.State, rec.Started = NewID(time.Now()), sandbox.Owner(), 1, Queued, time.Now()
	x := &Execution{runner: r, rec: rec, place: place, notifier: r.notifier(rec.ID)}
	x.doc = Document{Run: rec.ID, State: Queued, Workspace: rec.Workspace, Candidates: []gate.Document{}}
	if err := r.Store.Create(ctx, x.rec); err != nil {
		x.doc.Run = ""
		return x.close(End(Failed, x.Trouble(ctx, "record the run", err)))
	}
	ctx = r.Log.Of(ctx, rec.ID)
	Enter(ctx, Entry{Kind: StateEntry, Actor: "agent", Subject: string(Queued), Detail: map[string]any{"note": rec.Intent, "owner": rec.Owner}})
	x.Notify(Event{State: Queued, Note: rec.Intent})

	working, stop := context.WithCancelCause(ctx)
	var beating sync.WaitGroup
	beating.Go(func() { x.beat(working, stop) })
	end := work(working, x)
	end.Unproven = x.unproven
	end = end.hidden(r.hide)
	stop(nil)
	beating.Wait()
	x.alongside.Wait()

	// A caller that waits for the run waits for its database too; only one that cancelled the run is not kept waiting.
	settled, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(SettleFor, cancel) })()
	// What the run did is kept before its end is: a run that ended has a whole log.
	logEnd(ctx, end)
	if err := r.Log.Flush(settled, x.rec.ID); err != nil && end.Verdict != verify.Infra {
		end = unrecorded(end, err)
	}
	if err := r.Store.Finish(settled, x.rec.ID, x.rec.Token, end); err != nil && end.Verdict != verify.Infra {
		end = unrecorded(end, err)
	}
	x.followUp(ctx)
	return x.close(end)
}

// followUp starts the work that follows a run: it keeps what the run saw, and makes the snapshot anew if the next run should find
// another.
func (x *Execution) followUp(ctx context.Context) {
	if x.runner.AfterRun == nil || x.seen == nil {
		return
	}
	if x.runner.Recorder != nil {
		x.runner.AfterRun.Go(func() { x.keepSeen(ctx) })
	}
	if st := x.seen.stage; st.Outgrown() {
		x.Notify(Event{Note: "the snapshot is made anew for the next run, in the background"})
		x.runner.AfterRun.Go(func() { x.Gate(x.seen.req).Renew(ctx, st, x.seen.req.Exclude) })
	}
}

// locked calls work with the workspace's lock held and old journals settled.
func (x *Execution) locked(ctx context.Context, work func(context.Context, *Execution) Ending) Ending {
	lock, err := x.place.Acquire()
	if errors.Is(err, promotion.ErrLocked) {
		return End(Conflicted, &Problem{
			Kind: ProblemConflict, Message: x.holder(ctx),
			Next: "wait for it to end, or stop that process, then run the same command again",
		})
	}
	if err != nil {
		return x.unread(ctx, "lock the workspace", err)
	}
	defer lock.Release() // closes a descriptor that was opened for reading: nothing to lose
	x.lock = lock
	if err := settleJournals(ctx, lock); err != nil {
		return End(Failed, x.Trouble(ctx, "settle an interrupted promotion", err))
	}
	if old := lock.OldJournals(); len(old) > 0 {
		x.Notify(Event{Note: OldJournalNote(old)})
	}
	return work(ctx, x)
}

// OldJournalNote says what to do about journals that lie in the workspace itself.
func OldJournalNote(paths []string) string {
	return "ignored " + strings.Join(paths, ", ") + ": an earlier version of agent left it, or it came with the workspace; " +
		"if a command of an earlier version was killed here, compare the files with your version control; then remove it"
}

// settleJournals settles promotions that a dead process left in the workspace, for journals whose run the store no longer knows.
func settleJournals(ctx context.Context, lock *promotion.Lock) error {
	found, err := lock.Recover(ctx)
	if err != nil {
		return err
	}
	for _, rec := range found {
		if err := discard(rec); err != nil {
			return err
		}
	}
	return nil
}

// discard removes the journal of a settled promotion. It is not an error if bytes that somebody wrote at the last moment were saved
// beside their file.
func discard(rec promotion.Recovery) error {
	err := rec.Discard()
	var kept *promotion.KeptError
	if errors.As(err, &kept) {
		return nil
	}
	return err
}

// holder says who holds the workspace.
func (x *Execution) holder(ctx context.Context) string {
	const unknown = "another process is working on this workspace"
	if x.runner.Orphans == nil {
		return unknown
	}
	open, err := x.runner.Orphans.Unfinished(ctx)
	if err != nil {
		return unknown
	}
	for _, r := range open {
		if r.Workspace == x.rec.Workspace && r.ID != x.rec.ID {
			return fmt.Sprintf("run %s (%s) has held this workspace since %s; its process is %s",
				r.ID, r.Intent, r.Started.Local().Format(time.DateTime), r.Owner)
		}
	}
	return unknown
}

// beat renews the heartbeat until ctx ends. If the run was taken over, beat stops it.
func (x *Execution) beat(ctx context.Context, stop context.CancelCauseFunc) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := x.runner.Store.Beat(ctx, x.rec.ID, x.rec.Token); errors.Is(err, ErrFenced) {
				stop(ErrFenced)
				return
			}
		}
	}
}
