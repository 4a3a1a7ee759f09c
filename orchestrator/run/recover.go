package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"agent/orchestrator/forge/commit"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
	"agent/verify"
)

// Recover settles what dead processes left behind: boxes, journals and unfinished runs. It returns the runs that it settled, in their
// final state. boxes may be nil if no engine answers; then only the rest is settled.
func Recover(ctx context.Context, s Store, rec Recovering, boxes Reaper) ([]Record, error) {
	// Boxes first: one that is still at work could write into what is settled below, and uses memory until it is gone.
	if boxes != nil {
		if _, err := boxes.Reap(ctx); err != nil {
			return nil, fmt.Errorf("reap boxes: %w", err)
		}
	}
	open, err := rec.Unfinished(ctx)
	if err != nil {
		return nil, err
	}
	var settled []Record
	// A run that is in other hands does not keep the others from being settled. A run that cannot be settled does: its files are in an
	// unknown state, and a person must see the reason.
	for _, r := range open {
		if !orphaned(r, time.Now()) {
			continue
		}
		done, err := settle(ctx, s, rec, r)
		if errors.Is(err, ErrFenced) || errors.Is(err, promotion.ErrLocked) || errors.Is(err, errForeign) {
			continue // somebody else is settling it, or will
		}
		if err != nil {
			return settled, fmt.Errorf("recover run %s: %w", r.ID, err)
		}
		settled = append(settled, done)
	}
	return settled, nil
}

// orphaned reports whether the process that works on r is dead: seen to be dead on this host, otherwise judged by a heartbeat that is
// too old.
//
// A process on this host can be looked for, which is certain and quick. One on another host can only be waited for.
func orphaned(r Record, now time.Time) bool {
	if alive, known := sandbox.Alive(r.Owner); known {
		return !alive
	}
	return now.Sub(r.Beat) > orphanAfter
}

// errForeign means that only the user who started a run can settle it: the journal of its promotion is in that user's state directory.
var errForeign = errors.New("the journal belongs to another user")

// settle brings one orphan to its end.
func settle(ctx context.Context, s Store, rec Recovering, r Record) (Record, error) {
	// The lock comes before the claim: a run that is alive holds the lock, and nothing of its record may then be taken from it.
	lock, err := promotion.Acquire(r.Workspace)
	if errors.Is(err, fs.ErrNotExist) {
		lock, err = nil, nil // the workspace is gone: there is nothing to repair in it
	}
	if err != nil {
		return r, err
	}
	if lock != nil {
		defer lock.Release() // nothing to lose: the descriptor was only read
		foreign, err := lock.Foreign(r.ID)
		if err != nil {
			return r, err
		}
		if foreign {
			return r, errForeign
		}
	}
	// From the claim on, the dead process is fenced off in case it is only very slow: its token is no longer the newest.
	if r.Token, err = rec.Claim(ctx, r.ID, r.Token, sandbox.Owner()); err != nil {
		return r, err
	}
	end := Ending{State: Failed, Verdict: verify.Infra, Exit: ExitInfra, Error: &Problem{
		Kind:    ProblemInfra,
		Message: "the process died in state " + string(r.State) + "; the workspace is untouched", Next: "run the patch again",
	}}
	if lock != nil {
		if end, err = settleFiles(ctx, s, rec, lock, r, end); err != nil {
			return r, err
		}
	}
	if r.State == Promoted { // the promotion was recorded, and the process killed before the end was
		end = Ending{State: Promoted, Verdict: verify.Pass}
	}
	if lock != nil {
		if err := commit.Settle(ctx, r.Workspace, r.ID, end.State == Promoted); err != nil {
			return r, fmt.Errorf("settle the commit of run %s: %w", r.ID, err)
		}
	}
	if err := rec.AppendEntries(ctx, []Entry{logSettled(r, end)}); err != nil {
		return r, err
	}
	r.State = end.State
	return r, s.Finish(ctx, r.ID, r.Token, end)
}

// settleFiles replays the journals of r's workspace, which is locked. It returns the ending that r's own journal asks for, or end if r
// left none.
func settleFiles(ctx context.Context, s Store, rec Recovering, lock *promotion.Lock, r Record, end Ending) (Ending, error) {
	found, err := journals(ctx, rec, lock, r)
	if err != nil {
		return end, err
	}
	// A run that was promoting and left no journal had put its files back, or
	// had not begun to move them: only a recorded promotion drops its journal.
	status := RolledBack
	for _, journal := range found {
		if journal.ID == r.ID {
			end, status = outcome(journal)
		}
	}
	// A run in any other state has no promotion on record that could be wrong.
	if r.State == Promoting {
		if err := s.SavePromotion(ctx, r.ID, r.Token, Promotion{Status: status}); err != nil {
			return end, err
		}
	}
	for _, journal := range found {
		// Journals are dropped last. After a kill before this, the next recovery reads them again and reaches the same end.
		if err := discard(journal); err != nil {
			return end, err
		}
	}
	return end, nil
}

// journals settles the promotions that dead processes left in the workspace of r. An earlier version kept its journal in the workspace.
// Such a journal counts only if the record says that r was promoting, and what, and only if there is none of this version.
func journals(ctx context.Context, rec Recovering, lock *promotion.Lock, r Record) ([]promotion.Recovery, error) {
	found, err := lock.Recover(ctx)
	own := slices.ContainsFunc(found, func(f promotion.Recovery) bool { return f.ID == r.ID })
	if err != nil || own || r.State != Promoting && r.State != Promoted {
		return found, err
	}
	old, err := lock.RecoverOld(ctx, r.ID, func(ctx context.Context) (workspace.Changeset, error) {
		p, err := rec.PromotionOf(ctx, r.ID)
		return p.Changeset, err
	})
	if old != nil {
		found = append(found, *old)
	}
	return found, err
}

// outcome translates what became of the files into the end of the run.
//
// A conflict means that some files were neither as before nor as after the promotion: a person changed them since, and they were kept
// as that person left them.
func outcome(j promotion.Recovery) (Ending, PromotionStatus) {
	switch j.Outcome {
	case promotion.Completed:
		return Ending{State: Promoted, Verdict: verify.Pass}, Committed
	case promotion.Conflicted:
		return End(Conflicted, conflicted(&promotion.ConflictError{Paths: j.Kept}, "")), RolledBack
	}
	return End(Failed, &Problem{
		Kind: ProblemInfra, Message: "the process died during the promotion; every file was restored",
		Next: "run the patch again",
	}), RolledBack
}
