package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/clients"
	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
)

// A Configured says what happened to the gate in the configuration of one client.
type Configured struct {
	Client string        `json:"client"`
	File   string        `json:"file"`
	State  clients.State `json:"state" jsonschema:"enum=added,enum=replaced,enum=removed,enum=unchanged"`
	Diff   string        `json:"diff,omitempty"`
}

// clientCommands returns the commands that configure clients.
func (c command) clientCommands() []*cli.Command {
	ids := strings.Join(clients.IDs(), " ")
	flags := []cli.Flag{
		cmdline.WorkspaceFlag(),
		&cli.BoolFlag{Name: "project", Usage: "use the workspace's file, for everyone who works in it, instead of yours", DisableDefaultText: true},
		cmdline.YesFlag("write the change without asking"), cmdline.JSONFlag(cmdline.Document[[]Configured]("mcp-clients", 1)),
	}
	return []*cli.Command{
		{
			Name: "install", Usage: "let a coding agent or an editor use the gate", ArgsUsage: "CLIENT…",
			Description: "Adds the gate to the configuration of clients: " + ids + ". The change is shown first, and\n" +
				"written after you agree; everything else in the file stays as it is, with its comments. Your own\n" +
				"file calls this program by its path; a workspace's file calls agent, as each person there has it.\n" +
				"Links are not followed, and another server with that name is not touched.\n\n" + cmdline.Examples(
				"agent mcp install claude", "in your own configuration of Claude Code",
				"agent mcp install vscode cursor --project", "in .vscode/mcp.json and .cursor/mcp.json here",
				"agent mcp install codex --yes", "for scripts: never asks"),
			Flags:  flags,
			Action: func(ctx *cli.Context) error { return c.configure(ctx, clients.Client.Install) },
		},
		{
			Name: "uninstall", Usage: "remove the gate from their configuration again", ArgsUsage: "CLIENT…",
			Description: "Removes what `agent mcp install` added, and nothing else: " + ids + ".\n\n" + cmdline.Examples(
				"agent mcp uninstall claude", "from your own configuration",
				"agent mcp uninstall vscode --project --yes", "from .vscode/mcp.json here, without a question"),
			Flags:  flags,
			Action: func(ctx *cli.Context) error { return c.configure(ctx, clients.Client.Uninstall) },
		},
	}
}

// An edit makes the change of a client's file, for the program with that path or name.
type edit func(client clients.Client, f clients.File, program string) (clients.Change, error)

// program returns the program that a client starts from its file f.
func (c command) program(client clients.Client, f clients.File) (string, error) {
	if own, err := client.UserFile(c.Getenv); err == nil && own == f {
		return os.Executable()
	}
	return clients.Entry, nil
}

// configure changes the configuration of all named clients or, if one cannot be changed, of none.
func (c command) configure(ctx *cli.Context, edit edit) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	if ctx.NArg() == 0 {
		return fault.Usage("name one or more of "+strings.Join(clients.IDs(), ", "), "no client was named")
	}
	dir := cmdline.Resolved(set["workspace"].Text)
	if err := cmdline.CheckDirectory(dir); ctx.Bool("project") && err != nil {
		return err
	}
	var list []clients.Change
	for _, id := range ctx.Args().Slice() {
		change, err := c.change(id, dir, ctx.Bool("project"), edit)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list, func(c clients.Change) bool { return c.File == change.File }) {
			continue // named twice
		}
		list = append(list, change)
	}
	return Write(ctx.Context, c.Line, list, set.On("yes"), set.On("json"))
}

// Write shows changes of configurations, and writes them once the user agrees.
func Write(ctx context.Context, c *cmdline.Line, list []clients.Change, yes, asJSON bool) error {
	if err := confirm(ctx, c, list, yes, asJSON); err != nil {
		return err
	}
	var told []Configured
	for _, change := range list {
		path := change.File.Path()
		if change.State != clients.Unchanged {
			if err := change.Apply(); err != nil {
				return fault.Infra("check who may write to "+path+", or run again", "write the configuration of %s: %w", change.Client.Name, err)
			}
		}
		told = append(told, Configured{change.Client.ID, path, change.State, diff(change)})
		if !asJSON {
			fmt.Fprintf(c.Stdout, "%-9s  %s  %s\n", change.State, change.Client.Name, term.CleanLine(path))
		}
	}
	if asJSON {
		return term.PrintJSON(c.Stdout, told)
	}
	return nil
}

// change finds the file of a client and its change.
func (c command) change(id, dir string, project bool, edit edit) (clients.Change, error) {
	client, ok := clients.Named(id)
	if !ok {
		return clients.Change{}, fault.Usage("use one of "+strings.Join(clients.IDs(), ", "), "unknown client %q", id)
	}
	f := client.ProjectFile(dir)
	if !project {
		var err error
		if f, err = client.UserFile(c.Getenv); err != nil {
			return clients.Change{}, fault.Usage("set HOME, or use --project", "find the configuration of %s: %w", client.Name, err)
		}
	}
	program, err := c.program(client, f)
	if err != nil {
		return clients.Change{}, fault.Infra("start agent by its path", "find this program: %w", err)
	}
	change, err := edit(client, f, program)
	if errors.Is(err, clients.ErrOther) {
		return change, fault.Usage("rename that entry, or remove it by hand", "%w", err)
	}
	if err != nil {
		return change, fault.Usage("edit it by hand: "+client.Source, "the configuration of %s cannot be changed: %w", client.Name, err)
	}
	return change, nil
}

// confirm shows the changes, and asks whether to write them.
func confirm(ctx context.Context, c *cmdline.Line, list []clients.Change, yes, asJSON bool) error {
	changes := false
	for _, change := range list {
		if text := diff(change); text != "" {
			changes = true
			if !yes || !asJSON {
				fmt.Fprintln(c.Stderr)
				term.DiffView{Palette: c.Palette(c.Stderr)}.Print(c.Stderr, text)
			}
		}
	}
	if !changes || yes {
		return nil
	}
	if !c.Attended() {
		return fault.Policy("run again with --yes, or on a terminal", "nothing was written: there is no terminal to confirm at")
	}
	fmt.Fprintln(c.Stderr)
	said, err := c.AskYes(ctx, "Write this?")
	if err == nil && !said {
		err = fault.Policy("run again to be asked again", "nothing was written: the answer was no")
	}
	return err
}

// diff returns a change as a unified diff.
func diff(change clients.Change) string {
	path := change.File.Path()
	return udiff.Unified(path, path, string(change.Before), string(change.After))
}
