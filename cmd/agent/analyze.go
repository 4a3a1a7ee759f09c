package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/images"
	"agent/orchestrator/agent"
	"agent/orchestrator/ledger"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
)

// analyzeCommand prints what is known of a workspace, brought up to date.
func (c *cmdline) analyzeCommand() *cli.Command {
	return &cli.Command{
		Name: "analyze", Usage: "print what the files of a workspace define, import and are for",
		Description: "Reads the files that changed since the last time, in a container with no network, and prints\n" +
			"the whole: a summary, then for each file what it imports and defines. Files that use what\n" +
			"changed are put into the queue that `agent sandbox run` serves first. The workspace is left\n" +
			"as it is but for --export. --describe has a model say what the project and each new or\n" +
			"changed file is for; it is shown names, not code, and what it may spend is capped.\n\n" + examples(
			"agent analyze", "the analysis as Markdown",
			"agent analyze --json > symbols.json", "every definition and reference",
			"agent analyze --describe --export", "write .agent/ANALYSIS.md and .agent/SYMBOLS.json"),
		Flags: []cli.Flag{
			workspaceFlag(),
			&cli.BoolFlag{Name: "describe", Usage: "ask a model about what is new or changed", DisableDefaultText: true},
			&cli.BoolFlag{Name: "export", Usage: "also write .agent/ANALYSIS.md and .agent/SYMBOLS.json in the workspace", DisableDefaultText: true},
			&cli.StringSliceFlag{Name: "model", Usage: "ask `VENDOR/NAME` (gemini/…, ollama/…); more of them are fallbacks, in order [$AGENT_MODEL]"},
			jsonFlag(),
		},
		Action: c.analyze,
	}
}

// analyze studies the workspace and prints the result.
func (c *cmdline) analyze(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	dir := set["workspace"].Text
	if err := checkDirectory(dir); err != nil {
		return err
	}
	// A model that nobody asks would be believed to be asked.
	if ctx.IsSet("model") && !ctx.Bool("describe") {
		return fault.Usage("add --describe, or leave --model out", "--model needs --describe")
	}
	if ctx.Bool("describe") {
		if err := checkAnyModel(ctx.Context, set); err != nil {
			return err
		}
	}
	return c.with(ctx.Context, set, true, func(s *session) error {
		// The seconds are those of the whole: the scan of the workspace, what
		// changed, and the record.
		started := time.Now()
		base, err := workspace.Rescan(ctx.Context, resolved(dir), config.ParseList(set["exclude"].Text), workspace.Limits{})
		if err != nil {
			return fmt.Errorf("scan the workspace: %w", err)
		}
		board := c.NewBoard(0)
		survey, err := s.analysis(ctx.Context, set, base, ctx.Bool("describe"), board)
		board.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(c.Stderr, "%d files, %d definitions, %.1f s\n", len(survey.Ledger.Paths()), survey.Ledger.Count(), time.Since(started).Seconds())
		return c.printAnalysis(base.Root, survey, ctx.Bool("export"), set.On("json"))
	})
}

// analysis brings the ledger up to date, and the descriptions when describe
// says so.
func (s *session) analysis(ctx context.Context, set config.Settings, base *workspace.Manifest, describe bool, board *term.Board) (run.Survey, error) {
	// A first scan of a large workspace takes a while and says how far it
	// is.
	s.tell = board.Event
	survey, err := s.survey(ctx, base)
	if err != nil || !describe {
		return survey, err
	}
	crews, err := s.crews(set, "run", nil, nil)
	if err != nil {
		return survey, err
	}
	crew := crews(run.Iteration{ID: run.Label("describe")}, func(p agent.Progress) { board.Event(run.Event{Model: &p}) })
	// What was said before the model gave up is recorded, and asked for no
	// more the next time.
	d := run.Describer{Store: s.db, Engineer: crew.Engineer, Fence: run.NewFenceWord()}
	survey.Summaries, err = d.Describe(ctx, base.Root, survey.Ledger)
	return survey, err
}

// printAnalysis prints a survey, and writes it to the workspace too when
// export says so.
func (c *cmdline) printAnalysis(root string, survey run.Survey, export, asJSON bool) error {
	// Writing into the workspace is asked for and never done by the way:
	// people keep it under version control.
	if export {
		if err := run.ExportLedger(root, survey); err != nil {
			return fault.Infra("see what is in the way at "+root+"/.agent", "%w", err)
		}
		fmt.Fprintln(c.Stderr, "wrote .agent/ANALYSIS.md and .agent/SYMBOLS.json")
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		// The same bytes as SYMBOLS.json, so that one reader serves both.
		if asJSON {
			return survey.Ledger.Symbols(w, survey.Summaries)
		}
		// Nothing that a terminal would obey comes out of a scan; a path
		// may hold it.
		var text strings.Builder
		if err := survey.Ledger.Analysis(&text, survey.Summaries); err != nil {
			return err
		}
		_, err := io.WriteString(w, term.Clean(text.String()))
		return err
	})
}

// study returns the analyst of this process: one for all runs, so that
// the ledger is read from the record once.
func (s *session) study() *run.Analyst {
	if s.analyst == nil {
		s.analyst = &run.Analyst{Symbols: s.db, Images: s.builder, Boxes: s.engine, Emit: func(e run.Event) {
			if s.tell != nil {
				s.tell(e)
			}
		}}
	}
	return s.analyst
}

// survey brings the ledger of a workspace up to date. What the user's
// own edits since the last time concern is queued, as for the changes of
// a run.
func (s *session) survey(ctx context.Context, base *workspace.Manifest) (run.Survey, error) {
	book, err := s.study().Study(ctx, base, func(found []ledger.Ripple) error {
		// Told before it is done: a queue that is away is an error of its own.
		if s.tell != nil {
			s.tell(run.Event{Note: fmt.Sprintf("queued %d files that use what changed", len(found))})
		}
		return run.Cascade(ctx, s.db, base.Root, run.Label("edit"), nil)(found)
	})
	if err != nil {
		return run.Survey{}, err
	}
	said, err := run.Described(ctx, s.db, base.Root, book)
	return run.Survey{Ledger: book, Summaries: said}, err
}

// recorded is survey without a look at the files, and without an engine:
// what was known the last time.
func (s *session) recorded(ctx context.Context, base *workspace.Manifest) (run.Survey, error) {
	book, err := s.study().Recall(ctx, base.Root)
	if err != nil {
		return run.Survey{}, err
	}
	said, err := run.Described(ctx, s.db, base.Root, book)
	return run.Survey{Ledger: book, Summaries: said}, err
}

// examiner looks at the target of a run before any change.
func (s *session) examiner() *run.Examiner {
	// The cache is the one that the run's own verifier uses: what is found
	// out here it need not find out again.
	return &run.Examiner{
		Images: s.builder, Inspector: &verify.Verifier{Boxes: s.engine, Cache: s.db}, Run: "analyze",
		Emit: func(e run.Event) {
			if s.tell != nil {
				s.tell(e)
			}
		},
	}
}

// glance is the examiner of `agent context`: it knows what was found out
// before, and starts nothing to find out more.
func (s *session) glance() *run.Examiner {
	return &run.Examiner{Images: lookout{s.builder}, Inspector: &verify.Verifier{Cache: s.db}}
}

// A lookout finds images and makes none.
type lookout struct{ builder *images.Builder }

// Ensure implements run.Snapshotter; without an engine there is no image.
func (l lookout) Ensure(ctx context.Context, name string) (images.Image, error) {
	if l.builder == nil {
		return images.Image{}, images.ErrAbsent
	}
	return l.builder.Find(ctx, name)
}

// Install implements run.Snapshotter. What is cached is known by what would be
// installed, so nothing is.
func (l lookout) Install(_ context.Context, toolchain images.Image, d images.Dependencies) (images.Image, error) {
	if l.builder == nil {
		return toolchain, nil
	}
	return l.builder.Planned(toolchain, d)
}

// Near implements run.Snapshotter.
func (l lookout) Near(_ context.Context, installed images.Image, _ images.Tree, _ string, _ func() images.Tree) (images.Image, images.Delta, error) {
	return images.Image{Installed: installed.Installed}, images.Delta{}, nil
}

// Snapshot implements run.Snapshotter. What is cached is known by the
// digest of the workspace, so no snapshot is needed.
func (l lookout) Snapshot(_ context.Context, installed images.Image, _ images.Tree, _ string) (images.Image, error) {
	return images.Image{Installed: installed.Installed}, nil
}
