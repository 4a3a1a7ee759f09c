package checkpoint

import (
	"context"
	"fmt"
	"strings"

	"agent/cmd/agent/internal/term"
)

// PreviewLines is how many lines of a diff a question shows.
const PreviewLines = 20

// Preview prints the first lines of a diff on standard error, at most that many.
func Preview(c *term.Console, diff string, lines int) {
	columns, _ := c.Size(c.Stderr)
	term.DiffView{Palette: c.Palette(c.Stderr), Columns: columns, MaxLines: lines}.Print(c.Stderr, diff)
}

// PageDiff shows the whole diff in the user's pager, or prints it when
// there is none.
func PageDiff(ctx context.Context, c *term.Console, diff string) {
	var text strings.Builder
	term.DiffView{Palette: c.Palette(c.Stderr)}.Print(&text, diff)
	c.PageText(ctx, text.String(), "less -R")
}

// Confirm asks at the terminal whether a change is to be written, until the answer is yes or
// no; about is printed before each question. The error is that of reading the answer, as at
// the end of input.
func Confirm(ctx context.Context, c *term.Console, about string) (bool, error) {
	for {
		fmt.Fprintf(c.Stderr, "\n%s%s [y]es, [n]o: ", about, c.Palette(c.Stderr).Bold("Write this to the workspace?"))
		answer, err := term.ReadLine(ctx, c.Stdin)
		if err != nil {
			return false, err
		}
		// Anything else asks again: there is no default.
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
	}
}
