// Package analyze implements `agent analyze`, which summarizes files with their definitions, imports and purpose.
package analyze

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/agent"
	"agent/orchestrator/export"
	"agent/orchestrator/ledger"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/survey"
	"agent/sandbox/workspace"
)

type command struct{ *cmdline.Line }

// Command returns the command that prints the analysis of a workspace, after bringing it up to date.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "analyze", Usage: "summarise files: definitions, imports, purpose",
		Description: "Reads the files that changed since the last time, in a container with no network, and prints a\n" +
			"summary of the whole, then what each file imports and defines. Files that use what changed are\n" +
			"queued; `agent sandbox run` takes them first. The workspace changes only with --export.\n" +
			"--describe has a model say what the project and each new or changed file is for; it is shown\n" +
			"names, not code, and its spending is capped.\n\n" +
			"--report describes the state of the workspace instead: a score, a status and what to do from\n" +
			"each analyzer, judging by the files, by what the gates find in them as they are, in boxes, and\n" +
			"by the ledger. --fast starts no box, and says what was not measured. The report is kept, and\n" +
			"the next one says what changed. `agent help report` describes the analyzers and their scores.\n\n" + cmdline.Examples(
			"agent analyze", "what each file is for, and what it defines",
			"agent analyze > analysis.md", "the same as Markdown, with every list whole",
			"agent analyze --json > symbols.json", "every definition and reference",
			"agent analyze --describe --export", "write .agent/ANALYSIS.md and .agent/SYMBOLS.json",
			"agent analyze --report", "the state of the project, and what to do",
			"agent analyze --report --only tests,ci", "two analyzers, with all that they found",
			"agent analyze --report --fast --markdown > REPORT.md", "a document, without boxes"),
		Flags: []cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.BoolFlag{Name: "describe", Usage: "ask a model about what is new or changed", DisableDefaultText: true},
			&cli.BoolFlag{Name: "export", Usage: "also write .agent/ANALYSIS.md and .agent/SYMBOLS.json in the workspace", DisableDefaultText: true},
			cmdline.ModelFlag(),
			&cli.BoolFlag{Name: "report", Usage: "report on the state of the workspace, by analyzers", DisableDefaultText: true},
			&cli.StringSliceFlag{Name: "only", Usage: "with --report: run only the analyzer `NAME`; separate several with commas"},
			&cli.BoolFlag{Name: "fast", Usage: "with --report: start no box", DisableDefaultText: true},
			&cli.BoolFlag{Name: "markdown", Usage: "with --report: print a Markdown document", DisableDefaultText: true},
			cmdline.JSONFlag(cmdline.Document[ledger.Symbols]("symbols", 1), cmdline.Document[Document]("report", 1)),
		},
		Action: c.analyze,
	}
}

// analyze studies the workspace and prints the result.
func (c command) analyze(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	dir := set["workspace"].Text
	if err := cmdline.CheckDirectory(dir); err != nil {
		return err
	}
	if ctx.Bool("report") {
		return c.report(ctx, set)
	}
	for _, name := range []string{"only", "fast", "markdown"} {
		if ctx.IsSet(name) {
			return fault.Usage("add --report, or omit --"+name, "--%s needs --report", name)
		}
	}
	// Without --describe no model is asked, although the user would believe so.
	if ctx.IsSet("model") && !ctx.Bool("describe") {
		return fault.Usage("add --describe, or omit --model", "--model needs --describe")
	}
	if ctx.Bool("describe") {
		if err := wire.CheckAnyModel(ctx.Context, set); err != nil {
			return err
		}
	}
	return c.With(ctx.Context, set, true, func(s *wire.Session) error {
		// The seconds cover everything: the scan of the workspace, the changes, and the record.
		started := time.Now()
		base, err := workspace.Rescan(ctx.Context, cmdline.Resolved(dir), config.ParseList(set["exclude"].Text), workspace.Limits{})
		if err != nil {
			return fmt.Errorf("scan the workspace: %w", err)
		}
		board := c.NewBoard(0)
		defer board.Close()
		found, err := analysis(ctx.Context, s, set, base, ctx.Bool("describe"), board)
		board.Close()
		if err != nil {
			return err
		}
		// On a terminal the first line of the text says it.
		if term.Terminal(c.Stdout) == nil || set.On("json") {
			fmt.Fprintf(c.Stderr, "%s, %s, %.1f s\n", run.Count(len(found.Ledger.Paths()), "file"), run.Count(found.Ledger.Count(), "definition"), time.Since(started).Seconds())
		}
		return c.printAnalysis(ctx.Context, base.Root, found, ctx.Bool("export"), set.On("json"))
	})
}

// analysis brings the ledger up to date and, if describe is set, also the descriptions.
func analysis(ctx context.Context, s *wire.Session, set config.Settings, base *workspace.Manifest, describe bool, board *term.Board) (survey.Survey, error) {
	// A first scan of a large workspace takes a while and reports its progress.
	s.Notify = board.Event
	found, err := s.Survey(ctx, base)
	if err != nil || !describe {
		return found, err
	}
	crews, err := s.Crews(set, "run", nil, nil)
	if err != nil {
		return found, err
	}
	crew := crews(loop.Iteration{ID: loop.Label("describe")}, func(p agent.Progress) { board.Event(run.Event{Model: &p}) })
	// Descriptions that came before the model gave up are recorded, and not asked for again the next time.
	d := survey.Describer{Store: s.DB, Engineer: crew.Engineer, Fence: loop.NewFenceWord()}
	found.Summaries, err = d.Describe(ctx, base.Root, found.Ledger)
	return found, err
}

// printAnalysis prints the result, and with write also writes it to the workspace.
func (c command) printAnalysis(ctx context.Context, root string, found survey.Survey, write, asJSON bool) error {
	// The workspace is written only on request and never as a side effect: people keep it under version control.
	if write {
		if err := export.Ledger(root, found); err != nil {
			return fault.Infra("check what is at "+root+"/.agent", "%w", err)
		}
		fmt.Fprintln(c.Stderr, "wrote .agent/ANALYSIS.md and .agent/SYMBOLS.json")
	}
	if term.Terminal(c.Stdout) != nil && !asJSON {
		return c.Page(ctx, c.Getenv("TERM") == "dumb", func(w io.Writer) error { return c.show(w, found) })
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		// These are the bytes of SYMBOLS.json, so that one reader serves both.
		if asJSON {
			return found.Ledger.Symbols(w, found.Summaries)
		}
		// The output of a scan holds nothing that a terminal would obey, but a path may.
		var text strings.Builder
		if err := found.Ledger.Analysis(&text, found.Summaries); err != nil {
			return err
		}
		_, err := io.WriteString(w, term.Clean(text.String()))
		return err
	})
}

// show writes the analysis for people: file names stand out, and no line is wider than the terminal.
func (c command) show(w io.Writer, found survey.Survey) error {
	var text strings.Builder
	if err := found.Ledger.Text(&text, found.Summaries); err != nil {
		return err
	}
	pal := c.Palette(c.Stdout)
	columns, _ := c.Size(c.Stdout)
	var file bool // the next line names a file
	for i, line := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
		line = term.CleanLine(line)
		switch {
		case i == 0: // the project in a sentence or two, shown in full
			line = ansi.Wordwrap(line, columns, "")
		case file:
			line = pal.Bold(line)
		default:
			line = ansi.Truncate(line, columns, "…")
		}
		file = line == ""
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
