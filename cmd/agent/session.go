package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/images"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/sandbox"
	"agent/verify"
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

// A session is what the commands stand on, opened by one function and
// closed by one: an engine, the images on it, and the record. Without
// an engine engine and builder are nil. Opening goes in this order, and
// each step says what to do when it does not work:
//  1. the guest, which is part of this program
//  2. the engine
//  3. the database, whose container lives on the engine
//  4. recovery of what dead processes left behind
type session struct {
	engine  *sandbox.Engine
	builder *images.Builder
	// Made by runner, with an engine.
	pool *sandbox.Pool
	db   *store.DB
	// What runs do, with the database.
	log *run.Log
	// hide takes the configured secrets out of what boxes wrote; nil for a command that
	// has no boxes and shows no run.
	hide func(string) string
	// What goes on when a run has ended.
	later sync.WaitGroup
	// Made by study, on demand.
	analyst *run.Analyst
	// tell is given what goes on outside of a run; nil for nobody.
	tell func(run.Event)
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

// openEngine connects to the engine and makes the builder of its
// images.
func (c *cmdline) openEngine(ctx context.Context) (*session, error) {
	// The guest first: without it no image can be named, and the cure
	// has nothing to do with the engine.
	guest, err := c.guest()
	if err != nil {
		return nil, err
	}
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &session{engine: engine, builder: images.New(engine, guest, c.Stderr)}, nil
}

// open opens everything that a command needs and settles what dead
// processes left behind. With needEngine false, and a database of the
// user's own, a missing engine is no hindrance.
func (c *cmdline) open(ctx context.Context, set config.Settings, needEngine bool) (*session, error) {
	s, err := c.openEngine(ctx)
	if err != nil {
		// With a database elsewhere, the history can be read and a
		// promotion undone while the engine is down.
		if needEngine || set["database_url"].Text == "" {
			return nil, err
		}
		s = &session{}
	}
	if err := s.openDatabase(ctx, set); err != nil {
		s.close()
		return nil, err
	}
	s.log = run.NewLog(ctx, s.db, set.LogMasker(c.Getenv, s.db.Secret()))
	s.hide = set.OutputMasker(c.Getenv, s.db.Secret())
	// Before anything else is done: the next run must find the
	// workspace whole, and a list must not show as running what is
	// dead.
	settled, err := s.recover(ctx)
	// The person who comes back after a crash wants to know how it
	// ended.
	for _, r := range settled {
		fmt.Fprintf(c.Stderr, "agent: settled run %s, left behind by a process that died: %s\n", r.ID, r.State)
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("settle what dead processes left: %w", err)
	}
	return s, nil
}

// openDatabase opens the record: the database of the configuration, or
// the agent's own, whose image is built and whose container is started
// on demand.
func (s *session) openDatabase(ctx context.Context, set config.Settings) error {
	url := set["database_url"].Text
	if url == "" {
		own, err := s.ownPostgres(ctx)
		if err != nil {
			return err
		}
		url = own
	}
	// Opening migrates the schema, so what follows finds every table.
	db, err := store.Open(ctx, url)
	s.db = db
	return err
}

// ownPostgres returns the address of the agent's own Postgres, which
// runs when it returns.
func (s *session) ownPostgres(ctx context.Context) (string, error) {
	// With nothing to build this is one inspect of the engine.
	image, err := s.builder.Ensure(ctx, images.Postgres)
	if err != nil {
		return "", fmt.Errorf("build the Postgres image: %w", err)
	}
	return s.engine.Postgres(ctx, image.ID)
}

// recover settles interrupted runs and promotions, and the boxes of
// dead processes when there is an engine.
func (s *session) recover(ctx context.Context) ([]run.Record, error) {
	// Only a missing engine leaves this nil; then boxes are left to the
	// next command that finds one.
	var boxes run.Reaper // a nil *Engine in it would not be a nil interface
	if s.engine != nil {
		boxes = s.engine
	}
	return run.Recover(ctx, s.db, s.db, boxes)
}

// runner returns the state machine over this session.
func (s *session) runner(emit func(run.Event)) *run.Runner {
	r := &run.Runner{Store: s.db, Log: s.log, Orphans: s.db, Proposals: s.db, Emit: emit, Recorder: s.db, Later: s.later.Go, Hide: s.hide}
	// Undo needs no boxes, and gets none.
	if s.engine != nil {
		r.Images = s.builder
		if s.pool == nil {
			s.pool = sandbox.NewPool(s.engine, sandbox.PoolConfig{})
		}
		r.Boxes, r.Verifier = s.pool, &verify.Verifier{Boxes: s.pool, Cache: s.db, Turns: sandbox.NewTurns(), Hide: s.hide}
	}
	return r
}

// close gives everything back.
func (s *session) close() {
	s.later.Wait()
	if s.analyst != nil {
		if err := s.analyst.Close(); err != nil && s.tell != nil {
			s.tell(run.Event{Note: err.Error()})
		}
	}
	if s.pool != nil {
		if err := s.pool.Close(); err != nil && s.tell != nil {
			s.tell(run.Event{Note: err.Error()})
		}
	}
	// The last boxes are gone, which is the last that is entered.
	if err := s.log.Close(); err != nil && s.tell != nil {
		s.tell(run.Event{Note: err.Error()})
	}
	// The database before the engine: it may live on it.
	if s.db != nil {
		s.db.Close()
	}
	if s.engine != nil {
		s.engine.Close() // idle connections: nothing to lose
	}
}

// with opens a session, gives it to act and closes it.
func (c *cmdline) with(ctx context.Context, set config.Settings, needEngine bool, act func(*session) error) error {
	s, err := c.open(ctx, set, needEngine)
	if err != nil {
		return err
	}
	defer s.close()
	return act(s)
}
