package builder

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agent/orchestrator/agent"
	"agent/orchestrator/crew"
	"agent/orchestrator/gate/batch"
	"agent/orchestrator/run"
	"agent/orchestrator/tournament"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A trial is the result of one try at a task.
type trial struct {
	attempt Attempt
	run     string
	proof   Proof
	outcome Outcome
	why     string
	nothing bool // the model saw nothing to change
	// with is the batch in which the change was judged, nil for none. unsure says that an earlier process may have had
	// it judged together with others.
	with   *batch.Batch
	unsure bool
	member *batch.Member // who asked for the judgement, nil without a queue
}

// carry carries out a task: it tries the task, lands it if it passed, tries it again if not, and finally plans it anew
// or gives it up. A problem concerns the plan, which then stops; the task continues later from where it was.
func (w *work) carry(ctx context.Context, n int) *run.Problem {
	role := w.role(n)
	for {
		// The process may have died after the last permitted try.
		t, _ := w.task(n)
		if t.Tries-w.before[n] >= orDefault(role.Limits.Tries, defaultTries) {
			return w.otherwise(ctx, n)
		}
		if stop, problem := w.step(ctx, n); stop || problem != nil {
			return problem
		}
		got, problem := w.try(ctx, n, role)
		if problem != nil || got.outcome != Passed {
			got.with = nil
		}
		w.leave(got)
		if problem != nil {
			return problem
		}
		if got.outcome == Passed {
			if got, problem = w.land(ctx, n, got); problem != nil || got.outcome == Passed {
				return problem
			}
		}
		if got.nothing && role.Optional {
			return w.unneeded(ctx, n, got)
		}
		if got.outcome == Outside {
			return w.give(ctx, n, crew.Held, got)
		}
		w.say(n, fmt.Sprintf("task %d: %s", n, firstLine(got.why)))
		if err := w.update(ctx, func(p *crew.Plan) { t := p.Task(n); t.Why, t.Run = got.why, got.run }); err != nil {
			return trouble(ctx, "record the plan", err)
		}
	}
}

// role returns the role of a task, or the worker if the role's file has gone.
func (w *work) role(n int) crew.Role {
	w.mu.Lock()
	defer w.mu.Unlock()
	role, ok := w.Roles[w.plan.Task(n).Role]
	if !ok {
		role = w.Roles[crew.Worker]
	}
	if w.plan.Loop != nil {
		role = w.plan.Loop.Role(role)
	}
	return role
}

// step asks a person about a task before it begins. stop says that it does not begin.
func (w *work) step(ctx context.Context, n int) (stop bool, problem *run.Problem) {
	if w.Step == nil {
		return false, nil
	}
	t, _ := w.task(n)
	answer, err := w.Step(ctx, Step{Kind: TaskKind, Task: &t, Text: t.Goal})
	switch {
	case err != nil:
		return true, trouble(ctx, "ask about the task", err)
	case answer.Abort:
		return true, &run.Problem{Kind: run.ProblemCancelled, Message: "ended at a step; what is done is kept", Next: resume}
	case answer.Skip:
		return true, w.give(ctx, n, crew.Undone, trial{why: "skipped by a person"})
	case answer.Text != "":
		err = w.update(ctx, func(p *crew.Plan) { p.Task(n).Goal = answer.Text })
	}
	return false, troubleIf(ctx, "record the plan", err)
}

// give gives up a task, putting it into a state, and the tasks that depend on it.
func (w *work) give(ctx context.Context, n int, to crew.TaskState, got trial) *run.Problem {
	err := w.update(ctx, func(p *crew.Plan) {
		t := p.Task(n)
		t.State, t.Why = to, got.why
		if got.run != "" {
			t.Run = got.run
		}
		p.Block(n)
	})
	w.say(n, fmt.Sprintf("task %d: %s: %s", n, to, firstLine(got.why)))
	return troubleIf(ctx, "record the plan", err)
}

// unneeded ends a task that needed no change. It writes the row first: an attempt that passed has a change that is yet to land.
func (w *work) unneeded(ctx context.Context, n int, got trial) *run.Problem {
	err := w.update(ctx, func(p *crew.Plan) {
		t := p.Task(n)
		t.State, t.Why, t.Run = crew.Done, "nothing had to be changed", got.run
	})
	if err == nil {
		got.attempt.Run = "" // the run proved nothing
		err = w.end(ctx, got.attempt, Passed, got.why)
	}
	w.say(n, fmt.Sprintf("task %d: nothing had to be changed", n))
	return troubleIf(ctx, "record the task", err)
}

// otherwise has a task that was tried often enough planned again, or gives it up.
func (w *work) otherwise(ctx context.Context, n int) *run.Problem {
	if w.plan.Loop != nil || w.role(n).Optional {
		t, _ := w.task(n)
		return w.give(ctx, n, crew.Undone, trial{why: t.Why, run: t.Run})
	}
	planned, problem := w.replan(ctx, n)
	if problem != nil {
		return problem
	}
	if planned {
		w.say(n, fmt.Sprintf("task %d: planned anew", n))
		return nil
	}
	t, _ := w.task(n) // with the planner's answer
	return w.give(ctx, n, crew.Undone, trial{why: t.Why, run: t.Run})
}

// try tries a task once, as a run without a patch on the integration tree, which promotes nothing.
func (w *work) try(ctx context.Context, n int, role crew.Role) (trial, *run.Problem) {
	t, done := w.task(n)
	a, kept := w.kept(t)
	var err error
	if !kept {
		a, err = w.begin(ctx, TaskKind, n, role.Name, t.Tries, done)
	}
	if err == nil {
		err = w.update(ctx, func(p *crew.Plan) { p.Task(n).Tries++ })
	}
	if err != nil {
		return trial{}, trouble(ctx, "record the plan", err)
	}
	w.say(n, fmt.Sprintf("task %d: %s", n, t.Title))
	got := trial{attempt: a}
	if kept {
		got.run, got.outcome, got.unsure = a.Run, Passed, true
		problem := w.prove(ctx, t, &got)
		return got, problem
	}
	// The process may have died between the end of the run and the next row.
	id, state, ok, err := w.RunOf(ctx, a.ID)
	switch {
	case err != nil:
		return got, trouble(ctx, "find out how the task ended", err)
	case ok && state == run.Done:
		got.run, got.outcome, got.unsure = id, Passed, true
	default:
		if problem := w.run(ctx, t, role, &got); problem != nil {
			_ = w.end(ctx, got.attempt, outcomeOf(problem), problem.Message)
			return got, problem
		}
	}
	got.attempt.Run = got.run
	if got.outcome == Passed {
		if problem := w.prove(ctx, t, &got); problem != nil {
			return got, problem
		}
	}
	if got.nothing && role.Optional {
		return got, nil
	}
	return got, troubleIf(ctx, "record the task", w.end(ctx, got.attempt, got.outcome, got.why))
}

// kept returns the attempt whose change passed and has not landed yet: its process ended before that, or the change
// touched other files, which is now allowed. ok is false if there is none.
func (w *work) kept(t crew.Task) (Attempt, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, a := range slices.Backward(w.past) {
		if a.Kind != TaskKind || a.Task != t.N {
			continue
		}
		if a.Outcome == Passed && a.Try == t.Tries || a.Outcome == Outside && w.Outside && a.Run == t.Run {
			w.past = slices.Delete(w.past, i, i+1)
			return a, true
		}
		break
	}
	return Attempt{}, false
}

// run carries out the run of a try.
func (w *work) run(ctx context.Context, t crew.Task, role crew.Role, got *trial) *run.Problem {
	landed := w.first(got.attempt.Landed)
	req := w.req
	req.Base = func(_ context.Context, disk *workspace.Manifest) (*workspace.Manifest, error) {
		_, tree, err := crew.Integrate(disk, landed)
		return tree, err
	}
	req.Patch, req.Commit, req.Approver, req.NoPromote, req.NoFeature = nil, nil, nil, true, true
	req.Iteration, req.Goal, req.Candidates, req.Proposal = got.attempt.ID, w.goal(t), 1, nil
	about := briefed{role: role.Prompt, memory: retold(t.Why)}
	if role.Optional { // a review, which has no goal
		req.Goal = ""
	}
	if req.Scope = t.Files; w.plan.Loop != nil {
		var problem *run.Problem
		if about.memory, problem = w.harness(ctx, t); problem != nil {
			return problem
		}
		req.Scope = w.plan.Loop.Files
	}
	if len(req.Scope) == 0 && len(t.Creates) > 0 {
		req.Scope = t.Creates[:1]
	}
	req.Config.Gates = withAcceptance(req.Config.Gates, t)
	runner := w.runner(t.N)
	if w.queue != nil {
		got.member = w.queue.Join(fmt.Sprintf("task %d", t.N), runner.Verifier, runner.Hide)
		defer got.member.Close()
		runner.Verifier = got.member
	}
	var unable error
	find := &tournament.Runner{Runner: runner, Crew: func(_ string, emit func(agent.Progress)) tournament.Crew {
		c, err := w.Crew(got.attempt, role, emit)
		if err != nil {
			unable = err
			c.Planner = unplanned{err}
			return c
		}
		about.Planner = c.Planner
		c.Planner = &tournament.KeptPlan{
			Planner: about, Recorded: got.attempt.Recorded,
			Save: func(ctx context.Context, plan []byte) error {
				got.attempt.Recorded = plan
				return w.Plans.SaveAttempt(ctx, got.attempt)
			},
		}
		return c
	}}
	doc := find.Run(ctx, req)
	got.run, got.attempt.Run = doc.Run, doc.Run
	if unable != nil {
		return trouble(ctx, "find who carries out the task", unable)
	}
	return w.capped(ctx, got, got.read(doc))
}

// unplanned is the planner of a run that cannot be carried out.
type unplanned struct{ err error }

// Plan returns the reason.
func (u unplanned) Plan(context.Context, *workspace.Manifest, run.Request) (tournament.Plan, error) {
	return tournament.Plan{}, u.err
}

// briefed is a planner whose tasks are for a role: it knows nothing but its brief and why an earlier try failed.
type briefed struct {
	tournament.Planner
	role, memory string
}

// retold says to a later try why an earlier one was not accepted; "" for no reason.
func retold(why string) string {
	if why == "" {
		return ""
	}
	return "An earlier try at this task was not accepted:\n" + why
}

// Plan has the planner plan, and adds the role to the brief.
func (b briefed) Plan(ctx context.Context, base *workspace.Manifest, req run.Request) (tournament.Plan, error) {
	p, err := b.Planner.Plan(ctx, base, req)
	brief := &p.Task.Brief
	brief.Role, brief.Memory, brief.History = strings.TrimSpace(b.role), b.memory, ""
	return p, err
}

// read evaluates a run. A problem is one that is not the task's.
func (g *trial) read(doc run.Document) *run.Problem {
	switch doc.Exit {
	case run.ExitDone:
		if g.outcome = Passed; doc.State != run.Done {
			g.outcome, g.why, g.nothing = Refused, "the model saw nothing to change", true
		}
		return nil
	case run.ExitFail, run.ExitApproval:
		g.outcome, g.why = Refused, refusal(doc)
		return nil
	}
	// A conflict is one too: the directory was replaced, or its files were edited, which another try would not change.
	if doc.Error == nil {
		return &run.Problem{Kind: run.ProblemInfra, Message: "the run ended without a reason", Next: "run `agent doctor`, then " + resume}
	}
	problem := *doc.Error
	if !strings.Contains(problem.Next, "--resume") { // otherwise it says so already, with whatever else is required
		problem.Next += "; " + resume
	}
	return &problem
}

// maxFound is how many findings a later try learns.
const maxFound = 12

// refusal says why a run's change was not accepted, for the next try.
func refusal(doc run.Document) string {
	var b strings.Builder
	if doc.Error != nil {
		fmt.Fprintln(&b, doc.Error.Message)
	}
	if n := len(doc.Candidates); n > 0 {
		for _, g := range doc.Candidates[n-1].Gates {
			if g.Verdict == verify.Pass || g.Verdict == "" {
				continue
			}
			fmt.Fprintf(&b, "%s: %s %s\n", g.Name, g.Verdict, g.Detail)
			for i, f := range g.Findings {
				if i == maxFound {
					fmt.Fprintf(&b, "and %d more\n", len(g.Findings)-i)
					break
				}
				fmt.Fprintf(&b, "  %s:%d: %s\n", f.File, f.Line, f.Message)
			}
		}
	}
	return crew.Clip(strings.TrimSpace(b.String()), maxMemory)
}

// prove reads what a run proved, and checks that it fulfils the task.
func (w *work) prove(ctx context.Context, t crew.Task, got *trial) *run.Problem {
	var err error
	if got.proof, err = w.Proof(ctx, got.run); err != nil {
		return trouble(ctx, fmt.Sprintf("read what run %s proved", got.run), err)
	}
	if got.member != nil {
		got.with = got.member.Batch(got.proof.Candidate.Digest)
	}
	cs := got.proof.Candidate.Changeset
	if w.plan.Loop != nil {
		if touches(cs, w.plan.Loop.File) {
			got.outcome, got.why = Refused, "it touches "+w.plan.Loop.File+", the task file, which its own work may not change"
		}
		return nil
	}
	if others := beside(t, cs); len(others) > 0 && !w.Outside {
		got.outcome, got.why = Outside, "it touches "+strings.Join(others, ", ")+", which the task does not name"
		return nil
	}
	tree, problem := w.tree(ctx, got.attempt.Landed)
	if problem != nil {
		return problem
	}
	after := tree.With(cs)
	for _, name := range slices.Concat(t.Accept.Tests, t.Creates) {
		if _, ok := after.Lookup(name); !ok {
			got.outcome, got.why = Refused, name+" must exist in the end, but does not"
			return nil
		}
	}
	return nil
}

// beside lists the files that a change touches and its task does not name.
func beside(t crew.Task, cs workspace.Changeset) (others []string) {
	own := t.Touches()
	for _, c := range cs.Changes {
		for _, p := range []string{c.From, c.Path} {
			if p != "" && !slices.Contains(own, p) {
				others = append(others, p)
			}
		}
	}
	return others
}

// task returns a copy of a task, and how many tasks have their changes in the tree.
func (w *work) task(n int) (crew.Task, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *w.plan.Task(n), len(w.landed)
}

// withAcceptance adds the commands of tasks to the gates that judge their change.
func withAcceptance(gates []verify.CustomGate, tasks ...crew.Task) []verify.CustomGate {
	gates = slices.Clone(gates)
	for _, t := range tasks {
		if len(t.Accept.Command) > 0 && len(gates) < verify.MaxCustom {
			gates = append(gates, verify.CustomGate{Name: fmt.Sprintf("accept-%d", t.N), Command: t.Accept.Command, When: verify.WhenAlways, Strict: true})
		}
	}
	return gates
}

// goal returns the goal of a task in words. They come from a plan that a person has seen, or approved unseen.
func (w *work) goal(t crew.Task) string {
	var b strings.Builder
	if l := w.plan.Loop; l != nil {
		fmt.Fprintf(&b, "%s\n\nIt is done when: %s\n", w.plan.Goal, l.Accept)
		return strings.TrimSpace(b.String())
	}
	fmt.Fprintf(&b, "%s\n\nThis is one task of a larger goal, which others work on too: %s\n", t.Goal, crew.Clip(strings.Join(strings.Fields(w.plan.Goal), " "), 400))
	list := func(what string, paths []string) {
		if len(paths) > 0 {
			fmt.Fprintf(&b, "%s %s\n", what, strings.Join(paths, ", "))
		}
	}
	list("Change:", t.Files)
	list("Create:", t.Creates)
	list("There have to be these tests in the end:", t.Accept.Tests)
	if len(t.Accept.Command) > 0 {
		fmt.Fprintf(&b, "It is done when this command succeeds: %s\n", strings.Join(t.Accept.Command, " "))
	}
	if t.Accept.Text != "" {
		fmt.Fprintf(&b, "A reviewer will look for this: %s\n", t.Accept.Text)
	}
	return strings.TrimSpace(b.String())
}

// firstLine returns the first line of a text, for people.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
