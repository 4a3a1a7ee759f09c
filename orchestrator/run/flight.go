package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"agent/sandbox"
	"agent/sandbox/workspace/promotion"
	"agent/sandbox/workspace/secret"
	"agent/verify"
	"agent/verify/policy"
)

const (
	// beatEvery is how often a run renews its heartbeat.
	beatEvery = 30 * time.Second
	// orphanAfter is the age of a heartbeat beyond which a run whose process
	// cannot be looked at counts as dead: three beats missed.
	orphanAfter = 90 * time.Second
	// leaseFor bounds the life of a box whatever happens to its owner. It is
	// longer than all the time limits of one candidate together.
	leaseFor = 30 * time.Minute
	// settleFor is how long a run that was cancelled may take to record its end.
	settleFor = 5 * time.Second
	// rescans is how often a workspace that changes during its snapshot is
	// scanned anew before the run gives up.
	rescans = 3
)

// A flight is one run under way: the record, and what the document will say.
type flight struct {
	*Runner
	rec Record
	doc Document
	// The workspace, locked and held open; nil before that.
	lock *promotion.Lock
	// What the request protects.
	protect *policy.Protection
	// The open proposal that the run takes up, or made itself; 0 for none.
	proposal int64
	// What no gate judged of the candidate that decides, or came last.
	unproven []verify.Unproven

	// Makes the snapshot anew for the next run; nil for nothing.
	renew func(context.Context)
	// What goes on beside the run, and ends before it does.
	beside sync.WaitGroup
	// Keeps what the run saw; nil where nothing was judged.
	recording func(context.Context) error

	emitting sync.Mutex // candidates are judged at the same time, and told of one at a time
}

// launch records rec as a new run, starts its heartbeat, takes the workspace's
// lock and gives everything to fly. It always returns a complete document.
func (r *Runner) launch(ctx context.Context, rec Record, fly func(context.Context, *flight) Ending) Document {
	rec.ID, rec.Owner, rec.Token, rec.State, rec.Started = newID(time.Now()), sandbox.Owner(), 1, Queued, time.Now()
	f := &flight{Runner: r, rec: rec}
	f.doc = Document{Run: rec.ID, State: Queued, Workspace: rec.Workspace, Candidates: []DocumentCandidate{}}
	if err := r.Store.Create(ctx, f.rec); err != nil {
		f.doc.Run = ""
		return f.close(endWith(Failed, f.trouble(ctx, "record the run", err)))
	}
	ctx = r.Log.of(ctx, rec.ID)
	Enter(ctx, Entry{Kind: StateEntry, Actor: "agent", Subject: string(Queued), Detail: map[string]any{"note": rec.Intent, "owner": rec.Owner}})
	f.emit(Event{State: Queued, Note: rec.Intent})

	flying, stop := context.WithCancelCause(ctx)
	var beating sync.WaitGroup
	beating.Go(func() { f.beat(flying, stop) })
	end := f.locked(flying, fly)
	end.Unproven = f.unproven
	end = end.hidden(f.hide)
	stop(nil)
	beating.Wait()
	f.beside.Wait()

	// Who waits for the run waits for its database too; only who cancelled it
	// is not kept waiting.
	settled, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(settleFor, cancel) })()
	// What the run did is kept before its end is: one that ended has a whole log.
	logEnd(ctx, end)
	if err := r.Log.Flush(settled, f.rec.ID); err != nil && end.Verdict != verify.Infra {
		end = unrecorded(end, err)
	}
	if err := r.Store.Finish(settled, f.rec.ID, f.rec.Token, end); err != nil && end.Verdict != verify.Infra {
		end = unrecorded(end, err)
	}
	f.follow(ctx)
	return f.close(end)
}

// follow has done what nobody waits for: what the run saw is kept, and the snapshot made
// anew.
func (f *flight) follow(ctx context.Context) {
	if f.Later == nil {
		return
	}
	if f.recording != nil && f.Recorder != nil {
		f.Later(func() {
			ctx, cancel := context.WithTimeout(ctx, keepDuration)
			defer cancel()
			if err := f.recording(ctx); err != nil && ctx.Err() == nil {
				f.emit(Event{Note: "the run cannot be replayed: " + err.Error()})
			}
		})
	}
	if f.renew != nil {
		f.emit(Event{Note: "the snapshot is made anew for the next run, beside what follows"})
		f.Later(func() {
			ctx, cancel := context.WithTimeout(ctx, renewFor)
			defer cancel()
			f.renew(ctx)
		})
	}
}

// locked runs fly with the workspace's lock held and old journals settled.
func (f *flight) locked(ctx context.Context, fly func(context.Context, *flight) Ending) Ending {
	lock, err := promotion.Acquire(f.rec.Workspace)
	if errors.Is(err, promotion.ErrLocked) {
		return endWith(Conflicted, &Problem{
			Kind: "conflict", Message: f.holder(ctx),
			Next: "wait for it to end, or stop that process, then run the same command again",
		})
	}
	if err != nil {
		return endWith(Failed, f.trouble(ctx, "lock the workspace", err))
	}
	defer lock.Release() // closing a descriptor that we opened for reading: nothing to lose
	f.lock = lock
	if err := settleJournals(ctx, lock); err != nil {
		return endWith(Failed, f.trouble(ctx, "settle an interrupted promotion", err))
	}
	if old := lock.OldJournals(); len(old) > 0 {
		f.emit(Event{Note: OldJournalNote(old)})
	}
	return fly(ctx, f)
}

// OldJournalNote says what is to be done about journals that lie in the
// workspace itself.
func OldJournalNote(paths []string) string {
	return "ignored " + strings.Join(paths, ", ") + ": an earlier version of agent left it, or it came with the workspace; " +
		"if a command of an earlier version was killed here, compare the files with your version control; then remove it"
}

// settleJournals brings promotions that a dead process left in the workspace to
// an end, for journals whose run the store does not know any more.
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

// discard removes the journal of a settled promotion. Bytes that somebody wrote
// at the last moment and that were saved beside their file are no trouble.
func discard(rec promotion.Recovery) error {
	err := rec.Discard()
	var kept *promotion.KeptError
	if errors.As(err, &kept) {
		return nil
	}
	return err
}

// holder says who has the workspace.
func (f *flight) holder(ctx context.Context) string {
	const unknown = "another process is working on this workspace"
	if f.Orphans == nil {
		return unknown
	}
	open, err := f.Orphans.Unfinished(ctx)
	if err != nil {
		return unknown
	}
	for _, r := range open {
		if r.Workspace == f.rec.Workspace && r.ID != f.rec.ID {
			return fmt.Sprintf("run %s (%s) holds this workspace since %s; its process is %s",
				r.ID, r.Intent, r.Started.Local().Format(time.DateTime), r.Owner)
		}
	}
	return unknown
}

// beat renews the heartbeat until ctx ends; when the run was taken over it
// stops the flight.
func (f *flight) beat(ctx context.Context, stop context.CancelCauseFunc) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := f.Store.Beat(ctx, f.rec.ID, f.rec.Token); errors.Is(err, ErrFenced) {
				stop(ErrFenced)
				return
			}
		}
	}
}

// enter records that the run is in state to, and tells the watcher.
func (f *flight) enter(ctx context.Context, to State, note string) error {
	if err := f.rec.State.check(to); err != nil {
		return err
	}
	note = f.hide(note)
	if err := f.Store.Advance(ctx, f.rec.ID, f.rec.Token, to, note, f.rec.Snapshot); err != nil {
		return err
	}
	f.rec.State = to
	Enter(ctx, Entry{Kind: StateEntry, Actor: "agent", Subject: string(to), Detail: map[string]any{"note": note}})
	f.emit(Event{State: to, Note: note})
	return nil
}

// request records a request that left a box, as a note among the states of the run;
// also that of a run that was cancelled meanwhile. The watcher is told of what was
// refused, since that explains why a test fails.
func (f *flight) request(ctx context.Context, e verify.Event) error {
	logRequest(ctx, e)
	note, _ := secret.Hide(f.hide(e.Gate + ": " + e.Request.String()))
	if !e.Request.Allowed {
		f.emit(Event{Note: note})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleFor)
	defer cancel()
	return f.Store.Advance(ctx, f.rec.ID, f.rec.Token, f.rec.State, note, "")
}

// emit tells the watcher of e. It may be called from any goroutine.
func (f *flight) emit(e Event) {
	f.emitting.Lock()
	defer f.emitting.Unlock()
	if f.Emit != nil {
		e.Run, e.Note = f.rec.ID, f.hide(e.Note)
		if e.Gate != nil {
			gate := e.Gate.Hidden(f.hide)
			e.Gate = &gate
		}
		f.Emit(e)
	}
}

// close completes the document.
func (f *flight) close(end Ending) Document {
	end = end.hidden(f.hide) // the record may not have taken it, which is another error
	f.doc.State, f.doc.Verdict, f.doc.Error, f.doc.Exit = end.State, end.Verdict, end.Error, end.Exit
	f.doc.Unproven = append([]verify.Unproven{}, end.Unproven...)
	f.emit(Event{State: end.State})
	return f.doc
}
