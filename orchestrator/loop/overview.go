package loop

import (
	"context"
	"fmt"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/retrieve"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

// Overview gathers what a model that plans a goal is shown of a workspace: what it is, its rules, what was learnt, and its files with
// what they define. The files that fit the goal best come first.
func (s *Scout) Overview(ctx context.Context, base *workspace.Manifest, goal string) (agent.Brief, error) {
	b := agent.Brief{Goal: goal}
	known, err := s.survey(ctx, base)
	if err != nil {
		return b, err
	}
	b.Project = known.Project()
	memory, err := s.Knowledge.Memory(ctx, base.Root)
	if err != nil {
		return b, fmt.Errorf("read the memory: %w", err)
	}
	b.Memory = memory.Text
	if err := s.describe(base, run.Request{}, agent.DefaultBudget, &b); err != nil {
		return b, err
	}
	b.Language = ""
	hits := retrieve.Rank(known.Ledger, known.Summaries.Files, s.candidates(base), goal)
	for _, h := range hits[:min(len(hits), maxFitting)] {
		b.Files = append(b.Files, h.Path)
	}
	b.Unlisted, b.Candidates = max(0, len(hits)-maxFitting), outlines(known.Ledger, hits)
	return b, nil
}
