package run

import (
	"context"
	"fmt"

	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A Revision is a change that somebody made without the gate: a commit, what is staged, or what lies in the working tree.
type Revision struct {
	// Base is the workspace before the change.
	Base    *workspace.Manifest
	Changes workspace.Changeset
	// Apart is the part of the change that no gate can judge; Base has it already.
	Apart []verify.Unproven
}

// ProveRevision judges a change that is already made. find returns the change for the workspace as it is on disk now, and is called
// again if that changes meanwhile. Nothing is promoted, so the workspace is not locked: a promotion may go on beside it.
func (r *Runner) ProveRevision(ctx context.Context, req Request, intent string, find func(ctx context.Context, disk *workspace.Manifest) (Revision, error)) Document {
	var rev Revision
	req.Base = func(ctx context.Context, disk *workspace.Manifest) (_ *workspace.Manifest, err error) {
		rev, err = find(ctx, disk)
		return rev.Base, err
	}
	// What the change was made from is in the repository. A request without a patch would be one for a model.
	req.Patch = []byte(intent)
	return r.Start(ctx, req, Record{Intent: intent, Patch: req.Patch}, func(ctx context.Context, x *Execution) Ending {
		return x.proveRevision(ctx, req, &rev)
	})
}

// proveRevision has the change judged like one that was given as a patch.
func (x *Execution) proveRevision(ctx context.Context, req Request, rev *Revision) Ending {
	if err := x.Advance(ctx, Analyzing, "read the revision"); err != nil {
		return End(Failed, x.Trouble(ctx, "record the run", err))
	}
	st, end := x.Freeze(ctx, req, func(base *workspace.Manifest) *Ending {
		if !rev.Changes.Empty() {
			return nil
		}
		x.rec.Snapshot, x.doc.Snapshot = base.Digest(), base.Digest()
		end := x.unchanged(ctx, rev.Apart)
		return &end
	})
	if end != nil {
		return *end
	}
	cand := gate.Candidate{Origin: gate.Origin{Response: []byte(rev.Changes.Diff())}}
	g := x.Gate(req)
	g.Seal(&cand, rev.Changes)
	cand.Origin.Asked = cand.Digest
	if err := x.Advance(ctx, Verifying, Count(len(cand.Changeset.Changes), "file")+" changed"); err != nil {
		return End(Failed, x.Trouble(ctx, "record the run", err))
	}
	if err := x.Judge(ctx, g, st, &cand, 0, gate.Watch{}); err != nil {
		return End(Failed, x.Trouble(ctx, "verify the change", err))
	}
	cand.Unproven = append(cand.Unproven, rev.Apart...)
	if reformatted := cand.Digest != cand.Origin.Asked; reformatted {
		cand.Unproven = append(cand.Unproven, verify.Unproven{
			Gate: "format", Kind: verify.NotJudged, Part: true, Reason: "the format gate changed the files before the other gates saw them: format them as `agent runs diff " + x.rec.ID + "` shows",
		})
	}
	if problem := x.Save(ctx, cand); problem != nil {
		return End(Failed, problem)
	}
	// A change that the formatter put back entirely passed as it is.
	if cand.Verdict == verify.Pass && cand.Changeset.Empty() {
		return x.proved(ctx, "nothing is left of the change once it is formatted")
	}
	if lost := unproved(cand, st.Base); lost != nil {
		return *lost
	}
	return x.proved(ctx, "every gate passed")
}

// unchanged returns the ending of a change in which there is nothing that a gate can judge.
func (x *Execution) unchanged(ctx context.Context, apart []verify.Unproven) Ending {
	x.unproven = apart
	if err := x.Advance(ctx, Verifying, "no changed file can be judged by a gate"); err != nil {
		return End(Failed, x.Trouble(ctx, "record the run", err))
	}
	return x.proved(ctx, fmt.Sprintf("nothing was judged in %s", Count(len(apart), "change")))
}

// proved ends a run whose change passed.
func (x *Execution) proved(ctx context.Context, note string) Ending {
	if caveat := gate.Caveat(x.unproven); caveat != "" {
		note += ", but " + caveat
	}
	if err := x.Advance(ctx, AwaitingApproval, note); err != nil {
		return End(Failed, x.Trouble(ctx, "record the run", err))
	}
	return Ending{State: Done, Verdict: verify.Pass, Exit: ExitDone}
}
