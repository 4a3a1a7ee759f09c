// Package roles implements `agent roles`, which shows who does what in a plan, with which tools, models and limits.
package roles

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/crew"
)

type command struct{ *cmdline.Line }

// Command returns the command that shows the roles.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "roles", Usage: "show who does what in a plan: tools, models, limits, and who may give work to whom", ArgsUsage: "[ROLE]",
		Description: "The table is enforced by code: a role that calls a tool it does not have, or gives work to a role that\n" +
			"it may not, is refused. A file of your own, roles/NAME.toml next to your configuration, replaces a\n" +
			"built-in role; a file in .agent/roles of a workspace does so once you have said that you trust its text.\n\n" + cmdline.Examples(
			"agent roles", "the table",
			"agent roles worker", "the file of one role, to start from",
			"agent roles --trust", "trust the roles of this workspace"),
		Flags: []cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.BoolFlag{Name: "trust", Usage: "trust the workspace's roles, as they are now", DisableDefaultText: true},
			cmdline.JSONFlag(cmdline.Document[[]crew.Role]("roles", 1)),
		},
		Action: c.roles,
	}
}

// from says where a role comes from.
func from(layer int) string {
	switch layer {
	case wire.OfWorkspace:
		return "workspace"
	case wire.OfUser:
		return "yours"
	}
	return "built in"
}

// roles runs the command.
func (c command) roles(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	home := config.UserPath(c.Getenv)
	all, err := wire.LoadRoles(set["workspace"].Text, home)
	if err != nil {
		return err
	}
	strange, err := wire.StrangeRoles(all, set["workspace"].Text, home)
	if err != nil {
		return err
	}
	for _, line := range strange {
		fmt.Fprintln(c.Stderr, "agent: "+term.CleanLine(line))
	}
	if ctx.Bool("trust") {
		left, err := wire.UnallowedRoles(all, home)
		if err == nil && len(left) > 0 {
			err = wire.Allow(home, left)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(c.Stderr, "trusted %d\n", len(left))
	}
	list := []crew.Role{}
	for _, name := range all.Names() {
		list = append(list, all[name])
	}
	if name := ctx.Args().First(); name != "" {
		r, ok := all[name]
		if !ok {
			return fault.Usage("name one of "+strings.Join(all.Names(), ", "), "unknown role %q", name)
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, []crew.Role{r})
		}
		return term.Print(c.Stdout, func(w io.Writer) error { _, err := io.WriteString(w, term.Clean(r.Text)); return err })
	}
	if set.On("json") {
		return term.PrintJSON(c.Stdout, list)
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "TIER\tROLE\tFROM\tMODELS\tGIVES WORK TO\tTOOLS")
		for _, r := range list {
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", r.Tier, r.Name, from(r.Layer), listed(r.Models, "as configured"), listed(r.Calls, "nobody"), listed(r.Tools, "none"))
		}
		return t.Flush()
	})
}

// listed joins names, or returns none if there are no names.
func listed(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return term.CleanLine(strings.Join(names, ","))
}
