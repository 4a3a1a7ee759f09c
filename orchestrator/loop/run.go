package loop

import (
	"context"
	"fmt"
	"time"

	"agent/orchestrator/run"
	"agent/sandbox"
)

// Run works on req.Workspace until the loop is done. Goal, scope and number of candidates are taken from the order, whatever req says.
func (l *Loop) Run(ctx context.Context, req run.Request, start Start) Result {
	res := Result{Workspace: req.Workspace, Iterations: []Round{}}
	// The iterations are separate runs, possibly hours apart, and all must be of the same directory.
	if req.Place == nil {
		var problem *run.Problem
		if req.Place, problem = run.Resolve(req.Workspace); problem != nil {
			return res.fail(problem)
		}
		defer req.Place.Close()
	}
	dir := req.Place.Path
	res.Workspace = dir
	it, problem := l.open(ctx, dir, start)
	if problem != nil {
		return res.fail(problem)
	}
	if it == nil {
		res.Stopped = "nothing is left to do: the last loop is done, or none was started"
		return res
	}
	ctx, stop := l.bounded(ctx, it.Order)
	defer stop()
	ctx, idle, end := l.steered(ctx, it.Order.Loop)
	defer end()
	for {
		res.Loop = it.Order.Loop
		if err := l.awake(idle); err != nil {
			return res.fail(l.trouble(idle, err))
		}
		round, doc, err := l.round(ctx, it, req)
		res.Iterations = append(res.Iterations, round)
		if it.Outcome == outcomePromoted { // true whatever followed the promotion
			res.Promoted++
		}
		if err != nil {
			return res.fail(l.trouble(ctx, err))
		}
		if p := l.late(ctx); p != nil {
			return res.fail(p)
		}
		if p := asked(ctx); p != nil { // cancelled in the middle of it
			return res.fail(p)
		}
		next := it.Order.after(*it)
		if done, err := l.wrapUp(ctx, &res, next); done || err != nil {
			if err != nil {
				return res.fail(l.trouble(ctx, err))
			}
			return res
		}
		if res.over(l, it, next, doc) {
			return res
		}
		if err := l.rest(idle); err != nil {
			return res.fail(l.trouble(idle, err))
		}
		// Trouble that is nobody's fault leaves the iteration open: it is tried again, with the answers that were paid for.
		if it.Phase != Settled {
			it.Order = next
			continue
		}
		started, err := l.begin(ctx, dir, next)
		if err != nil {
			return res.fail(l.trouble(ctx, err))
		}
		it = &started
	}
}

// fail ends a result with a problem.
func (r Result) fail(p *run.Problem) Result {
	r.Stopped, r.Error, r.Exit = p.Message, p, run.ExitOf(p)
	return r
}

// over decides whether the loop ends after an iteration, and says why. A loop that did anything useful ends well. One whose iterations
// all failed ends as the last of them did.
func (r *Result) over(l *Loop, it *Iteration, next Order, doc *run.Document) bool {
	most := l.MaxFailures
	if most == 0 {
		most = defaultFailures
	}
	switch {
	case doc != nil && (doc.Exit == run.ExitCancelled || doc.Exit == run.ExitBudget || doc.Exit == run.ExitUsage):
		r.Stopped, r.Error, r.Exit = doc.Error.Message, doc.Error, doc.Exit
	case it.Outcome == outcomeHeld && (!l.Attended || doc.Left):
		r.Stopped, r.Error, r.Exit = doc.Error.Message, doc.Error, doc.Exit
	case next.Failures >= most:
		r.Stopped = run.Count(next.Failures, "iteration") + " failed in a row"
		r.Exit = run.ExitFail
		if doc != nil && doc.Error != nil {
			r.Error, r.Exit = doc.Error, doc.Exit
		}
	case nothingFound(it.Outcome) && it.last() && !it.served() && !next.Single:
		r.Stopped = it.clean()
	case next.Iterations > 0 && next.Done >= next.Iterations:
		r.Stopped = fmt.Sprintf("all of %s done", run.Count(next.Iterations, "iteration"))
		if next.Failures >= next.Iterations && doc != nil {
			r.Error, r.Exit = doc.Error, doc.Exit
		}
	default:
		return false
	}
	return true
}

// clean says why nothing is left to do after an iteration that found nothing and was the last.
func (it Iteration) clean() string {
	switch {
	case it.Order.Goal == "":
		return "clean: every file was reviewed since it last changed, and nothing is waiting"
	case it.target() == "":
		return "clean: the model sees nothing left to change for the goal"
	}
	return "clean: every file was reviewed for the goal since it last changed"
}

// open finds or starts the iteration that the loop begins with; it returns nil if there is nothing to resume.
func (l *Loop) open(ctx context.Context, dir string, start Start) (*Iteration, *run.Problem) {
	last, ok, err := l.Iterations.LastIteration(ctx, dir)
	if err != nil {
		return nil, l.trouble(ctx, err)
	}
	if ok && last.Phase != Settled {
		again, problem := l.interrupted(ctx, &last, start)
		if again || problem != nil {
			return &last, problem
		}
	}
	order := start.Order
	if start.Resume {
		if order = last.Order.after(last); !ok || order.Iterations > 0 && order.Done >= order.Iterations {
			return nil, nil
		}
		order.Failures, order.Promoted = 0, 0 // somebody has looked at them
	}
	it, err := l.begin(ctx, dir, order)
	if err != nil {
		return nil, l.trouble(ctx, err)
	}
	return &it, nil
}

// interrupted settles what a process left behind that died or was stopped in the middle of an iteration. again says that the iteration
// is to be resumed.
func (l *Loop) interrupted(ctx context.Context, it *Iteration, start Start) (again bool, p *run.Problem) {
	if alive, _ := sandbox.Alive(it.Owner); alive && it.Owner != sandbox.Owner() {
		return false, &run.Problem{
			Kind: run.ProblemConflict, Message: fmt.Sprintf("iteration %s is working on this workspace; its process is %s", it.ID, it.Owner),
			Next: "wait for it to end, or stop that process",
		}
	}
	// A request for a single run does not ask for an older one; a loop is too much to be given up as a side effect.
	giveUp := start.Fresh || start.Order.Single && it.Order.Single
	if it.Phase == Work && !giveUp && !start.Resume {
		return false, &run.Problem{
			Kind: run.ProblemConflict, Message: fmt.Sprintf("iteration %s of a loop on this workspace was interrupted", it.ID),
			Next: "continue it with `agent sandbox loop --resume`, or give it up and start anew with `agent sandbox loop --fresh`",
		}
	}
	taken, err := l.Iterations.TakeIteration(ctx, *it, sandbox.Owner())
	if err != nil {
		return false, l.trouble(ctx, err)
	}
	*it = taken
	switch {
	case start.Resume:
		return true, nil
	case it.Phase == Learn: // what was promoted is there: only the learning is left
		_, err = l.learn(ctx, it, l.Crew(*it, l.progress))
	default:
		it.Phase, it.Outcome = Settled, outcomeAbandoned
		err = l.Iterations.SaveIteration(ctx, *it)
	}
	if err != nil {
		return false, l.trouble(ctx, err)
	}
	return false, nil
}

// begin records the next iteration.
func (l *Loop) begin(ctx context.Context, dir string, order Order) (Iteration, error) {
	order, err := l.takeUp(ctx, dir, order)
	if err != nil {
		return Iteration{}, err
	}
	it := Iteration{
		ID: run.NewID(time.Now()), Workspace: dir, Owner: sandbox.Owner(), Order: order, Fence: NewFenceWord(), Phase: Work, Started: time.Now(),
	}
	if it.Order.Loop == "" {
		it.Order.Loop, it.Order.Began = it.ID, it.Started.UTC()
	}
	return l.Iterations.StartIteration(ctx, it)
}

// after returns the order for the next iteration, once iteration it has ended.
func (o Order) after(it Iteration) Order {
	if it.Phase == Settled {
		o.Done++
		o.Last, o.Turns = it.target(), o.turned(it.target())
		o.Clean = it.cleared()
	}
	if it.Phase == Settled && it.Outcome == outcomePromoted {
		o.Promoted++
	}
	if failure(it.Outcome) {
		o.Failures++
	} else {
		o.Failures = 0
	}
	return o
}
