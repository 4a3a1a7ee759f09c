package wire

import (
	"context"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/agent"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/forge"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/vendors"
	"agent/orchestrator/loop"
	"agent/orchestrator/tournament"
)

// Crews returns a function that gives each iteration the crew that finds its change: the models of set, or the record.
// scope is what the caps hold for. before, if not nil, is the checkpoint before each question.
func (s *Session) Crews(set config.Settings, scope string, before func(context.Context, agent.Question) (agent.Question, error), recs []Recorded) (func(loop.Iteration, func(agent.Progress)) tournament.Crew, error) {
	prompts, err := LoadPrompts(set["workspace"].Text, s.home)
	if err != nil {
		return nil, err
	}
	// A replay sends nothing.
	if recs != nil {
		return s.replays(set, prompts, recs)
	}
	if err := checkAllowed(prompts, s.home); err != nil {
		return nil, err
	}
	// One chain serves all iterations of this process: its caps count across goroutines only within one chain.
	chain, err := s.newChain(set, scope, "")
	if err != nil {
		return nil, err
	}
	critics, err := s.Critics(set, scope, prompts, before)
	if err != nil {
		return nil, err
	}
	explores, err := s.explores(set)
	if err != nil {
		return nil, err
	}
	return func(it loop.Iteration, emit func(agent.Progress)) tournament.Crew {
		model := &asker{chain: chain, run: it.ID, emit: emit}
		engineer := &agent.Engineer{Model: model, Prompts: prompts, Window: Window(set), Budget: QuestionBudget(set).Bytes, Before: before}
		scout := s.Scout(engineer, it)
		scout.Explores = explores
		return tournament.Crew{Engineer: engineer, Planner: scout, Workbench: s.workbenches(model, "", nil, conversation.Caps{}), Critics: critics(it.ID, emit), Repairs: true}
	}, nil
}

// newChain returns the chain that asks the models of set, or answers from the record of the run replay. The caps are
// those of a scope: "run", "loop" or "plan".
func (s *Session) newChain(set config.Settings, scope, replay string) (*llm.Chain, error) {
	limits, err := set.Budget()
	if err != nil {
		return nil, err
	}
	limits.Scope, limits.Names = scope, namedCaps(set, scope)
	conf := llm.Config{Limits: limits, Journal: &loggedJournal{Journal: s.DB, open: map[int64]llm.Record{}}, States: s.DB.Keys(), Replay: replay}
	// A replay asks no model, so it needs neither key nor model.
	if replay == "" {
		if conf.Links, err = links(vendors.All(), set); err != nil {
			return nil, err
		}
	}
	// llm.New can only refuse a cap on cost without a price: the links were checked above.
	chain, err := llm.New(conf)
	if err != nil {
		return nil, fault.Usage("set the price in [prices] of the user configuration, or remove the cap on cost", "%w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chains = append(s.chains, chain)
	return chain, nil
}

// namedCaps returns the names of the caps of a scope that a task file has set, see [Tightened].
func namedCaps(set config.Settings, scope string) map[string]string {
	names := map[string]string{}
	for _, what := range []string{"requests", "tokens", "cost", "time"} {
		if set["budget."+what].Origin == taskFile {
			names[what+" of a "+scope] = "limits." + what
		}
	}
	return names
}

// replays returns a function that gives each iteration a crew that answers like the recorded one.
//
// The chains are opened before the first iteration, so that an unreadable record is reported at once and not in the
// middle of a loop.
func (s *Session) replays(set config.Settings, prompts *agent.Prompts, recs []Recorded) (func(loop.Iteration, func(agent.Progress)) tournament.Crew, error) {
	chains, plans := make([]*llm.Chain, len(recs)), make([]tournament.Plan, len(recs))
	for i, rec := range recs {
		plan, err := tournament.RecordedPlan(rec.Plan).Read()
		if err != nil {
			return nil, err
		}
		plans[i] = plan
		if chains[i], err = s.newChain(set, "run", rec.Asked); err != nil {
			return nil, err
		}
	}
	return func(it loop.Iteration, emit func(agent.Progress)) tournament.Crew {
		// An iteration beyond the end of the record gets its last one.
		n := min(it.Order.Done, len(recs)-1)
		model := &asker{chain: chains[n], run: it.ID, emit: emit}
		return tournament.Crew{
			Engineer: &agent.Engineer{Model: model, Prompts: prompts}, Planner: tournament.RecordedPlan(recs[n].Plan), Workbench: s.workbenches(model, recs[n].Asked, nil, conversation.Caps{}),
			Critics: plans[n].Critics.Panel(model, prompts), Repairs: plans[n].Repairs,
		}
	}, nil
}

// Scout returns the planner of an iteration.
func (s *Session) Scout(e *agent.Engineer, it loop.Iteration) *loop.Scout {
	return &loop.Scout{
		Engineer: e, Knowledge: s.DB, Orders: s.DB, Hotspots: forge.Hotspots, Fence: it.Fence, Last: it.Order.Last, Turns: it.Order.Turns,
		Survey: s.Survey, Findings: s.examiner().Findings,
	}
}
