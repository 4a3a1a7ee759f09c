package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"agent/migrations"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/sandbox"
)

func TestEveryKindOfErrorHasItsCodeAndItsCure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		kind string
		exit int
		next string
	}{
		{"usage", usage("do this", "wrong %d", 1), "usage", run.ExitUsage, "do this"},
		{"infrastructure", infra("do this", "gone"), "infra", run.ExitInfra, "do this"},
		{"policy", policy("do this", "held"), "policy", run.ExitApproval, "do this"},
		{"wrapped", fmt.Errorf("open it: %w", usage("do this", "wrong")), "usage", run.ExitUsage, "do this"},
		{"no engine", &sandbox.UnavailableError{Host: "unix:///x", Hint: "start one", Err: errors.New("refused")}, "infra", run.ExitInfra, "start one"},
		{"no database", &store.UnavailableError{Address: "host:1/db", Hint: "start it", Err: errors.New("refused")}, "infra", run.ExitInfra, "start it"},
		{"no such run", fmt.Errorf("find it: %w", store.ErrNotFound), "usage", run.ExitUsage, "see `agent runs list`"},
		{"ambiguous run", &store.AmbiguousError{Prefix: "1k", IDs: []string{"1k3", "1k4"}}, "usage", run.ExitUsage, "type more of the run's name"},
		{"bad query", &store.QueryError{Message: "syntax", Hint: "look", Position: 8}, "usage", run.ExitUsage, "look"},
		{"newer schema", fmt.Errorf("open: %w", &migrations.NewerError{Have: 9, Know: 1}), "infra", run.ExitInfra, "upgrade the agent"},
		{"anything else", errors.New("strange"), "infra", run.ExitInfra, "run `agent doctor`"},
	} {
		p, exit := classify(t.Context(), c.err)
		if p.Kind != c.kind || exit != c.exit || p.Next != c.next || p.Message == "" {
			t.Errorf("%s: %+v with exit code %d, want %s, %d and %q", c.name, p, exit, c.kind, c.exit, c.next)
		}
		if strings.HasSuffix(p.Message, c.next) {
			t.Errorf("%s: the cure is told twice: %q", c.name, p.Message)
		}
	}
}

func TestAnErrorIsPrintedOnBothStreams(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	c := newCmdline(func(string) string { return "" }, nil, &stdout, &stderr)
	if exit := c.exit(t.Context(), policy("do this", "held \x1b[2J"), true); exit != run.ExitApproval {
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

// broken is a stream whose reader went away.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", syscall.EPIPE) }

func TestAResultThatNobodyReadsChangesNothing(t *testing.T) {
	t.Parallel()
	c := newCmdline(func(string) string { return "" }, nil, broken{}, io.Discard)
	for _, doc := range []run.Document{aPromoted(), aRejected()} {
		for _, asJSON := range []bool{true, false} {
			if got := c.exit(t.Context(), c.report(doc, asJSON), asJSON); got != doc.Exit {
				t.Errorf("%s, JSON %v: exit code %d, want %d", doc.State, asJSON, got, doc.Exit)
			}
		}
	}
	if got := c.exit(t.Context(), c.printDiff("a diff\n"), false); got != run.ExitDone {
		t.Errorf("a diff into a closed pipe: exit code %d, want 0", got)
	}
}

func TestExitCodesAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	for code := range map[int]bool{run.ExitDone: true, run.ExitFail: true, run.ExitInfra: true, run.ExitApproval: true, run.ExitBudget: true, run.ExitConflict: true, run.ExitCancelled: true} {
		c := quiet()
		if got := c.exit(t.Context(), c.report(run.Document{State: run.Failed, Exit: code}, true), true); got != code {
			t.Errorf("exit code %d, want %d", got, code)
		}
	}
}
