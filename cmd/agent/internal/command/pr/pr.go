// Package pr implements `agent pr`, which puts every commit of pull requests on a forge through the gate.
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

// A command holds what its parts share, and what tests replace.
type command struct {
	*cmdline.Line
	// prove judges the changes between two directories; see judge.
	prove func(ctx *cli.Context, s *wire.Session, of comparison, intent string) (run.Document, error)
	// find has a change found, proved and written to a directory; see find.
	find func(ctx *cli.Context, s *wire.Session, o order) (run.Document, error)
	// carry has a plan made and carried out, as far as it was not yet; see carry.
	carry func(ctx *cli.Context, s *wire.Session, o order) (builder.Result, error)
	// sleep waits between two polls of a forge.
	sleep func(ctx context.Context, d time.Duration) error
	// may reports whose comments are taken up; nil for everyone's.
	may func(ctx context.Context, api forge.Forge, name string) (bool, error)
}

// Command returns the group of commands for pull requests.
func Command(line *cmdline.Line) *cli.Command { return newCommand(line).group() }

// newCommand returns a command with the real gates, models and clock.
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

// group returns the command with its subcommands.
func (c command) group() *cli.Command {
	return &cli.Command{
		Name: "pr", Usage: "open, review, watch and repair pull requests",
		Subcommands: []*cli.Command{c.openCommand(), c.reviewCommand(), c.watchCommand(), c.fixCommand(), c.runCommand()},
	}
}

// repositoryFlag names a repository instead of the workspace's own remote.
func repositoryFlag() cli.Flag {
	return &cli.StringFlag{Name: "repo", Usage: "the repository, as `OWNER/NAME` or an address; by default origin of the workspace"}
}
