// Package pr is `agent pr`: pull requests on a forge, every commit of them through the gate.
package pr

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/forge"
	"agent/orchestrator/run"
)

// A command has what its parts share, and what tests put something else in the place of.
type command struct {
	*cmdline.Line
	// prove judges what is between two directories; see judge.
	prove func(ctx *cli.Context, s *wire.Session, of comparison, intent string) (run.Document, error)
	// find has a change found, proved and written to a directory; see find.
	find func(ctx *cli.Context, s *wire.Session, o order) (run.Document, error)
	// carry has a plan made and carried out, as far as it was not; see carry.
	carry func(ctx *cli.Context, s *wire.Session, o order) (builder.Result, error)
	// sleep waits between two looks at a forge.
	sleep func(ctx context.Context, d time.Duration) error
	// may reports whose comments are taken up; nil for everybody's.
	may func(ctx context.Context, api forge.Forge, name string) (bool, error)
}

// Command is the group of what is done with pull requests.
func Command(line *cmdline.Line) *cli.Command { return newCommand(line).group() }

// newCommand has the gates, the models and the clock for its parts.
func newCommand(line *cmdline.Line) command {
	c := command{Line: line, sleep: cmdline.Pause}
	c.prove = func(ctx *cli.Context, s *wire.Session, of comparison, intent string) (run.Document, error) {
		return judge(ctx, line, s, of, intent)
	}
	c.find = func(ctx *cli.Context, s *wire.Session, o order) (run.Document, error) { return find(ctx, line, s, o) }
	c.carry = func(ctx *cli.Context, s *wire.Session, o order) (builder.Result, error) {
		return carry(ctx, line, s, o)
	}
	return c
}

// group is the command with its subcommands.
func (c command) group() *cli.Command {
	return &cli.Command{
		Name: "pr", Usage: "open, review, watch and repair pull requests",
		Subcommands: []*cli.Command{c.openCommand(), c.reviewCommand(), c.watchCommand(), c.fixCommand(), c.runCommand()},
	}
}

// repositoryFlag names a repository in place of the workspace's own remote.
func repositoryFlag() cli.Flag {
	return &cli.StringFlag{Name: "repo", Usage: "the repository, as `OWNER/NAME` or an address; else what git calls origin in the workspace"}
}
