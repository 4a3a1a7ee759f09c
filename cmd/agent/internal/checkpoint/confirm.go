package checkpoint

import (
	"context"
	"fmt"
	"strings"

	"agent/cmd/agent/internal/term"
)

// shownLines is how many lines of a diff a question shows. It is far more than a screen: a terminal scrolls, and the
// user sees the approved change as a whole unless it is enormous.
const shownLines = 1000

// Preview prints a diff on standard error. Of an enormous diff it prints the beginning, and says how much more there is
// and which key shows it.
func Preview(c *term.Console, diff, more string) {
	term.DiffView{Palette: c.Palette(c.Stderr), MaxLines: shownLines, More: more}.Print(c.Stderr, diff)
}

// PageDiff shows the whole diff in the user's pager, or prints it if there is no pager.
func PageDiff(ctx context.Context, c *term.Console, diff string) {
	var text strings.Builder
	term.DiffView{Palette: c.Palette(c.Stderr)}.Print(&text, diff)
	c.PageText(ctx, text.String(), "less -R")
}

// Confirm asks at the terminal whether to write a change; about is printed before the question. The error is that of
// term.Ask, such as io.EOF at the end of input.
func Confirm(ctx context.Context, c *term.Console, about string) (bool, error) {
	fmt.Fprintf(c.Stderr, "\n%s", about)
	return c.AskYes(ctx, "Write this to the workspace?")
}
