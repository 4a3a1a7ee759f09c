package cmdline

import (
	"context"
	"io"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
)

// PagedHelp is the part of a help page about how a text to be read is shown.
const PagedHelp = "On a terminal the output is coloured and shown in $PAGER or less; NO_COLOR is honoured.\n\n"

// ViewFlags returns the flags of commands that print a text to be read.
func ViewFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "color", Usage: "colour the text: `WHEN` is auto, always or never", Value: "auto"},
		&cli.BoolFlag{Name: "no-pager", Usage: "do not use a pager", DisableDefaultText: true},
	}
}

// A Viewer prints a text to be read, with the colours that the command line asks for. If standard output is a terminal,
// the text goes through the user's pager.
type Viewer struct {
	*Line
	direct bool // no pager
}

// Viewer returns the settings of a command that shows a long text, and the Viewer that its flags ask for.
func (c *Line) Viewer(ctx *cli.Context) (config.Settings, Viewer, error) {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return nil, Viewer{}, err
	}
	painted := *c
	switch painted.Color = ctx.String("color"); painted.Color {
	case "auto", "always", "never":
	default:
		return nil, Viewer{}, fault.Usage("use auto, always or never", "unknown value %q for --color", painted.Color)
	}
	// A dumb terminal cannot show a pager's output.
	direct := ctx.Bool("no-pager") || term.Terminal(c.Stdout) == nil || c.Getenv("TERM") == "dumb"
	return set, Viewer{&painted, direct}, nil
}

// Page shows the output of show, which is clean.
func (v Viewer) Page(ctx context.Context, show func(io.Writer) error) error {
	return v.Console.Page(ctx, v.direct, show)
}
