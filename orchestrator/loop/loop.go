// Package loop improves a workspace iteration after iteration. An iteration is
// one run without a patch: work, in which a target is chosen and a run made;
// learn, in which the ledger, the cascade queue and the memory follow what was
// promoted; settled. Before each of these is begun, what the one before decided is
// recorded, and model calls are recorded under the iteration's name. Whoever
// carries an iteration on makes the same plan, asks the same questions, and so
// finds the answers that were paid for.
//
// It owns iterations, the choice of what to work on, the order of the files that a
// model chooses from, the directives of a person and the cascade queue. The run
// itself is package tournament's; it never writes to a workspace.
package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/ledger"
	"agent/orchestrator/run"
	"agent/orchestrator/tournament"
	"agent/sandbox"
)

// A Loop goes on improving a workspace, iteration after iteration, until it has
// done what it was told. Each iteration is one run without a patch, and what is
// learnt from it.
//
// Everything that an iteration decides is recorded before it is acted on, and
// every answer of a model when it comes. A loop that is killed is therefore
// carried on by another process where it stood, and no answer is paid for twice.
type Loop struct {
	Runner     *run.Runner
	Iterations Iterations
	Knowledge  Knowledge
	// Crew returns who finds the change of an iteration. What is asked is to be
	// recorded under the iteration's ID; emit takes the progress of questions.
	Crew func(it Iteration, emit func(agent.Progress)) tournament.Crew
	// Study brings the ledger up to date with a workspace and hands the ripples
	// of what changed to found before it records that; nil for no ledger.
	Study func(ctx context.Context, workspace string, found func([]ledger.Ripple) error) error
	// Export writes what people read, such as MEMORY.md, after each iteration
	// that promoted something; nil for nobody.
	Export func(ctx context.Context, workspace string) error
	// Attended says that something may be approved at all: by a person, or in
	// advance. Where not, the first change that passes ends the loop.
	Attended bool
	// Rest is the pause between two iterations.
	Rest time.Duration
	// MaxFailures is how many failures in a row end the loop; 0 means 3.
	MaxFailures int
	// Tell is told of every round: at its start, when its run has ended, and
	// when it is settled. nil for nobody.
	Tell func(Round, *run.Document)
}

// defaultFailures is how many failures in a row end a loop. A model that fails
// three times on three targets will not do better on a fourth one.
const defaultFailures = 3

// A Start says how a loop begins.
type Start struct {
	// Order is what a new loop is told.
	Order Order
	// Resume carries on the last loop of the workspace instead.
	Resume bool
	// Fresh gives up what an interrupted iteration left undone.
	Fresh bool
}

// A Round is one iteration as a person sees it.
type Round struct {
	Iteration string `json:"iteration"`
	// N counts from 1 within the loop, Of is how many there will be, 0 for no end.
	N  int `json:"n"`
	Of int `json:"of,omitempty"`
	// Target and Why are those of the plan, "" until there is one.
	Target  string `json:"target,omitempty"`
	Why     string `json:"why,omitempty"`
	Run     string `json:"run,omitempty"`
	Phase   Phase  `json:"phase"`
	Outcome string `json:"outcome,omitempty"`
	// Notes say what could not be learnt.
	Notes []string `json:"notes,omitempty"`
}

// A Result is what a loop did in one process.
type Result struct {
	Loop       string  `json:"loop"`
	Workspace  string  `json:"workspace"`
	Iterations []Round `json:"iterations"`
	Promoted   int     `json:"promoted"`
	// Stopped says why the loop ended.
	Stopped string       `json:"stopped"`
	Error   *run.Problem `json:"error"`
	Exit    int          `json:"-"`
}

// Run works on req.Workspace until the loop is done. Goal, scope and number of
// candidates are those of the order, whatever req says.
func (l *Loop) Run(ctx context.Context, req run.Request, start Start) Result {
	res := Result{Workspace: req.Workspace, Iterations: []Round{}}
	dir, problem := run.Resolve(req.Workspace)
	if problem != nil {
		return res.fail(problem)
	}
	res.Workspace = dir
	it, problem := l.open(ctx, dir, start)
	if problem != nil {
		return res.fail(problem)
	}
	if it == nil {
		res.Stopped = "nothing is left to do: the last loop was done, or none was begun"
		return res
	}
	for {
		res.Loop = it.Order.Loop
		round, doc, err := l.round(ctx, it, req)
		res.Iterations = append(res.Iterations, round)
		if err != nil {
			return res.fail(l.trouble(ctx, err))
		}
		if it.Outcome == outcomePromoted {
			res.Promoted++
		}
		next := it.Order.after(*it)
		if res.over(l, it, next, doc) {
			return res
		}
		if err := l.rest(ctx); err != nil {
			return res.fail(l.trouble(ctx, err))
		}
		// Trouble that is nobody's fault leaves the iteration open: it is
		// tried again, with the answers that were paid for.
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

// after is the order for the next iteration, once it has ended.
func (o Order) after(it Iteration) Order {
	if it.Phase == Settled {
		o.Done++
		o.Last = it.target()
		o.Clean = it.cleared()
	}
	if failure(it.Outcome) {
		o.Failures++
	} else {
		o.Failures = 0
	}
	return o
}

// over decides whether the loop ends after an iteration, and says why.
// A loop that did anything of use ends well. One whose iterations all failed
// ends as the last of them did.
func (r *Result) over(l *Loop, it *Iteration, next Order, doc *run.Document) bool {
	most := l.MaxFailures
	if most == 0 {
		most = defaultFailures
	}
	switch {
	case doc != nil && (doc.Exit == run.ExitCancelled || doc.Exit == run.ExitBudget || doc.Exit == run.ExitUsage):
		r.Stopped, r.Error, r.Exit = doc.Error.Message, doc.Error, doc.Exit
	case it.Outcome == outcomeHeld && !l.Attended:
		r.Stopped, r.Error, r.Exit = doc.Error.Message, doc.Error, doc.Exit
	case next.Failures >= most:
		r.Stopped = fmt.Sprintf("%d iterations failed in a row", next.Failures)
		r.Exit = run.ExitFail
		if doc != nil && doc.Error != nil {
			r.Error, r.Exit = doc.Error, doc.Exit
		}
	case next.UntilClean && nothingFound(it.Outcome) && !it.served():
		r.Stopped = "clean: the review found nothing to change, and nothing waits"
	case nothingFound(it.Outcome) && it.last() && !it.served() && !next.Single:
		r.Stopped = "clean: every file was reviewed since it last changed, and nothing waits"
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

// The outcomes of an iteration.
const (
	outcomePromoted  = "promoted"
	outcomeProved    = "proved"            // with NoPromote
	outcomeClean     = "clean"             // the model saw nothing to change
	outcomeProposed  = run.OutcomeProposed // as clean, and a feature is kept for a person to decide on
	outcomeSkipped   = "skipped"           // by a person
	outcomeHeld      = "held"              // passed, and nobody may approve it
	outcomeRejected  = "rejected"          // by the gates, after all repairs
	outcomeConflict  = "conflict"
	outcomeBroken    = "failed" // trouble that is nobody's fault
	outcomeAbandoned = "abandoned"
)

// failure reports whether an outcome counts against the loop.
func failure(outcome string) bool {
	switch outcome {
	case outcomeHeld, outcomeRejected, outcomeConflict, outcomeBroken:
		return true
	}
	return false
}

// nothingFound reports whether an outcome is that of a review without a change.
func nothingFound(outcome string) bool { return outcome == outcomeClean || outcome == outcomeProposed }

// outcomeOf translates the end of a run into the outcome of its iteration.
func outcomeOf(doc run.Document) string {
	switch {
	case doc.State == run.Promoted:
		return outcomePromoted
	case doc.Outcome == outcomeProposed:
		return outcomeProposed
	// A feature that a person dropped.
	case doc.State == run.Done && doc.Candidates != nil && len(doc.Candidates) == 0:
		return outcomeClean
	case doc.State == run.Done:
		return outcomeProved
	case doc.Exit == run.ExitDone:
		return outcomeClean
	case doc.Exit == run.ExitConflict:
		return outcomeConflict
	case doc.Exit == run.ExitApproval && doc.Verdict == "pass":
		return outcomeSkipped
	case doc.Exit == run.ExitApproval:
		return outcomeHeld
	case doc.Exit == run.ExitFail:
		return outcomeRejected
	}
	return outcomeBroken
}

// open finds or starts the iteration that the loop begins with; nil when there
// is nothing to resume.
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
		order.Failures = 0 // somebody has looked at them
	}
	it, err := l.begin(ctx, dir, order)
	if err != nil {
		return nil, l.trouble(ctx, err)
	}
	return &it, nil
}

// interrupted settles what a process left behind that died or was stopped in
// the middle of an iteration. again says that the iteration is to be carried on.
func (l *Loop) interrupted(ctx context.Context, it *Iteration, start Start) (again bool, p *run.Problem) {
	if alive, _ := sandbox.Alive(it.Owner); alive && it.Owner != sandbox.Owner() {
		return false, &run.Problem{
			Kind: "conflict", Message: fmt.Sprintf("iteration %s works on this workspace; its process is %s", it.ID, it.Owner),
			Next: "wait for it to end, or stop that process",
		}
	}
	// Whoever asks for one run does not want an older one; a loop is too much
	// to be given up by the way.
	giveUp := start.Fresh || start.Order.Single && it.Order.Single
	if it.Phase == Work && !giveUp && !start.Resume {
		return false, &run.Problem{
			Kind: "conflict", Message: fmt.Sprintf("iteration %s of a loop on this workspace was interrupted", it.ID),
			Next: "`agent sandbox loop --resume` carries it on, `agent sandbox loop --fresh` gives it up and begins anew",
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
	case it.Phase == Learn: // what was promoted is there: what is left is to learn from it
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
	it := Iteration{
		ID: run.NewID(time.Now()), Workspace: dir, Owner: sandbox.Owner(), Order: order, Fence: NewFenceWord(), Phase: Work, Started: time.Now(),
	}
	if it.Order.Loop == "" {
		it.Order.Loop = it.ID
	}
	return l.Iterations.StartIteration(ctx, it)
}

// rest lets the pause between two iterations pass.
func (l *Loop) rest(ctx context.Context) error {
	if l.Rest <= 0 {
		return ctx.Err()
	}
	l.note(fmt.Sprintf("rest %s before the next iteration", l.Rest))
	t := time.NewTimer(l.Rest)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// note tells the watcher of something between two runs.
func (l *Loop) note(text string) {
	if l.Runner.Emit != nil {
		l.Runner.Emit(run.Event{Note: text})
	}
}

// progress tells the watcher how a question fares that is asked between runs.
func (l *Loop) progress(p agent.Progress) {
	if l.Runner.Emit != nil {
		l.Runner.Emit(run.Event{Model: &p})
	}
}

// trouble turns an error of the loop into a problem with the next thing to do.
func (l *Loop) trouble(ctx context.Context, err error) *run.Problem {
	switch {
	case errors.Is(err, run.ErrFenced):
		return &run.Problem{Kind: "conflict", Message: "another process works on this workspace: " + err.Error(), Next: "wait for it to end"}
	case ctx.Err() != nil:
		return &run.Problem{Kind: "cancelled", Message: "cancelled; what was promoted stays", Next: "`agent sandbox loop --resume` carries on"}
	}
	return &run.Problem{Kind: "infra", Message: err.Error(), Next: "run `agent doctor`, then `agent sandbox loop --resume`"}
}
