// Package sandbox implements `agent sandbox`, which proves patches in throwaway containers, one by one or in a loop,
// and manages the existing containers.
package sandbox

import (
	"slices"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/proposals"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/sarif"
	"agent/cmd/agent/internal/wire"
)

type command struct{ *cmdline.Line }

// Command returns the group of commands that work in boxes. own serves `loop --self`.
func Command(line *cmdline.Line, own Rebuilds) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "sandbox", Usage: "prove patches in throwaway containers",
		Subcommands: []*cli.Command{
			c.sandboxRunCommand(),
			c.loopCommand(own),
			c.execCommand(),
			c.shellCommand(),
			{
				Name: "ls", Usage: "list the containers that exist now", Flags: []cli.Flag{cmdline.JSONFlag(cmdline.Document[[]BoxRow]("boxes", 1))},
				Description: "Lists the agent's containers of every process, with the run they belong to.\n\n" +
					cmdline.Examples("agent sandbox ls", "usually empty between runs"),
				Action: c.sandboxList,
			},
			{
				Name: "gc", Usage: "remove what dead processes left behind",
				Description: "Settles interrupted runs and promotions, removes containers whose process is dead, and\n" +
					"all but the newest snapshot of each workspace. Active runs are left alone.\n\n" +
					cmdline.Examples("agent sandbox gc", "free disk space", "agent sandbox gc --kept", "and memory"),
				Flags:  []cli.Flag{&cli.BoolFlag{Name: "kept", Usage: "also remove what `agent sandbox exec --keep` left", DisableDefaultText: true}},
				Action: c.sandboxCollect,
			},
		},
	}
}

// sandboxRunCommand returns the command for the main job. Every flag that is a policy also has a place in the
// environment, so that a build server can set it once.
func (c command) sandboxRunCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "prove a patch, or find one for a goal, then write it to the workspace", ArgsUsage: "[PATCH]",
		Description: "Takes a snapshot of the workspace, applies the patch in a throwaway container, and runs\n" +
			"format, lint, types, the smoke test and the workspace's tests there. Only a patch that\n" +
			"introduces no new problems is written back, after a question, or with --yes. PATCH is a file,\n" +
			"or - for standard input, the default if that is a pipe: edit blocks (<EDIT file=\"…\"> or\n" +
			"<<<<<<< SEARCH), a unified diff, a *** Begin Patch, JSON edits, or whole files in fences under\n" +
			"their names. Without PATCH a model is asked for one, and for repairs if it fails. --goal names\n" +
			"the task, else the first open item of .agent/DIRECTIVES.md does; else the model reviews a\n" +
			"file, and may propose a feature if it finds nothing. A feature is kept as a proposal, and\n" +
			"written if a person at the terminal says so, with --proposal or with --features: never by\n" +
			"--yes alone. A question without an answer ends the run as awaiting approval, exit code 4;\n" +
			"`agent runs apply` takes it up. What a run may spend is capped: see `agent config`.\n\n" + cmdline.Examples(
			"agent sandbox run change.diff", "prove, show the diff, ask",
			"git diff main fix | agent sandbox run --no-promote", "prove only",
			"agent sandbox run change.diff --yes --json", "for scripts: never asks",
			"agent sandbox run ci.diff --yes --allow ci", "approve a change of CI files",
			"agent sandbox run --goal 'round prices up' --file shop/tax.py", "have a model find it",
			"agent sandbox run --goal 'speed it up' --candidates 3 --yes", "the best of three",
			"agent sandbox run change.diff --commit -m 'Round up'", "and commit it",
			"agent sandbox run change.diff --branch round-up", "commit it to a branch, not to the workspace",
			"agent sandbox run --proposal 3", "apply a proposed change",
			"agent sandbox run --replay 1k3 --no-promote", "a recorded run again, without a model"),
		Flags: slices.Concat([]cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.StringFlag{Name: "patch", Aliases: []string{"p"}, Usage: "the same as PATCH: read it from `FILE`, - for standard input"},
			&cli.StringFlag{Name: "goal", Aliases: []string{"g"}, Usage: "without a patch: what the change is for, as `TEXT`"},
			&cli.StringSliceFlag{Name: "file", Usage: "default file `PATH` for blocks without a path; without a patch the file to work on; if repeated, the others are read too"},
		}, cmdline.ModelFlags(), []cli.Flag{
			&cli.BoolFlag{Name: "no-feature", Usage: "a review that finds nothing proposes no feature", DisableDefaultText: true},
			&cli.StringFlag{Name: "proposal", Usage: "take up proposal `N` of `agent proposals list`"},
			&cli.StringFlag{Name: "replay", Usage: "take plan and answers from the record of `RUN`; no model is asked"},
			cmdline.YesFlag("write what passed without asking"),
			config.FlagFor("no-promote", ""),
			cmdline.AllowFlag(),
			cmdline.NoInstallFlag(),
			&cli.StringFlag{Name: "sarif", Usage: "write the findings to `FILE` as SARIF 2.1.0"},
			cmdline.JSONFlag(cmdline.RunDocument()),
		}, CommitFlags(), cmdline.ConsentFlags()),
		Action: c.sandboxRun,
	}
}

// sandboxRun does the main job. It finds all errors in the command line before it touches the engine. The run itself
// cannot end in an error: whatever happens is in its document.
func (c command) sandboxRun(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	if name := ctx.String("sarif"); name == "-" {
		return fault.Usage("name a file: --sarif FILE", "--sarif -: standard output is for the result")
	} else if err := sarif.CheckFile(name); err != nil {
		return err
	}
	req, err := Request(ctx, c.Line, set)
	if err != nil {
		return err
	}
	if req.Commit, err = CommitOrder(ctx, c.Line, req.Place.Path, req.NoPromote); err != nil {
		return err
	}
	return c.With(ctx.Context, set, true, func(s *wire.Session) error {
		Describe(req.Commit, ctx.String("message"), subject(req), s.DB)
		a := &Attempt{Line: c.Line, Session: s, Settings: set}
		if ctx.IsSet("proposal") {
			if req, err = proposals.Resume(ctx.Context, s, ctx.String("proposal"), set, req); err != nil {
				return err
			}
		}
		// For a proposal without a patch, or for a goal, a model must be asked.
		if req.Patch == nil {
			return a.Iterate(ctx, req)
		}
		return a.Prove(ctx, req)
	})
}
