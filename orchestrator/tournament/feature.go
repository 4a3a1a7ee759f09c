package tournament

import (
	"context"
	"errors"
	"fmt"

	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/verify"
)

// proposeFeature follows when nothing is left to ask for. A review that found nothing to fix asks for one feature; any other tournament
// has no winner. A nil ending means that there is a feature to implement.
//
// The feature is kept before a person is asked about it, so that it outlives a run that nobody attends. A file that already has an open
// one gets no other: the question would be paid for again and again, and the list would grow without end.
func (c *tournament) proposeFeature(ctx context.Context) *run.Ending {
	lost := c.noWinner()
	if !c.idle() {
		return &lost
	}
	p, err := c.pending(ctx)
	if err != nil {
		end := run.End(run.Failed, c.Trouble(ctx, "list the proposals", err))
		return &end
	}
	if p == nil {
		var end *run.Ending
		if p, end = c.askFeature(ctx); end != nil {
			return end
		}
	}
	if p == nil { // nothing that could be kept or implemented
		return &lost
	}
	c.TakeUp(p.ID)
	return c.decideFeature(ctx, *p)
}

// pending returns the open proposal of a feature for the target, nil for none.
func (c *tournament) pending(ctx context.Context) (*run.KeptProposal, error) {
	list, err := c.proposals.Proposals(ctx, c.Workspace())
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if p.Kind.OfFeature() && p.Path == c.plan.Task.Brief.Target {
			c.Notify(run.Event{Note: fmt.Sprintf("nothing to fix; proposal %d for %s is still open", p.ID, p.Path)})
			return &p, nil
		}
	}
	return nil, nil
}

// askFeature asks the model for a feature and keeps it; it returns nil if there is none.
func (c *tournament) askFeature(ctx context.Context) (*run.KeptProposal, *run.Ending) {
	stop := func(end run.Ending) (*run.KeptProposal, *run.Ending) { return nil, &end }
	c.Notify(run.Event{Note: "nothing to fix; ask for a feature"})
	reply, _, err := c.crew.Engineer.Feature(ctx, c.plan.Task)
	if errors.Is(err, agent.ErrSkipped) {
		return nil, nil
	}
	if err != nil {
		return stop(stopped(ctx, c.Execution, "ask the model for a feature", err))
	}
	why, code, ok := reply.Proposal()
	if !ok {
		return nil, nil
	}
	b := &c.plan.Task.Brief
	p := run.KeptProposal{
		Workspace: c.Workspace(), Kind: run.Feature, State: run.ProposalOpen, Path: b.Target, Run: c.ID(),
		Text: c.Hide(clip(why + "\n\n" + code)), Reason: "the review of " + b.Target + " found nothing to fix",
	}
	if p.ID, err = c.proposals.AddProposal(ctx, p); err != nil {
		return stop(run.End(run.Failed, c.Trouble(ctx, "record the proposal", err)))
	}
	return &p, nil
}

// idle reports whether the tournament is a review that found nothing to fix. A file in the cascade queue is only asked to follow a
// change: with a feature for each such file, one promotion would lead to a hundred.
func (c *tournament) idle() bool {
	b := c.plan.Task.Brief
	if c.req.NoFeature || c.proposals == nil || c.plan.Task.Kind != agent.Patch || b.Goal != "" || b.Cascade != "" || b.Target == "" {
		return false
	}
	for _, k := range c.all {
		if !k.nothing {
			return false
		}
	}
	return true
}

// decideFeature puts a proposed feature to the checkpoint. A nil ending means that it is to be implemented now, by entrants that start
// anew.
//
// Only a person starts work that nobody asked for, at the terminal or by Features. Any other answer of the approver, given by silence
// or for want of a terminal, keeps the feature.
func (c *tournament) decideFeature(ctx context.Context, p run.KeptProposal) *run.Ending {
	answer, end := c.AskFeature(ctx, c.req, p)
	if end != nil {
		return end
	}
	var done run.Ending
	switch {
	// A proposal that already has a patch is judged by a run that takes it up, not written again.
	case answer.Decision == run.Apply && (answer.By == run.ByTerminal || c.req.Features && answer.By == run.ByFeatures) && p.Patch == nil:
		c.plan.Task.Kind, c.plan.Task.Brief.Feature = agent.Implement, p.Text
		for i, k := range c.all {
			c.all[i] = &entrant{variant: k.variant}
		}
		return nil
	case answer.Decision == run.Drop:
		c.DropProposal(ctx)
		done = run.Ending{State: run.Done, Verdict: verify.Pass, Exit: run.ExitDone}
	default: // it stays open until a person has it implemented
		done = c.LeaveFeature(p)
	}
	return &done
}
