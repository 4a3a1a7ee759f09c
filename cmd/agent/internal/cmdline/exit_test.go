package cmdline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/run"
)

func TestAnErrorIsPrintedOnBothStreams(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	c := New(func(string) string { return "" }, nil, &stdout, &stderr)
	if exit := c.Exit(t.Context(), fault.Policy("do this", "held \x1b[2J"), true); exit != run.ExitApproval {
		t.Errorf("exit code %d, want 4", exit)
	}
	if want := "agent: held ␛[2J\n  next: do this\n"; stderr.String() != want {
		t.Errorf("stderr is %q, want %q", &stderr, want)
	}
	var doc map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run", "state", "verdict", "workspace", "snapshot", "candidates", "promotion", "error"} {
		if _, ok := doc[name]; !ok {
			t.Errorf("the document has no %s:\n%s", name, &stdout)
		}
	}
	if doc["verdict"] != "policy" || doc["candidates"] == nil {
		t.Errorf("verdict %v, candidates %v", doc["verdict"], doc["candidates"])
	}
}

// broken is a stream whose reader has gone.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", syscall.EPIPE) }

func TestAResultThatNobodyReadsChangesNothing(t *testing.T) {
	t.Parallel()
	c := New(func(string) string { return "" }, nil, broken{}, io.Discard)
	for _, doc := range []run.Document{termtest.Promoted(), termtest.Rejected()} {
		for _, asJSON := range []bool{true, false} {
			if got := c.Exit(t.Context(), c.Report(doc, asJSON), asJSON); got != doc.Exit {
				t.Errorf("%s, JSON %v: exit code %d, want %d", doc.State, asJSON, got, doc.Exit)
			}
		}
	}
	if got := c.Exit(t.Context(), c.PrintDiff("a diff\n"), false); got != run.ExitDone {
		t.Errorf("a diff into a closed pipe: exit code %d, want 0", got)
	}
}

func TestExitCodesAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	for code := range map[int]bool{run.ExitDone: true, run.ExitFail: true, run.ExitInfra: true, run.ExitApproval: true, run.ExitBudget: true, run.ExitConflict: true, run.ExitCancelled: true} {
		c := New(func(string) string { return "" }, strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
		if got := c.Exit(t.Context(), c.Report(run.Document{State: run.Failed, Exit: code}, true), true); got != code {
			t.Errorf("exit code %d, want %d", got, code)
		}
	}
}

func TestCancelledCommandEndsWith130(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	c := New(func(string) string { return "" }, strings.NewReader(""), &stdout, &stderr)
	if exit := c.Exit(ctx, ctx.Err(), true); exit != 130 {
		t.Errorf("exit code %d, want 130", exit)
	}
	if !strings.Contains(stdout.String(), `"kind": "cancelled"`) || !strings.Contains(stderr.String(), "cancelled") {
		t.Errorf("it does not say that it was cancelled:\n%s\n%s", &stdout, &stderr)
	}
}
