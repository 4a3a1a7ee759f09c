// Package undo implements `agent undo`, which takes a promotion back.
package undo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/checkpoint"
	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/blame"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
	"agent/orchestrator/undo"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
)

type command struct{ *cmdline.Line }

// Command returns the command that reverses a promotion. It takes the steps of every promotion: lock, three-way check,
// journal, record. An undo can itself be undone, by naming its run. No gate judges it: the person decides, and may take
// back even a change that had fixed a finding.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "undo", Usage: "undo an applied change", ArgsUsage: "[RUN]",
		Description: "Puts the files of a promotion back as they were, all of them or none. If a text was edited\n" +
			"since, by later runs or by hand, these edits are kept and merged. If they touch what is\n" +
			"undone, or leave no line between, or the file is binary, gone, renamed or of another mode\n" +
			"since, it is a conflict, exit code 6: it names the file, the lines and who edited them, and\n" +
			"nothing is written. An undo is not proved again: look at a merged one. Without RUN, the last\n" +
			"promotion of the workspace is undone. Needs no engine if AGENT_DATABASE_URL names a\n" +
			"database.\n\n" + cmdline.Examples(
			"agent undo", "show what would change, then ask",
			"agent undo 1k3f --yes", "for scripts: never asks"),
		Flags: []cli.Flag{cmdline.WorkspaceFlag(), cmdline.YesFlag("write without asking"), cmdline.JSONFlag(cmdline.RunDocument())},
		Action: func(ctx *cli.Context) error {
			set, err := config.Load(ctx, c.Getenv)
			if err != nil {
				return err
			}
			return c.With(ctx.Context, set, false, func(s *wire.Session) error {
				of, p, err := undoable(ctx.Context, s, ctx.Args().First(), cmdline.Resolved(set["workspace"].Text))
				if err != nil {
					return err
				}
				doc, err := Undo(ctx.Context, line, s, set.On("yes"), of, p.Changeset)
				if err != nil {
					return err
				}
				return c.Report(doc, set.On("json"))
			})
		},
	}
}

// Undo takes back the changes of a run, once that is confirmed or if yes is set. It shows the reverse changeset, as it
// will be written. The document is that of the undo, even if later edits prevent it; an error means that there was
// none.
func Undo(ctx context.Context, line *cmdline.Line, s *wire.Session, yes bool, of run.Record, changes workspace.Changeset) (run.Document, error) {
	if err := cmdline.CheckDirectory(of.Workspace); err != nil {
		return run.Document{}, err
	}
	// What was planned and confirmed is for this directory, whatever its path names then.
	place, err := promotion.Hold(of.Workspace)
	if err != nil {
		return run.Document{}, fault.Usage("name a directory with --workspace", "workspace: %w", err)
	}
	defer place.Close()
	m, err := undo.Plan(ctx, of.Workspace, of.ID, changes.Reverse(), func(ctx context.Context, name, now string) (*blame.Timeline, error) {
		return s.Timeline(ctx, of.Workspace, name, now)
	})
	if err != nil {
		return run.Document{}, err
	}
	show := "`agent runs diff " + of.ID + "` shows what it did"
	switch {
	// An impossible undo is recorded, and needs no answer.
	case len(m.Conflicts) > 0:
		return s.Runner(nil).Undo(ctx, of, place, m.Changes, &run.Problem{
			Kind: run.ProblemConflict, Next: "undo the later runs first, the newest first, or edit by hand: " + show,
			Message: fmt.Sprintf("run %s cannot be undone beneath later edits: %s; nothing was written", of.ID, strings.Join(m.Conflicts, "; ")),
		}), nil
	case m.Changes.Empty():
		return run.Document{}, fault.Usage(show, "nothing of run %s is left to undo: its files are as they were before it", of.ID)
	}
	for _, note := range m.Notes {
		fmt.Fprintln(line.Stderr, "note: "+term.CleanLine(note))
	}
	if err := (command{line}).confirm(ctx, yes, of, m.Changes); err != nil {
		return run.Document{}, err
	}
	doc := s.Runner(nil).Undo(ctx, of, place, m.Changes, nil)
	// The files are back. That the memory still mentions the change is reported, but is no failure.
	if err := s.Unlearn(ctx, of.ID, doc); err != nil {
		fmt.Fprintf(line.Stderr, "agent: the memory still mentions it: %s\nnext: see `agent memory show`\n", term.CleanLine(err.Error()))
	}
	return doc, nil
}

// undoable returns the promotion to reverse: that of the named run, or else the last one of the workspace.
func undoable(ctx context.Context, s *wire.Session, prefix, dir string) (run.Record, run.Promotion, error) {
	if prefix == "" {
		of, p, err := s.DB.LastPromotion(ctx, dir)
		if errors.Is(err, database.ErrNotFound) {
			err = fault.Usage("see `agent runs list`, or name a workspace with --workspace", "nothing to undo in %s", dir)
		}
		return of, p, err
	}
	// A named run may be of any workspace: the record knows which.
	d, err := s.Named(ctx, prefix)
	if err != nil {
		return run.Record{}, run.Promotion{}, err
	}
	next := "see `agent runs show " + d.ID + "`"
	// Each of these would end in a conflict or in nothing; the reason is reported here, where it is known.
	switch {
	case d.Promotion == nil || d.Promotion.Status != run.Committed:
		return d.Record, run.Promotion{}, fault.Usage(next, "run %s promoted nothing", d.ID)
	case d.UndoneBy != "":
		return d.Record, run.Promotion{}, fault.Usage(next, "run %s was already undone by run %s", d.ID, d.UndoneBy)
	}
	p, err := s.DB.PromotionOf(ctx, d.ID)
	return d.Record, p, err
}

// confirm asks whether to write the reversal.
func (c command) confirm(ctx context.Context, yes bool, of run.Record, back workspace.Changeset) error {
	const next = "run again with --yes, or on a terminal"
	// No question is asked if no one could answer it; an undo writes to the workspace like any promotion.
	if yes {
		return nil
	}
	if !c.Attended() {
		return fault.Policy(next, "undo of run %s needs an approval, and there is no terminal", of.ID)
	}
	// The question looks like that of a promotion, since it is one.
	fmt.Fprintf(c.Stderr, "undo of run %s (%s) in %s\n\n", of.ID, term.CleanLine(of.Intent), term.CleanLine(of.Workspace))
	checkpoint.Preview(&c.Console, back.Diff(), "`agent runs diff "+of.ID+"` shows what is undone")
	switch said, err := checkpoint.Confirm(ctx, &c.Console, ""); {
	case err != nil:
		return fault.Policy(next, "no answer from the terminal")
	case !said:
		return fault.Policy("nothing was written", "undo of run %s was not approved", of.ID)
	}
	return nil
}
