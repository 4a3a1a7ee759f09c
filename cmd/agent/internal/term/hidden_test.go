package term

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"agent/cmd/agent/internal/term/termtest"
)

// errShort rejects an answer that is too short to be a password.
var errShort = errors.New("too short")

// A watched terminal records whether it would have shown typed text while something was printed.
type watched struct {
	t      *testing.T
	p      *termtest.Person
	echoed bool
}

func (w *watched) Write(text []byte) (int, error) {
	w.echoed = w.echoed || modes(w.t, w.p.TTY).Lflag&unix.ECHO != 0
	return w.p.TTY.Write(text)
}

// hidden starts a hidden question, and returns the accepted answer and the result.
func hidden(ctx context.Context, c *Console) (took *string, ended <-chan error) {
	took = new(string)
	end := make(chan error, 1)
	go func() {
		end <- c.AskHidden(ctx, "Password", func(line string) error {
			if *took = line; len(line) < 3 {
				return errShort
			}
			return nil
		})
	}()
	return took, end
}

// Text typed right after the question, or between two questions, is not shown, and text typed before does not count.
func TestWhatIsTypedHiddenIsNeverShown(t *testing.T) {
	t.Parallel()
	p := termtest.NewPerson(t)
	p.Types(t, "before\n")
	p.Sees(t, "before\r\n", 1) // the terminal echoes it, so it waits to be read
	before := modes(t, p.TTY)
	c, screenOf := seated(p, nil), &watched{t: t, p: p}
	c.Stderr = screenOf
	took, ended := hidden(t.Context(), c)
	p.Sees(t, " (not shown): ", 1)
	p.Types(t, "\nxy\nsecreß\bs\x1b[D\x1b[1;5C\x1bOP\x7ft\n")
	if err := <-ended; err != nil || *took != "secret" {
		t.Errorf("took %q, %v", *took, err)
	}
	if modes(t, p.TTY) != before {
		t.Error("the modes are not restored")
	}
	if screenOf.echoed {
		t.Error("what is typed would have been shown for a while")
	}
	screen := p.Whole()
	if strings.Contains(screen, "xy") || strings.Contains(screen, "secre") {
		t.Errorf("it was shown:\n%s", screen)
	}
	if strings.Count(screen, "too short") != 2 {
		t.Errorf("what was not taken is not told:\n%s", screen)
	}
}

func TestAHiddenQuestionEnds(t *testing.T) {
	t.Parallel()
	p := termtest.NewPerson(t)
	before := modes(t, p.TTY)
	_, ended := hidden(t.Context(), seated(p, nil))
	p.Sees(t, " (not shown): ", 1)
	p.Types(t, "secr\x04")
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("Ctrl-D: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, ended = hidden(ctx, seated(p, nil))
	p.Sees(t, " (not shown): ", 2)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if modes(t, p.TTY) != before {
		t.Error("the modes are not restored")
	}
	nobody := &Console{Getenv: func(string) string { return "" }, Stdin: strings.NewReader("secret\n"), Stderr: p.TTY}
	if _, ended = hidden(t.Context(), nobody); !errors.Is(<-ended, ErrNoKeys) {
		t.Error("somebody was asked without a terminal")
	}
}
