// Package hook implements `agent hook`, the gate in git hooks and in hooks of coding agents.
package hook

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/proof"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/forge/hooks"
)

type command struct{ *cmdline.Line }

// names are the supported git hooks.
var names = []string{"pre-commit", "pre-push"}

// Command returns the group of commands for hooks.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	list := cmdline.Document[[]hooks.Hook]("hooks", 1)
	return &cli.Command{
		Name: "hook", Usage: "prove what is staged, pushed or left by a coding agent, in hooks of git and of the agent",
		Subcommands: append(c.codingCommands(), []*cli.Command{
			{
				Name: "install", Usage: "install hooks in this repository",
				Description: "Writes pre-commit, which proves only what is staged, and pre-push, which proves each commit\n" +
					"that the remote lacks. A change that fails its gates stops the commit or the push; git's\n" +
					"`--no-verify` skips both hooks. An existing hook is kept and called first. What cannot be\n" +
					"judged, for want of an engine or of time, stops nothing unless --strict is given: a machine\n" +
					"without an engine can commit, and CI proves the change again.\n\n" + cmdline.Examples(
					"agent hook install", "both hooks",
					"agent hook install --only pre-push", "only one",
					"agent hook install --timeout 30s --strict", "what is not judged in time is stopped"),
				Flags:  append([]cli.Flag{cmdline.WorkspaceFlag(), onlyFlag(), cmdline.JSONFlag(list)}, limits()...),
				Action: c.install,
			},
			{
				Name: "uninstall", Usage: "remove them again",
				Description: "Removes the hooks that `agent hook install` wrote, and restores the previous ones.\n\n" + cmdline.Examples("agent hook uninstall", "both"),
				Flags:       []cli.Flag{cmdline.WorkspaceFlag(), onlyFlag(), cmdline.JSONFlag(list)},
				Action:      c.uninstall,
			},
			{
				Name: "status", Usage: "show which hooks this repository has",
				Description: "Says for each hook whether it is the agent's, and which one is called first.\n\n" + cmdline.Examples("agent hook status", "both"),
				Flags:       []cli.Flag{cmdline.WorkspaceFlag(), cmdline.JSONFlag(list)},
				Action:      c.status,
			},
			{
				Name: "pre-commit", Usage: "prove what is staged, as git's hook does", ArgsUsage: "[ARG…]",
				Description: "For the hook, or for a hook manager's configuration. Exit code 1 stops the commit.\n\n" + cmdline.Examples("agent hook pre-commit", "what is staged now"),
				Flags:       append([]cli.Flag{cmdline.WorkspaceFlag(), cmdline.AllowFlag(), cmdline.NoInstallFlag()}, limits()...),
				Action:      c.preCommit,
			},
			{
				Name: "pre-push", Usage: "prove what is pushed, as git's hook does", ArgsUsage: "[ARG…]",
				Description: "For the hook, or for a hook manager's configuration: takes the arguments and the standard input\n" +
					"that git passes. Exit code 1 stops the push.\n\n" + cmdline.Examples(`agent hook pre-push "$@"`, "in a script"),
				Flags:  append([]cli.Flag{cmdline.WorkspaceFlag(), cmdline.AllowFlag(), cmdline.NoInstallFlag()}, limits()...),
				Action: c.prePush,
			},
		}...),
	}
}

// onlyFlag selects one hook.
func onlyFlag() cli.Flag {
	return &cli.StringFlag{Name: "only", Usage: "only the hook `NAME`: " + strings.Join(names, " or ")}
}

// limits returns the flags of a hook that determine when it stops nothing.
func limits() []cli.Flag {
	return []cli.Flag{
		&cli.DurationFlag{Name: "timeout", Value: 5 * time.Minute, Usage: "judge for at most `TIME`"},
		&cli.BoolFlag{Name: "strict", Usage: "also stop what could not be judged", DisableDefaultText: true},
	}
}

// place returns where the repository of the workspace has its hooks, and which of them are meant.
func (c command) place(ctx *cli.Context) (hooks.Place, []string, bool, error) {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return hooks.Place{}, nil, false, err
	}
	repo, err := proof.Repository(cmdline.Resolved(set["workspace"].Text))
	if err != nil {
		return hooks.Place{}, nil, false, err
	}
	only := ctx.String("only")
	if only == "" {
		return hooks.Find(ctx.Context, repo, c.Getenv), names, set.On("json"), nil
	}
	for _, name := range names {
		if name == only {
			return hooks.Find(ctx.Context, repo, c.Getenv), []string{name}, set.On("json"), nil
		}
	}
	return hooks.Place{}, nil, false, fault.Usage("use "+strings.Join(names, " or "), "unknown hook %q", only)
}

// install writes hooks.
func (c command) install(ctx *cli.Context) error {
	place, wanted, asJSON, err := c.place(ctx)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fault.Infra("start agent by its path", "find this program: %w", err)
	}
	if ctx.Duration("timeout") < time.Second {
		return fault.Usage("use e.g. 90s or 5m", "invalid duration %q (minimum 1s)", ctx.Duration("timeout"))
	}
	var list []hooks.Hook
	for _, name := range wanted {
		h, err := place.Install(name, call(self, name, ctx.Duration("timeout"), ctx.Bool("strict")))
		if refused, ok := errors.AsType[*hooks.RefusedError](err); ok {
			return fault.Usage(refused.Next, "%w", refused)
		}
		if err != nil {
			return fault.Infra("check who may write to "+place.Dir, "install the hook %s: %w", name, err)
		}
		list = append(list, h)
	}
	return c.print(list, asJSON)
}

// call returns the lines of a hook that call this program. If the program is gone by then, the hook stops nothing
// unless it is strict.
func call(self, name string, timeout time.Duration, strict bool) string {
	line, missing := fmt.Sprintf("exec %s hook %s --timeout %s", quoted(self), name, timeout), "exit 0"
	if strict {
		line, missing = line+" --strict", "exit 1"
	}
	return fmt.Sprintf("[ -x %s ] || { echo 'agent: this program is gone: run agent hook install again, or agent hook uninstall' >&2; %s; }\n%s", quoted(self), missing, line)
}

// quoted returns a word for a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// uninstall removes hooks.
func (c command) uninstall(ctx *cli.Context) error {
	place, wanted, asJSON, err := c.place(ctx)
	if err != nil {
		return err
	}
	var list []hooks.Hook
	for _, name := range wanted {
		h, err := place.Uninstall(name)
		if err != nil {
			return fault.Infra("check who may write to "+place.Dir, "remove the hook %s: %w", name, err)
		}
		list = append(list, h)
	}
	return c.print(list, asJSON)
}

// status prints the state of the hooks.
func (c command) status(ctx *cli.Context) error {
	place, wanted, asJSON, err := c.place(ctx)
	if err != nil {
		return err
	}
	var list []hooks.Hook
	for _, name := range wanted {
		h, err := place.Look(name)
		if err != nil {
			return fault.Infra("check who may read "+place.Dir, "read the hook %s: %w", name, err)
		}
		list = append(list, h)
	}
	return c.print(list, asJSON)
}

// print prints hooks.
func (c command) print(list []hooks.Hook, asJSON bool) error {
	if asJSON {
		return term.PrintJSON(c.Stdout, list)
	}
	for _, h := range list {
		text := map[hooks.State]string{
			hooks.Absent: "not installed", hooks.Installed: "installed", hooks.Other: "not installed; there is another hook",
			hooks.Replaced: "replaced by another program since it was installed",
		}[h.State]
		if h.Kept != "" && h.State == hooks.Installed {
			text += ", after the previous hook"
		}
		fmt.Fprintf(c.Stdout, "%-10s  %s  %s\n", h.Name, text, term.CleanLine(h.Path))
	}
	return nil
}
