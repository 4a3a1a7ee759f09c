package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"agent/migrations"
	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/sandbox"
	"agent/verify"
)

// A fault is an error with its exit code and the next thing to do. The
// codes are those of package run, whose documents carry them too:
//
//	0 promoted, or proved      4 approval or policy needed
//	1 the patch failed         5 budget
//	2 usage                    6 conflict with the workspace
//	3 infrastructure         130 cancelled
type fault struct {
	exit int
	kind string // as run.Problem
	next string
	err  error
}

// Error is the text of the cause; what to do next is printed on a line
// of its own.
func (f *fault) Error() string { return f.err.Error() }

// Unwrap lets callers look at the cause.
func (f *fault) Unwrap() error { return f.err }

// usage is the fault of a command that was given wrongly.
func usage(next, format string, args ...any) error {
	return &fault{exit: run.ExitUsage, kind: "usage", next: next, err: fmt.Errorf(format, args...)}
}

// infra is the fault of something that the command stands on.
func infra(next, format string, args ...any) error {
	return &fault{exit: run.ExitInfra, kind: "infra", next: next, err: fmt.Errorf(format, args...)}
}

// policy is the fault of something that a person must approve or take
// back.
func policy(next, format string, args ...any) error {
	return &fault{exit: run.ExitApproval, kind: "policy", next: next, err: fmt.Errorf(format, args...)}
}

// errReported ends a command whose result, printed already, says
// everything. A run that was rejected has printed its document, with
// the reason in it; a second message on stderr would only repeat it.
type errReported struct{ exit int }

// Error is never printed; it is for tests and debuggers.
func (e errReported) Error() string { return fmt.Sprintf("exit code %d", e.exit) }

// classify turns any error into what is printed of it, and its exit
// code. This is the one place where typed errors of other packages
// become exit codes. An error that nobody classified counts as trouble
// of the infrastructure: blaming the patch or the user for something
// unknown would be worse.
func classify(ctx context.Context, err error) (run.Problem, int) {
	// In the order of how much they know: a fault of this package
	// carries its own answer, the others are translated.
	var (
		f         *fault
		gone      *sandbox.UnavailableError
		lost      *store.UnavailableError
		ambiguous *store.AmbiguousError
		query     *store.QueryError
		newer     *migrations.NewerError
		stop      *agent.StopError
	)
	told := func(hint string) string { // the hint comes on a line of its own
		return strings.TrimRight(strings.TrimSuffix(err.Error(), hint), ":; ")
	}

	// A cancelled context makes other errors on its way down; what the
	// user did is the truth about all of them.
	switch {
	case ctx.Err() != nil:
		return run.Problem{Kind: "cancelled", Message: "cancelled", Next: "run the same command again"}, run.ExitCancelled
	case errors.As(err, &f):
		return run.Problem{Kind: f.kind, Message: err.Error(), Next: f.next}, f.exit
	case errors.As(err, &stop) && stop.Budget:
		return run.Problem{Kind: "budget", Message: stop.Message, Next: stop.Next}, run.ExitBudget
	case errors.As(err, &stop):
		return run.Problem{Kind: "usage", Message: stop.Message, Next: stop.Next}, run.ExitUsage
	case errors.As(err, &gone):
		return run.Problem{Kind: "infra", Message: told(gone.Hint), Next: gone.Hint}, run.ExitInfra
	case errors.As(err, &lost):
		return run.Problem{Kind: "infra", Message: told(lost.Hint), Next: lost.Hint}, run.ExitInfra
	case errors.As(err, &query):
		return run.Problem{Kind: "usage", Message: told(query.Hint), Next: query.Hint}, run.ExitUsage
	case errors.As(err, &newer):
		return run.Problem{Kind: "infra", Message: told("upgrade the agent"), Next: "upgrade the agent"}, run.ExitInfra
	case errors.Is(err, store.ErrNotFound):
		return run.Problem{Kind: "usage", Message: err.Error(), Next: "see `agent runs list`"}, run.ExitUsage
	case errors.As(err, &ambiguous):
		return run.Problem{Kind: "usage", Message: err.Error(), Next: "type more of the run's name"}, run.ExitUsage
	}
	return run.Problem{Kind: "infra", Message: err.Error(), Next: "run `agent doctor`"}, run.ExitInfra
}

// exit prints err and returns the exit code of the process. A reader
// that went away is no error: it has what it wanted.
func (c *cmdline) exit(ctx context.Context, err error, asJSON bool) int {
	var reported errReported
	switch {
	// As in `agent runs list | head -1`.
	case err == nil, errors.Is(err, syscall.EPIPE):
		return run.ExitDone
	case errors.As(err, &reported):
		return reported.exit
	}
	// Both streams get the error: the document is for the script, the
	// line for the person who reads its log.
	problem, code := classify(ctx, err)
	if asJSON {
		c.exitJSON(problem)
	}
	c.printProblem(c.stderr, problem)
	return code
}

// exitJSON prints a document that holds nothing but the error.
func (c *cmdline) exitJSON(p run.Problem) {
	// The same fields as a run's document, so that a script needs one
	// way to read both.
	verdicts := map[string]verify.Verdict{"cancelled": verify.Cancelled, "policy": verify.Policy}
	doc := run.Document{State: run.Failed, Verdict: verify.Infra, Candidates: []run.DocumentCandidate{}, Error: &p}
	if v, ok := verdicts[p.Kind]; ok {
		doc.Verdict = v
	}
	if p.Kind == "cancelled" {
		doc.State = run.Cancelled
	}
	if err := printJSON(c.stdout, doc); err != nil {
		fmt.Fprintln(c.stderr, "agent: print the result:", err)
	}
}

// printProblem prints an error and the next thing to do.
func (c *cmdline) printProblem(w io.Writer, p run.Problem) {
	fmt.Fprintf(w, "agent: %s\n", clean(p.Message))
	if p.Next != "" {
		fmt.Fprintf(w, "  next: %s\n", clean(p.Next))
	}
}

// printJSON prints v as one document.
func printJSON(w io.Writer, v any) error {
	// A diff is full of < and &; escaped they would be unreadable and
	// no safer.
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
