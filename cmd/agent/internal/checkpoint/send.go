package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/agent"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
)

// A Sender is the checkpoint before a question is sent to a model. It
// has a person look at it, when one is there.
type Sender struct {
	*term.Console
	Wait  config.Patience
	Board *term.Board // gives the terminal away while the question is asked
}

// Before asks whether to send q. The answer is the question, perhaps
// altered, or agent.ErrSkipped. Nobody's answer sends it, since only
// what comes of it can do anything.
func (s *Sender) Before(ctx context.Context, q agent.Question) (agent.Question, error) {
	// The board would draw over what is typed.
	defer s.Board.Pause()()
	s.DiscardInput()
	s.Alert("a question to a model waits for your decision")
	for {
		// Measured anew each time: editing changes it.
		size := llm.Estimate(q.System, q.Text).N
		what := fmt.Sprintf("\nSend %s (%s, about %d tokens)?", q.Step, q.Purpose, size)
		typed, err := s.Question(ctx, what, "[Enter] send, [v]iew, [e]dit prompt, [u] augment, [s]kip", s.Wait.Time)
		switch {
		case errors.Is(err, term.ErrExpired) && s.Wait.Stop, errors.Is(err, io.EOF):
			return q, enterAnswer(ctx, q, "nobody", agent.ErrSkipped)
		case errors.Is(err, term.ErrExpired):
			return q, enterAnswer(ctx, q, "countdown", nil)
		case err != nil:
			return q, err
		}
		// The letters of the prompt, and the words of old habit.
		switch word := term.Normalize(typed); {
		case word == "" || term.OneOf(word, "send", "y", "yes"):
			return q, enterAnswer(ctx, q, run.ByTerminal, nil)
		case term.OneOf(word, "s", "skip", "n", "no"):
			return q, enterAnswer(ctx, q, run.ByTerminal, agent.ErrSkipped)
		case term.OneOf(word, "v", "view"):
			hidden, _ := wire.HideSecrets(q) // as it would leave
			s.PageText(ctx, term.Clean(hidden.Text), "less -R")
		case term.OneOf(word, "e", "edit", "edit prompt"):
			if text := s.EditTexts(ctx, map[string][]byte{"prompt.md": []byte(q.Text)})["prompt.md"]; text != nil {
				q.Text = string(text)
			}
		case term.OneOf(word, "u", "augment", "augment prompt"):
			if q, err = s.augment(ctx, q); err != nil {
				return q, err
			}
		default:
			fmt.Fprintln(s.Stderr, "enter one of the letters in brackets, or press Enter")
		}
	}
}

// augment adds a line that the person types to the question.
func (s *Sender) augment(ctx context.Context, q agent.Question) (agent.Question, error) {
	// No countdown here: who began to type is there.
	fmt.Fprint(s.Stderr, "Add to the prompt: ")
	line, err := term.ReadLine(ctx, s.Stdin)
	switch {
	case ctx.Err() != nil:
		return q, ctx.Err()
	case err != nil && !errors.Is(err, io.EOF):
		return q, fmt.Errorf("read what to add: %w", err)
	}
	// The heading tells the model that a person added this.
	if line = strings.TrimSpace(line); line != "" {
		q.Text = strings.TrimRight(q.Text, "\n") + "\n\n### User Augmentation\n" + line + "\n"
	}
	return q, nil
}

// enterAnswer enters what the checkpoint before a question answered, and whose
// answer it was. It returns err, which ErrSkipped is when the question is not sent.
func enterAnswer(ctx context.Context, q agent.Question, by string, err error) error {
	answer := "send"
	if err != nil {
		answer = string(run.Skip)
	}
	run.Enter(ctx, run.Entry{Kind: run.ApprovalEntry, Actor: by, Subject: answer, Detail: map[string]any{"question": q.Step}})
	return err
}
