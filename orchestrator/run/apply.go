package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
	"agent/verify/policy"
)

// A Proven is a change that an earlier run proved and did not promote, and that is to be applied now.
type Proven struct {
	Record    Record
	Candidate gate.Candidate
	// AppliedBy returns the run that has applied the change meanwhile, "" if there is none.
	AppliedBy func(ctx context.Context) (string, error)
	// Reprove decides whether to prove the change again after the workspace has changed. moved lists the files of the change that
	// differ. Apply proves it again; Skip and Unattended do not.
	Reprove func(ctx context.Context, moved []string) (Answer, error)
}

// Origin returns the ID of the run that found the change in p. It stays the same however often the change is applied.
func (p Proven) Origin() string { return cmp.Or(p.Record.Applies, p.Record.ID) }

// Apply promotes what an earlier run proved, as a run of its own. If the workspace is what the gates saw, the change only passes the
// checkpoint; otherwise it is proved again on the new files. The request needs no patch.
func (r *Runner) Apply(ctx context.Context, req Request, of Proven) Document {
	req.Patch, req.PatchName = []byte(of.Candidate.Diff), "of run "+of.Record.ID
	rec := Record{Intent: "apply " + of.Record.ID, Patch: req.Patch, Applies: of.Origin()}
	return r.Start(ctx, req, rec, func(ctx context.Context, x *Execution) Ending {
		end := x.apply(ctx, req, of)
		if end.State == Promoted {
			x.settleProposalsOf(ctx, of)
		}
		return end
	})
}

// apply brings the candidate of an earlier run to the checkpoint.
func (x *Execution) apply(ctx context.Context, req Request, of Proven) Ending {
	id, cand := of.Record.ID, of.Candidate
	// The bytes in the database are not trusted: only what was judged is promoted.
	if !cand.Wins() || cand.Changeset.Digest() != cand.Digest {
		return End(Failed, &Problem{
			Kind: ProblemInfra, Message: "the record of what run " + id + " proved is incomplete", Next: "make and prove the change again",
		})
	}
	// Checked with the workspace's lock held: of two runs that apply the same change, the later one finds the earlier.
	by, err := of.AppliedBy(ctx)
	if err != nil {
		return End(Failed, x.Trouble(ctx, "check whether run "+id+" was applied", err))
	}
	if by != "" {
		return End(Conflicted, &Problem{
			Kind: ProblemConflict, Message: "run " + id + " was applied by run " + by + " already", Next: "see `agent runs show " + by + "`",
		})
	}
	if err := x.Advance(ctx, Analyzing, "compare the workspace with the one that run "+id+" proved it on"); err != nil {
		return End(Failed, x.Trouble(ctx, "record the run", err))
	}
	now, err := x.scan(ctx, req)
	if err != nil {
		return x.unread(ctx, "scan the workspace", err)
	}
	if now.Digest() != of.Record.Snapshot {
		return x.reprove(ctx, req, of, now)
	}
	return x.applyUnmoved(ctx, req, of, now)
}

// applyUnmoved asks about a candidate whose workspace still is what its gates saw.
func (x *Execution) applyUnmoved(ctx context.Context, req Request, of Proven, now *workspace.Manifest) Ending {
	cand := of.Candidate
	x.rec.Snapshot, x.doc.Snapshot = now.Digest(), now.Digest()
	// What is protected now holds the candidate too, whatever was protected when it was proved.
	for _, h := range policy.Review(ctx, now, cand.Changeset, req.Protect, nil) {
		if !slices.ContainsFunc(cand.Holds, func(old policy.Hold) bool { return old.Kind == h.Kind && old.Path == h.Path && (old.Block || !h.Block) }) {
			cand.Holds = append(cand.Holds, h)
		}
	}
	if err := x.Advance(ctx, Verifying, "run "+of.Record.ID+" proved it on these very files"); err != nil {
		return End(Failed, x.Trouble(ctx, "record the run", err))
	}
	if problem := x.Save(ctx, cand); problem != nil {
		return End(Failed, problem)
	}
	answer, end := x.Checkpoint(ctx, req, Proposal{Candidate: cand, Response: req.Patch}, now)
	if end != nil {
		return *end
	}
	// A person made another candidate from it, which no gate has judged.
	if end := x.unable(); end != nil {
		return *end
	}
	st, end := x.Freeze(ctx, req, nil)
	if end != nil {
		return *end
	}
	next, end := x.revise(ctx, &req, answer, cand.Changeset, st.Base)
	if end != nil {
		return *end
	}
	return x.judgeAndAsk(ctx, req, st, next)
}

// reprove has the change judged again on the workspace as it is now, if that is wanted.
func (x *Execution) reprove(ctx context.Context, req Request, of Proven, now *workspace.Manifest) Ending {
	if end := x.unable(); end != nil {
		return *end
	}
	var moved []string
	for _, c := range of.Candidate.Changeset.Changes {
		if differs(now, c) {
			moved = append(moved, c.Path)
		}
	}
	answer, err := of.Reprove(ctx, moved)
	if err != nil {
		return End(Failed, x.Trouble(ctx, "ask whether to prove it again", err))
	}
	Enter(ctx, Entry{Kind: ApprovalEntry, Actor: answer.By, Subject: "reprove", Detail: map[string]any{"candidate": of.Candidate.Digest, "decision": string(answer.Decision)}})
	switch answer.Decision {
	case Apply:
		return x.proveScanned(ctx, req)
	case Skip:
		end := End(Rejected, &Problem{
			Kind: ProblemPolicy, Message: "skipped " + ByWhom(answer.By), Next: "nothing was written; `agent runs apply " + of.Record.ID + "` asks again",
		})
		return end
	}
	return End(Rejected, &Problem{
		Kind: ProblemPolicy, Message: "the workspace has changed since run " + of.Record.ID + " proved this, and there is no one to decide whether it is proved again: " + answer.By,
		Next: "run `agent runs apply " + of.Record.ID + " --yes`, or without --yes on a terminal: it is judged again on the current files",
	})
}

// unable returns the ending of a run that has to judge but has nothing to judge with, and nil for a run that can judge.
func (x *Execution) unable() *Ending {
	if x.runner.Images != nil && x.runner.Verifier != nil {
		return nil
	}
	end := End(Failed, &Problem{
		Kind: ProblemInfra, Message: "the change must be proved again, but no container engine answers", Next: "start the engine, then run again; see `agent doctor`",
	})
	return &end
}

// differs reports whether a file in now is not as the change found it.
func differs(now *workspace.Manifest, c workspace.Change) bool {
	name := c.Path
	if c.Op == workspace.Rename {
		name = c.From
	}
	is, there := now.Lookup(name)
	if c.Op == workspace.Create {
		return there
	}
	return !there || is.Digest != c.BeforeDigest()
}

// settleProposalsOf marks the proposals that hold the change of an earlier run as done.
func (x *Execution) settleProposalsOf(ctx context.Context, of Proven) {
	if x.runner.Proposals == nil {
		return
	}
	steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), SettleFor)
	defer cancel()
	list, err := x.runner.Proposals.Proposals(steady, x.rec.Workspace)
	if err != nil {
		x.Notify(Event{Note: "its proposal is still open: " + err.Error()})
		return
	}
	for _, p := range list {
		if (p.Run != of.Record.ID && p.Run != of.Origin()) || !p.Proven() || string(p.Patch) != of.Candidate.Diff {
			continue
		}
		if err := x.runner.Proposals.SettleProposal(steady, p.ID, ProposalDone); err != nil {
			x.Notify(Event{Note: fmt.Sprintf("proposal %d is still open: %v", p.ID, err)})
		}
	}
}
