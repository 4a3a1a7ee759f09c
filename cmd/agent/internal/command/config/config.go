// Package config implements `agent config`, which shows each configured value and its origin.
package config

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/term"
)

type command struct{ *cmdline.Line }

// A Row is one value as `agent config --json` prints it. The origin is the flag, the variable, the file, or "default".
type Row struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
	Env    string `json:"env,omitempty"`
	About  string `json:"about"`
}

// Command returns the command that shows what is configured, and where.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "config", Usage: "print each configured value and where it came from",
		Description: "A flag overrides the environment, which overrides agent.toml in the workspace, which\n" +
			"overrides agent/config.toml in your configuration directory, which overrides the default. A\n" +
			"workspace can only tighten settings. Passwords are masked.\n\n" + cmdline.Examples(
			"agent config", "the values for this directory",
			"agent config --workspace ../shop --json", "the values for another workspace"),
		Flags: []cli.Flag{cmdline.WorkspaceFlag(), cmdline.JSONFlag(cmdline.Document[[]Row]("settings", 1))},
		Action: func(ctx *cli.Context) error {
			set, err := config.Load(ctx, c.Getenv)
			if err != nil {
				return err
			}
			// The settings of a directory that does not exist mean nothing.
			if err := cmdline.CheckDirectory(set["workspace"].Text); err != nil {
				return err
			}
			return c.printSettings(set)
		},
	}
}

// printSettings prints every value in the order of keys, so that two machines can be compared line by line. It includes
// default values: what applies matters, not what was written.
func (c command) printSettings(set config.Settings) error {
	// An array in JSON too, so that the order is kept.
	rows := []Row{}
	for _, k := range config.Table() {
		// Never the value itself: Shown masks what is secret.
		rows = append(rows, Row{k.Name, set.Shown(k.Name), set[k.Name].Origin, k.Env, k.About})
	}
	if set.On("json") {
		return term.PrintJSON(c.Stdout, rows)
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "KEY\tVALUE\tFROM\tWHAT IT IS")
		for _, r := range rows {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.Key, term.CleanLine(r.Value), r.Origin, r.About)
		}
		return t.Flush()
	})
}
