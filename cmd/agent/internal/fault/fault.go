// Package fault is how a command reports a failure: an error with an exit code and the next thing to do. It owns the
// mapping from the typed errors of other packages to exit codes. It prints nothing.
package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agent/migrations"
	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/query"
	"agent/sandbox"
)

// An Error is an error with its exit code and the next thing to do. The codes are those of package run, whose documents
// carry them too:
//
//	0 promoted, or proved      4 approval or policy needed
//	1 the patch failed         5 budget
//	2 usage                    6 conflict with the workspace
//	3 infrastructure         130 cancelled
type Error struct {
	Exit int
	Kind run.ProblemKind // as in run.Problem
	Next string
	Err  error
}

// Error returns the text of the cause. The next thing to do is printed on a line of its own.
func (f *Error) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Error) Unwrap() error { return f.Err }

// Usage returns an error for a command that was used wrongly.
func Usage(next, format string, args ...any) error {
	return &Error{Exit: run.ExitUsage, Kind: run.ProblemUsage, Next: next, Err: fmt.Errorf(format, args...)}
}

// Infra returns an error for something that the command depends on.
func Infra(next, format string, args ...any) error {
	return &Error{Exit: run.ExitInfra, Kind: run.ProblemInfra, Next: next, Err: fmt.Errorf(format, args...)}
}

// Policy returns an error for something that a person must approve or take back.
func Policy(next, format string, args ...any) error {
	return &Error{Exit: run.ExitApproval, Kind: run.ProblemPolicy, Next: next, Err: fmt.Errorf(format, args...)}
}

// Reported ends a command whose result has been printed and says everything. A rejected run has printed its document,
// with the reason in it; a second message on stderr would only repeat it.
type Reported struct{ Exit int }

// Error is never printed; it is for tests and debuggers.
func (e Reported) Error() string { return fmt.Sprintf("exit code %d", e.Exit) }

// Of returns the error for a problem, or nil if there is none.
func Of(p *run.Problem) error {
	if p == nil {
		return nil
	}
	return &Error{Exit: run.ExitOf(p), Kind: p.Kind, Next: p.Next, Err: errors.New(p.Message)}
}

// Classify turns any error into the problem to print and its exit code. Only here do typed errors of other packages
// become exit codes. An unclassified error counts as an infrastructure problem: blaming the patch or the user for
// something unknown would be worse.
func Classify(ctx context.Context, err error) (run.Problem, int) {
	// The order follows how specific they are: an error of this package carries its own answer, the others are
	// translated.
	var (
		f         *Error
		gone      *sandbox.UnavailableError
		lost      *database.UnavailableError
		ambiguous *database.AmbiguousError
		query     *query.QueryError
		newer     *migrations.NewerError
		stop      *agent.StopError
	)
	told := func(hint string) string { // the hint is on a line of its own
		return strings.TrimRight(strings.TrimSuffix(err.Error(), hint), ":; ")
	}

	// A cancelled context causes other errors on its way down; the cancellation is the real cause of all of them.
	switch {
	case ctx.Err() != nil:
		return run.Problem{Kind: run.ProblemCancelled, Message: "cancelled", Next: "run the same command again"}, run.ExitCancelled
	case errors.As(err, &f):
		return run.Problem{Kind: f.Kind, Message: err.Error(), Next: f.Next}, f.Exit
	case errors.As(err, &stop) && stop.Budget:
		return run.Problem{Kind: run.ProblemBudget, Message: stop.Message, Next: stop.Next}, run.ExitBudget
	case errors.As(err, &stop):
		return run.Problem{Kind: run.ProblemUsage, Message: stop.Message, Next: stop.Next}, run.ExitUsage
	case errors.As(err, &gone):
		return run.Problem{Kind: run.ProblemInfra, Message: told(gone.Hint), Next: gone.Hint}, run.ExitInfra
	case errors.As(err, &lost):
		return run.Problem{Kind: run.ProblemInfra, Message: told(lost.Hint), Next: lost.Hint}, run.ExitInfra
	case errors.As(err, &query):
		return run.Problem{Kind: run.ProblemUsage, Message: told(query.Hint), Next: query.Hint}, run.ExitUsage
	case errors.As(err, &newer):
		return run.Problem{Kind: run.ProblemInfra, Message: told("upgrade the agent"), Next: "upgrade the agent"}, run.ExitInfra
	case errors.Is(err, database.ErrNotFound):
		return run.Problem{Kind: run.ProblemUsage, Message: err.Error(), Next: "see `agent runs list`"}, run.ExitUsage
	case errors.As(err, &ambiguous):
		return run.Problem{Kind: run.ProblemUsage, Message: err.Error(), Next: "type more of the run's name"}, run.ExitUsage
	}
	return run.Problem{Kind: run.ProblemInfra, Message: err.Error(), Next: "run `agent doctor`"}, run.ExitInfra
}
