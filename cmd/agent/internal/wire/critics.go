package wire

import (
	"context"
	"slices"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/agent"
	"agent/orchestrator/agent/critic"
	"agent/orchestrator/llm"
)

// Critics returns a function that makes the panel which reviews patches that passed; run is the name under which its
// questions are recorded. The panel is empty if no critic is configured. Its cost counts towards the caps of scope like
// any other question. before, if not nil, is the checkpoint before each question.
func (s *Session) Critics(set config.Settings, scope string, prompts *agent.Prompts, before func(context.Context, agent.Question) (agent.Question, error)) (func(run string, emit func(agent.Progress)) critic.Panel, error) {
	names, agree, err := set.Critics()
	if err != nil {
		return nil, err
	}
	if len(names) > 0 && agree > len(names) {
		return nil, fault.Usage("name more critics, or lower agree", "%d critics must agree (%s), and %d are configured (%s)",
			agree, set["agree"].Origin, len(names), set["critic"].Origin)
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fault.Usage("name each critic once", "critic (%s): %s is named twice, and would only agree with itself", set["critic"].Origin, name)
		}
	}
	var settings []config.Settings
	var chains []*llm.Chain
	for _, name := range names {
		// Each critic is a single model without fallbacks: it must be certain whose opinion it is.
		own := set.With("model", name, "critic, "+set["critic"].Origin)
		chain, err := s.newChain(own, scope, "")
		if err != nil {
			return nil, err
		}
		settings, chains = append(settings, own), append(chains, chain)
	}
	return func(run string, emit func(agent.Progress)) critic.Panel {
		p := critic.Panel{Agree: agree}
		for i, name := range names {
			p.Members = append(p.Members, critic.Member{Name: name, Engineer: &agent.Engineer{
				Model: &asker{chain: chains[i], run: run, emit: emit}, Prompts: prompts, Before: before,
				Window: Window(settings[i]), Budget: QuestionBudget(settings[i]).Bytes,
			}})
		}
		return p
	}, nil
}
