package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Page shows the output of show, which is clean: in the pager, or at once if direct is set. The error is that of show,
// or of writing without a pager. PageText reports problems of a pager, and then prints the text itself.
func (c *Console) Page(ctx context.Context, direct bool, show func(io.Writer) error) error {
	if direct {
		return Print(c.Stdout, show)
	}
	var text bytes.Buffer
	if err := show(&text); err != nil {
		return err
	}
	// The pager replaces the result on stdout, and so does the text printed if there is no pager. As in git, a text
	// that fits the screen stays on it.
	onto := *c
	onto.Stderr = c.Stdout
	onto.PageText(ctx, text.String(), "less -FRX")
	return nil
}

// PrintDiff prints a diff at once.
func (c *Console) PrintDiff(diff string) error {
	return Print(c.Stdout, func(w io.Writer) error { return c.WriteDiff(w, diff) })
}

// WriteDiff writes a diff in the form that suits standard output: painted if there are colours, else byte for byte so
// that git apply accepts it.
func (c *Console) WriteDiff(w io.Writer, diff string) error {
	switch {
	// Painted and cleaned for eyes; only cleaned for a terminal without colours; and untouched for programs, since
	// cleaned bytes might not apply.
	case c.rich(c.Stdout):
		DiffView{Palette: c.Palette(c.Stdout)}.Print(w, diff)
	case Terminal(c.Stdout) != nil:
		fmt.Fprint(w, Clean(diff))
	default:
		fmt.Fprint(w, diff)
	}
	return nil
}

// PageText shows a text in the user's pager, or in less if none is configured, or prints it. The pager is the user's
// own program, and the text was cleaned.
func (c *Console) PageText(ctx context.Context, text, less string) {
	// No shell: the variable names a program and its flags. The -R of less lets only colours through; the text was
	// cleaned before it was painted.
	words := strings.Fields(c.Getenv("PAGER"))
	if len(words) == 0 {
		words = strings.Fields(less)
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		fmt.Fprint(c.Stderr, text)
		return
	}
	if err := c.RunProgram(ctx, words, strings.NewReader(text)); err != nil && ctx.Err() == nil {
		fmt.Fprintf(c.Stderr, "agent: pager %s: %v\n", words[0], err)
		fmt.Fprint(c.Stderr, text)
	}
}

// RunProgram runs a program of the user's on the terminal and restores the terminal's modes afterwards, even if the
// program had to be ended. stdin is the program's input, and env is added to the user's environment.
func (c *Console) RunProgram(ctx context.Context, words []string, stdin io.Reader, env ...string) error {
	// A pager switches the terminal to raw mode. If a signal kills it, it may not switch back, and the shell would be
	// left without an echo.
	if tty := Terminal(c.Stdin); tty != nil {
		if modes, err := term.GetState(int(tty.Fd())); err == nil {
			defer term.Restore(int(tty.Fd()), modes)
		}
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, c.Stderr, c.Stderr
	// TERM lets it leave the alternate screen; KILL follows if it does not exit.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	// The program is the user's own, and reads the user's own settings.
	cmd.Env = append(os.Environ(), env...)
	err := cmd.Run()
	if errors.Is(err, syscall.EPIPE) { // the user left before the end
		return nil
	}
	return err
}
