package analyze

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/report"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

// A Document is what `analyze --report --json` prints.
type Document struct {
	Workspace string `json:"workspace"`
	// Snapshot is the digest of the examined files.
	Snapshot string `json:"snapshot"`
	// Fast says that nothing ran in boxes.
	Fast bool `json:"fast"`
	report.Report
}

// fastReason is the reason why nothing ran.
const fastReason = "--fast starts no box"

// report runs `analyze --report`.
func (c command) report(ctx *cli.Context, set config.Settings) error {
	only, err := analyzers(ctx)
	if err != nil {
		return err
	}
	if ctx.Bool("markdown") && set.On("json") {
		return fault.Usage("use only one of them", "--markdown and --json are mutually exclusive")
	}
	req, err := sandbox.BaseRequest(set)
	if err != nil {
		return err
	}
	gates, ledger := report.Needs(only)
	boxes := !ctx.Bool("fast") && (len(gates) > 0 || ledger)
	return c.With(ctx.Context, set, boxes, func(s *wire.Session) error {
		doc, err := c.measure(ctx.Context, s, req, only, boxes, ctx.Bool("fast"))
		if err != nil {
			return err
		}
		return c.printReport(ctx.Context, doc, len(only) > 0, ctx.Bool("markdown"), set.On("json"))
	})
}

// analyzers returns the names given with --only, or none for all.
func analyzers(ctx *cli.Context) (only []string, err error) {
	names := report.Names()
	for _, name := range ctx.StringSlice("only") {
		if !slices.Contains(names, name) {
			next := "name one or more of " + strings.Join(names, ", ")
			if near := cmdline.Nearest(name, names); near != "" {
				next = "did you mean " + near + "? " + next
			}
			return nil, fault.Usage(next, "unknown analyzer %q", name)
		}
		only = append(only, name)
	}
	if ctx.IsSet("only") && len(only) == 0 {
		return nil, fault.Usage("name one or more of "+strings.Join(names, ", "), "--only names no analyzer")
	}
	return only, nil
}

// measure collects the facts, has them judged, and records the result.
func (c command) measure(ctx context.Context, s *wire.Session, req run.Request, only []string, boxes, fast bool) (doc Document, err error) {
	board := c.NewBoard(0)
	if boxes {
		board.Close()
		if board, err = c.Prepare(ctx, s, &req.Config); err != nil {
			return doc, err
		}
	}
	defer board.Close()
	s.Notify = board.Event
	base, err := workspace.Rescan(ctx, cmdline.Resolved(req.Workspace), req.Exclude, workspace.Limits{})
	if err != nil {
		return doc, fmt.Errorf("scan the workspace: %w", err)
	}
	facts, err := s.Gatherer(boxes, fastReason).Facts(ctx, base, req.Rules(), only)
	if err != nil {
		return doc, err
	}
	r := report.Analyze(facts, only).Hidden(s.Hide)
	before, err := s.DB.Scores(ctx, base.Root)
	if err != nil {
		return doc, err
	}
	kept := report.Kept{ID: run.NewID(time.Now()), Workspace: base.Root, Snapshot: base.Digest(), Fast: fast, Report: r}
	return Document{base.Root, base.Digest(), fast, r.With(before)}, s.DB.SaveReport(ctx, kept)
}

// fewDetails is how many details of an analyzer are printed if all analyzers were requested.
const fewDetails = 5

// printReport prints a report. It shows only a few details if it covers all analyzers, and all details if some were named.
func (c command) printReport(ctx context.Context, doc Document, named, markdown, asJSON bool) error {
	if asJSON {
		return term.PrintJSON(c.Stdout, doc)
	}
	if markdown {
		return term.Print(c.Stdout, func(w io.Writer) error { return write(w, doc.Markdown()) })
	}
	look := report.Look{Details: fewDetails}
	if named {
		look = report.Look{Details: report.MaxDetails, Notes: true}
	}
	if term.Terminal(c.Stdout) == nil {
		return term.Print(c.Stdout, func(w io.Writer) error { return write(w, doc.Text(look)) })
	}
	pal := c.Palette(c.Stdout)
	look.Mark = func(s report.Status, word string) string {
		switch s {
		case report.Fail:
			return pal.Bad(word)
		case report.Warn:
			return pal.Warn(word)
		case report.Pass:
			return pal.Good(word)
		}
		return pal.Dim(word)
	}
	return c.Page(ctx, c.Getenv("TERM") == "dumb", func(w io.Writer) error { return write(w, doc.Text(look)) })
}

// write writes text without anything that a terminal would obey, except colours.
func write(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}
