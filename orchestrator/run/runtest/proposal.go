package runtest

import (
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/orchestrator/tournament"
)

// Keeping is like Hunt, with runs that keep proposals.
func Keeping(t *testing.T, j Judge, answers map[string]string) (*Bench, *Script) {
	t.Helper()
	b, m := Hunt(t, j, answers)
	b.Runner.Proposals = b.DB
	return b, m
}

// Review is a request without a goal.
func (b *Bench) Review(who run.Approver) run.Request {
	return run.Request{Workspace: b.Dir, Approver: who}
}

// Reviews turns the plans of a hunt into reviews.
func Reviews(b *Bench) {
	crew := b.Crew
	b.Crew = func(id string, emit func(agent.Progress)) tournament.Crew {
		c := crew(id, emit)
		p := c.Planner.(Plans)
		p.Task.Kind = agent.Patch
		c.Planner = p
		return c
	}
}

// Open lists the open proposals as "KIND path".
func (b *Bench) Open(t *testing.T) ([]run.KeptProposal, string) {
	t.Helper()
	list, err := b.DB.Proposals(t.Context(), b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list {
		names = append(names, string(p.Kind)+" "+p.Path)
	}
	return list, strings.Join(names, ", ")
}

// State returns what became of a proposal.
func (b *Bench) State(t *testing.T, id int64) run.ProposalState {
	t.Helper()
	p, err := b.DB.Proposal(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return p.State
}

// AtOnce does the work that follows a run before the run returns.
type AtOnce struct{}

// Go implements gate.Background.
func (AtOnce) Go(work func()) { work() }

// Wish is an answer to the question for a feature.
const Wish = "<THOUGHT>\nx may be two as well\n</THOUGHT>\n<SNIPPET>\nx = 2\n</SNIPPET>"
