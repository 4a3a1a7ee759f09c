package wire

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"agent/cmd/agent/internal/config"
	"agent/images"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
	"agent/orchestrator/survey"
	"agent/sandbox"
	"agent/sandbox/turns"
	"agent/verify"
	"agent/verify/keylock"
	"agent/verify/repair"
)

// A Session is what the commands build on, opened by one function and closed by one: an engine, the images on it, and
// the record. Without an engine, Engine and Builder are nil. A session opens in this order, and each step says what to
// do if it fails: 1. the guest, which is part of this program 2. the engine 3. the database, whose container lives on
// the engine 4. recovery of what dead processes left behind
type Session struct {
	Engine  *sandbox.Engine
	Builder *images.Builder
	// Pool is made by Runner, with an engine.
	Pool *sandbox.Pool
	DB   *store.DB
	// The actions of runs; needs the database.
	log *run.Log
	// Hide removes the configured secrets from the output of boxes; nil for a command that has no boxes and shows no
	// run.
	Hide func(string) string
	// The location of the user's configuration.
	home string
	// Whether memory and history are written into workspaces.
	exports bool
	// Work that continues after a run has ended.
	background sync.WaitGroup
	// Locks the rows of the cache of judgements that are being made.
	making keylock.Locks
	// The chains that ask models, released at the end.
	mu     sync.Mutex // guards chains
	chains []*llm.Chain
	late   func(time.Duration) (context.Context, context.CancelFunc) // outlives the cancellation of the command
	// Made by Analyst, on demand.
	analyst *survey.Analyst
	// Notify receives events outside of a run; nil if they are not wanted.
	Notify func(run.Event)
}

// A Host is what a session needs from its process.
type Host struct {
	Guest  func() ([]byte, error) // the program that is PID 1 of every box
	Getenv func(string) string
	Stderr io.Writer // for messages about building and settling
}

// OpenEngine connects to the engine and makes the builder of its images.
func OpenEngine(ctx context.Context, h Host) (*Session, error) {
	// The guest comes first: without it no image can be named, and the remedy has nothing to do with the engine.
	guest, err := h.Guest()
	if err != nil {
		return nil, err
	}
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &Session{Engine: engine, Builder: images.New(engine, guest, h.Stderr)}, nil
}

// Open opens everything that a command needs and settles what dead processes left behind. If needEngine is false and
// the user has a database elsewhere, a missing engine is no error.
func Open(ctx context.Context, h Host, set config.Settings, needEngine bool) (*Session, error) {
	s, err := OpenEngine(ctx, h)
	if err != nil {
		// With a database elsewhere, the history can be read and a promotion undone while the engine is down.
		if needEngine || set["database_url"].Text == "" {
			return nil, err
		}
		s = &Session{}
	}
	s.late = func(d time.Duration) (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.WithoutCancel(ctx), d)
	}
	s.exports, s.home = set.On("export.files"), config.UserPath(h.Getenv)
	if err := s.openDatabase(ctx, set, h.Stderr); err != nil {
		s.Close()
		return nil, err
	}
	s.log = run.NewLog(ctx, s.DB, set.LogMasker(h.Getenv, s.DB.Secret()))
	s.Hide = set.OutputMasker(h.Getenv, s.DB.Secret())
	// This comes before anything else: the next run must find the workspace whole, and a list must not show dead runs
	// as running.
	told := tellLate(h.Stderr, lateAfter, "agent: still removing what dead processes left; the engine is slow (does `docker ps` answer?)")
	settled, err := s.Recover(ctx)
	told()
	// A user who comes back after a crash wants to know how the run ended.
	for _, r := range settled {
		fmt.Fprintf(h.Stderr, "agent: cleaned up after interrupted run %s: %s\n", r.ID, r.State)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("settle what dead processes left: %w", err)
	}
	return s, nil
}

// lateAfter is how long the user waits without a message.
const lateAfter = 5 * time.Second

// tellLate writes a line if done is not called within after. done returns once nothing is written any more.
func tellLate(w io.Writer, after time.Duration, line string) (done func()) {
	over := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		select {
		case <-time.After(after):
			fmt.Fprintln(w, line)
		case <-over:
		}
	})
	return func() { close(over); writing.Wait() }
}

// openDatabase opens the record: the configured database, or the agent's own, whose image is built and whose container
// is started on demand.
func (s *Session) openDatabase(ctx context.Context, set config.Settings, stderr io.Writer) error {
	url := set["database_url"].Text
	if url == "" {
		own, err := s.OwnPostgres(ctx)
		if err != nil {
			return err
		}
		url = own
	}
	// Opening migrates the schema, so everything after it finds every table.
	db, err := store.Open(ctx, url, Waiting(stderr))
	s.DB = db
	return err
}

// Waiting reports on w that a database does not answer while it is being opened.
func Waiting(w io.Writer) func(database.Notice) {
	return func(n database.Notice) { fmt.Fprintln(w, "agent:", n) }
}

// OwnPostgres returns the address of the agent's own Postgres, which runs when OwnPostgres returns.
func (s *Session) OwnPostgres(ctx context.Context) (string, error) {
	// With nothing to build, this is one inspect call to the engine.
	image, err := s.Builder.Ensure(ctx, images.Postgres)
	if err != nil {
		return "", fmt.Errorf("build the Postgres image: %w", err)
	}
	return s.Engine.Postgres(ctx, image.ID)
}

// Recover settles interrupted runs and promotions. With an engine, it also settles the boxes of dead processes.
func (s *Session) Recover(ctx context.Context) ([]run.Record, error) {
	// Only a missing engine leaves this nil; the next command that finds one then takes care of the boxes.
	var boxes run.Reaper // a nil *Engine in it would not be a nil interface
	if s.Engine != nil {
		boxes = s.Engine
	}
	return run.Recover(ctx, s.DB, s.DB, boxes)
}

// Runner returns the state machine over this session.
func (s *Session) Runner(emit func(run.Event)) *run.Runner {
	r := &run.Runner{Store: s.DB, Log: s.log, Orphans: s.DB, Critiques: s.DB, Proposals: s.DB, Emit: emit, Past: s.DB, Recorder: s.DB, AfterRun: &s.background, Hide: s.Hide}
	// Undo needs no boxes, and gets none.
	if s.Engine != nil {
		r.Images = s.Builder
		r.Boxes, r.Verifier = s.Boxes(), &verify.Verifier{Boxes: s.Boxes(), Cache: s.DB, Making: &s.making, Turns: turns.New(), Hide: s.Hide}
		r.Repairer = &repair.Repairer{Boxes: s.Boxes()}
	}
	return r
}

// Boxes returns the pool of this session, which the first call creates. It needs an engine.
func (s *Session) Boxes() *sandbox.Pool {
	if s.Pool == nil {
		s.Pool = sandbox.NewPool(s.Engine, sandbox.PoolConfig{})
	}
	return s.Pool
}

// releaseFor bounds how long the session asks vendors to delete what they keep.
const releaseFor = 10 * time.Second

// release asks vendors to delete everything they keep of the session, even if the session was cancelled.
func (s *Session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.chains) == 0 {
		return
	}
	ctx, cancel := s.late(releaseFor)
	defer cancel()
	for _, c := range s.chains {
		if err := c.Release(ctx); err != nil && s.Notify != nil {
			s.Notify(run.Event{Note: "what a vendor keeps of the conversation expires within the hour: " + err.Error()})
		}
	}
	s.chains = nil
}

// Close releases everything.
func (s *Session) Close() {
	s.background.Wait()
	s.release()
	if s.analyst != nil {
		if err := s.analyst.Close(); err != nil && s.Notify != nil {
			s.Notify(run.Event{Note: err.Error()})
		}
	}
	if s.Pool != nil {
		if err := s.Pool.Close(); err != nil && s.Notify != nil {
			s.Notify(run.Event{Note: err.Error()})
		}
	}
	// The last boxes are gone, and nothing is entered in the log after that.
	if err := s.log.Close(); err != nil && s.Notify != nil {
		s.Notify(run.Event{Note: err.Error()})
	}
	// Close the database before the engine: it may live on it.
	if s.DB != nil {
		s.DB.Close()
	}
	if s.Engine != nil {
		s.Engine.Close() // idle connections: nothing to lose
	}
}
