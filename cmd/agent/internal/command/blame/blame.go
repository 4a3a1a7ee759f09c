// Package blame implements `agent blame`, which shows which run introduced each line of a file.
package blame

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/blame"
	"agent/sandbox/workspace"
)

type command struct{ *cmdline.Line }

// Command returns the command that tells where the lines of a file come from. It reads the file and the record, and
// writes nothing.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "blame", Usage: "show which run last changed each line", ArgsUsage: "FILE",
		Description: "Prints for each line the run that last changed it, its model (patch for a given patch),\n" +
			"what a person said about the run in `agent review`, when, and the pull request that holds it, with\n" +
			"the author of the comment it was made for. Lines that no run wrote are \"by hand\", with the time\n" +
			"before which or since when that happened, or \"before\" if they are older than the first recorded\n" +
			"run. An undone run has no lines: they belong to the run or person that wrote them first. FILE is relative\n" +
			"to the workspace; a rename by a run is followed, one by hand is not.\n" + cmdline.PagedHelp + cmdline.Examples(
			"agent blame shop/stock.py", "every line",
			"agent blame -w ~/src/shop --json shop/stock.py", "for an editor"),
		Flags:  append([]cli.Flag{cmdline.WorkspaceFlag(), cmdline.JSONFlag(cmdline.Document[File]("blame", 1))}, cmdline.ViewFlags()...),
		Action: c.blame,
	}
}

// A Line is one line of a file with its origin.
type Line struct {
	Line int `json:"line"`
	blame.Origin
	Text string `json:"text"` // without the line end
}

// A File is what `blame --json` prints.
// Workspace is absolute and without links; Path is slash-separated and relative to it.
type File struct {
	Workspace string `json:"workspace"`
	Path      string `json:"path"`
	Lines     []Line `json:"lines"`
}

// blame runs the command. It reads the file before it opens the database: a mistyped name should not start a container.
// An edit of the file in between counts as not yet made.
func (c command) blame(ctx *cli.Context) error {
	set, view, err := c.Viewer(ctx)
	if err != nil {
		return err
	}
	dir := set["workspace"].Text
	// This check comes before the search for FILE, which cannot exist in a missing directory.
	if err := cmdline.CheckDirectory(dir); err != nil {
		return err
	}
	doc := File{Workspace: cmdline.Resolved(dir), Lines: []Line{}}
	now, err := doc.read(ctx.Args().First())
	if err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		past, err := s.Timeline(ctx.Context, doc.Workspace, doc.Path, now)
		if err != nil {
			return err
		}
		// There are as many lines as origins: both split the same text.
		lines := blame.Lines(now)
		for i, from := range past.Origins() {
			doc.Lines = append(doc.Lines, Line{i + 1, from, strings.TrimSuffix(lines[i], "\n")})
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, doc)
		}
		return view.Page(ctx.Context, func(w io.Writer) error { return command{view.Line}.printBlame(w, doc) })
	})
}

// read sets the path of the document to the file that the argument names, and returns its content. It follows no link
// inside of the workspace and reads nothing outside of it, whatever the argument says. All other errors are usage
// errors.
func (doc *File) read(arg string) (string, error) {
	const next = "name a file of the workspace, relative to it: agent blame FILE"
	if arg == "" {
		return "", fault.Usage(next, "no file was named")
	}
	if filepath.IsAbs(arg) {
		// The directory may be named through a link, as a workspace may.
		if dir, err := filepath.EvalSymlinks(filepath.Dir(arg)); err == nil {
			arg = filepath.Join(dir, filepath.Base(arg))
		}
		// A path that leads out begins with "..", which is refused below.
		if rel, err := filepath.Rel(doc.Workspace, arg); err == nil {
			arg = rel
		}
	}
	doc.Path = filepath.ToSlash(filepath.Clean(arg))
	content, err := workspace.ReadFile(doc.Workspace, doc.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fault.Usage(next, "no file %s in %s", doc.Path, doc.Workspace)
	case err != nil:
		return "", fault.Usage(next, "%w", err)
	case workspace.IsBinary(content):
		return "", fault.Usage("see `agent sql \"select * from v_promotion_files\"` for the runs that wrote it", "%s is not text: it has no lines", doc.Path)
	}
	return string(content), nil
}

// printBlame prints the lines one below the other, with columns in front that show the origin of each. Widths are
// counted in cells: the name of a model may hold letters that take two. It writes to memory, so it ignores the errors
// of w.
func (c command) printBlame(w io.Writer, doc File) error {
	pal := c.Palette(c.Stdout)
	model, pull := 0, 0 // the widest
	for _, l := range doc.Lines {
		model, pull = max(model, ansi.StringWidth(term.CleanLine(l.Model))), max(pull, ansi.StringWidth(term.CleanLine(l.Pull)))
	}
	digits := len(fmt.Sprint(len(doc.Lines)))
	for _, l := range doc.Lines {
		name := term.CleanLine(l.Model)
		name += strings.Repeat(" ", model-ansi.StringWidth(name))
		head := fmt.Sprintf("%-12s %s %-9s %-25s", l.Who(), name, l.Review, when(l.Origin))
		if pull > 0 {
			of := term.CleanLine(l.Pull)
			head += " " + of + strings.Repeat(" ", pull-ansi.StringWidth(of))
		}
		switch l.By {
		case blame.ByRun:
			head = pal.Accent(head)
		case blame.ByHand:
			head = pal.Warn(head)
		default:
			head = pal.Dim(head)
		}
		// On a terminal, the line ends of a file with CRLF would make every line overwrite its beginning.
		fmt.Fprintf(w, "%s %*d  %s\n", head, digits, l.Line, term.CleanTabs(strings.TrimSuffix(l.Text, "\r")))
	}
	return nil
}

// when returns the time of the origin. For a manual edit it returns the end of the period in which it was made, or else
// the beginning.
func when(o blame.Origin) string {
	text := func(prefix string, at *time.Time) string { return prefix + at.Local().Format(time.DateTime) }
	switch {
	case o.At != nil:
		return text("", o.At)
	case o.Before != nil:
		return text("by ", o.Before)
	case o.After != nil:
		return text("since ", o.After)
	}
	return ""
}
