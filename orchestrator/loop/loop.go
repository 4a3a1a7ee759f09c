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
	"agent/orchestrator/loop/quiet"
	"agent/orchestrator/run"
	"agent/orchestrator/tournament"
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
	// MaxWall is how long the loop may take from its beginning, in all its processes; 0 for any time.
	MaxWall time.Duration
	// Pending are the kept proposals, of which each iteration takes the next one up before it looks for anything else; nil for none. Ask is asked about each,
	// and nil takes up what has a patch. Features takes up features, too, that nobody has written.
	Pending  run.Proposals
	Ask      func(ctx context.Context, p run.KeptProposal) (run.Decision, error)
	Features bool
	// Orders tells which directives are settled, which come before; nil when nobody knows, and then all are open.
	Orders Orders
	// WrapUp is after how many promotions the loop ends with a summary of them; 0 for never.
	WrapUp int
	// Steering is how others pause or cancel the loop; nil for nobody.
	Steering Steering
	// Around, where it is not nil, does the work of every iteration's run in the midst of its own.
	Around Around
	// Quiet are hours in which no iteration begins.
	Quiet quiet.Hours
	// Rest is the pause between two iterations.
	Rest time.Duration
	// MaxFailures is how many failures in a row end the loop; 0 means 3.
	MaxFailures int
	// Tell is told of every round: at its start, when its run has ended, and
	// when it is settled. nil for nobody.
	Tell func(Round, *run.Document)

	// What follows is for tests; nil is the real one.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
}

// An Around does something before and after the run of an iteration, which work does. The document is that of work. A problem ends the loop,
// whatever the run came to; what it came to is recorded all the same.
type Around func(ctx context.Context, it Iteration, work func() run.Document) (run.Document, *run.Problem)

// An endedError is a problem that ends the loop.
type endedError struct{ problem *run.Problem }

// Error is its message.
func (e endedError) Error() string { return e.problem.Message }

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
	Stopped string `json:"stopped"`
	// WrapUp are all the iterations of the loop that promoted something, in whatever process, where it ended to be looked at.
	WrapUp []Round `json:"wrap_up,omitempty"`
	// Next is what to do with what was promoted, "" for nothing in particular.
	Next  string       `json:"next,omitempty"`
	Error *run.Problem `json:"error"`
	Exit  int          `json:"-"`
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

// rest lets the pause between two iterations pass.
func (l *Loop) rest(ctx context.Context) error {
	if l.Rest <= 0 {
		return ctx.Err()
	}
	l.note(fmt.Sprintf("rest %s before the next iteration", l.Rest))
	return sleepFor(ctx, l.Rest)
}

// errLate is the cause of a context that the cap on the time of the loop has ended.
var errLate = errors.New("the cap on the time of the loop is reached")

// bounded returns ctx until the loop has taken its time.
func (l *Loop) bounded(ctx context.Context, o Order) (context.Context, context.CancelFunc) {
	if l.MaxWall <= 0 || o.Began.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, o.Began.Add(l.MaxWall), errLate)
}

// late is the problem of a loop that has taken its time, nil for any other.
func (l *Loop) late(ctx context.Context) *run.Problem {
	if !errors.Is(context.Cause(ctx), errLate) {
		return nil
	}
	return &run.Problem{
		Kind: run.ProblemBudget, Message: fmt.Sprintf("%v: %s; what was promoted stays", errLate, l.MaxWall),
		Next: "`agent sandbox loop --resume --max-wall TIME` carries it on with a longer one, counted from its beginning",
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
	if p := l.late(ctx); p != nil {
		return p
	}
	if p := asked(ctx); p != nil {
		return p
	}
	if ended, ok := errors.AsType[endedError](err); ok {
		return ended.problem
	}
	switch {
	case errors.Is(err, run.ErrFenced):
		return &run.Problem{Kind: run.ProblemConflict, Message: "another process works on this workspace: " + err.Error(), Next: "wait for it to end"}
	case ctx.Err() != nil:
		return &run.Problem{Kind: run.ProblemCancelled, Message: "cancelled; what was promoted stays", Next: "`agent sandbox loop --resume` carries on"}
	}
	return &run.Problem{Kind: run.ProblemInfra, Message: err.Error(), Next: "run `agent doctor`, then `agent sandbox loop --resume`"}
}

// keep records how far the iteration came, also when ctx has just ended.
func (l *Loop) keep(ctx context.Context, it Iteration) error {
	settled, cancel := context.WithTimeout(context.WithoutCancel(ctx), run.SettleFor)
	defer cancel()
	return l.Iterations.SaveIteration(settled, it)
}
