package run

import (
	"context"
	"fmt"
	"strings"

	"agent/verify"
)

// keep leaves what the contest made and did not promote for a later run, and
// says in the ending how to take it up. A contest that was interrupted leaves
// nothing: whoever carries it on comes to the same candidates.
func (c *contest) keep(ctx context.Context, end Ending) Ending {
	best := c.best()
	var left []KeptProposal
	switch end.State {
	case Promoted:
		for _, k := range c.passed()[1:] { // the first is the one that was promoted
			left = append(left, c.kept(k.cand, fmt.Sprintf("it passed; candidate %d has fewer findings or a smaller diff", best.variant.N)))
		}
		left = append(left, c.unjudged()...)
	case Rejected, Conflicted:
		for _, k := range c.passed() {
			left = append(left, c.kept(k.cand, "it passed; "+end.Error.Message))
		}
		left = append(left, c.unjudged()...)
		if best == nil {
			left = c.failures()
		}
	}
	for _, p := range left {
		id := c.store(ctx, p)
		// The newer state of the same work takes the place of the older one.
		if id != 0 && end.State != Promoted && c.proposal != 0 && id != c.proposal {
			c.drop(ctx)
		}
		if id != 0 && end.Error != nil && !strings.Contains(end.Error.Next, "--proposal") {
			end.Error.Next += fmt.Sprintf("; `agent sandbox run --proposal %d` takes it up again", id)
		}
	}
	// As v_directives has it: a question that was never sent is no attempt.
	tried := end.Verdict != verify.Policy || len(c.doc.Candidates) > 0
	if end.State == Rejected && end.Error != nil && c.plan.Directive != "" && tried {
		end.Error.Next += "; as it stands in " + DirectivesFile + " the order is not tried again, in other words it is"
	}
	return c.settleProposal(ctx, c.req, end)
}

// failures makes proposals of the contenders that no repair brought through.
// What could never be applied is no change, and no proposal.
func (c *contest) failures() []KeptProposal {
	var left []KeptProposal
	for _, k := range c.all {
		if cand := k.judged; !cand.Changeset.Empty() && cand.Verdict != verify.Pass {
			left = append(left, c.kept(cand, failed(cand).Name+"\n"+report(cand)))
		}
	}
	return left
}

// unjudged makes proposals of the contenders that were cancelled with nothing against
// them.
func (c *contest) unjudged() []KeptProposal {
	var left []KeptProposal
	for _, k := range c.all {
		if k.beaten != nil && !k.beaten.failed {
			left = append(left, c.kept(k.cand, "it was not judged to the end; "+k.beaten.why))
		}
	}
	return left
}

// store records a proposal and tells of it; 0 when it could not be kept. That
// is a note and not another ending: the record of the run has every candidate.
func (f *flight) store(ctx context.Context, p KeptProposal) int64 {
	if f.Proposals == nil {
		return 0
	}
	p.Reason = f.hide(p.Reason)
	id, err := f.Proposals.AddProposal(ctx, p)
	if err != nil {
		f.emit(Event{Note: "the proposal is not kept: " + err.Error()})
		return 0
	}
	f.tell(id, p)
	return id
}

// tell puts a kept proposal into the document and before the watcher.
func (f *flight) tell(id int64, p KeptProposal) {
	f.doc.Proposals = append(f.doc.Proposals, DocumentProposal{ID: id, Kind: p.Kind, Path: p.Path, Reason: p.Reason})
	f.emit(Event{Note: fmt.Sprintf("kept as proposal %d (%s)", id, p.Kind)})
}

// settleProposal marks the proposal that the run was for as done when it was
// promoted, and returns the ending as it was.
func (f *flight) settleProposal(ctx context.Context, req Request, end Ending) Ending {
	if req.Proposal != nil {
		f.proposal = req.Proposal.ID
	}
	if end.State == Promoted {
		f.settleAs(ctx, ProposalDone)
	}
	return end
}

// drop takes the proposal that the run was for off the list.
func (f *flight) drop(ctx context.Context) { f.settleAs(ctx, ProposalDropped) }

// settleAs records what became of the proposal that the run was for, if it was
// for one. Files may be in place by then, so a cancelled context must not leave
// it open, and an error is a note.
func (f *flight) settleAs(ctx context.Context, to ProposalState) {
	if f.Proposals == nil || f.proposal == 0 {
		return
	}
	steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleFor)
	defer cancel()
	if err := f.Proposals.SettleProposal(steady, f.proposal, to); err != nil {
		f.emit(Event{Note: fmt.Sprintf("proposal %d is still open: %v", f.proposal, err)})
	}
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
