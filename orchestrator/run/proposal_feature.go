package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agent/orchestrator/agent"
	"agent/verify"
)

// invent is what follows when nothing is left to ask for: a review that found
// nothing to mend asks for one feature, and any other contest is lost. No
// ending means that there is a feature to implement.
//
// The feature is kept before a person is asked about it, so that it outlives a
// run that nobody attends. A file for which one is kept already gets no other:
// the question would be paid for again and again, and the list grow without end.
func (c *contest) invent(ctx context.Context) *Ending {
	lost := c.lost()
	if !c.idle() {
		return &lost
	}
	p, err := c.pending(ctx)
	if err != nil {
		end := endWith(Failed, c.trouble(ctx, "list the proposals", err))
		return &end
	}
	if p == nil {
		var end *Ending
		if p, end = c.wish(ctx); end != nil {
			return end
		}
	}
	if p == nil { // nothing that could be kept or implemented
		return &lost
	}
	c.proposal = p.ID
	return c.weigh(ctx, *p)
}

// pending returns the open proposal of a feature for the target, nil for none.
func (c *contest) pending(ctx context.Context) (*KeptProposal, error) {
	list, err := c.Proposals.Proposals(ctx, c.rec.Workspace)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if p.Kind.feature() && p.Path == c.plan.Task.Brief.Target {
			c.emit(Event{Note: fmt.Sprintf("nothing to mend; proposal %d for %s is still open", p.ID, p.Path)})
			return &p, nil
		}
	}
	return nil, nil
}

// wish asks the model for a feature and keeps it; nil for none.
func (c *contest) wish(ctx context.Context) (*KeptProposal, *Ending) {
	stop := func(end Ending) (*KeptProposal, *Ending) { return nil, &end }
	c.emit(Event{Note: "nothing to mend; ask for a feature"})
	reply, _, err := c.crew.Engineer.Feature(ctx, c.plan.Task)
	if errors.Is(err, agent.ErrSkipped) {
		return nil, nil
	}
	if err != nil {
		return stop(c.stopped(ctx, "ask the model for a feature", err))
	}
	why, code, ok := reply.Proposal()
	if !ok {
		return nil, nil
	}
	b := &c.plan.Task.Brief
	p := KeptProposal{
		Workspace: c.rec.Workspace, Kind: Feature, State: ProposalOpen, Path: b.Target, Run: c.rec.ID,
		Text: clip(why + "\n\n" + code), Reason: "the review of " + b.Target + " found nothing to mend",
	}
	if p.ID, err = c.Proposals.AddProposal(ctx, p); err != nil {
		return stop(endWith(Failed, c.trouble(ctx, "record the proposal", err)))
	}
	return &p, nil
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
//
// Only a person starts work that nobody asked for: whatever the approver says
// without one, by a flag, by silence or for want of a terminal, keeps the feature.
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
	switch {
	// What has a patch already is judged by a run that takes it up, not written again.
	case answer.Decision == Apply && answer.By == ByTerminal && p.Patch == nil:
		c.plan.Task.Kind, c.plan.Task.Brief.Feature = agent.Implement, p.Text
		for i, k := range c.all {
			c.all[i] = &contender{variant: k.variant}
		}
		return nil
	case answer.Decision == Drop:
		c.drop(ctx)
	default: // it stays open until a person has it implemented
		c.tell(p.ID, p)
		does := "has the feature written"
		if p.Patch != nil {
			does = "takes it up again"
		}
		c.doc.Outcome, c.doc.Next = outcomeProposed, fmt.Sprintf("`agent sandbox run --proposal %d` %s", p.ID, does)
	}
	// The review found nothing, which is what the run was for.
	return stop(Ending{State: Done, Verdict: verify.Pass, Exit: ExitDone})
}

// featureOf reports whether a run left the proposal of a feature without a patch.
func (r *Runner) featureOf(ctx context.Context, workspace, id string) (bool, error) {
	if r.Proposals == nil {
		return false, nil
	}
	list, err := r.Proposals.Proposals(ctx, workspace)
	return slices.ContainsFunc(list, func(p KeptProposal) bool {
		return p.Run == id && p.Kind == Feature && p.Patch == nil
	}), err
}
