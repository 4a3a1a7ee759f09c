package self

import (
	"context"
	"slices"

	"agent/cmd/agent/internal/checkpoint"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/selfbuild"
	"agent/verify/policy"
)

// An approver decides at the checkpoint of a rebuild: it asks, as for every run, and then has the new image built and
// prove itself, before anything is written.
type approver struct {
	*checkpoint.Approver
	rebuild *rebuild
}

// Approve adds the holds of what no policy approves, and ends with the canary.
//
// The order is person first, image second: a build takes minutes, and nobody should wait
// for one that they would decline. An image that is refused answers Skip, and so the
// reason is in the record beside the names of those who decide.
func (a *approver) Approve(ctx context.Context, p run.Proposal) (run.Answer, error) {
	// There is no change yet, so there is nothing to hold or to build.
	if p.Feature != nil {
		return a.Approver.Approve(ctx, p)
	}
	// What the gates judged, and not what lies in the workspace by now: a file that came
	// since was judged by nobody.
	judged := p.Base.With(p.Candidate.Changeset)
	// The whole tree, since an edit by hand or an ordinary run may have changed what is
	// protected before: this change would carry it into the image.
	paths, err := a.rebuild.journal.Held(gate.Tree(judged))
	if err != nil {
		return run.Answer{}, err
	}
	for _, change := range p.Candidate.Changeset.Changes {
		paths = append(paths, change.Path)
		// To move a protected file away changes it as well.
		if change.From != "" {
			paths = append(paths, change.From)
		}
	}
	slices.Sort(paths)
	held := selfbuild.Protected(slices.Compact(paths)...)
	// A copy, whose policy is taken away for this one question: the next candidate may
	// touch nothing that is protected.
	person := *a.Approver
	if len(held) > 0 {
		if !a.Attended() {
			return checkpoint.Unattended(needsPerson(held)), nil
		}
		for _, path := range held {
			// A hold that blocks keeps Enter and the countdown from applying: see choose and
			// expired.
			p.Candidate.Holds = append(p.Candidate.Holds, policy.Hold{
				Path: path, Kind: policy.Self, Block: true, Reason: "it judges, builds or takes back the agent itself",
			})
		}
		person.Yes, person.Allow = false, nil
	}
	answer, err := person.Approve(ctx, p)
	if err != nil || answer.Decision != run.Apply {
		return answer, err
	}
	// The build writes to the terminal too.
	defer a.Board.Pause()()
	if err := a.rebuild.proveImage(ctx, judged); err != nil {
		return run.Answer{Decision: run.Skip, By: "the new image: " + err.Error()}, nil
	}
	return answer, nil
}
