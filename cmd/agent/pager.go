package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/fault"
)

// pagedHelp is the part of a help page on how such a text is shown.
const pagedHelp = "On a terminal it is coloured, and shown in $PAGER or less; NO_COLOR is heeded.\n\n"

// viewFlags are those of commands that print a text to be read.
func viewFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "color", Usage: "colour the text: `WHEN` is auto, always or never", Value: "auto"},
		&cli.BoolFlag{Name: "no-pager", Usage: "print at once, also on a terminal", DisableDefaultText: true},
	}
}

// A viewer prints a text to be read: through the user's pager when standard
// output is a terminal, with the colours that the command line asks for.
type viewer struct {
	*cmdline
	direct bool // no pager
}

// viewer returns the settings of a command that shows something long, and the viewer
// that its flags ask for.
func (c *cmdline) viewer(ctx *cli.Context) (settings, viewer, error) {
	set, err := c.settings(ctx)
	if err != nil {
		return nil, viewer{}, err
	}
	painted := *c
	switch painted.color = ctx.String("color"); painted.color {
	case "auto", "always", "never":
	default:
		return nil, viewer{}, fault.Usage("write auto, always or never", "--color %q is none of them", painted.color)
	}
	// A dumb terminal cannot show what a pager does.
	direct := ctx.Bool("no-pager") || terminal(c.stdout) == nil || c.getenv("TERM") == "dumb"
	return set, viewer{&painted, direct}, nil
}

// page shows what show writes, which is clean.
// The error is that of show, or of writing without a pager. What goes wrong in a pager
// is told by pageText, which then prints the text itself.
func (v viewer) page(ctx context.Context, show func(io.Writer) error) error {
	if v.direct {
		return printTo(v.stdout, show)
	}
	var text bytes.Buffer
	if err := show(&text); err != nil {
		return err
	}
	// The pager takes the place of the result, and so does what is printed when
	// there is none. As git has it: a text that fits the screen stays on it.
	onto := *v.cmdline
	onto.stderr = v.stdout
	onto.pageText(ctx, text.String(), "less -FRX")
	return nil
}

// printDiff prints a diff at once.
func (c *cmdline) printDiff(diff string) error {
	return printTo(c.stdout, func(w io.Writer) error { return c.writeDiff(w, diff) })
}

// writeDiff writes a diff as standard output wants it: painted where there are
// colours, else byte for byte so that git apply takes it.
func (c *cmdline) writeDiff(w io.Writer, diff string) error {
	switch {
	// Painted and cleaned for eyes; cleaned alone for a terminal without
	// colours; and untouched for programs, as bytes that were cleaned might
	// not apply.
	case c.rich(c.stdout):
		diffView{palette: c.palette(c.stdout)}.print(w, diff)
	case terminal(c.stdout) != nil:
		fmt.Fprint(w, clean(diff))
	default:
		fmt.Fprint(w, diff)
	}
	return nil
}
