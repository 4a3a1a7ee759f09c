package run

import (
	"context"
	"errors"

	"agent/orchestrator/agent"
	"agent/verify"
)

// invent is what follows when nothing is left to ask for: a review that found
// nothing to mend asks for one feature, and any other contest is lost. No
// ending means that there is a feature to implement.
//
// The feature is kept before anybody is asked about it, so that it outlives a
// run that nobody attends.
func (c *contest) invent(ctx context.Context) *Ending {
	lost := c.lost()
	if !c.idle() {
		return &lost
	}
	c.emit(Event{Note: "nothing to mend; ask for a feature"})
	reply, _, err := c.crew.Engineer.Feature(ctx, c.plan.Task)
	if errors.Is(err, agent.ErrSkipped) {
		return &lost
	}
	if err != nil {
		end := c.stopped(ctx, "ask the model for a feature", err)
		return &end
	}
	why, code, ok := reply.Proposal()
	if !ok { // nothing that could be kept or implemented
		return &lost
	}
	b := &c.plan.Task.Brief
	p := KeptProposal{
		Workspace: c.rec.Workspace, Kind: Feature, State: ProposalOpen, Path: b.Target, Run: c.rec.ID,
		Text: clip(why + "\n\n" + code), Reason: "the review of " + b.Target + " found nothing to mend",
	}
	if p.ID, err = c.Proposals.AddProposal(ctx, p); err != nil {
		end := endWith(Failed, c.trouble(ctx, "record the proposal", err))
		return &end
	}
	c.proposal = p.ID
	return c.weigh(ctx, p)
}

// idle reports whether the contest is a review that found nothing to mend. A
// file in the cascade queue is only asked to follow a change: with a feature
// for each of them, one promotion would make a hundred.
func (c *contest) idle() bool {
	b := c.plan.Task.Brief
	if c.req.NoFeature || c.Proposals == nil || c.plan.Task.Kind != agent.Patch || b.Goal != "" || b.Cascade != "" || b.Target == "" {
		return false
	}
	for _, k := range c.all {
		if !k.nothing {
			return false
		}
	}
	return true
}

// weigh puts a proposed feature to the checkpoint. No ending means that it is
// to be implemented now, by contenders that begin anew.
func (c *contest) weigh(ctx context.Context, p KeptProposal) *Ending {
	stop := func(end Ending) *Ending { return &end }
	if err := c.enter(ctx, AwaitingApproval, "a feature is proposed for "+p.Path); err != nil {
		return stop(endWith(Failed, c.trouble(ctx, "record the run", err)))
	}
	answer, err := c.req.Approver.Approve(ctx, Proposal{Run: c.rec.ID, Workspace: c.rec.Workspace, Feature: &p})
	if err != nil {
		return stop(endWith(Failed, c.trouble(ctx, "ask for approval", err)))
	}
	logAnswer(ctx, answer, Proposal{Feature: &p})
	switch answer.Decision {
	case Apply:
		c.plan.Task.Kind, c.plan.Task.Brief.Feature = agent.Implement, p.Text
		for i, k := range c.all {
			c.all[i] = &contender{variant: k.variant}
		}
		return nil
	case Drop:
		c.drop(ctx)
	default: // it stays open for whoever takes it up
		c.tell(p.ID, p)
	}
	// The review found nothing, which is what the run was for.
	return stop(Ending{State: Done, Verdict: verify.Pass, Exit: ExitDone})
}
