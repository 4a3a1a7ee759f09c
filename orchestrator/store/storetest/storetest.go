// Package storetest gives each test a database of its own: a fresh schema in the database agent_test, migrated, and dropped after the
// test. Tests that use it may run in parallel, in one process and in several.
//
// The server is the one that AGENT_TEST_DATABASE_URL names, otherwise the agent's own Postgres on the container engine. There is no
// third way: without a server the test fails and says what to do.
package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/sandbox/enginetest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"agent/images"
	"agent/migrations"
	"agent/orchestrator/store"
	"agent/sandbox"
)

const (
	// database is where the schemas of tests live, separate from anybody's history.
	database = "agent_test"
	// cleanTimeout bounds the clean-up after a test.
	cleanTimeout = 30 * time.Second
)

// New returns an open database in a schema of its own, and its URL: a program that gets the URL as AGENT_DATABASE_URL works in that
// schema. Both are valid until the test ends.
func New(t testing.TB) (*store.DB, string) {
	t.Helper()
	server, schema := newSchema(t)
	dsn := along(server, schema)
	return filled(t, server, schema, dsn), dsn
}

// filled brings an empty schema to the latest version, and opens the database that dsn names.
func filled(t testing.TB, server, schema, dsn string) *store.DB {
	t.Helper()
	pool, err := poolOf(t.Context(), server)
	if err == nil {
		err = pool.AcquireFunc(t.Context(), func(c *pgxpool.Conn) error {
			if _, err := c.Exec(t.Context(), "set search_path to "+schema); err != nil {
				return err
			}
			migrated := migrations.Fill(t.Context(), c.Conn())
			_, err := c.Exec(context.WithoutCancel(t.Context()), "reset search_path")
			return errors.Join(migrated, err)
		})
	}
	if err != nil {
		t.Fatalf("migrate the test's schema: %v", err)
	}
	db, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatalf("open the test's schema: %v", err)
	}
	t.Cleanup(db.Close) // before the schema is dropped: the last one registered runs first
	return db
}

// Schema returns the URL of an empty schema of the test's own, for tests of the migrations themselves.
func Schema(t testing.TB) string {
	t.Helper()
	// The path is part of the URL, so that a program under test needs nothing else to find its schema.
	return along(newSchema(t))
}

// newSchema makes an empty schema of the test's own, and returns the URL of its database and the schema's name.
func newSchema(t testing.TB) (server, schema string) {
	t.Helper()
	// A schema takes the server milliseconds, a database half a second.
	schema = "t_" + strings.ToLower(rand.Text()[:16])
	server, err := create(t, schema)
	if err != nil {
		t.Fatalf("create the test's schema: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanTimeout)
		defer cancel()
		if err := execute(ctx, server, "drop schema "+schema+" cascade"); err != nil {
			t.Errorf("drop the test's schema: %v", err)
		}
	})
	return server, schema
}

// found is the URL of the database in which the schemas of tests live, once it was looked for.
var found struct {
	mu  sync.Mutex
	url string
}

// create makes a schema in the database for tests and returns the database's URL. Checking whether the server runs takes the server and
// the engine longer than the schema does, so only the first test of a process checks it, and again when the server has gone.
func create(t testing.TB, schema string) (server string, err error) {
	t.Helper()
	found.mu.Lock()
	defer found.mu.Unlock()
	if found.url != "" && execute(t.Context(), found.url, "create schema "+schema) == nil {
		return found.url, nil
	}
	found.url = testDatabase(t)
	return found.url, execute(t.Context(), found.url, "create schema "+schema)
}

// testDatabase returns the URL of the database in which the schemas of tests live, and creates that database if it is missing.
func testDatabase(t testing.TB) string {
	t.Helper()
	server, err := url.Parse(serverURL(t))
	if err != nil {
		t.Fatal("AGENT_TEST_DATABASE_URL is no URL: write it as postgres://user:password@host:5432/database")
	}
	if err := createDatabase(t.Context(), server.String()); err != nil {
		t.Fatalf("create the database %s: %v", database, err)
	}
	server.Path = "/" + database
	return server.String()
}

// serverURL finds the server, and starts the agent's own if it does not run. It uses the same image as the agent of this tree: two
// different images would replace each other's server in turn.
func serverURL(t testing.TB) string {
	t.Helper()
	if given := os.Getenv("AGENT_TEST_DATABASE_URL"); given != "" {
		return given
	}
	enginetest.Need(t)
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatalf("this test needs Postgres: run `make setup`, or set AGENT_TEST_DATABASE_URL: %v", err)
	}
	defer engine.Close()
	image, err := images.New(engine, nil, nil).Find(t.Context(), images.Postgres)
	if err != nil {
		t.Fatalf("this test needs the Postgres image: run `make setup`, or set AGENT_TEST_DATABASE_URL: %v", err)
	}
	dsn, err := engine.Postgres(t.Context(), image.ID)
	if err != nil {
		t.Fatalf("start Postgres for this test: %v", err)
	}
	return dsn
}

// createDatabase makes the database for tests unless it exists. Other processes may do so at the same time: what they made first is as
// good.
func createDatabase(ctx context.Context, server string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	var there bool
	err = conn.QueryRow(ctx, `select exists (select from pg_database where datname = $1)`, database).Scan(&there)
	for err == nil && !there {
		_, err = conn.Exec(ctx, "create database "+database)
		there = err == nil
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
			switch pg.Code {
			case "42P04", "23505": // duplicate database, and the same seen a moment earlier
				there, err = true, nil
			case "55006": // the template is being copied by another process
				err = nil
			}
		}
	}
	return errors.Join(err, conn.Close(ctx))
}

// pools are the connections that make and drop schemas, by the URL of their database. They last as long as the process: connecting
// costs the server more than most of these statements do.
var pools struct {
	mu sync.Mutex
	of map[string]*pgxpool.Pool
}

// execute runs one statement, independently of what the test does to its pool.
func execute(ctx context.Context, dsn, statement string) error {
	pool, err := poolOf(ctx, dsn)
	if err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// poolOf returns the pool of a database, which connects on demand.
func poolOf(ctx context.Context, dsn string) (*pgxpool.Pool, error) {
	pools.mu.Lock()
	defer pools.mu.Unlock()
	if pool := pools.of[dsn]; pool != nil {
		return pool, nil
	}
	pool, err := pgxpool.New(context.WithoutCancel(ctx), dsn)
	if err != nil {
		return nil, err
	}
	if pools.of == nil {
		pools.of = map[string]*pgxpool.Pool{}
	}
	pools.of[dsn] = pool
	return pool, nil
}
