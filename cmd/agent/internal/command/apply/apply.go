// Package apply implements `agent runs apply`, which applies a change that an earlier run proved but did not promote.
package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/checkpoint"
	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/history"
)

type command struct{ *cmdline.Line }

// Command returns the command that applies what a run proved. which is how the help page names the run, and about is
// what it says of it.
func Command(line *cmdline.Line, which, about string) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "apply", Usage: "apply a change that passed and was not applied", ArgsUsage: which,
		Description: about + "Takes a run whose change passed every gate but was not written: it waits for an approval,\n" +
			"was skipped, met a conflict or was cut off. If the workspace is as the gates saw it, the\n" +
			"change is written after a question, or with --yes; otherwise it is proved again on the files\n" +
			"as they are now, after a question, or with --yes. A change that needs --allow needs it here\n" +
			"too. A change that failed is never applied. The result is a run of its own, which `agent\n" +
			"undo` takes back.\n\n" + cmdline.Examples(
			"agent runs apply --last", "the latest run of this workspace",
			"agent runs apply 1k3 --yes", "for scripts: never asks",
			"agent runs apply 1k3 --yes --allow ci", "approve its change of CI files"),
		Flags: append([]cli.Flag{
			cmdline.WorkspaceFlag(), cmdline.LastFlag(), cmdline.YesFlag("write what passed, and prove it again if needed, without asking"),
			cmdline.AllowFlag(), cmdline.NoInstallFlag(), cmdline.JSONFlag(cmdline.RunDocument()),
		}, sandbox.CommitFlags()...),
		Action: c.apply,
	}
}

// apply runs the command. It needs no engine if the change need not be proved again.
func (c command) apply(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	name, err := cmdline.RunName(ctx)
	if err != nil {
		return err
	}
	req, err := sandbox.BaseRequest(set)
	if err != nil {
		return err
	}
	defer req.Place.Close()
	if req.Commit, err = sandbox.CommitOrder(ctx, c.Line, req.Place.Path, false); err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		d, err := s.NamedIn(ctx.Context, name, req.Place.Path)
		if elsewhere, ok := errors.AsType[*history.ElsewhereError](err); ok {
			return fault.Usage(fmt.Sprintf("run `agent runs apply %s --workspace %s`", elsewhere.Run, elsewhere.Workspace), "%w", elsewhere)
		}
		if err != nil {
			return err
		}
		if d.Applies != "" && !d.Ended.IsZero() && len(d.Candidates) == 0 {
			// The latest run was to apply an earlier run and judged nothing: it was skipped at its first question, or
			// cut off. The user means the run that it was to apply.
			if d, err = s.DB.Run(ctx.Context, d.Applies); err != nil {
				return err
			}
		}
		of, found, err := proven(ctx.Context, s, d)
		if err != nil {
			return err
		}
		req.Found = found
		said, err := saidInBox(ctx.Context, s.DB, of.Origin())
		if err != nil {
			return err
		}
		sandbox.Describe(req.Commit, cmp.Or(ctx.String("message"), said), "Apply run "+d.ID, s.DB)
		return c.promote(ctx.Context, s, set, req, of)
	})
}

// proven returns the part of a run that can be applied, and whether a model found it. If nothing can be applied, it
// says so before a new run is started.
func proven(ctx context.Context, s *wire.Session, d history.RunDetail) (of run.Proven, found bool, err error) {
	of.Record = d.Record
	of.AppliedBy = func(ctx context.Context) (string, error) {
		origin, err := s.DB.Run(ctx, of.Origin())
		if err == nil && origin.Promoted && origin.UndoneBy == "" {
			return origin.ID, nil
		}
		return origin.AppliedBy, err
	}
	next := "see `agent runs show " + d.ID + "`"
	if d.Ended.IsZero() {
		return of, false, fault.Usage("wait for it to end", "run %s is still active: it is %s", d.ID, d.State)
	}
	by, err := of.AppliedBy(ctx)
	switch {
	case err != nil:
		return of, false, err
	case by == d.ID:
		return of, false, fault.Usage(next, "run %s applied its change itself", d.ID)
	case by != "":
		return of, false, fault.Usage("see `agent runs show "+by+"`", "run %s was already applied by run %s", d.ID, by)
	}
	of.Candidate, err = s.DB.Proven(ctx, d.ID)
	switch {
	case errors.Is(err, database.ErrNotFound):
		return of, false, fault.Usage(next, "run %s has no change that passed every gate: nothing can be applied", d.ID)
	case err != nil:
		return of, false, fault.Usage(next, "run %s: %w", d.ID, err)
	}
	origin, err := s.DB.Run(ctx, of.Origin())
	return of, origin.Patch == nil, err
}

// A record tells what runs were made from. *store.DB is one.
type record interface {
	Run(ctx context.Context, id string) (history.RunDetail, error)
	Plan(ctx context.Context, run string) (plan []byte, asked string, err error)
}

// saidInBox returns the commit messages from the box in which the change of a run was made, "" for none. A run whose change was
// made in a box has neither a patch nor a plan of a model. What a model says of its own change is not a commit message.
func saidInBox(ctx context.Context, db record, id string) (string, error) {
	origin, err := db.Run(ctx, id)
	if err != nil || origin.Patch != nil || len(origin.Candidates) == 0 {
		return "", err
	}
	plan, _, err := db.Plan(ctx, id)
	if err != nil || plan != nil {
		return "", err
	}
	return origin.Candidates[0].Thought, nil
}

// promote takes the proved change through the checkpoint, and reports the run.
func (c command) promote(ctx context.Context, s *wire.Session, set config.Settings, req run.Request, of run.Proven) error {
	board := c.NewBoard(0)
	if s.Engine != nil {
		var err error
		if board, err = c.Prepare(ctx, s, &req.Config); err != nil {
			return err
		}
	}
	who := &checkpoint.Approver{Console: &c.Console, Yes: set.On("yes"), Allow: req.Allow, Wait: set.Patience(), Board: board}
	req.Approver = who
	of.Reprove = func(ctx context.Context, moved []string) (run.Answer, error) {
		return who.Reprove(ctx, of.Record.ID, moved)
	}
	doc := s.Runner(board.Event).Apply(ctx, req, of)
	board.Close()
	reported := c.Report(doc, set.On("json"))
	// The change is written and reported; only then find out which files it concerns.
	if doc.Promotion != nil && s.Engine != nil {
		if err := s.Ripple(ctx, doc, req.Exclude); err != nil {
			fmt.Fprintf(c.Stderr, "agent: the ledger was not brought up to date: %s\nnext: run `agent analyze`\n", term.CleanLine(err.Error()))
		}
	}
	return reported
}
