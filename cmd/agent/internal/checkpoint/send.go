package checkpoint

import (
	"cmp"
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

// A Sender is the checkpoint before a question is sent to a model. It shows the question to a person, if one is there.
type Sender struct {
	*term.Console
	Model string // the name of the model that is asked first; "" if unknown
	Wait  config.Patience
	Board *term.Board // gives up the terminal while the question is asked
}

// Before asks whether to send q. It returns the question, possibly edited, or agent.ErrSkipped. Without an answer
// nothing is sent, unless the user has set expiry to apply.
func (s *Sender) Before(ctx context.Context, q agent.Question) (agent.Question, error) {
	// The board would draw over the user's input.
	defer s.Board.Pause()()
	s.Alert("a question to a model waits for your decision")
	ask := term.Question{Wait: s.Wait.Time, Default: 'a', Expires: "is not sent", Choices: []term.Choice{
		{Key: 'a', Name: "ask", Help: "send the prompt", More: "y"},
		{Key: 'v', Name: "view", Help: "show the prompt in the pager, as it would be sent"},
		{Key: 'e', Name: "edit prompt", Help: "edit the prompt"},
		{Key: 'u', Name: "augment", Help: "add a line to the prompt"},
		{Key: 's', Name: "skip", Help: "do not ask; the run continues without the answer", More: "nq"},
	}}
	if s.Wait.Apply {
		ask.Expires = "is sent"
	}
	var edits draft
	for {
		ask.Text = "\n" + s.about(q)
		key, err := s.Ask(ctx, ask)
		switch {
		case errors.Is(err, term.ErrExpired) && !s.Wait.Apply, errors.Is(err, io.EOF):
			return q, enterAnswer(ctx, q, "nobody", agent.ErrSkipped)
		case errors.Is(err, term.ErrExpired):
			return q, enterAnswer(ctx, q, "countdown", nil)
		case err != nil:
			return q, err
		}
		switch key {
		case 'a':
			return q, enterAnswer(ctx, q, run.ByTerminal, nil)
		case 's':
			return q, enterAnswer(ctx, q, run.ByTerminal, agent.ErrSkipped)
		case 'v':
			hidden, _ := wire.HideSecrets(q) // as it would leave the machine
			s.PageText(ctx, term.Clean(hidden.Text), "less -R")
		case 'e':
			if text := edits.edit(ctx, s.Console, q.Step, map[string][]byte{"prompt.md": []byte(q.Text)})["prompt.md"]; text != nil {
				q.Text = string(text)
			}
		case 'u':
			if q, err = s.augment(ctx, q); err != nil {
				return q, err
			}
		}
	}
}

// about says which model would be asked for what, and how long the prompt is. The length is measured each time, since
// editing changes it.
func (s *Sender) about(q agent.Question) string {
	return fmt.Sprintf("Ask %s for %s (%s tokens)?", cmp.Or(s.Model, "the model"), q.About(), thousands(llm.Estimate(q.System, q.Text).N))
}

// thousands formats a number for people: 1.3k from a thousand on.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1000)
}

// augment adds a line that the user types to the question. It has no countdown: a user who began to type is there.
func (s *Sender) augment(ctx context.Context, q agent.Question) (agent.Question, error) {
	line, err := s.AskLine(ctx, "Add to the prompt:")
	// The heading tells the model that the user added this.
	if err == nil && line != "" {
		q.Text = strings.TrimRight(q.Text, "\n") + "\n\n### User Augmentation\n" + line + "\n"
	}
	return q, err
}

// enterAnswer enters in the log the answer at the checkpoint before a question, and who gave it. It returns err, which
// is ErrSkipped if the question is not sent.
func enterAnswer(ctx context.Context, q agent.Question, by string, err error) error {
	answer := "send"
	if err != nil {
		answer = string(run.Skip)
	}
	run.Enter(ctx, run.Entry{Kind: run.ApprovalEntry, Actor: by, Subject: answer, Detail: map[string]any{"question": q.Step}})
	return err
}
