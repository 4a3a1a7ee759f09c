package tournament

import (
	"context"
	"fmt"
	"strings"

	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/verify"
)

// keep leaves what the tournament made and did not promote for a later run, and says in the ending how to take it up. An interrupted
// tournament leaves nothing: resuming it leads to the same candidates.
func (c *tournament) keep(ctx context.Context, end run.Ending) run.Ending {
	best := c.best()
	var left []run.KeptProposal
	switch end.State {
	case run.Promoted:
		for _, k := range c.passed()[1:] { // the first is the one that was promoted
			left = append(left, c.kept(k.cand, fmt.Sprintf("it passed; candidate %d has fewer findings or a smaller diff", best.variant.N)))
		}
		left = append(left, c.unjudged()...)
	case run.Rejected, run.Conflicted:
		for _, k := range c.passed() {
			left = append(left, c.kept(k.cand, "it passed; "+end.Error.Message))
		}
		left = append(left, c.unjudged()...)
		if best == nil {
			left = c.failures()
		}
	}
	for _, p := range left {
		id := c.KeepProposal(ctx, p)
		// The newer state of the same work replaces the older one.
		if id != 0 && end.State != run.Promoted && c.Proposal() != 0 && id != c.Proposal() {
			c.DropProposal(ctx)
		}
		if id != 0 && end.Error != nil && !strings.Contains(end.Error.Next, "--proposal") {
			end.Error.Next += fmt.Sprintf("; take it up again with `agent sandbox run --proposal %d`", id)
		}
	}
	// This agrees with v_directives: a question that was never sent is not an attempt.
	tried := end.Verdict != verify.Policy || c.Tried()
	if end.State == run.Rejected && end.Error != nil && c.plan.Directive != "" && tried {
		end.Error.Next += "; the order is not tried again as it stands in " + DirectivesFile + ", but is when reworded"
	}
	return c.SettleProposal(ctx, c.req, end)
}

// failures makes proposals of the entrants that no repair brought through. What could never be applied is not a change, and so not a
// proposal.
func (c *tournament) failures() []run.KeptProposal {
	var left []run.KeptProposal
	for _, k := range c.all {
		if cand := k.judged; !cand.Changeset.Empty() && cand.Verdict != verify.Pass {
			left = append(left, c.kept(cand, cand.Failed().Name+"\n"+cand.Report()))
		}
	}
	return left
}

// unjudged makes proposals of the entrants that were cancelled without a gate having spoken against them.
func (c *tournament) unjudged() []run.KeptProposal {
	var left []run.KeptProposal
	for _, k := range c.all {
		if k.eliminated != nil && !k.eliminated.failed {
			left = append(left, c.kept(k.cand, "it was not judged completely; "+k.eliminated.why))
		}
	}
	return left
}

// clip cuts a text to the bound of what is kept, at the end of a line.
func clip(text string) string {
	if len(text) <= maxKeptText {
		return text
	}
	text = strings.ToValidUTF8(text[:maxKeptText], "")
	if i := strings.LastIndexByte(text, '\n'); i > 0 {
		text = text[:i]
	}
	return text + "\n…"
}

// Bounds of what is kept of a proposal, in bytes. The record of the run has everything.
const (
	maxKeptPatch = 256 << 10
	maxKeptText  = 16 << 10
)

// kept makes the proposal of a candidate, to be kept for reason. It keeps the goal, so that a run that takes it up again knows what it
// was for.
func (c *tournament) kept(cand gate.Candidate, reason string) run.KeptProposal {
	b := c.plan.Task.Brief
	p := run.KeptProposal{
		Workspace: c.Workspace(), Kind: run.PeerReview, State: run.ProposalOpen, Path: b.Target, Goal: b.Goal,
		Text: cand.Thought, Patch: []byte(cand.Diff), Run: c.ID(),
	}
	passed := cand.Verdict == verify.Pass
	switch {
	case b.Feature != "" && passed:
		p.Kind = run.Feature
	case b.Feature != "":
		p.Kind = run.FailedFeature
	case !passed:
		p.Kind = run.FailedPeerReview
	}
	if b.Feature != "" {
		p.Text = b.Feature // what must be implemented, whatever this attempt says about itself
	}
	if n := len(p.Patch); n > maxKeptPatch {
		p.Patch, reason = nil, fmt.Sprintf("%s (its diff of %d bytes is in `agent runs show %s`)", reason, n, c.ID())
	}
	p.Text, p.Reason = clip(p.Text), clip(reason)
	return p
}
