package run

import (
	"context"
	"fmt"
	"time"

	"agent/orchestrator/agent"
	"agent/verify"
)

// A ProposalKind says what a kept proposal is.
type ProposalKind string

// The kinds of kept proposals, by the names of the original loop. A failed one
// was tried and did not pass its gates, whatever repairs it had.
const (
	PeerReview       ProposalKind = "PEER_REVIEW"
	Feature          ProposalKind = "FEATURE"
	FailedPeerReview ProposalKind = "FAILED_PEER_REVIEW"
	FailedFeature    ProposalKind = "FAILED_FEATURE"
)

// Failed reports whether proposals of this kind did not pass their gates.
func (k ProposalKind) Failed() bool { return k == FailedPeerReview || k == FailedFeature }

// feature reports whether proposals of this kind are of a feature, rather than
// of a goal or a review.
func (k ProposalKind) feature() bool { return k == Feature || k == FailedFeature }

// A ProposalState says what became of a kept proposal.
type ProposalState string

// The states of a kept proposal. It begins as ProposalOpen; a later one that
// takes its place drops it.
const (
	ProposalOpen    ProposalState = "open"
	ProposalDone    ProposalState = "done"
	ProposalDropped ProposalState = "dropped"
)

// A KeptProposal is a change that was proposed and not made: a feature that
// nobody has written yet, a patch that passed and was not promoted, or one that
// no repair brought through its gates. Its texts come from models, but Goal.
type KeptProposal struct {
	// ID is 0 until it is recorded.
	ID        int64
	Workspace string
	Kind      ProposalKind
	State     ProposalState
	// Path is the file that it is about, "" for none.
	Path string
	// Goal is what the change is for, in a person's words; "" for none.
	Goal string
	// Text is the feature, or what the model said of the patch.
	Text string
	// Patch is the change in git's form; nil when there is none, or none that
	// could be kept.
	Patch []byte
	// Reason says why it was made, or why it was not promoted: for a failed one
	// the first gate that it did not pass, with what that found.
	Reason string
	// Run is the run that proposed or tried it.
	Run string
	At  time.Time
}

// Bounds of what is kept of a proposal, in bytes. The record of the run has the
// whole.
const (
	maxKeptPatch = 256 << 10
	maxKeptText  = 16 << 10
)

// Proposals keeps proposals. *store.DB is one.
type Proposals interface {
	// AddProposal records an open proposal and returns its number. One that is
	// open already, word for word, is not recorded again: a run that is carried
	// on after a crash proposes the same.
	AddProposal(ctx context.Context, p KeptProposal) (int64, error)
	// Proposals lists the open proposals of a workspace, oldest first.
	Proposals(ctx context.Context, workspace string) ([]KeptProposal, error)
	// SettleProposal records what became of an open proposal.
	SettleProposal(ctx context.Context, id int64, to ProposalState) error
}

// Proven reports whether the proposal is a patch that passed every gate once,
// so that no model is needed to take it up again.
func (p KeptProposal) Proven() bool { return p.Patch != nil && !p.Kind.Failed() }

// Resume returns the request that takes the proposal up again. A patch that
// passed is proved again, since the workspace may have changed; a feature is
// implemented; what failed is judged as it stands and then repaired.
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

// Aim makes a plan one for the proposal. The planner has read its file and
// gathered what is known; what is to be done stands in the proposal.
func (p KeptProposal) Aim(plan *Plan) {
	plan.Why, plan.Proposal = fmt.Sprintf("proposal %d", p.ID), &p
	if p.Kind.feature() {
		plan.Task.Kind, plan.Task.Brief.Feature = agent.Implement, p.Text
	}
}

// kept makes the proposal of a candidate, to be kept for reason. It keeps the
// goal, so that whoever takes it up again knows what it was for.
func (c *contest) kept(cand Candidate, reason string) KeptProposal {
	b := c.plan.Task.Brief
	p := KeptProposal{
		Workspace: c.rec.Workspace, Kind: PeerReview, State: ProposalOpen, Path: b.Target, Goal: b.Goal,
		Text: cand.Thought, Patch: []byte(cand.Diff), Run: c.rec.ID,
	}
	passed := cand.Verdict == verify.Pass
	switch {
	case b.Feature != "" && passed:
		p.Kind = Feature
	case b.Feature != "":
		p.Kind = FailedFeature
	case !passed:
		p.Kind = FailedPeerReview
	}
	if b.Feature != "" {
		p.Text = b.Feature // it is what must be implemented, whatever this attempt says of itself
	}
	if n := len(p.Patch); n > maxKeptPatch {
		p.Patch, reason = nil, fmt.Sprintf("%s (its diff of %d bytes is in `agent runs show %s`)", reason, n, c.rec.ID)
	}
	p.Text, p.Reason = clip(p.Text), clip(reason)
	return p
}
