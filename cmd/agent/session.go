package main

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"os"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/run"
)

// guestFiles holds the guest program that the Makefile builds before
// this one.
//
//go:embed all:guestbin
var guestFiles embed.FS

// guest returns the program that is PID 1 of every box. AGENT_GUEST
// names another one, for tests. A guest that does not fit the agent is
// refused by the handshake in the box, so a stale one cannot do harm.
func (c *cmdline) guest() ([]byte, error) {
	if path := c.Getenv("AGENT_GUEST"); path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fault.Infra("name a guest program, or unset AGENT_GUEST", "read the guest: %w", err)
		}
		return data, nil
	}
	data, err := guestFiles.ReadFile("guestbin/guest")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Infra("build with `make build`", "this agent was built without its guest")
	}
	return data, err
}

// A session is what the commands stand on, and what they tell each other of a run.
type session struct {
	*wire.Session
	// guard has its say at the checkpoints of a rebuild of the agent itself; nil for other runs.
	guard func(*approver) run.Approver
	// ended is the document of the last run, nil where none has ended.
	ended *run.Document
}

// guarded is who decides at the checkpoints of a run.
func (s *session) guarded(a *approver) run.Approver {
	if s.guard == nil {
		return a
	}
	return s.guard(a)
}

// with opens a session, gives it to act and closes it.
func (c *cmdline) with(ctx context.Context, set config.Settings, needEngine bool, act func(*session) error) error {
	s, err := wire.Open(ctx, c.host(), set, needEngine)
	if err != nil {
		return err
	}
	defer s.Close()
	return act(&session{Session: s})
}

// host is what sessions take from this process.
func (c *cmdline) host() wire.Host {
	return wire.Host{Guest: c.guest, Getenv: c.Getenv, Stderr: c.Stderr}
}

// openEngine opens a session that has an engine and no record.
func (c *cmdline) openEngine(ctx context.Context) (*session, error) {
	s, err := wire.OpenEngine(ctx, c.host())
	if err != nil {
		return nil, err
	}
	return &session{Session: s}, nil
}
