package builder

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agent/orchestrator/agent"
	"agent/orchestrator/crew"
	"agent/orchestrator/forge/commit"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
)

// finish has the whole reviewed and delivered. again says that something must be fixed first, by new tasks of the plan.
func (w *work) finish(ctx context.Context) (again bool, res Result) {
	disk, problem := w.scan(ctx, w.req)
	if problem != nil {
		return false, w.stopped(problem)
	}
	whole, tree, err := crew.Integrate(disk, w.landed)
	if err != nil {
		return false, w.stopped(w.clash(err))
	}
	if whole.Empty() && w.plan.Left() > 0 { // the tasks that are left are not part of it
		return false, w.undone()
	}
	if whole.Empty() {
		w.plan.State, w.plan.Why = crew.Delivered, "there was nothing to change"
		return false, w.result(nil, nil)
	}
	if !w.unreviewed() && w.plan.Left() == 0 {
		mended, problem := w.review(ctx, whole, tree)
		if problem != nil {
			return false, w.stopped(problem)
		}
		if mended {
			return true, Result{}
		}
		if r := w.plan.Review; r != nil && !r.Accepted && !w.Despite {
			w.plan.State, w.plan.Why = crew.Awaiting, "the review did not accept it"
			return false, w.result(nil, &run.Problem{
				Kind: run.ProblemPolicy, Message: "all tasks are done, but the review did not accept the whole: " + firstFinding(*r),
				Next: fmt.Sprintf("see the findings with `agent plan show %d`; deliver it anyway with `agent build --resume --despite-review`, or add tasks with `agent plan edit %d`", w.plan.ID, w.plan.ID),
			})
		}
	}
	return w.deliver(ctx)
}

// firstFinding returns the first finding of a review, which is the most severe one.
func firstFinding(r crew.Review) string {
	if len(r.Findings) == 0 {
		return "it gave no finding"
	}
	return r.Findings[0].String()
}

// review has the whole reviewed by a reviewer who sees nothing but the goal, the change and the gates. true says that
// tasks were added to fix what was found. An unreadable review does not count; a note says so.
func (w *work) review(ctx context.Context, whole workspace.Changeset, tree *workspace.Manifest) (bool, *run.Problem) {
	role := w.Roles[crew.Reviewer]
	rounds := orDefault(role.Limits.Rounds, defaultRounds)
	a, kept := w.reviewed()
	var err error
	if !kept {
		a, err = w.begin(ctx, ReviewKind, 0, role.Name, w.plan.Rounds, len(w.landed))
	}
	if err != nil {
		return false, trouble(ctx, "record the plan", err)
	}
	w.say(0, fmt.Sprintf("plan %d: review of the whole", w.plan.ID))
	brief := agent.Brief{
		Role: strings.TrimSpace(role.Prompt), Goal: w.plan.Goal, Tasks: w.plan.Text(), Diff: crew.Clip(whole.Diff(), maxReviewed),
	}
	r, problem := w.question(ctx, &a, role, brief)
	if r == nil || problem != nil {
		return false, problem
	}
	w.plan.Review = r
	mend := !r.Accepted && w.plan.Rounds < rounds && w.add(r.Next, tree)
	if mend {
		w.plan.Rounds++
	}
	w.say(0, fmt.Sprintf("plan %d: review: %s", w.plan.ID, verdictOf(*r, mend)))
	if err := w.save(ctx); err != nil {
		return false, trouble(ctx, "record the plan", err)
	}
	return mend, w.reviewEnded(ctx, a, *r)
}

// question asks the reviewer. nil says that no readable review came of it: the attempt has ended then; otherwise the
// caller must end it.
func (w *work) question(ctx context.Context, a *Attempt, role crew.Role, brief agent.Brief) (*crew.Review, *run.Problem) {
	if text, ok := w.answered(ReviewKind, a.Task, a.Try); ok && w.again != nil {
		if r, err := crew.ReadReview(text); err == nil {
			a.Recorded = answer(text)
			return &r, nil
		}
	}
	tasks := brief.Tasks
	for n := 1; ; n++ {
		reply, err := w.Ask(ctx, *a, role, agent.ReviewWhole, fmt.Sprintf("review/%d", n), brief)
		if err != nil {
			problem := trouble(ctx, "ask for a review", err)
			_ = w.end(ctx, *a, outcomeOf(problem), problem.Message)
			return nil, problem
		}
		r, err := crew.ReadReview(reply.Text)
		switch {
		case err == nil:
			a.Recorded = answer(reply.Text)
			return &r, nil
		case n < maxAsked:
			brief.Tasks = tasks + "\nYour last answer was not accepted: " + err.Error() + "\n"
		default:
			w.say(0, "the whole was not reviewed: "+err.Error())
			return nil, troubleIf(ctx, "record the review", w.end(ctx, *a, Refused, err.Error()))
		}
	}
}

// reviewEnded records the outcome of a review.
func (w *work) reviewEnded(ctx context.Context, a Attempt, r crew.Review) *run.Problem {
	outcome, why := Passed, ""
	if !r.Accepted {
		outcome, why = Refused, firstFinding(r)
	}
	return troubleIf(ctx, "record the review", w.end(ctx, a, outcome, why))
}

// reviewed returns the attempt that already reviewed the same tasks: an answer to the same question is not asked for
// again, and if the files have changed since, the question differs. ok is false if there is none.
func (w *work) reviewed() (Attempt, bool) {
	for _, a := range slices.Backward(w.past) {
		if a.Kind == ReviewKind { // an unreadable one does not count
			read := a.Outcome == Passed || w.plan.Review != nil && !w.plan.Review.Accepted
			return a, read && a.Try == w.plan.Rounds && a.Landed == len(w.landed)
		}
	}
	return Attempt{}, false
}

// verdictOf describes a review in a few words.
func verdictOf(r crew.Review, mend bool) string {
	switch {
	case r.Accepted && len(r.Findings) == 0:
		return "accepted"
	case r.Accepted:
		return "accepted, with " + run.Count(len(r.Findings), "finding")
	case mend:
		return "not accepted: " + firstFinding(r) + "; " + run.Count(len(r.Next), "step") + " to fix it"
	}
	return "not accepted: " + firstFinding(r)
}

// add adds the steps of a review to the plan as tasks, as far as they are valid. They run one after the other: a
// reviewer says nothing about dependencies.
func (w *work) add(next []crew.Task, tree *workspace.Manifest) bool {
	added := false
	for _, t := range next {
		trial := w.plan.Clone()
		t.N = 1
		for _, have := range trial.Tasks {
			t.N = max(t.N, have.N+1)
		}
		t.Files, t.Creates = sorted(slices.Concat(t.Files, t.Creates), exists(tree))
		if t.Accept.Text == "" && len(t.Accept.Command) == 0 {
			t.Accept.Text = t.Title
		}
		trial.Tasks = append(trial.Tasks, t)
		trial.Tidy()
		if wrong := trial.Check(exists(tree), w.Roles); len(wrong) > 0 {
			w.say(0, "left out a step of the review: "+wrong[0])
			continue
		}
		w.plan.Tasks, added = trial.Tasks, true
	}
	return added
}

// sorted separates paths that exist from those to be created.
func sorted(paths []string, exists func(string) bool) (there, made []string) {
	for _, p := range paths {
		if exists(p) {
			there = append(there, p)
		} else {
			made = append(made, p)
		}
	}
	return there, made
}

// deliver judges the whole once, as one changeset on the workspace in its present state, and promotes it. again says
// that it did not pass and that a task was added to fix it.
func (w *work) deliver(ctx context.Context) (again bool, res Result) {
	if w.Step != nil {
		answer, err := w.Step(ctx, Step{Kind: DeliverKind, Text: w.plan.Goal})
		switch {
		case err != nil:
			return false, w.stopped(trouble(ctx, "ask about the delivery", err))
		case answer.Abort || answer.Skip:
			return false, w.stopped(&run.Problem{Kind: run.ProblemCancelled, Message: "not delivered; what is done is kept", Next: resume})
		}
	}
	a, err := w.begin(ctx, DeliverKind, 0, crew.Lead, w.plan.Rounds, len(w.landed))
	if err != nil {
		return false, w.stopped(trouble(ctx, "record the plan", err))
	}
	landed := w.first(len(w.landed))
	req := w.req
	req.Found, req.Config.Gates = true, withAcceptance(req.Config.Gates, w.plan.Landed()...)
	if w.plan.Loop != nil && !w.Partial {
		req.Config.Gates = withAcceptance(req.Config.Gates, w.accepts())
	}
	if req.Commit != nil {
		order := *req.Commit
		order.Steps = w.commits(landed)
		req.Commit = &order
	}
	w.say(0, fmt.Sprintf("plan %d: the whole is judged as one change", w.plan.ID))
	runner := w.Runner(func(e run.Event) { w.note(Note{Run: e.Run, Event: &e}) })
	rec := run.Record{Intent: fmt.Sprintf("plan %d: %s", w.plan.ID, crew.Clip(w.plan.Goal, 200)), Iteration: a.ID}
	doc := runner.Start(ctx, req, rec, func(ctx context.Context, x *run.Execution) run.Ending {
		if err := x.Advance(ctx, run.Analyzing, "the changes of "+run.Count(len(landed), "task")); err != nil {
			return run.End(run.Failed, x.Trouble(ctx, "record the run", err))
		}
		st, end := x.Freeze(ctx, req, nil)
		if end != nil {
			return *end
		}
		whole, _, err := crew.Integrate(st.Base, landed)
		if err != nil {
			p := w.clash(err)
			if p.Kind == run.ProblemConflict {
				return run.End(run.Conflicted, p)
			}
			return run.End(run.Failed, x.Trouble(ctx, "combine the changes", err))
		}
		return x.ProveTaken(ctx, req, st, whole)
	})
	return w.settle(ctx, a, doc)
}

// commits returns the commits of the tasks before the last; the last one's is the commit of the whole. It returns nil
// if there is only one task.
func (w *work) commits(landed []workspace.Changeset) func(context.Context, *workspace.Manifest) ([]commit.Step, error) {
	tasks := w.plan.Landed()
	if len(tasks) < 2 || len(tasks) != len(landed) {
		return nil
	}
	return func(_ context.Context, base *workspace.Manifest) (steps []commit.Step, err error) {
		for i, t := range tasks[:len(tasks)-1] {
			whole, _, err := crew.Integrate(base, landed[:i+1])
			if err != nil {
				return nil, err
			}
			text := commit.Message(t.Message, [][2]string{{"Agent-Run", t.Run}, {"Agent-Plan", fmt.Sprintf("%d, task %d", w.plan.ID, t.N)}, {"Agent-Role", t.Role}})
			steps = append(steps, commit.Step{Changes: whole, Message: text})
		}
		return steps, nil
	}
}

// LastMessage returns the message of the commit that completes a plan, or "" if none of its tasks is done.
func LastMessage(p crew.Plan) string {
	tasks := p.Landed()
	if len(tasks) == 0 {
		return ""
	}
	return tasks[len(tasks)-1].Message
}

// promoted returns the result of a plan whose process died between the promotion and recording it, nil for any other.
// The files then hold the whole, which the changes of its tasks no longer fit one by one.
func (w *work) promoted(ctx context.Context) *Result {
	for _, a := range w.left {
		if a.Kind != DeliverKind {
			continue
		}
		id, state, ok, err := w.RunOf(ctx, a.ID)
		if err != nil {
			res := w.stopped(trouble(ctx, "find out how the delivery ended", err))
			return &res
		}
		if ok && (state == run.Promoted || state == run.Done && w.req.Commit != nil && w.req.Commit.Branch != "") {
			res := w.delivered(ctx, a, id, nil)
			return &res
		}
	}
	return nil
}

// settle records how the run of a delivery ended.
func (w *work) settle(ctx context.Context, a Attempt, doc run.Document) (again bool, res Result) {
	a.Run = doc.Run
	w.plan.Run = doc.Run
	switch {
	case doc.State == run.Promoted, doc.Exit == run.ExitDone && doc.Commit != nil:
		return false, w.delivered(ctx, a, doc.Run, &doc)
	case doc.Exit == run.ExitDone: // proved, but not to be promoted
		w.plan.State, w.plan.Why = crew.Awaiting, "proved, but not promoted"
		problem := troubleIf(ctx, "record the plan", w.end(ctx, a, Passed, ""))
		return false, w.result(&doc, problem)
	case doc.Exit == run.ExitFail && doc.Verdict == verify.Fail && w.plan.Rounds < orDefault(w.Roles[crew.Reviewer].Limits.Rounds, defaultRounds) && w.mend(ctx, doc):
		w.plan.Rounds++
		err := w.end(ctx, a, Refused, refusal(doc))
		if err == nil {
			err = w.save(ctx)
		}
		if err != nil {
			return false, w.stopped(trouble(ctx, "record the plan", err))
		}
		return true, Result{}
	}
	problem := doc.Error
	if problem == nil {
		problem = &run.Problem{Kind: run.ProblemInfra, Message: "the delivery ended without a reason", Next: "run `agent doctor`, then " + resume}
	}
	switch doc.Exit {
	case run.ExitApproval:
		w.plan.State, w.plan.Why = crew.Awaiting, problem.Message
	case run.ExitFail:
		w.plan.State, w.plan.Why = crew.Failed, "the whole did not pass: "+problem.Message
	default:
		w.plan.State, w.plan.Why = crew.Paused, problem.Message
	}
	outcome := Refused
	if doc.Exit != run.ExitFail && doc.Exit != run.ExitApproval {
		outcome = outcomeOf(problem)
	}
	// A delivery that waits for a person becomes another attempt when it continues.
	_ = w.end(ctx, a, outcome, problem.Message)
	return false, w.result(&doc, problem)
}

// mend adds a task to fix what the gates found in the whole; false if they named no file.
func (w *work) mend(ctx context.Context, doc run.Document) bool {
	disk, problem := w.scan(ctx, w.req)
	if problem != nil {
		return false
	}
	_, tree, err := crew.Integrate(disk, w.landed)
	if err != nil {
		return false
	}
	var files []string
	if n := len(doc.Candidates); n > 0 {
		for _, g := range doc.Candidates[n-1].Gates {
			for _, f := range g.Findings {
				if g.Verdict == verify.Fail && exists(tree)(f.File) && !slices.Contains(files, f.File) && len(files) < agent.MaxTargets {
					files = append(files, f.File)
				}
			}
		}
	}
	if len(files) == 0 {
		return false
	}
	step := crew.Task{
		Title: "what the gates found in the whole", Files: files, Role: crew.Fixer, Why: refusal(doc),
		Goal:   "All tasks of the plan are done, and together they do not pass the gates. Mend what was found, in these files.",
		Accept: crew.Acceptance{Text: "the gates pass"},
	}
	before := len(w.plan.Tasks)
	return w.add([]crew.Task{step}, tree) && len(w.plan.Tasks) > before
}

// delivered returns the result of a plan whose whole was promoted.
func (w *work) delivered(ctx context.Context, a Attempt, id string, doc *run.Document) Result {
	a.Run = id
	w.plan.State, w.plan.Why, w.plan.Run = crew.Delivered, "", id
	if n := w.plan.Left(); n > 0 {
		w.plan.Why = fmt.Sprintf("without %s", run.Count(n, "task"))
	}
	if err := w.end(ctx, a, Passed, ""); err != nil {
		return w.result(doc, trouble(ctx, "record the plan", err))
	}
	return w.result(doc, nil)
}
