package initialize

import (
	"cmp"
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
	key, err := c.Ask(ctx, term.Question{Text: what, Default: 'n', Choices: []term.Choice{
		{Key: 'y', Name: "yes", Help: "do it"},
		{Key: 'n', Name: "no", Help: "leave it as it is", More: "q"},
	}})
	return key == 'y', err
}

// line asks for text; Enter is what is in use without it.
func (c command) line(ctx context.Context, what, without string) (string, error) {
	if without != "" {
		what += " (Enter: " + without + ")"
	}
	answer, err := c.AskLine(ctx, what)
	return cmp.Or(answer, without), err
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
