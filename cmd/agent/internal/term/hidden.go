package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"unicode/utf8"
)

// ErrNoKeys is the error of AskHidden if there is no place to type unseen.
var ErrNoKeys = errors.New("there is no terminal for hidden input")

// AskHidden asks for a line that is not shown, until take accepts it. If take refuses a line, its error is printed
// before the next. Nothing is shown from before the first question until the last answer, however early it is typed,
// and anything typed before is not an answer. The error is ErrNoKeys, io.EOF at the end of the input, or that of ctx.
func (c *Console) AskHidden(ctx context.Context, text string, take func(line string) error) error {
	k := c.keyboard()
	if k == nil {
		return ErrNoKeys
	}
	defer k.close()
	if !k.press() {
		return ErrNoKeys
	}
	defer k.release()
	_ = dropInput(int(k.tty.Fd())) // a terminal that cannot forget is asked all the same
	for {
		fmt.Fprintf(c.Stderr, "%s (not shown): ", c.Palette(c.Stderr).Bold(text))
		line, err := k.line(ctx)
		fmt.Fprintln(c.Stderr) // Enter is not shown either
		if err != nil {
			return err
		}
		if err = take(strings.TrimSpace(line)); err == nil {
			return nil
		}
		fmt.Fprintln(c.Stderr, err)
	}
}

// line returns the next line of keys, with the corrections made by Backspace.
func (k *keyboard) line(ctx context.Context) (string, error) {
	const longest = 4 << 10
	var typed []byte
	for len(typed) < longest {
		r, err := k.key(ctx)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO): // EIO: the terminal itself went away
			return "", io.EOF
		case err != nil:
			return "", fmt.Errorf("read the answer: %w", err)
		case r == '\n':
			return string(typed), nil
		case r == '\b' || r == 0x7f:
			_, last := utf8.DecodeLastRune(typed)
			typed = typed[:len(typed)-last]
		case r != 0:
			typed = utf8.AppendRune(typed, r)
		}
	}
	return "", errors.New("the answer is too long")
}
