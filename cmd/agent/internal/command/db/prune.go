package db

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
)

// leastAge is the minimum age of what `db prune` removes. Spending since midnight is counted from the record: removing
// it would be a way around the cap of a day.
const leastAge = 24 * time.Hour

// A prunedRow is what `db prune --json` prints. Before is the instant that the age corresponds to, in UTC. The counts
// are of rows that are gone, or would be.
type prunedRow struct {
	Before time.Time `json:"before"`
	DryRun bool      `json:"dry_run"`
	store.Pruned
}

// pruneCommand removes old history. The age has no default: too short a command line must not remove anything.
func (c command) pruneCommand() *cli.Command {
	return &cli.Command{
		Name: "prune", Usage: "remove old runs that promoted nothing",
		Description: "Removes runs that ended before that age, with their candidates, gates, findings and requests\n" +
			"to models; then contents that nothing refers to any more, and cached results that were not\n" +
			"asked for since. What was promoted stays, and so does what an undo, an iteration, a proposal\n" +
			"or an order of DIRECTIVES.md names. If a prune is stopped, the next one continues it.\n\n" + cmdline.Examples(
			"agent db prune --older-than 90d --dry-run", "count, remove nothing",
			"agent db prune --older-than 90d --yes", "for scripts: never asks"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "older-than", Usage: "minimum age of what is removed, as `90d` or 720h; a day at least"},
			&cli.BoolFlag{Name: "dry-run", Usage: "count what would be removed", DisableDefaultText: true},
			cmdline.YesFlag("remove without asking"), cmdline.JSONFlag(cmdline.Document[prunedRow]("prune", 1)),
		},
		Action: c.dbPrune,
	}
}

// dbPrune counts, asks, removes, and reports what is gone.
//
// --dry-run takes precedence over --yes: a user who gives both gets the harmless one. Exit code 4 means that the
// approval is missing, 2 that the age is invalid.
func (c command) dbPrune(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	age, err := parseAge(ctx.String("older-than"))
	if err != nil {
		return fault.Usage("use e.g. 90d or 720h, a day at least", "--older-than: %v", err)
	}
	dry, yes := ctx.Bool("dry-run"), set.On("yes")
	// This is known without a database, so it is reported before one is started.
	if !dry && !yes && !c.Attended() {
		return fault.Policy("run again with --yes, or --dry-run to see what would be removed", "a prune needs an approval, and there is no terminal")
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		// Fixed before the question: what was counted and what is removed have the same age, however long the answer
		// takes.
		result := prunedRow{Before: time.Now().Add(-age).UTC(), DryRun: dry}
		act := s.DB.Prune
		if dry {
			act = s.DB.Prunable
		} else if !yes {
			if err := c.confirmPrune(ctx.Context, s.DB, result.Before); err != nil {
				return err
			}
		}
		result.Pruned, err = act(ctx.Context, result.Before)
		// What is gone is reported even if an error followed.
		if result.Pruned != (store.Pruned{}) || err == nil {
			if told := c.printPruned(set.On("json"), result); err == nil {
				err = told
			}
		}
		return err
	})
}

// confirmPrune shows what would be removed and asks once. There is no default. A prune cannot be undone, so anything
// but a yes, including the end of input, means no.
func (c command) confirmPrune(ctx context.Context, db *store.DB, before time.Time) error {
	p, err := db.Prunable(ctx, before)
	if err != nil {
		return err
	}
	yes, err := c.AskYes(ctx, "Remove "+tellPruned(p)+"?")
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil || !yes:
		return fault.Policy("nothing was removed", "the prune was not approved")
	}
	return nil
}

// printPruned reports what was removed, or would be. The instant is printed with its zone: an age in days means 24
// hours each, not calendar days.
func (c command) printPruned(asJSON bool, p prunedRow) error {
	if asJSON {
		return term.PrintJSON(c.Stdout, p)
	}
	what := "removed"
	if p.DryRun {
		what = "would remove"
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s, from before %s: %s\n", what, p.Before.Format("2006-01-02 15:04 MST"), tellPruned(p.Pruned))
		return err
	})
}

// tellPruned describes the counts in words. The size is that of the texts and contents. The database returns it to the
// file system, if at all, after its own cleanup.
func tellPruned(p store.Pruned) string {
	return fmt.Sprintf("%s, %s to models, %s of files, %s, %.1f MiB",
		run.Count(int(p.Runs), "run"), run.Count(int(p.Requests), "request"), run.Count(int(p.Contents), "content"), run.Count(int(p.Cached), "cached result"), float64(p.Bytes)/(1<<20))
}

// parseAge reads an age: days of 24 hours, or a Go duration. The error quotes the text. It refuses less than a day, and
// also negative ages, which would reach into the future and include the runs of this minute.
func parseAge(text string) (time.Duration, error) {
	age, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		age = time.Duration(min(n, 100_000)) * leastAge // a duration holds at most 292 years
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not an age", text)
	case age < leastAge:
		return 0, fmt.Errorf("%q is less than a day", text)
	}
	return age, nil
}
