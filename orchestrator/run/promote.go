package run

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
	"agent/verify"
	"agent/verify/policy"
)

// Checkpoint asks whether to promote the proven candidate, and promotes it. A nil ending means that the answer asks for another
// candidate.
//
// Nothing has been written when it asks, and nothing is written unless the answer is Apply. It may wait for a person for as long as the
// approver does; the run's heartbeat goes on meanwhile.
func (x *Execution) Checkpoint(ctx context.Context, req Request, p Proposal, base *workspace.Manifest) (Answer, *Ending) {
	stop := func(e Ending) (Answer, *Ending) { return Answer{}, &e }
	// Whoever calls, only what was judged is promoted, and only those bytes.
	if c := p.Candidate; !c.Wins() || c.Changeset.Digest() != c.Digest {
		return stop(End(Failed, &Problem{Kind: ProblemInfra, Message: "the candidate was not proved", Next: "run `agent doctor`"}))
	}
	// Of several candidates, this is the one that decides.
	x.unproven, x.asked = p.Candidate.Unproven, p.Candidate.Digest
	note := "every gate passed"
	if caveat := gate.Caveat(x.unproven); caveat != "" {
		note += ", but " + caveat
	}
	if err := x.Advance(ctx, AwaitingApproval, note); err != nil {
		return stop(End(Failed, x.Trouble(ctx, "record the run", err)))
	}
	// The state is entered even so, to show in the record how far the candidate came.
	if req.NoPromote || req.Base != nil {
		return stop(Ending{State: Done, Verdict: verify.Pass, Exit: ExitDone})
	}
	// The directory that is asked about must be the one that would be written to.
	if err := x.lock.InPlace(); err != nil {
		return stop(x.unread(ctx, "check the workspace again", err))
	}
	p.Run, p.Workspace, p.Base = x.rec.ID, x.rec.Workspace, base
	if req.Commit != nil {
		p.Branch = req.Commit.Branch
	}
	// An approver gets the run's ID: it shows the ID, and the person finds the run again by it.
	answer, err := req.Approver.Approve(ctx, p)
	if err != nil {
		return stop(End(Failed, x.Trouble(ctx, "ask for approval", err)))
	}
	// A policy that approves everything does not approve what needs a person,
	// whatever the approver says.
	if open := unapproved(p.Candidate.Holds, req.Allow); answer.Decision == Apply && answer.By != ByTerminal && len(open) > 0 {
		answer = Answer{Decision: Unattended, By: "it changes " + open[0].Path + ", which " + answer.By + " does not approve"}
	}
	logAnswer(ctx, answer, p)
	switch answer.Decision {
	case Apply:
		// Checked after the answer, since people take their time: hours may have passed since the snapshot.
		if end := x.drifted(ctx, req, base); end != nil {
			return stop(*end)
		}
		var to *committing
		if req.Commit != nil {
			to = &committing{order: req.Commit, candidate: p.Candidate}
		}
		if to != nil && to.order.Branch != "" {
			return stop(x.commitBeside(ctx, to, p.Candidate.Changeset, base))
		}
		return stop(x.promote(ctx, Promotion{Approved: answer.By, Changeset: p.Candidate.Changeset}, base, to))
	// A run that was given its patch has no model to ask again, so Regenerate falls through to the refusal.
	case Regenerate, Reword, Amend:
		if answer.Decision != Regenerate || p.Again {
			return answer, nil
		}
	case Skip:
		return stop(x.skipped(answer.By))
	}
	return stop(x.awaiting(answer, p))
}

// OutcomeAwaiting is the Outcome of a Document whose run has a proven candidate that
// nobody has decided on.
const OutcomeAwaiting = "awaiting_approval"

// awaiting returns the ending for a proven candidate that nobody has decided on. The candidate stays in the record, from where it can
// be applied later.
func (x *Execution) awaiting(answer Answer, p Proposal) Ending {
	x.doc.Outcome, x.doc.Left = OutcomeAwaiting, answer.Decision == Leave || answer.Expired
	why := answer.By
	if answer.Decision == Leave {
		why = "it was left open " + ByWhom(answer.By)
	}
	x.doc.Next = cmp.Or(answer.Next, "apply it later: `agent runs apply "+x.rec.ID+" --yes"+allowFlags(p.Candidate.Holds)+"`")
	end := End(Rejected, &Problem{Kind: ProblemPolicy, Message: "awaiting approval: " + why, Next: x.doc.Next})
	end.Verdict = verify.Policy
	return end
}

// skipped returns the ending for a proven candidate that a person does not want.
//
// Its verdict stays Pass, since the gates did pass. The state of the run says that it was not wanted.
func (x *Execution) skipped(by string) Ending {
	end := End(Rejected, &Problem{
		Kind: ProblemPolicy, Message: "skipped " + ByWhom(by),
		Next: "apply it after all with `agent runs apply " + x.rec.ID + "`, or see it with `agent runs diff " + x.rec.ID + "`",
	})
	end.Verdict = verify.Pass
	return end
}

// drifted compares the workspace with the one that the gates saw. They judged all of it, so a file that the user edited meanwhile is a
// conflict even if the patch does not touch it: the result of the promotion was never proved. New files do not count, since programs
// leave them everywhere.
func (x *Execution) drifted(ctx context.Context, req Request, base *workspace.Manifest) *Ending {
	now, err := x.scan(ctx, req)
	if err != nil {
		end := x.unread(ctx, "check the workspace again", err)
		return &end
	}
	paths := changed(base, now)
	if len(paths) == 0 {
		return nil
	}
	end := End(Conflicted, conflicted(&promotion.ConflictError{Paths: paths}, x.rec.ID))
	return &end
}

// scan reads the workspace by its path, which must name the locked directory before and after; otherwise the error is a
// *promotion.ConflictError.
func (x *Execution) scan(ctx context.Context, req Request) (*workspace.Manifest, error) {
	if err := x.place.InPlace(); err != nil {
		return nil, err
	}
	m, err := workspace.Rescan(ctx, x.rec.Workspace, req.Exclude, workspace.Limits{})
	if moved := x.place.InPlace(); moved != nil {
		return nil, moved // even if the scan failed for that reason
	}
	if err == nil && x.base != nil {
		return x.base(ctx, m)
	}
	return m, err
}

// unread returns the ending of a run that could not read the workspace.
func (x *Execution) unread(ctx context.Context, act string, err error) Ending {
	var moved *promotion.ConflictError
	if errors.As(err, &moved) {
		return End(Conflicted, conflicted(moved, ""))
	}
	return End(Failed, x.Trouble(ctx, act, err))
}

// changed lists the files and links of base that are not the same in now.
//
// Directories do not count: only what lies in them matters. Nor do times, since touching a file changes nothing that a gate has judged.
func changed(base, now *workspace.Manifest) []string {
	var paths []string
	for _, was := range base.Entries {
		is, ok := now.Lookup(was.Path)
		same := ok && is.Kind == was.Kind && is.Mode == was.Mode && is.Digest == was.Digest
		if was.Kind != workspace.Dir && !same {
			paths = append(paths, was.Path)
		}
	}
	return paths
}

// unapproved returns the holds that block a promotion and were not approved in
// advance.
func unapproved(holds []policy.Hold, allow []string) []policy.Hold {
	return slices.DeleteFunc(slices.Clone(holds), func(h policy.Hold) bool {
		return !h.Block || slices.Contains(allow, h.Kind)
	})
}

// allowFlags returns the flags that approve the holds of a patch.
//
// Each kind is named once, in the order of the holds, for a person to copy. Holds that do not block need no flag.
func allowFlags(holds []policy.Hold) string {
	text, seen := "", map[string]bool{}
	for _, h := range holds {
		if h.Block && !seen[h.Kind] {
			seen[h.Kind] = true
			text += " --allow " + h.Kind
		}
	}
	return text
}

// promote writes a changeset to the host. From the first rename on it cannot be cancelled: the rest takes milliseconds and is
// completed.
func (x *Execution) promote(ctx context.Context, p Promotion, base *workspace.Manifest, to *committing) Ending {
	if err := x.Advance(ctx, Promoting, Count(len(p.Changeset.Changes), "file")); err != nil {
		return End(Failed, x.Trouble(ctx, "record the run", err))
	}
	// Who approved the change is recorded before a file changes.
	if err := x.runner.Log.Flush(ctx, x.rec.ID); err != nil {
		return End(Failed, x.Trouble(ctx, "record what the run did", err))
	}
	// Recovery relies on this order: journal and staged bytes, then the row that says Prepared, then the renames, then the row that
	// says Committed. After a kill between any two of them, the journal tells how to go on.
	prepared, err := x.lock.Prepare(ctx, p.Changeset, x.rec.ID, base)
	if err != nil {
		return x.unplaced(ctx, err)
	}
	// A commit is made like the staged bytes: nobody sees it before the files are in place.
	if end := x.prepareCommit(ctx, to, p.Changeset, base); end != nil {
		return x.abandon(prepared, *end)
	}
	p.Status = Prepared
	if err := x.runner.Store.SavePromotion(ctx, x.rec.ID, x.rec.Token, p); err != nil {
		x.withdraw(ctx, to)
		return x.unprepared(ctx, prepared, p, err)
	}
	// A minute is far more than the renames take. The limit is for a database or a disk that hangs.
	steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := prepared.Commit(steady); err != nil {
		// Commit has put its files back by itself; only the record has to say so.
		x.withdraw(steady, to)
		end := x.unplaced(steady, err)
		p.Status = RolledBack
		if err := x.runner.Store.SavePromotion(steady, x.rec.ID, x.rec.Token, p); err != nil {
			end = End(Failed, x.Trouble(steady, "record the roll-back", err))
		}
		return x.abandon(prepared, end)
	}
	if err := to.place(steady); err != nil {
		x.withdraw(steady, to)
		return x.takeBack(steady, prepared, p, x.uncommitted(steady, err))
	}
	p.Status = Committed
	if err := x.record(steady, p); err != nil {
		x.withdraw(steady, to)
		return x.takeBack(steady, prepared, p, End(Failed, x.Trouble(steady, "record the promotion", err)))
	}
	x.doc.Promotion = p.Document()
	x.finishCommit(steady, to)
	end := Ending{State: Promoted, Verdict: verify.Pass, Exit: ExitDone}
	return x.abandon(prepared, end)
}

// record stores a promotion whose files are in place.
func (x *Execution) record(ctx context.Context, p Promotion) error {
	if err := x.runner.Store.SavePromotion(ctx, x.rec.ID, x.rec.Token, p); err != nil {
		return err
	}
	return x.Advance(ctx, Promoted, "")
}

// unprepared ends a promotion whose row could not be written before any file was. A call that was cancelled, or whose answer was lost,
// may have written the row all the same, and it would stay Prepared.
func (x *Execution) unprepared(ctx context.Context, prepared *promotion.Promotion, p Promotion, cause error) Ending {
	end := End(Failed, x.Trouble(ctx, "record the promotion", cause))
	settled, cancel := context.WithTimeout(context.WithoutCancel(ctx), SettleFor)
	defer cancel()
	p.Status = RolledBack
	if err := x.runner.Store.SavePromotion(settled, x.rec.ID, x.rec.Token, p); err != nil {
		x.Notify(Event{Note: "record that nothing was written: " + err.Error() + "; the next command does so"})
	}
	return x.abandon(prepared, end)
}

// takeBack undoes a promotion that could not be recorded or committed; end says which. Without evidence nothing is promoted.
//
// If the files cannot be taken back either, the journal stays. The next command finds it and settles files and record together.
func (x *Execution) takeBack(ctx context.Context, prepared *promotion.Promotion, p Promotion, end Ending) Ending {
	if err := prepared.Rollback(ctx); err != nil {
		end.Error.Message += "; and roll it back: " + err.Error()
		end.Error.Next = "run any agent command when the database is back: it settles the journal"
		return end
	}
	p.Status = RolledBack
	if err := x.runner.Store.SavePromotion(ctx, x.rec.ID, x.rec.Token, p); err != nil {
		x.Notify(Event{Note: "record the roll-back: " + err.Error() + "; the next command does so"})
	}
	return x.abandon(prepared, end)
}

// abandon removes the journal. The next command settles a journal that stays, so that is a note and not another ending.
func (x *Execution) abandon(p *promotion.Promotion, end Ending) Ending {
	if err := p.Close(); err != nil {
		x.Notify(Event{Note: "remove the journal: " + err.Error()})
	}
	return end
}

// unplaced returns the ending of a promotion that was put back.
//
// A file that somebody changed at the last moment is a conflict, which the person can settle. A path may be forbidden by what lies on
// the host by now. Anything else is the machine's fault.
func (x *Execution) unplaced(ctx context.Context, err error) Ending {
	var conflict *promotion.ConflictError
	var path *workspace.PathError
	switch {
	case errors.As(err, &conflict):
		return End(Conflicted, conflicted(conflict, x.rec.ID))
	case errors.As(err, &path):
		return End(Failed, forbidden(path))
	}
	return End(Failed, x.Trouble(ctx, "write to the workspace", err))
}

// Undo takes back the promotion of a run in the same order: lock, three-way check, journal, record. back is the reverse of its
// changeset, or what is left of that after later edits of the same files. conflict, if not nil, says why nothing is left; it is
// recorded. place is the workspace that back was made for, nil for the one that is there now.
func (r *Runner) Undo(ctx context.Context, of Record, place *promotion.Place, back workspace.Changeset, conflict *Problem) Document {
	req := Request{Workspace: of.Workspace, Place: place}
	return r.Start(ctx, req, Record{Intent: "undo " + of.ID}, func(ctx context.Context, x *Execution) Ending {
		if conflict != nil {
			return End(Conflicted, conflict)
		}
		// There is no base: permission bits that changed since the promotion do not prevent its undoing, but changed bytes do.
		return x.promote(ctx, Promotion{UndoOf: of.ID, Approved: "undo", Changeset: back}, nil, nil)
	})
}
