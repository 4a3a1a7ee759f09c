package cmdline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/verify"
)

// Exit prints err and returns the exit code of the process. A reader that closed the pipe is not an error: it has what
// it wanted.
func (c *Line) Exit(ctx context.Context, err error, asJSON bool) int {
	var reported fault.Reported
	switch {
	// As in `agent runs list | head -1`.
	case err == nil, errors.Is(err, syscall.EPIPE):
		return run.ExitDone
	case errors.As(err, &reported):
		return reported.Exit
	}
	// Both streams get the error: the document is for the script, the line for the person who reads its log. For wrong
	// usage there is nothing that a document could tell.
	problem, code := fault.Classify(ctx, err)
	if asJSON && code != run.ExitUsage {
		c.exitJSON(problem)
	}
	c.PrintProblem(c.Stderr, problem)
	return code
}

// Finish waits for the output of --jq or --template, and returns the exit code of the process. A filter that does not
// fit the document is a usage error, unless the command ended with another error: its work is done.
func (c *Line) Finish(ctx context.Context, code int) int {
	if c.filter == nil {
		return code
	}
	err := c.filter.Close()
	if err == nil {
		return code
	}
	problem, usage := fault.Classify(context.WithoutCancel(ctx), fault.Usage("the command itself is done: `agent schema` shows the fields of its document", "--jq or --template: %w", err))
	c.PrintProblem(c.Stderr, problem)
	if code == run.ExitDone {
		return usage
	}
	return code
}

// exitJSON prints a document that holds only the error.
func (c *Line) exitJSON(p run.Problem) {
	// It has the same fields as a run's document, so that a script needs only one way to read both.
	verdicts := map[run.ProblemKind]verify.Verdict{run.ProblemCancelled: verify.Cancelled, run.ProblemPolicy: verify.Policy}
	doc := run.Document{State: run.Failed, Verdict: verify.Infra, Candidates: []gate.Document{}, Error: &p}
	if v, ok := verdicts[p.Kind]; ok {
		doc.Verdict = v
	}
	if p.Kind == run.ProblemCancelled {
		doc.State = run.Cancelled
	}
	if err := term.PrintJSON(c.Stdout, doc); err != nil {
		fmt.Fprintln(c.Stderr, "agent: print the result:", err)
	}
}

// PrintProblem prints an error and the next thing to do.
func (c *Line) PrintProblem(w io.Writer, p run.Problem) {
	fmt.Fprintf(w, "agent: %s\n", term.Clean(p.Message))
	if p.Next != "" {
		fmt.Fprintf(w, "  next: %s\n", term.Clean(p.Next))
	}
}

// Report prints the result of a run and ends with its exit code. Whether someone still reads the result changes nothing
// about the run.
func (c *Line) Report(doc run.Document, asJSON bool) error {
	if asJSON {
		if err := term.PrintJSON(c.Stdout, doc); err != nil && !errors.Is(err, syscall.EPIPE) {
			return fault.Infra("see `agent runs show "+doc.Run+"`", "print the result: %w", err)
		}
	} else {
		c.Summary().Document(doc)
	}
	if doc.Exit == run.ExitDone {
		return nil
	}
	return fault.Reported{Exit: doc.Exit}
}
