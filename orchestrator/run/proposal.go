package run

import (
	"context"
	"fmt"
	"time"

	"agent/verify"
)

// A ProposalKind says what a kept proposal is.
type ProposalKind string

// The kinds of kept proposals, named as in the original loop. A failed one was tried and did not pass its gates, whatever repairs it
// had.
const (
	PeerReview       ProposalKind = "PEER_REVIEW"
	Feature          ProposalKind = "FEATURE"
	FailedPeerReview ProposalKind = "FAILED_PEER_REVIEW"
	FailedFeature    ProposalKind = "FAILED_FEATURE"
)

// Failed reports whether proposals of this kind did not pass their gates.
func (k ProposalKind) Failed() bool { return k == FailedPeerReview || k == FailedFeature }

// OfFeature reports whether proposals of this kind are about a feature, rather than about a goal or a review.
func (k ProposalKind) OfFeature() bool { return k == Feature || k == FailedFeature }

// A ProposalState says what became of a kept proposal.
type ProposalState string

// The states of a kept proposal. It begins as ProposalOpen; a later proposal that takes its place drops it.
const (
	ProposalOpen    ProposalState = "open"
	ProposalDone    ProposalState = "done"
	ProposalDropped ProposalState = "dropped"
)

// A KeptProposal is a pending proposal: a feature that nobody has written yet, a patch that passed and was not promoted, or a patch
// that no repair brought through its gates. Its texts come from models, except Goal.
type KeptProposal struct {
	// ID is 0 until it is recorded.
	ID        int64
	Workspace string
	Kind      ProposalKind
	State     ProposalState
	// Path is the file that the proposal is about, "" for none.
	Path string
	// Goal is what the change is for, in a person's words; "" for none.
	Goal string
	// Text is the feature, or what the model said about the patch.
	Text string
	// Patch is the change in git's form; nil if there is none, or none that could be kept.
	Patch []byte
	// Reason says why it was made or why it was not promoted. For a failed one, that is the first gate that it did not pass, with its
	// findings.
	Reason string
	// Run is the run that proposed or tried it.
	Run string
	At  time.Time
}

// Proposals keeps proposals. *store.DB implements it.
type Proposals interface {
	// AddProposal records an open proposal and returns its number. It does not record again one that is open already, word for word: a
	// run that is resumed after a crash proposes the same.
	AddProposal(ctx context.Context, p KeptProposal) (int64, error)
	// Proposals lists the open proposals of a workspace, oldest first.
	Proposals(ctx context.Context, workspace string) ([]KeptProposal, error)
	// SettleProposal records what became of an open proposal.
	SettleProposal(ctx context.Context, id int64, to ProposalState) error
}

// Proven reports whether the proposal is a patch that passed every gate once, so that no model is needed to take it up again.
func (p KeptProposal) Proven() bool { return p.Patch != nil && !p.Kind.Failed() }

// Resume returns the request that takes the proposal up again. A patch that passed is proved again, since the workspace may have
// changed. A feature is implemented. A failed patch is judged as it stands and then repaired.
func (p KeptProposal) Resume(req Request) Request {
	req.Proposal = &p
	if p.Proven() {
		req.Patch, req.PatchName = p.Patch, fmt.Sprintf("of proposal %d", p.ID)
		return req
	}
	req.Goal = p.Goal
	if p.Path != "" {
		req.Scope = []string{p.Path}
	}
	return req
}

// KeepProposal records a proposal, reports it and returns its number, or 0 if it could not be kept. A failure is a note and not another
// ending: the record of the run has every candidate.
func (x *Execution) KeepProposal(ctx context.Context, p KeptProposal) int64 {
	if x.runner.Proposals == nil {
		return 0
	}
	p.Text, p.Reason = x.runner.hide(p.Text), x.runner.hide(p.Reason)
	id, err := x.runner.Proposals.AddProposal(ctx, p)
	if err != nil {
		x.Notify(Event{Note: "the proposal was not kept: " + err.Error()})
		return 0
	}
	x.tell(id, p)
	return id
}

// tell adds a kept proposal to the document and tells the watcher about it.
func (x *Execution) tell(id int64, p KeptProposal) {
	x.doc.Proposals = append(x.doc.Proposals, DocumentProposal{ID: id, Kind: p.Kind, Path: p.Path, Reason: p.Reason})
	x.Notify(Event{Note: fmt.Sprintf("kept as proposal %d (%s)", id, p.Kind)})
}

// SettleProposal marks the proposal that the run was for as done if the run was promoted. It returns the ending unchanged.
func (x *Execution) SettleProposal(ctx context.Context, req Request, end Ending) Ending {
	if req.Proposal != nil {
		x.proposal = req.Proposal.ID
	}
	if end.State == Promoted {
		x.settleAs(ctx, ProposalDone)
	}
	return end
}

// DropProposal takes the proposal that the run was for off the list.
func (x *Execution) DropProposal(ctx context.Context) { x.settleAs(ctx, ProposalDropped) }

// settleAs records what became of the proposal that the run was for, if it was for one. Files may be in place by then, so a cancelled
// context must not leave the proposal open, and an error is only a note.
func (x *Execution) settleAs(ctx context.Context, to ProposalState) {
	if x.runner.Proposals == nil || x.proposal == 0 {
		return
	}
	steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), SettleFor)
	defer cancel()
	if err := x.runner.Proposals.SettleProposal(steady, x.proposal, to); err != nil {
		x.Notify(Event{Note: fmt.Sprintf("proposal %d is still open: %v", x.proposal, err)})
	}
}

// TakeUp makes an open proposal the one that the run is for.
func (x *Execution) TakeUp(id int64) { x.proposal = id }

// Proposal returns the number of the open proposal that the run is for, 0 for none.
func (x *Execution) Proposal() int64 { return x.proposal }

// OutcomeProposed is the Outcome of a Document whose run kept a feature for a person
// to decide on.
const OutcomeProposed = "proposed"

// LeaveFeature ends a run whose review found nothing and whose feature stays open until
// a person has it implemented.
func (x *Execution) LeaveFeature(p KeptProposal) Ending {
	x.tell(p.ID, p)
	does := "have the feature written"
	if p.Patch != nil {
		does = "take it up again"
	}
	x.doc.Outcome, x.doc.Next = OutcomeProposed, fmt.Sprintf("run `agent sandbox run --proposal %d` to %s", p.ID, does)
	return Ending{State: Done, Verdict: verify.Pass, Exit: ExitDone}
}

// AskFeature asks whether to implement a proposed feature now. A nil ending means that there is an answer.
func (x *Execution) AskFeature(ctx context.Context, req Request, p KeptProposal) (Answer, *Ending) {
	stop := func(end Ending) (Answer, *Ending) { return Answer{}, &end }
	x.asked = ""
	if err := x.Advance(ctx, AwaitingApproval, "a feature is proposed for "+p.Path); err != nil {
		return stop(End(Failed, x.Trouble(ctx, "record the run", err)))
	}
	answer, err := req.Approver.Approve(ctx, Proposal{Run: x.rec.ID, Workspace: x.rec.Workspace, Feature: &p})
	if err != nil {
		return stop(End(Failed, x.Trouble(ctx, "ask for approval", err)))
	}
	logAnswer(ctx, answer, Proposal{Feature: &p})
	return answer, nil
}
