package builder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent/orchestrator/agent"
	"agent/orchestrator/crew"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

// Plan has the planner make a plan for a goal in a workspace, and records it as drafted. extra is what the planner is
// also shown, such as a report on the workspace; "" for nothing.
func (b *Builder) Plan(ctx context.Context, req run.Request, goal, extra string) (crew.Plan, *run.Problem) {
	base, problem := b.scan(ctx, req)
	if problem != nil {
		return crew.Plan{}, problem
	}
	p := crew.Plan{Workspace: base.Root, Goal: goal, State: crew.Drafted}
	// The planner's answers are recorded under the plan, so it must exist first.
	var err error
	if p.ID, err = b.Plans.AddPlan(ctx, p); err != nil {
		return p, trouble(ctx, "record the plan", err)
	}
	b.begins(p)
	b.tell(p, 0, fmt.Sprintf("plan %d: ask the planner", p.ID))
	w := &work{Builder: b, plan: p}
	brief, err := b.Overview(ctx, base, goal, true)
	if err != nil {
		return p, trouble(ctx, "survey the workspace", err)
	}
	brief.Findings = extra
	made, problem := w.ask(ctx, brief, base, 0, func(answer string) (crew.Plan, []string) {
		made, err := crew.ReadPlan(answer, 0, nil)
		if err != nil {
			return made, []string{err.Error()}
		}
		return made, made.Check(exists(base), b.Roles)
	})
	if problem != nil {
		p.Why = problem.Message
		_ = b.Plans.SavePlan(context.WithoutCancel(ctx), p, "") // the failure is reported in any case
		return p, problem
	}
	p.Summary, p.Tasks = made.Summary, made.Tasks
	if err := b.Plans.SavePlan(ctx, p, ""); err != nil {
		return p, trouble(ctx, "record the plan", err)
	}
	b.tell(p, 0, fmt.Sprintf("plan %d: %s", p.ID, run.Count(len(p.Tasks), "task")))
	return p, nil
}

// exists returns a function that reports whether a workspace has a file.
func exists(m *workspace.Manifest) func(string) bool {
	return func(p string) bool {
		e, ok := m.Lookup(p)
		return ok && e.Kind == workspace.File
	}
}

// ask asks the planner until its answer is accepted. read returns the plan in an answer, and what is wrong with it.
func (w *work) ask(ctx context.Context, brief agent.Brief, base *workspace.Manifest, task int, read func(string) (crew.Plan, []string)) (crew.Plan, *run.Problem) {
	role := w.Roles[crew.Planner]
	if text, ok := w.answered(PlanKind, task, w.plan.Replanned); ok {
		if p, wrong := read(text); len(wrong) == 0 {
			return p, nil
		}
	}
	a, err := w.begin(ctx, PlanKind, task, role.Name, w.plan.Replanned, len(w.landed))
	if err != nil {
		return crew.Plan{}, trouble(ctx, "record the plan", err)
	}
	brief.Role = role.Prompt
	most := min(maxAsked, orDefault(role.Limits.Rounds, maxAsked))
	for n := 1; ; n++ {
		reply, err := w.Ask(ctx, a, role, agent.MakePlan, fmt.Sprintf("plan/%d", n), brief)
		if err != nil {
			problem := trouble(ctx, "ask for a plan", err)
			_ = w.end(ctx, a, outcomeOf(problem), problem.Message)
			return crew.Plan{}, problem
		}
		p, wrong := read(reply.Text)
		if len(wrong) == 0 {
			a.Recorded = answer(reply.Text)
			return p, troubleIf(ctx, "record the plan", w.end(ctx, a, Passed, ""))
		}
		why := strings.Join(wrong, "\n")
		w.say(0, fmt.Sprintf("answer %d of the planner is not a plan: %s", n, wrong[0]))
		if n >= most {
			if err := w.end(ctx, a, Refused, why); err != nil {
				return crew.Plan{}, trouble(ctx, "record the plan", err)
			}
			return crew.Plan{}, &run.Problem{
				Kind: run.ProblemPatch, Message: fmt.Sprintf("the planner gave no plan in %s: %s", run.Count(n, "answer"), crew.Clip(strings.Join(wrong, "; "), 400)),
				Next: "describe the goal in more detail, name a stronger model for the planner in roles/planner.toml, or write the plan by hand: `agent plan edit --new`",
			}
		}
		brief.Answer, brief.Wrong = reply.Text, why
	}
}

// replan has the planner plan again a task that failed and the tasks that depend on it. false says that it may not, or
// found no way.
func (w *work) replan(ctx context.Context, n int) (bool, *run.Problem) {
	w.mu.Lock()
	p, done := w.plan.Clone(), len(w.landed)
	w.mu.Unlock()
	if p.Replanned >= orDefault(w.Roles[crew.Lead].Limits.Rounds, defaultRounds) {
		return false, nil
	}
	if err := w.Roles.Delegate(crew.Lead, crew.Planner); err != nil {
		w.say(n, err.Error())
		return false, nil
	}
	base, problem := w.tree(ctx, done)
	if problem != nil {
		return false, problem
	}
	brief, err := w.Overview(ctx, base, p.Goal, false)
	if err != nil {
		return false, trouble(ctx, "survey the workspace", err)
	}
	t := p.Task(n)
	brief.Tasks = p.Text()
	brief.Failure = agent.Failure{Gate: fmt.Sprintf("why task %d failed", n), Text: t.Why}
	w.say(n, fmt.Sprintf("task %d: ask the planner for another way", n))
	// All other tasks that are done or will be. Tasks that depend on the failed one go with it.
	gone := append([]int{n}, p.After(n)...)
	var after []int
	for _, t := range p.Tasks {
		if (t.State == crew.Done || t.State == crew.Running || t.State == crew.Waiting) && !slices.Contains(gone, t.N) {
			after = append(after, t.N)
		}
	}
	last := 0
	for _, t := range p.Tasks {
		last = max(last, t.N)
	}
	made, problem := w.ask(ctx, brief, base, n, func(answer string) (crew.Plan, []string) {
		made, err := crew.ReadPlan(answer, last, after)
		if err != nil {
			return made, []string{err.Error()}
		}
		// Check it as a part of the plan.
		whole := p.Clone()
		whole.Replace(n, made.Tasks)
		return made, whole.Check(exists(base), w.Roles)
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan.Replanned++
	switch {
	case problem != nil && problem.Kind == run.ProblemPatch:
		w.plan.Task(n).Why += "\nand the planner found no other way: " + problem.Message
		return false, troubleIf(ctx, "record the plan", w.save(ctx))
	case problem != nil:
		return false, problem
	}
	w.plan.Replace(n, made.Tasks)
	return true, troubleIf(ctx, "record the plan", w.save(ctx))
}

// scan reads the workspace of a request.
func (b *Builder) scan(ctx context.Context, req run.Request) (*workspace.Manifest, *run.Problem) {
	dir := req.Workspace
	if req.Place != nil {
		dir = req.Place.Path
		if err := req.Place.InPlace(); err != nil {
			return nil, &run.Problem{Kind: run.ProblemConflict, Message: err.Error(), Next: "run it again in the directory that is now at that path"}
		}
	}
	m, err := workspace.Rescan(ctx, dir, req.Exclude, workspace.Limits{})
	return m, troubleIf(ctx, "scan the workspace", err)
}

// trouble returns the problem for an error that is not the task's fault, or comes from a cap or from a person who ended it.
func trouble(ctx context.Context, act string, err error) *run.Problem {
	if stop, ok := errors.AsType[*agent.StopError](err); ok {
		kind := run.ProblemInfra
		switch {
		case stop.Budget:
			kind = run.ProblemBudget
		case stop.Usage:
			kind = run.ProblemUsage
		}
		return &run.Problem{Kind: kind, Message: stop.Message, Next: stop.Next}
	}
	if unlike, ok := errors.AsType[*unlikeError](err); ok {
		return &run.Problem{Kind: run.ProblemPatch, Message: "it differs from the record: " + unlike.what, Next: "see what was done for either plan with `agent sql v_plan_progress`"}
	}
	switch {
	case errors.Is(err, errCancelled) || errors.Is(context.Cause(ctx), errCancelled):
		return &run.Problem{Kind: run.ProblemCancelled, Message: "cancelled from elsewhere; what is done is kept", Next: resume}
	case ctx.Err() != nil:
		return &run.Problem{Kind: run.ProblemCancelled, Message: "cancelled; what is done is kept", Next: resume}
	case errors.Is(err, run.ErrFenced):
		return &run.Problem{Kind: run.ProblemConflict, Message: "another process is working on this plan", Next: "wait for it to end; `agent jobs list` names it"}
	}
	return &run.Problem{Kind: run.ProblemInfra, Message: act + ": " + err.Error(), Next: "run `agent doctor`, then " + resume}
}

// resume says how to continue a plan that has stopped.
const resume = "continue with `agent build --resume`"

// troubleIf is trouble if there is an error.
func troubleIf(ctx context.Context, act string, err error) *run.Problem {
	if err == nil {
		return nil
	}
	return trouble(ctx, act, err)
}

// outcomeOf returns the outcome of an attempt that a problem ended.
func outcomeOf(p *run.Problem) Outcome {
	switch p.Kind {
	case run.ProblemBudget:
		return Spent
	case run.ProblemCancelled:
		return Stopped
	case run.ProblemPatch, run.ProblemPolicy, run.ProblemUsage:
		return Refused
	}
	return Trouble
}

// orDefault returns n, or otherwise if n is 0.
func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
