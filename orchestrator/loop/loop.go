// Package loop improves a workspace iteration after iteration. An iteration is one run without a patch. Its phases are work, in which a
// target is chosen and a run made; learn, in which the ledger, the cascade queue and the memory follow what was promoted; and settled.
// Before each phase begins, the decisions of the previous one are recorded, and model calls are recorded under the iteration's name. A
// process that resumes an iteration therefore makes the same plan, asks the same questions, and finds the answers that were paid for.
//
// It owns iterations, the choice of what to work on, the order of the files that a model chooses from, a person's directives and the
// cascade queue. The run itself belongs to package tournament; package loop never writes to a workspace.
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

// A Loop improves a workspace, iteration after iteration, until it has done what it was told. Each iteration is one run without a
// patch, and what is learnt from it.
//
// Every decision of an iteration is recorded before it is acted on, and every answer of a model when it arrives. Another process can
// therefore resume a killed loop where it stood, and no answer is paid for twice.
type Loop struct {
	Runner     *run.Runner
	Iterations Iterations
	Knowledge  Knowledge
	// Crew returns the crew that finds the change of an iteration. Questions are to be recorded under the iteration's ID; emit receives
	// their progress.
	Crew func(it Iteration, emit func(agent.Progress)) tournament.Crew
	// Study brings the ledger up to date with a workspace. It passes the ripples of what changed to found before it records that; nil
	// for no ledger.
	Study func(ctx context.Context, workspace string, found func([]ledger.Ripple) error) error
	// Export writes what people read, such as MEMORY.md, after each iteration that promoted something; nil writes nothing.
	Export func(ctx context.Context, workspace string) error
	// Attended says that something may be approved at all: by a person, or in advance. If not, the first change that passes ends the
	// loop.
	Attended bool
	// MaxWall is how long the loop may take from its beginning, across all its processes; 0 for any time.
	MaxWall time.Duration
	// Pending holds the kept proposals, nil for none. Each iteration takes up the next one before it looks for anything else. Ask is
	// asked about each; if nil, those with a patch are taken up. Features also takes up features that nobody has written.
	Pending  run.Proposals
	Ask      func(ctx context.Context, p run.KeptProposal) (run.Decision, error)
	Features bool
	// Orders tells which directives are settled; open directives come before proposals. If nil, all are open.
	Orders Orders
	// WrapUp is the number of promotions after which the loop ends with a summary of them; 0 for never.
	WrapUp int
	// Steering is how others pause or cancel the loop; nil if nobody can.
	Steering Steering
	// Around, if not nil, wraps the run of every iteration.
	Around Around
	// Quiet are hours in which no iteration begins.
	Quiet quiet.Hours
	// Rest is the pause between two iterations.
	Rest time.Duration
	// MaxFailures is how many failures in a row end the loop; 0 means 3.
	MaxFailures int
	// Tell is called for every round: at its start, when its run has ended, and when it is settled; nil if nobody watches.
	Tell func(Round, *run.Document)

	// For tests; nil uses the real clock.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
}

// An Around does something before and after the run of an iteration, which work performs. It returns the document of work. A problem
// ends the loop whatever the result of the run, which is recorded all the same.
type Around func(ctx context.Context, it Iteration, work func() run.Document) (run.Document, *run.Problem)

// An endedError is a problem that ends the loop.
type endedError struct{ problem *run.Problem }

// Error returns the problem's message.
func (e endedError) Error() string { return e.problem.Message }

// defaultFailures is how many failures in a row end a loop. A model that fails
// three times on three targets will not do better on a fourth one.
const defaultFailures = 3

// A Start says how a loop starts.
type Start struct {
	// Order is what a new loop is told to do.
	Order Order
	// Resume continues the last loop of the workspace instead.
	Resume bool
	// Fresh abandons what an interrupted iteration left undone.
	Fresh bool
}

// A Round is one iteration as a person sees it.
type Round struct {
	Iteration string `json:"iteration"`
	// N counts from 1 within the loop; Of is how many there will be, 0 for no end.
	N  int `json:"n"`
	Of int `json:"of,omitempty"`
	// Target and Why are from the plan, "" until there is one.
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
	// WrapUp lists all iterations of the loop that promoted something, in any process, if it ended to have them looked at.
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
	outcomeProposed  = run.OutcomeProposed // like clean, and a feature is kept for a person to decide on
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

// nothingFound reports whether an outcome means a review without a change.
func nothingFound(outcome string) bool { return outcome == outcomeClean || outcome == outcomeProposed }

// outcomeOf translates the end of a run into the outcome of its iteration.
func outcomeOf(doc run.Document) string {
	switch {
	case doc.State == run.Promoted:
		return outcomePromoted
	case doc.Outcome == outcomeProposed:
		return outcomeProposed
	// A person dropped the feature.
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

// rest waits for the pause between two iterations.
func (l *Loop) rest(ctx context.Context) error {
	if l.Rest <= 0 {
		return ctx.Err()
	}
	l.note(fmt.Sprintf("rest %s before the next iteration", l.Rest))
	return sleepFor(ctx, l.Rest)
}

// errLate is the cause of a context that was ended by the cap on the loop's time.
var errLate = errors.New("the cap on the time of the loop is reached")

// bounded returns a context that ends when the loop has used up its time.
func (l *Loop) bounded(ctx context.Context, o Order) (context.Context, context.CancelFunc) {
	if l.MaxWall <= 0 || o.Began.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, o.Began.Add(l.MaxWall), errLate)
}

// late returns the problem of a loop that has used up its time, nil for any other.
func (l *Loop) late(ctx context.Context) *run.Problem {
	if !errors.Is(context.Cause(ctx), errLate) {
		return nil
	}
	return &run.Problem{
		Kind: run.ProblemBudget, Message: fmt.Sprintf("%v: %s; what was promoted stays", errLate, l.MaxWall),
		Next: "continue with `agent sandbox loop --resume --max-wall TIME`, giving a longer time, counted from the loop's beginning",
	}
}

// note tells the watcher about something between two runs.
func (l *Loop) note(text string) {
	if l.Runner.Emit != nil {
		l.Runner.Emit(run.Event{Note: text})
	}
}

// progress tells the watcher about the progress of a question that is asked between runs.
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
		return &run.Problem{Kind: run.ProblemConflict, Message: "another process is working on this workspace: " + err.Error(), Next: "wait for it to end"}
	case ctx.Err() != nil:
		return &run.Problem{Kind: run.ProblemCancelled, Message: "cancelled; what was promoted stays", Next: "continue with `agent sandbox loop --resume`"}
	}
	return &run.Problem{Kind: run.ProblemInfra, Message: err.Error(), Next: "run `agent doctor`, then `agent sandbox loop --resume`"}
}

// keep records how far the iteration got, even if ctx has just ended.
func (l *Loop) keep(ctx context.Context, it Iteration) error {
	settled, cancel := context.WithTimeout(context.WithoutCancel(ctx), run.SettleFor)
	defer cancel()
	return l.Iterations.SaveIteration(settled, it)
}
