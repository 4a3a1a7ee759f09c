// Package cmdline provides the command line of one process to all commands: its streams and environment, the flags that
// several commands share, the reading of files and standard input, the session, and how a command ends. It knows no
// command and decides nothing about a patch.
package cmdline

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/document"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/images"
	"agent/verify"
)

// A Line is the command line of one process: its terminal, and what its commands share.
type Line struct {
	term.Console
	// Programs holds the guest that this program was built with, as guestbin/guest.
	Programs embed.FS
	// Judged is where replays keep their judgements of the unpatched workspace. It is nil, except in tests, and each
	// command then has a cache of its own.
	Judged verify.Cache
	// The filter of --jq or --template; nil without.
	filter *document.Filter
}

// New returns a command line on these streams.
func New(getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) *Line {
	return &Line{Console: term.Console{Getenv: getenv, Stdin: stdin, Stdout: stdout, Stderr: stderr}}
}

// Guest returns the program that is PID 1 of every box. AGENT_GUEST names another one, for tests. The handshake in the
// box refuses a guest that does not match the agent, so a stale one can do no harm.
func (c *Line) Guest() ([]byte, error) {
	if path := c.Getenv("AGENT_GUEST"); path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fault.Infra("name a guest program, or unset AGENT_GUEST", "read the guest: %w", err)
		}
		return data, nil
	}
	data, err := c.Programs.ReadFile("guestbin/guest")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Infra("install a released program, or build it with `make build`, which embeds the guest", "this agent was built without its guest")
	}
	return data, err
}

// With opens a session, passes it to act and closes it.
func (c *Line) With(ctx context.Context, set config.Settings, needEngine bool, act func(*wire.Session) error) error {
	s, err := wire.Open(ctx, c.host(), set, needEngine)
	if err != nil {
		return err
	}
	defer s.Close()
	return act(s)
}

// host returns what sessions need from this process.
func (c *Line) host() wire.Host {
	return wire.Host{Guest: c.Guest, Getenv: c.Getenv, Stderr: c.Stderr}
}

// OpenEngine opens a session with an engine and without a record.
func (c *Line) OpenEngine(ctx context.Context) (*wire.Session, error) {
	return wire.OpenEngine(ctx, c.host())
}

// Prepare readies an engine for what conf asks for, and returns the board that shows the work. Building the toolchain
// can take minutes the first time, with BuildKit's own display; from here on the terminal belongs to the board.
func (c *Line) Prepare(ctx context.Context, s *wire.Session, conf *verify.Config) (*term.Board, error) {
	if _, err := s.Builder.Ensure(ctx, images.Toolchain); err != nil {
		return nil, fmt.Errorf("build the toolchain image: %w", err)
	}
	if err := s.Settle(ctx, conf, c.Stderr); err != nil {
		return nil, err
	}
	s.Builder.Progress = nil
	return c.NewBoard(time.Duration(cmp.Or(conf.Smoke.Seconds, 10)) * time.Second), nil
}
