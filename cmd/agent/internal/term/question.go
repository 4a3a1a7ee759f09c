package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrExpired is what Question gives when nobody answered in time.
var ErrExpired = errors.New("nobody answered in time")

// Question asks once and returns the line that was typed. The error is
// ErrExpired, io.EOF when the terminal went away, or that of ctx.
//
//	Write this to the workspace? [a]pply, [f]ull diff, …
//	185 s remaining | You:
func (c *Console) Question(ctx context.Context, what, choices string, wait time.Duration) (string, error) {
	fmt.Fprintf(c.Stderr, "%s %s\n", c.Palette(c.Stderr).Bold(what), choices)
	// The countdown is a deadline of its own, told apart from the caller's
	// end by asking both.
	timed := ctx
	if wait > 0 {
		fmt.Fprintf(c.Stderr, "%4.0f s remaining | ", wait.Seconds())
		var cancel context.CancelFunc
		timed, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	fmt.Fprint(c.Stderr, "You: ")
	// The clock stops before anything else is written.
	stop := c.countdown(timed)
	line, err := ReadLine(timed, c.Stdin)
	stop()
	if err == nil {
		return line, nil
	}
	// No line ended on the screen.
	fmt.Fprintln(c.Stderr)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case timed.Err() != nil:
		return "", ErrExpired
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO): // EIO: the terminal itself went away
		return "", io.EOF
	}
	return "", fmt.Errorf("read the answer: %w", err)
}

// countdown shows the seconds that are left until ctx ends, at the start
// of the line; the returned function ends it. The cursor is put back to
// where the person types.
func (c *Console) countdown(ctx context.Context) (stop func()) {
	// Where nothing can be redrawn, the seconds of the prompt must do.
	end, timed := ctx.Deadline()
	if !timed || !c.rich(c.Stderr) {
		return func() {}
	}
	done := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
				fmt.Fprintf(c.Stderr, "\x1b7\r%4.0f\x1b8", time.Until(end).Seconds())
			}
		}
	})
	return func() { close(done); showing.Wait() }
}

// DiscardInput drops what was typed before a question was seen: an Enter
// pressed out of impatience must not be its answer.
func (c *Console) DiscardInput() {
	if tty := Terminal(c.Stdin); tty != nil {
		// A terminal that cannot forget is asked all the same.
		_ = discardInput(int(tty.Fd()))
	}
}

// Normalize is an answer as it is compared: EDIT_CODE is "edit code".
func Normalize(typed string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(typed), "_", " "))
}

// OneOf reports whether word is one of words.
func OneOf(word string, words ...string) bool { return slices.Contains(words, word) }
