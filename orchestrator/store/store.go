package store

import (
	"context"

	"agent/orchestrator/llm"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/store/bots"
	"agent/orchestrator/store/calls"
	"agent/orchestrator/store/chats"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/history"
	"agent/orchestrator/store/knowledge"
	"agent/orchestrator/store/plans"
	"agent/orchestrator/store/query"
	"agent/orchestrator/survey"
	"agent/verify"
)

// The interfaces that a DB implements.
var (
	_ run.Store           = (*DB)(nil)
	_ run.Recovering      = (*DB)(nil)
	_ run.Recorder        = (*DB)(nil)
	_ run.LogStore        = (*DB)(nil)
	_ loop.Knowledge      = (*DB)(nil)
	_ loop.Iterations     = (*DB)(nil)
	_ survey.SymbolStore  = (*DB)(nil)
	_ survey.SummaryStore = (*DB)(nil)
	_ run.Proposals       = (*DB)(nil)
	_ llm.Journal         = (*DB)(nil)
	_ llm.KeyStates       = calls.Keys{}
	_ verify.Cache        = (*DB)(nil)
)

// A DB is the record in one schema of a Postgres database, the first that its search_path names. It is safe for concurrent use, and
// several processes may have the same schema open. Close it when done.
type DB struct {
	calls.Journal
	knowledge.Base
	history.Reader
	query.Runner
	db *database.DB
}

// Open connects to the database that url names and brings its schema to the version that this program knows. url is a URL or a keyword
// string, as libpq takes them; a search_path in it chooses the schema. The error is a *database.UnavailableError if the database does
// not answer, refuses the user or has no schema, and a *migrations.NewerError if the schema is newer than this program.
func Open(ctx context.Context, url string, waiting ...func(database.Notice)) (*DB, error) {
	db, err := database.Open(ctx, url, waiting...)
	if err != nil {
		return nil, err
	}
	return &DB{calls.New(db), knowledge.New(db), history.New(db), query.New(db), db}, nil
}

// Close gives the connections back to the server.
func (db *DB) Close() { db.db.Close() }

// Plans returns the plans of goals.
func (db *DB) Plans() plans.Book { return plans.New(db.db) }

// Chats returns the conversations of people with models in this record. It is valid while db is open.
func (db *DB) Chats() chats.Book { return chats.New(db.db) }

// Jobs returns what people ask for on a forge.
func (db *DB) Jobs() bots.Queue { return bots.New(db.db) }

// Address names the database for people: host, port and database, never the
// password.
func (db *DB) Address() string { return db.db.Address() }

// Secret returns the password of the connections, "" for none, so that it can be kept out of what is recorded and shown.
func (db *DB) Secret() string { return db.db.Secret() }

// Version returns the version of the schema; after Open it is the newest that
// this program knows.
func (db *DB) Version(ctx context.Context) (int, error) { return db.db.Version(ctx) }
