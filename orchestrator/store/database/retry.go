package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"agent/migrations"
)

const (
	// attemptTimeout bounds one attempt of an operation. It is enough for two MiB over a slow line.
	attemptTimeout = 15 * time.Second
	// idleTimeout is how long the server keeps a transaction whose client is silent.
	idleTimeout = 30 * time.Second
	// patience is how long an operation is retried after its first trouble. A server takes a few seconds to restart, a machine a
	// minute: a run waits for it rather than lose what was paid for.
	patience = 100 * time.Second
	// startPatience is the patience for the first connection.
	startPatience = 2 * time.Second
	// firstPause and longestPause bound the pause between two attempts.
	firstPause   = 10 * time.Millisecond
	longestPause = time.Second
)

// An UnavailableError means that the database did not do its work: it is absent, went away, refuses the user, or has no room. Nothing
// that a patch did can cause it. No error in its chain contains the password.
type UnavailableError struct {
	Address string // host, port and database
	Hint    string // what to do next
	Err     error
}

// Error names the database, the cause and the next thing to do.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("database %s: %v; %s", e.Address, e.Err, e.Hint)
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Do runs one operation until it is done, its trouble is lasting, or patience runs out. act names the operation in errors. fn uses the
// pool of db. It may be called several times and must tolerate that an earlier call was done: a commit whose answer was lost looks like
// trouble. Errors of fn that are not trouble of the server are wrapped; lasting trouble is an *UnavailableError.
func (db *DB) Do(ctx context.Context, act string, fn func(context.Context) error) error {
	return db.try(ctx, act, patience, attemptTimeout, fn)
}

// Transact is like Do, for an operation in one transaction, which is started anew for every attempt.
func (db *DB) Transact(ctx context.Context, act string, fn func(context.Context, pgx.Tx) error) error {
	return db.Do(ctx, act, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error { return fn(ctx, tx) })
	})
}

// Read is like Do, for several queries that must see one moment. Each attempt starts over, so fn must assign its results and not append
// to them.
func (db *DB) Read(ctx context.Context, act string, fn func(context.Context, pgx.Tx) error) error {
	return db.ReadWithin(ctx, act, attemptTimeout, fn)
}

// ReadWithin is like Read, with another bound on each attempt.
func (db *DB) ReadWithin(ctx context.Context, act string, timeout time.Duration, fn func(context.Context, pgx.Tx) error) error {
	return db.try(ctx, act, patience, timeout, func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, db.Pool, ReadOnly(), func(tx pgx.Tx) error { return fn(ctx, tx) })
	})
}

// try is Do with explicit bounds: how long after the first trouble an attempt may begin, and how long one attempt may take.
func (db *DB) try(ctx context.Context, act string, patience, timeout time.Duration, fn func(context.Context) error) error {
	var giveUp time.Time
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		attempt, cancel := context.WithTimeout(ctx, timeout)
		err := fn(attempt)
		slow := attempt.Err() != nil
		cancel()
		// The caller's deadline is distinguished from the attempt's: only the latter is trouble.
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", act, context.Cause(ctx))
		case !Transient(err) && !slow:
			return fmt.Errorf("%s: %w", act, db.explain(err))
		}
		if giveUp.IsZero() {
			giveUp = time.Now().Add(patience)
		} else if time.Now().After(giveUp) {
			return fmt.Errorf("%s: %w", act, db.unavailable(err, slow))
		}
		// The pause varies, so that two writers that got in each other's way do not do so again.
		timer := time.NewTimer(pause/2 + mathrand.N(pause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%s: %w", act, context.Cause(ctx))
		case <-timer.C:
		}
	}
}

// Transient reports whether the same operation may succeed a moment later. The codes are those of appendix A of the Postgres manual.
func Transient(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "40001", "40P01", // serialization failure, deadlock
			"57P01", "57P02", "57P03", // shut down, crashed, starting up
			"25P03", // the server ended an idle transaction
			"53200", // no memory, or no space in the lock table that all sessions share
			"53300": // too many connections
			return true
		}
		return strings.HasPrefix(pg.Code, "08") && pg.Code != "08P01" // connection exceptions, but not a broken protocol
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || pgconn.SafeToRetry(err)
}

// explain gives trouble of the server itself its own type and a hint. Other errors, such as a value that breaks a constraint, stay what
// they are.
func (db *DB) explain(err error) error {
	if errors.Is(err, migrations.ErrNoSchema) {
		return &UnavailableError{Address: db.address, Err: err, Hint: "create the schema, or correct search_path in AGENT_DATABASE_URL"}
	}
	if hint := serverHint(err); hint != "" {
		return &UnavailableError{Address: db.address, Err: cause(err), Hint: hint}
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return db.unavailable(err, false)
	}
	return err
}

// serverHint says what to do about a lasting refusal of the server, "" if err is not one: then the statement or its values are at
// fault.
func serverHint(err error) string {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return ""
	}
	switch {
	case strings.HasPrefix(pg.Code, "28"): // invalid authorization
		return "correct the user and password in AGENT_DATABASE_URL"
	case pg.Code == "3D000": // no such database
		return "create the database, or correct its name in AGENT_DATABASE_URL"
	case pg.Code == "42501": // insufficient privilege
		return "grant the user of AGENT_DATABASE_URL create and usage on its schema"
	case pg.Code == "53100": // disk full
		return "free space on the disk of the database"
	case pg.Code == "25006": // read-only
		return "name the primary server in AGENT_DATABASE_URL: this one only reads"
	}
	return ""
}

// Unavailable returns the *UnavailableError for trouble that interrupted an operation that cannot be retried.
func (db *DB) Unavailable(err error) error { return db.unavailable(err, false) }

// unavailable returns the error for a server that did not come back in time. err is the last trouble; slow says that it was an
// attempt's deadline.
func (db *DB) unavailable(err error, slow bool) error {
	err = cause(err)
	hint := "start it, correct AGENT_DATABASE_URL, or unset that to use the agent's own Postgres"
	if _, answered := err.(*pgconn.PgError); answered {
		hint = "see its log for what ends the connections, then run the command again"
	}
	if slow {
		err = errors.New("no answer in time")
		hint = "see what slows it down, then run the command again; nothing was recorded twice"
	}
	return &UnavailableError{Address: db.address, Err: err, Hint: hint}
}

// cause returns the error that says what happened: the server's own answer, or the network's, or otherwise the innermost error. pgx's
// outer errors carry the configuration of the connection, including the password.
func cause(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}
