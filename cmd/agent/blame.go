package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/blame"
	"agent/orchestrator/store/history"
	"agent/sandbox/workspace"
)

// blameCommand tells where the lines of a file come from. It reads the
// file and the record, and writes nothing.
func (c *cmdline) blameCommand() *cli.Command {
	return &cli.Command{
		Name: "blame", Usage: "tell which run put each line of a file there", ArgsUsage: "FILE",
		Description: "Prints for each line the run that brought it, its model (patch for a patch that was given),\n" +
			"what a person said of the run in `agent review`, and when. Lines that nobody's run brought\n" +
			"are \"by hand\", with the time before which or since when that happened, or were there\n" +
			"\"before\" the first run that the record knows. An undone run has no lines: they belong to\n" +
			"whoever brought them first. FILE is relative to the workspace; a rename by a run is\n" +
			"followed, one by hand is not.\n" + pagedHelp + examples(
			"agent blame shop/stock.py", "every line",
			"agent blame -w ~/src/shop --json shop/stock.py", "for an editor"),
		Flags:  append([]cli.Flag{workspaceFlag(), jsonFlag()}, viewFlags()...),
		Action: c.blame,
	}
}

// Where a line comes from.
const (
	// They are the values of the field origin in JSON.
	byRun    = "run"
	byHand   = "hand"
	byOthers = "before" // it stood there before the first run on the file
)

// An origin says who brought a line, and when. An edit by hand was made
// between After and Before, as far as these are known.
type origin struct {
	Origin string                `json:"origin"`
	Run    string                `json:"run,omitempty"`
	Model  string                `json:"model,omitempty"`
	Review history.ReviewVerdict `json:"review,omitempty"`
	At     *time.Time            `json:"at,omitempty"`
	After  *time.Time            `json:"after,omitempty"`
	Before *time.Time            `json:"before,omitempty"`
}

// A blamedLine is one line of a file with its origin.
type blamedLine struct {
	Line int `json:"line"`
	origin
	Text string `json:"text"` // without the end of the line
}

// A blamedFile is what `blame --json` prints.
// Workspace is absolute and without links; Path is slash-separated and relative to it.
type blamedFile struct {
	Workspace string       `json:"workspace"`
	Path      string       `json:"path"`
	Lines     []blamedLine `json:"lines"`
}

// blame runs the command.
// The file is read before the database is opened: a name that is mistyped should not
// start a container. Between the two it may be edited, which then counts as not yet
// made.
func (c *cmdline) blame(ctx *cli.Context) error {
	set, view, err := c.viewer(ctx)
	if err != nil {
		return err
	}
	dir := set["workspace"].Text
	// Before FILE is looked for: that is in no directory that is not there.
	if err := checkDirectory(dir); err != nil {
		return err
	}
	doc := blamedFile{Workspace: resolved(dir), Lines: []blamedLine{}}
	now, err := doc.read(ctx.Args().First())
	if err != nil {
		return err
	}
	return c.with(ctx.Context, set, false, func(s *session) error {
		past, err := s.timeline(ctx.Context, doc.Workspace, doc.Path, now)
		if err != nil {
			return err
		}
		// As many as there are origins: both split the same text.
		lines := blame.Lines(now)
		for i, from := range past.lines() {
			doc.Lines = append(doc.Lines, blamedLine{i + 1, from, strings.TrimSuffix(lines[i], "\n")})
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, doc)
		}
		return view.page(ctx.Context, func(w io.Writer) error { return view.printBlame(w, doc) })
	})
}

// read sets the path of the document to the file that the argument names, and
// returns what that holds.
// No link is followed inside of the workspace, and nothing outside of it is read,
// whatever the argument says: all other errors are faults of usage.
func (doc *blamedFile) read(arg string) (string, error) {
	const next = "name a file of the workspace, relative to it: agent blame FILE"
	if arg == "" {
		return "", fault.Usage(next, "no file was named")
	}
	if filepath.IsAbs(arg) {
		// The directory may have been named through a link, as a workspace may.
		if dir, err := filepath.EvalSymlinks(filepath.Dir(arg)); err == nil {
			arg = filepath.Join(dir, filepath.Base(arg))
		}
		// One that leads out begins with "..", which is refused below.
		if rel, err := filepath.Rel(doc.Workspace, arg); err == nil {
			arg = rel
		}
	}
	doc.Path = filepath.ToSlash(filepath.Clean(arg))
	content, err := workspace.ReadFile(doc.Workspace, doc.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fault.Usage(next, "there is no %s in %s", doc.Path, doc.Workspace)
	case err != nil:
		return "", fault.Usage(next, "%w", err)
	case workspace.IsBinary(content):
		return "", fault.Usage("see `agent sql \"select * from v_promotion_files\"` for the runs that wrote it", "%s is not text: it has no lines", doc.Path)
	}
	return string(content), nil
}

// A timeline is every known version of a file, and who made each.
// versions and by have the same length: by[i] made versions[i]. What the last promotion
// left is followed by at most one version of hand edits, so that versions of runs are
// told apart from what happened between them, however many edits that was.
type timeline struct {
	versions []blame.Version
	by       []origin
	last     *time.Time      // of the last promotion
	before   map[string]int  // by run: the version that its promotion found
	undone   map[string]bool // the runs that were taken back, and those that did it
}

// timeline reads the history of a file that holds now.
// dir is the workspace with its links resolved, as runs record it; under another name
// nothing would be found. now comes from the caller, so that the lines it shows are
// those that are judged.
func (s *session) timeline(ctx context.Context, dir, name, now string) (*timeline, error) {
	changes, err := s.DB.FileHistory(ctx, dir, name)
	if err != nil {
		return nil, err
	}
	t := &timeline{before: map[string]int{}, undone: map[string]bool{}}
	undoes := map[string]string{}
	for _, ch := range changes {
		// What a promotion found is on record with it: the edits by hand before it show
		// there.
		t.found(string(ch.Before), &ch.At)
		t.before[ch.Run] = len(t.versions) - 1
		// Not known where the history of this name does not hold the change that was undone.
		back, known := t.before[ch.UndoOf]
		if ch.UndoOf != "" {
			// The undo of an undo lets the first change stand again, and the undo of that one
			// does not: by turns, down to the run that was no undo.
			first, taken := ch.UndoOf, true
			for undoes[first] != "" {
				first, taken = undoes[first], !taken
			}
			t.undone[ch.Run], t.undone[first] = true, taken
			undoes[ch.Run] = ch.UndoOf
		}
		at := ch.At
		t.versions = append(t.versions, blame.Version{Text: string(ch.After), Undo: known, Back: back})
		t.by = append(t.by, origin{Origin: byRun, Run: ch.Run, Model: ch.Model, Review: ch.Verdict, At: &at})
		t.last = &at
	}
	// Nothing tells when that was, only that it came after the last promotion.
	t.found(now, nil)
	return t, nil
}

// found adds the version that was there at a time, unless it is what the last
// promotion left: then nobody edited the file in between.
// The first version of all is by nobody: it was there before the record begins.
func (t *timeline) found(text string, at *time.Time) {
	by := origin{Origin: byHand, After: t.last, Before: at}
	if last := len(t.versions) - 1; last < 0 {
		by = origin{Origin: byOthers}
	} else if t.versions[last].Text == text {
		return
	}
	t.versions, t.by = append(t.versions, blame.Version{Text: text}), append(t.by, by)
}

// lines returns the origin of each line of the last version.
// For each line of the last version one, also for an empty one.
func (t *timeline) lines() (list []origin) {
	for _, v := range blame.Origins(t.versions) {
		list = append(list, t.by[v])
	}
	return list
}

// who names the origin in a few letters.
// Runs have names of letters and digits, so none is taken for one of the words.
func (o origin) who() string {
	switch o.Origin {
	case byRun:
		return o.Run
	case byHand:
		return "by hand"
	}
	return o.Origin
}

// when tells the time of the origin. Of an edit by hand it tells the end of the
// time in which it was made, or else the beginning.
func (o origin) when() string {
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

// printBlame prints the lines below one another, with what is known of each in
// columns before it.
// Widths are counted in cells: the name of a model may hold letters that take two. It
// writes to memory, so no error of w is looked at.
func (c *cmdline) printBlame(w io.Writer, doc blamedFile) error {
	pal := c.Palette(c.Stdout)
	model := 0 // the widest
	for _, l := range doc.Lines {
		model = max(model, ansi.StringWidth(term.CleanLine(l.Model)))
	}
	digits := len(fmt.Sprint(len(doc.Lines)))
	for _, l := range doc.Lines {
		name := term.CleanLine(l.Model)
		name += strings.Repeat(" ", model-ansi.StringWidth(name))
		head := fmt.Sprintf("%-12s %s %-9s %-25s", l.who(), name, l.Review, l.when())
		switch l.Origin {
		case byRun:
			head = pal.Accent(head)
		case byHand:
			head = pal.Warn(head)
		default:
			head = pal.Dim(head)
		}
		// A file with CRLF ends would have every line overwrite its head on a terminal.
		fmt.Fprintf(w, "%s %*d  %s\n", head, digits, l.Line, term.CleanTabs(strings.TrimSuffix(l.Text, "\r")))
	}
	return nil
}
