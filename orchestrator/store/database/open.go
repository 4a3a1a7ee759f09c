package database

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"agent/migrations"
)

const (
	// connections is the size of the pool. One run writes from two goroutines; a few more serve the readers.
	connections = 4
	// connectTimeout bounds one attempt to connect.
	connectTimeout = 5 * time.Second
	// migrateTimeout bounds a migration, including the wait for another process's.
	migrateTimeout = 2 * time.Minute
)

// A DB is one schema of a Postgres database, the first that its search_path
// names. It is safe for concurrent use, and several processes may have the same
// schema open. Close it when done.
type DB struct {
	// Pool is for the statements of functions that are passed to Do: outside of it nothing is retried.
	Pool    *pgxpool.Pool
	address string // for people, without the password
}

// Open connects to the database that url names and brings its schema to the version that this program knows. url is a URL or a keyword
// string, as libpq takes them; a search_path in it chooses the schema. The error is an *UnavailableError if the database does not
// answer, refuses the user or has no schema, and a *migrations.NewerError if the schema is newer than this program.
//
// Each function in waiting is given a notice when the server cannot be reached for half a second, or is silent for two seconds, and
// then once for each further second.
func Open(ctx context.Context, url string, waiting ...func(Notice)) (*DB, error) {
	db, err := OpenAsIs(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := db.migrate(ctx, waiting); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// OpenAsIs is like Open, for a reader: the schema keeps its version, and the first statement shows whether the server answers.
func OpenAsIs(ctx context.Context, url string) (*DB, error) {
	config, err := configure(url)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return &DB{Pool: pool, address: address(config.ConnConfig.Config)}, nil
}

// Close gives the connections back to the server.
func (db *DB) Close() { db.Pool.Close() }

// Address names the database for people: host, port and database, never the
// password.
func (db *DB) Address() string { return db.address }

// Secret returns the password of the connections, "" for none, so that it can be kept out of what is recorded and shown.
func (db *DB) Secret() string { return db.Pool.Config().ConnConfig.Password }

// Version returns the version of the schema; after Open it is the newest that
// this program knows.
func (db *DB) Version(ctx context.Context) (int, error) {
	var version int
	err := db.Do(ctx, "read the schema's version", func(ctx context.Context) error {
		return db.Pool.AcquireFunc(ctx, func(c *pgxpool.Conn) (err error) {
			version, err = migrations.Version(ctx, c.Conn())
			return err
		})
	})
	return version, err
}

// migrate brings the schema up to date, and is the first to talk to the server: the pool connects on demand. It has less patience with
// a server that does not answer at all than operations in the middle of a run: nothing is lost yet.
func (db *DB) migrate(ctx context.Context, waiting []func(Notice)) error {
	var attempts atomic.Int32
	stop := db.watch(&attempts, waiting)
	defer stop()
	return db.try(ctx, "open the database", startPatience, migrateTimeout, func(ctx context.Context) error {
		attempts.Add(1)
		return db.Pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
			stop() // it answers: a migration may take longer
			return migrations.Up(ctx, c.Conn())
		})
	})
}

// configure parses url and bounds what a connection may cost the server. It leaves out the text of pgx's own error, which may contain
// the password.
func configure(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, &UnavailableError{
			Address: "named by AGENT_DATABASE_URL",
			Hint:    "write it as postgres://user:password@host:5432/database, or unset it to use the agent's own Postgres",
			Err:     errors.New("it is not the address of a Postgres server"),
		}
	}
	config.MaxConns, config.MinConns = connections, 0
	config.ConnConfig.ConnectTimeout = connectTimeout
	// What the user wrote into the URL takes precedence.
	defaults := map[string]string{
		"application_name": "agent",
		// The server ends the transactions of a client that vanished, so that their locks are released.
		"idle_in_transaction_session_timeout": strconv.FormatInt(int64(idleTimeout/time.Millisecond), 10),
		"client_min_messages":                 "warning",
	}
	for name, value := range defaults {
		if _, set := config.ConnConfig.RuntimeParams[name]; !set {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	return config, nil
}

// address names the database that c connects to, in the form in which people write addresses, without user and password.
func address(c pgconn.Config) string {
	host := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	if strings.HasPrefix(c.Host, "/") { // a directory of Unix sockets
		host = c.Host
	}
	return host + "/" + c.Database
}

// NewOp returns an identifier for one operation: the same for all its attempts, and different from that of every other operation of any
// process.
func NewOp() (op [16]byte) {
	rand.Read(op[:]) // never returns an error: without randomness the program ends
	return op
}

// ReadOnly returns the options of a transaction that only reads and sees one moment.
func ReadOnly() pgx.TxOptions {
	return pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
}
