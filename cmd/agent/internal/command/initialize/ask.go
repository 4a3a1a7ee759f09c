package initialize

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	xterm "golang.org/x/term"

	"agent/cmd/agent/internal/term"
)

// yes asks until the answer is yes or no; Enter is no.
func (c command) yes(ctx context.Context, what string) (bool, error) {
	for {
		answer, err := c.Question(ctx, what, "[y]es, [n]o (Enter: no)", 0)
		switch {
		case err != nil:
			return false, err
		case term.OneOf(term.Normalize(answer), "y", "yes"):
			return true, nil
		case term.OneOf(term.Normalize(answer), "", "n", "no"):
			return false, nil
		}
	}
}

// line asks for text; Enter is what is in use without it.
func (c command) line(ctx context.Context, what, without string) (string, error) {
	choices := ""
	if without != "" {
		choices = "(Enter: " + without + ")"
	}
	answer, err := c.Question(ctx, what, choices, 0)
	answer = strings.TrimSpace(answer)
	if answer == "" {
		answer = without
	}
	return answer, err
}

// errNoTerminal means that nothing can be typed unseen.
var errNoTerminal = errors.New("a key can be typed only in a terminal")

// hidden asks for a line that is not shown while it is typed.
func (c command) hidden(ctx context.Context, what string) (string, error) {
	tty := term.Terminal(c.Stdin)
	if tty == nil {
		return "", errNoTerminal
	}
	fmt.Fprintf(c.Stderr, "%s (not shown): ", c.Palette(c.Stderr).Bold(what))
	state, err := xterm.MakeRaw(int(tty.Fd()))
	if err != nil {
		return "", fmt.Errorf("hide what is typed: %w", err)
	}
	defer func() {
		_ = xterm.Restore(int(tty.Fd()), state) // a terminal that went away shows nothing either
		fmt.Fprintln(c.Stderr)
	}()
	from, one := term.Interruptible(ctx, tty), make([]byte, 1)
	var typed []byte
	const longest = 4 << 10
	for len(typed) < longest {
		if _, err := from.Read(one); err != nil {
			return "", err
		}
		switch one[0] {
		case '\r', '\n':
			return strings.TrimSpace(string(typed)), nil
		case 3: // Ctrl-C, which is no signal while nothing is shown
			return "", context.Canceled
		case 4: // Ctrl-D
			return "", io.EOF
		case 8, 127:
			_, last := utf8.DecodeLastRune(typed)
			typed = typed[:len(typed)-last]
		default:
			typed = append(typed, one[0])
		}
	}
	return "", errors.New("no key is that long")
}
