package builder

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"agent/orchestrator/crew"
	"agent/orchestrator/run"
)

// A record is a plan that is carried out again, with what was done for it.
type record struct {
	plan     crew.Plan
	attempts []Attempt
}

// An unlikeError says how a plan that is carried out again differs from its record.
type unlikeError struct{ what string }

// Error names the difference.
func (e *unlikeError) Error() string { return e.what }

// Again records a plan that carries out another one once more from its record: with the same tasks, fences and answers.
// [Builder.Build] carries it out, asks no model, lands the changes in the same order, and reports every difference in
// its result. root is the workspace, whose files must be those on which the plan was begun.
func (b *Builder) Again(ctx context.Context, root string, p crew.Plan) (crew.Plan, *run.Problem) {
	old, err := b.record(ctx, p.ID)
	if err != nil {
		return crew.Plan{}, trouble(ctx, "read what was done for the plan", err)
	}
	next := crew.Plan{Workspace: root, Goal: p.Goal, Summary: p.Summary, State: crew.Drafted, Loop: p.Loop, Replays: p.ID}
	begun, ok := old.find(BeginKind, 0, 0)
	if !ok || json.Unmarshal(begun.Recorded, &next.Tasks) != nil {
		return crew.Plan{}, &run.Problem{
			Kind: run.ProblemUsage, Message: fmt.Sprintf("there is no record of how plan %d began", p.ID), Next: "it was never carried out, or by an older agent; see the others with `agent plan list`",
		}
	}
	if next.ID, err = b.Plans.AddPlan(ctx, next); err != nil {
		return next, trouble(ctx, "record the plan", err)
	}
	return next, nil
}

// record reads a plan with what was done for it.
func (b *Builder) record(ctx context.Context, id int64) (*record, error) {
	p, err := b.Plans.Plan(ctx, id)
	if err != nil {
		return nil, err
	}
	list, err := b.Plans.Attempts(ctx, id)
	return &record{p, list}, err
}

// find returns the attempt with that kind, task and try.
func (r *record) find(kind Kind, task, try int) (Attempt, bool) {
	return last(r.attempts, kind, task, try)
}

// landedOn returns how many tasks were done when the change of an attempt was, or should have been, added to the tree.
func (r *record) landedOn(a Attempt) int {
	if t := r.plan.Task(a.Task); t != nil && t.Landed > 0 && a.Try == t.Tries-1 {
		return t.Landed - 1
	}
	if land, ok := r.find(LandKind, a.Task, a.Try); ok {
		return land.Landed
	}
	return a.Landed
}

// next returns the task to begin next from those that are ready: the one whose change landed next, or one that never landed and
// had been begun by then. If nothing fits, the plan has taken another course, and next returns all that are ready.
func (r *record) next(p *crew.Plan, ready []int) []int {
	landed := len(p.Landed())
	fallback := []int{}
	for _, n := range ready {
		was := r.plan.Task(n)
		switch {
		case was == nil:
			fallback = append(fallback, n)
		case was.Landed == landed+1:
			return []int{n}
		case was.Landed == 0 && !slices.ContainsFunc(r.attempts, func(a Attempt) bool { return a.Task == n && a.Kind == TaskKind && a.Landed > landed }):
			fallback = append(fallback, n)
		}
	}
	if len(fallback) == 0 {
		return ready // landing will report the difference
	}
	return fallback[:1]
}

// differs lists the differences from the record: in states and order of tasks, results of tries, and the bytes of the whole.
func (w *work) differs(ctx context.Context) (list []string, err error) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	old := w.again.plan
	if len(old.Tasks) != len(w.plan.Tasks) {
		say("%d tasks were recorded, but there are %d", len(old.Tasks), len(w.plan.Tasks))
	}
	for _, was := range old.Tasks {
		t := w.plan.Task(was.N)
		switch {
		case t == nil:
			say("there is no task %d", was.N)
		case t.State != was.State:
			say("task %d is %s, but was recorded as %s", t.N, t.State, was.State)
		case t.Landed != was.Landed:
			say("task %d landed at place %d, but was recorded at place %d", t.N, t.Landed, was.Landed)
		}
	}
	if old.State != w.plan.State && !(w.req.NoPromote && w.plan.State == crew.Awaiting) {
		say("the plan is %s, but was recorded as %s", w.plan.State, old.State)
	}
	now, err := w.Plans.Attempts(ctx, w.plan.ID)
	if err != nil {
		return list, err
	}
	for _, was := range w.again.attempts {
		if !slices.Contains([]Kind{TaskKind, LandKind, AcceptKind, DeliverKind}, was.Kind) || was.Outcome == "" {
			continue
		}
		if a, _ := last(now, was.Kind, was.Task, was.Try); a.Outcome != was.Outcome {
			say("%s of task %d, try %d, ended with %q, but was recorded with %q", was.Kind, was.Task, was.Try+1, a.Outcome, was.Outcome)
			continue
		} else if err := w.sameBytes(ctx, was, a, say); err != nil {
			return list, err
		}
	}
	return list, nil
}

// sameBytes compares the changes of two attempts that passed.
func (w *work) sameBytes(ctx context.Context, was, now Attempt, say func(string, ...any)) error {
	// Several changes may have been merged and judged together then, and are judged one by one now.
	if was.Outcome != Passed || was.Kind == LandKind || was.Run == "" || now.Run == "" {
		return nil
	}
	a, err := w.Proof(ctx, was.Run)
	if err != nil {
		return err
	}
	b, err := w.Proof(ctx, now.Run)
	if err == nil && (a.Candidate.Digest != b.Candidate.Digest || a.Snapshot != b.Snapshot) {
		say("%s of task %d, try %d, made a different change", was.Kind, was.Task, was.Try+1)
	}
	return err
}

// unreviewed reports whether no review is asked for: none is wanted, or none was asked for in the record.
func (w *work) unreviewed() bool {
	review := func(a Attempt) bool { return a.Kind == ReviewKind }
	return w.NoReview || w.again != nil && !slices.ContainsFunc(w.again.attempts, review)
}

// start records, once, the tasks as they are at the beginning.
func (w *work) start(ctx context.Context) *run.Problem {
	begun := func(a Attempt) bool { return a.Kind == BeginKind || a.Kind == TaskKind }
	if slices.ContainsFunc(w.past, begun) || slices.ContainsFunc(w.left, begun) {
		return nil
	}
	a := newAttempt(w.plan.ID, BeginKind, 0, crew.Lead, 0, 0)
	var err error
	if a.Recorded, err = json.Marshal(w.plan.Tasks); err == nil {
		a.Outcome = Passed
		err = w.Plans.SaveAttempt(ctx, a)
	}
	return troubleIf(ctx, "record the plan", err)
}
