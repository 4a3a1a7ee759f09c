package wire

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	"agent/cmd/agent/internal/config"
	"agent/orchestrator/agent"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/agent/critic"
	"agent/orchestrator/agent/tools"
	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/llm"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/tournament"
	"agent/sandbox"
	"agent/sandbox/workspace"
)

// A team asks the models of the roles.
type team struct {
	*Session
	set     config.Settings
	prompts *agent.Prompts
	// The critics that review what passed of a task; empty if no critic is configured.
	critics func(run string, emit func(agent.Progress)) critic.Panel

	mu     sync.Mutex
	chains map[string]*llm.Chain // by the configured model
}

// PlanBuilder returns the builder that makes plans and carries them out. It uses the models of set where a role names none.
func (s *Session) PlanBuilder(set config.Settings) (*builder.Builder, error) {
	prompts, err := LoadPrompts(set["workspace"].Text, s.home)
	if err != nil {
		return nil, err
	}
	if err := checkAllowed(prompts, s.home); err != nil {
		return nil, err
	}
	roles, err := allowedRoles(set["workspace"].Text, s.home)
	if err != nil {
		return nil, err
	}
	strange, err := StrangeRoles(roles, set["workspace"].Text, s.home)
	if err != nil {
		return nil, err
	}
	own := set
	if models := roles[crew.Critic].Models; len(models) > 0 { // they replace those of the settings
		own = set.With("critic", strings.Join(models, ","), "roles/critic.toml")
	}
	critics, err := s.Critics(own, "plan", prompts, nil)
	if err != nil {
		return nil, err
	}
	t := &team{Session: s, set: set, prompts: prompts, critics: critics, chains: map[string]*llm.Chain{}}
	return &builder.Builder{
		Runner: func(emit func(run.Event)) *run.Runner { return s.Runner(emit) },
		Plans:  s.DB.Plans(), Roles: roles, Crew: t.crew, Ask: t.ask, Overview: t.overview, Proof: t.proof, RunOf: s.DB.RunOf, Actions: s.actions, Owner: sandbox.Owner(), Notices: strange,
	}, nil
}

// as returns the settings of a role at a try, and the chain that asks its models. Each model has one chain in this
// process: the caps of a chain count across goroutines only within that chain.
func (t *team) as(role crew.Role, try int) (config.Settings, *llm.Chain, error) {
	set := t.set
	if name := role.Model(try); name != "" {
		set = set.With("model", name, "roles/"+role.Name+".toml")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := set["model"].Text
	if t.chains[key] == nil {
		chain, err := t.newChain(set, "plan", "")
		if err != nil {
			return nil, nil, err
		}
		t.chains[key] = chain
	}
	return set, t.chains[key], nil
}

// crew implements builder.Builder.Crew.
func (t *team) crew(a builder.Attempt, role crew.Role, emit func(agent.Progress)) (tournament.Crew, error) {
	if a.Of != "" {
		return t.recorded(a, role, emit)
	}
	set, chain, err := t.as(role, a.Try)
	if err != nil {
		return tournament.Crew{}, err
	}
	model := &asker{chain: chain, run: a.ID, emit: emit}
	engineer := &agent.Engineer{Model: model, Prompts: t.prompts, Window: Window(set), Budget: QuestionBudget(set).Bytes}
	scout := t.Scout(engineer, loop.Iteration{ID: a.ID, Fence: a.Fence})
	// The ledger describes the files on disk and continues to: the changes of tasks are not promoted yet.
	scout.Survey = t.Recorded
	if len(role.Tools) > 0 {
		if scout.Explores, err = t.explores(set); err != nil {
			return tournament.Crew{}, err
		}
	}
	return tournament.Crew{Engineer: engineer, Planner: scout, Workbench: t.workbenches(model, "", role.Tools, caps(role.Talk)), Critics: t.critics(a.ID, emit), Repairs: true}, nil
}

// caps converts the caps of a role into those of conversations.
func caps(t crew.Talk) conversation.Caps {
	return conversation.Caps{Rounds: t.Iterations, Calls: t.Calls, AtOnce: t.AtOnce, Identical: t.Identical, Errors: t.Errors, Shown: t.Output}
}

// recorded returns a crew that carries a task out again as it was recorded, without asking a model.
func (t *team) recorded(a builder.Attempt, role crew.Role, emit func(agent.Progress)) (tournament.Crew, error) {
	plan, err := tournament.RecordedPlan(a.Recorded).Read()
	if err != nil {
		return tournament.Crew{}, err
	}
	chain, err := t.newChain(t.set, "plan", a.Of)
	if err != nil {
		return tournament.Crew{}, err
	}
	model := &asker{chain: chain, run: a.ID, emit: emit}
	return tournament.Crew{
		Engineer: &agent.Engineer{Model: model, Prompts: t.prompts}, Planner: tournament.RecordedPlan(a.Recorded),
		Workbench: t.workbenches(model, a.Of, role.Tools, caps(role.Talk)), Critics: plan.Critics.Panel(model, t.prompts), Repairs: plan.Repairs,
	}, nil
}

// limits are the names that task files use for the caps that end conversations.
var limits = map[conversation.End]string{
	conversation.Rounds: "iterations", conversation.Calls: "calls", conversation.Output: "output", conversation.Repeated: "identical", conversation.Errors: "failed_iterations",
}

// actions implements builder.Builder.Actions. Notes and claims of models do not count as actions.
func (s *Session) actions(ctx context.Context, attempt string) (acts builder.Actions, err error) {
	calls, err := s.DB.ToolCalls(ctx, attempt)
	if err != nil {
		return acts, err
	}
	known := tools.All()
	for _, c := range calls {
		tool, ok := tools.Find(known, c.Tool)
		if !ok || c.Tool == "note" || c.Tool == "finish" {
			continue
		}
		line := c.Tool + " " + tool.Subject(c.Arguments) + ": " + cmp.Or(c.Head, "answered")
		if c.Failed {
			line += " (it did not do what was asked)"
		}
		acts.List = append(acts.List, crew.Clip(strings.Join(strings.Fields(line), " "), 300))
	}
	ends, err := s.DB.ConversationEnds(ctx, attempt)
	for _, e := range ends {
		if name := limits[e.End]; name != "" {
			acts.Limits = append(acts.Limits, fmt.Sprintf("limits.%s: after %d rounds and %d calls", name, e.Rounds, e.Calls))
		}
		if e.Detail != "" {
			acts.Limits = append(acts.Limits, "limits.calls_per_iteration: "+e.Detail)
		}
	}
	return acts, err
}

// ask implements builder.Builder.Ask.
func (t *team) ask(ctx context.Context, a builder.Attempt, role crew.Role, purpose agent.Purpose, step string, b agent.Brief) (agent.Reply, error) {
	set, chain, err := t.as(role, a.Try)
	if err != nil {
		return agent.Reply{}, err
	}
	emit := func(p agent.Progress) {
		if t.Notify != nil {
			t.Notify(run.Event{Model: &p})
		}
	}
	e := &agent.Engineer{Prompts: t.prompts, Window: Window(set), Budget: QuestionBudget(set).Bytes}
	q, _, err := e.Question(purpose, step, b, agent.NewFence(a.Fence))
	if err != nil {
		return agent.Reply{}, err
	}
	return (&asker{chain: chain, run: a.ID, emit: emit}).Ask(ctx, q)
}

// overview implements builder.Builder.Overview.
func (t *team) overview(ctx context.Context, base *workspace.Manifest, goal string, fresh bool) (agent.Brief, error) {
	scout := t.Scout(nil, loop.Iteration{})
	if !fresh {
		scout.Survey = t.Recorded
	}
	return scout.Overview(ctx, base, goal)
}

// proof implements builder.Builder.Proof.
func (t *team) proof(ctx context.Context, id string) (builder.Proof, error) {
	cand, err := t.DB.Proven(ctx, id)
	if err != nil {
		return builder.Proof{}, err
	}
	d, err := t.DB.Run(ctx, id)
	return builder.Proof{Candidate: cand, Snapshot: d.Record.Snapshot}, err
}
