// Package pr is `agent pr`: pull requests on a forge, every commit of them through the gate.
package pr

import (
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
)

type command struct{ *cmdline.Line }

// Command is the group of what is done with pull requests.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "pr", Usage: "open pull requests from proved changes",
		Subcommands: []*cli.Command{c.openCommand()},
	}
}

// repositoryFlag names a repository in place of the workspace's own remote.
func repositoryFlag() cli.Flag {
	return &cli.StringFlag{Name: "repo", Usage: "the repository, as `OWNER/NAME` or an address; else what git calls origin in the workspace"}
}
