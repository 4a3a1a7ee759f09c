package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"agent/cmd/agent/internal/term"
	"agent/orchestrator/run"
)

// Reprove decides whether what the run of that name proved is proved again, since the
// workspace has changed; moved are the files of the change that have.
func (a *Approver) Reprove(ctx context.Context, id string, moved []string) (run.Answer, error) {
	switch {
	case a.Yes:
		return run.Answer{Decision: run.Apply, By: "--yes"}, nil
	case !a.Attended():
		return Unattended("there is no terminal and no --yes"), nil
	}
	defer a.Board.Pause()()
	what := "files that the change does not touch"
	if len(moved) > 0 {
		what = term.CleanLine(strings.Join(moved, ", "))
	}
	fmt.Fprintf(a.Stderr, "\n%s run %s proved this on other files: %s\n\n", a.Palette(a.Stderr).Warn("The workspace has changed:"), id, what)
	a.DiscardInput()
	for {
		typed, err := a.Question(ctx, "Prove it again on the files as they are now?", "[r]e-prove, [s]kip", a.Wait.Time)
		switch {
		case errors.Is(err, term.ErrExpired):
			return Unattended("the countdown ended"), nil
		case errors.Is(err, io.EOF):
			return Unattended("the terminal gave no answer"), nil
		case err != nil:
			return run.Answer{}, err
		}
		switch word := term.Normalize(typed); {
		case term.OneOf(word, "", "r", "re-prove", "reprove", "y", "yes"):
			return run.Answer{Decision: run.Apply, By: run.ByTerminal}, nil
		case term.OneOf(word, "s", "skip", "n", "no"):
			return run.Answer{Decision: run.Skip, By: run.ByTerminal}, nil
		}
		fmt.Fprintln(a.Stderr, "enter one of the letters in brackets")
	}
}
