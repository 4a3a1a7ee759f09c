// Package lsp implements `agent lsp`, which shows the gates' findings in the working tree as diagnostics of the Language Server Protocol.
package lsp

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/watch"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/proof"
)

type command struct {
	*cmdline.Line
	version string
}

// Command returns the command that serves diagnostics to editors. version is the agent's own.
func Command(line *cmdline.Line, version string) *cli.Command {
	c := command{line, version}
	return &cli.Command{
		Name: "lsp", Usage: "show editors what the gates find (Language Server Protocol)",
		Description: "An editor starts it and talks to it on stdin and stdout. As with `agent watch`, the working\n" +
			"tree is proved against HEAD each time it was left alone for a while, and the editor shows\n" +
			"the gates' findings at their lines. Only saved files count. The workspace is the folder that\n" +
			"the editor has open, or --workspace. Nothing is written to the workspace. `agent help\n" +
			"editors` has the configuration for VS Code, Neovim and Helix.\n\n" + cmdline.Examples(
			"agent lsp", "in an editor's configuration",
			"agent lsp --settle 5s", "if you save often"),
		Flags: []cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.DurationFlag{Name: "settle", Value: 2 * time.Second, Usage: "prove once nothing has changed for `TIME`"},
			cmdline.AllowFlag(), cmdline.NoInstallFlag(),
		},
		Action: c.serve,
	}
}

// serve runs the command.
func (c command) serve(ctx *cli.Context) error {
	if settle := ctx.Duration("settle"); settle < 100*time.Millisecond {
		return fault.Usage("use e.g. 500ms or 2s", "invalid duration %q (minimum 100ms)", settle)
	}
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	if err := cmdline.CheckDirectory(cmdline.Resolved(set["workspace"].Text)); err != nil {
		return err
	}
	s := &session{version: c.version, follow: c.follower(ctx), pause: cmdline.Pause}
	return s.serve(ctx.Context, c.Stdin, c.Stdout)
}

// follower returns a function that proves the workspace of a client. The client may open it by any name that leads there.
func (c command) follower(cl *cli.Context) func(context.Context, string, func(string, watch.State) error) error {
	named := cl.IsSet("workspace")
	return func(ctx context.Context, root string, tell func(string, watch.State) error) error {
		if root != "" && !named {
			if err := cl.Set("workspace", root); err != nil {
				return err
			}
		}
		set, err := config.Load(cl, c.Getenv)
		if err != nil {
			return err
		}
		return proof.With(ctx, c.Line, set, true, func(p *proof.Prover) error {
			shown := p.Request.Place.Path
			if root != "" && cmdline.Resolved(root) == shown {
				shown = root
			}
			return watch.Follow(ctx, p, cl.Duration("settle"), func(s watch.State) error { return tell(shown, s) })
		})
	}
}
