package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/agent"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
)

func TestWhatEndsAQuestionIsToldAndClassified(t *testing.T) {
	t.Parallel()
	refused := llm.NewError(llm.Auth, "gemini", "m", "API key not valid")
	for _, c := range []struct {
		err    error
		budget bool
		says   string
		next   string
	}{
		{&llm.BudgetError{Cap: "tokens of a run", Limit: "10", Have: "9"}, true, "9 of 10 spent", "raise the cap"},
		{&llm.ExhaustedError{Attempts: 1, Last: refused}, false, "does not accept a key", "GEMINI_API_KEYS"},
		{&llm.ExhaustedError{Attempts: config.MaxAttempts, Last: refused}, true, "after 16 attempts", "GEMINI_API_KEYS"},
		{&llm.ExhaustedError{}, false, "no model answered", "add a provider"},
		{llm.NewError(llm.Truncated, "gemini", "m", "cut"), true, "reached its token limit", "smaller change"},
		{fmt.Errorf("ask: %w", llm.ErrHoldsKey), false, "contains an API key", "remove it"},
		{fmt.Errorf("replay: %w", llm.ErrNotRecorded), false, "no answer is recorded", "as it was"},
	} {
		var stop *agent.StopError
		if err := stopped(t.Context(), c.err); !errors.As(err, &stop) || stop.Budget != c.budget || !strings.Contains(stop.Message, c.says) || !strings.Contains(stop.Next, c.next) {
			t.Errorf("%v: %+v", c.err, stop)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := stopped(ctx, ctx.Err()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	other := errors.New("other")
	if err := stopped(t.Context(), other); !errors.Is(err, other) {
		t.Errorf("%v", err)
	}
}

func TestPlainProgressOfAQuestion(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	b := (&term.Console{Getenv: func(string) string { return "" }, Stdout: io.Discard, Stderr: &out}).NewBoard(0)
	for _, e := range []llm.Event{
		llm.Started{Attempt: 1, Vendor: "gemini", Model: "m", Key: "0a1b", In: llm.Tokens{N: 1200, Estimated: true}},
		llm.Text{Text: "<THO"},
		llm.Text{Text: "UGHT>"},
		llm.Text{Text: "more"},
		llm.Abandoned{Err: llm.NewError(llm.Overloaded, "gemini", "m", "busy \x1b[2J"), Shown: true},
		llm.Waiting{For: 2 * time.Second, Why: llm.NewError(llm.Overloaded, "gemini", "m", "busy")},
		llm.Started{Attempt: 2, Vendor: "ollama", Model: "q", In: llm.Tokens{N: 1200}},
		llm.Done{Usage: llm.Usage{In: llm.Tokens{N: 1180}, Out: llm.Tokens{N: 400}}, Cost: 2100, Priced: true, Duration: 8 * time.Second},
		llm.Started{Vendor: "ollama", Model: "q", Recorded: true},
		llm.Done{Usage: llm.Usage{In: llm.Tokens{N: 1180}, Out: llm.Tokens{N: 400}}, Recorded: true},
	} {
		p := progress(e)
		p.Step = "propose/1"
		b.Event(run.Event{Model: &p})
	}
	b.Close()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{
		"propose/1 gemini/m … asked, ~1200 tokens in", "propose/1 gemini/m … ~1200 tokens in, ~1 out, ", "gemini is overloaded (busy [2J)", "waits 2 s: gemini is overloaded",
		"propose/1 ollama/q … asked, 1200 tokens in", "answered, 1180 tokens in, 400 out, 8.0 s, 50 tokens/s, cost 0.002100, spent 0.002100", "asked", "from the record",
	} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Errorf("line %d does not hold %q:\n%s", i+1, want, &out)
		}
	}
	if strings.ContainsRune(out.String(), '\x1b') || len(lines) != 8 {
		t.Errorf("%d lines:\n%q", len(lines), out.String())
	}
}
