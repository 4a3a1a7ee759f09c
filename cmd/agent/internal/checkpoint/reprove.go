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

// Reprove decides whether to prove again what the run of that name proved, since the workspace has changed. moved lists
// the files of the change that have changed meanwhile.
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
	key, err := a.Ask(ctx, term.Question{
		Text: "Prove it again on the files as they are now?", Default: 'r', Wait: a.Wait.Time, Expires: "stops", Choices: []term.Choice{
			{Key: 'r', Name: "re-prove", Help: "run every gate on the files as they are now; you are asked again before anything is written", More: "y"},
			{Key: 's', Name: "skip", Help: "leave the workspace as it is", More: "nq"},
		},
	})
	switch {
	case errors.Is(err, term.ErrExpired):
		return Unattended(noAnswer), nil
	case errors.Is(err, io.EOF):
		return Unattended("no answer from the terminal"), nil
	case err != nil:
		return run.Answer{}, err
	}
	return run.Answer{Decision: map[rune]run.Decision{'r': run.Apply, 's': run.Skip}[key], By: run.ByTerminal}, nil
}
