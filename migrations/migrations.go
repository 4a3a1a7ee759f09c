package migrations

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"
)

//go:embed *.sql shared/*.sql
var files embed.FS

// Reader is the role that may only read the views.
const Reader = "agent_reader"

// versionTable holds one row with the number of the last migration applied.
const versionTable = "schema_version"

// ErrNoSchema means that the search_path of the connection names no existing schema.
var ErrNoSchema = errors.New("no schema: the search_path of the connection names none that exists; create it first")

// A NewerError means that the schema was made by a newer agent.
type NewerError struct {
	Have int // the version of the schema
	Know int // the newest version that this program knows
}

// Error states both versions and what to do.
func (e *NewerError) Error() string {
	return fmt.Sprintf("database schema is at version %d, this agent knows %d: upgrade the agent", e.Have, e.Know)
}

// Latest returns the newest version that this program knows.
func Latest() (int, error) {
	paths, err := migrate.FindMigrations(files)
	return len(paths), err
}

// Version returns the version of the connection's schema, 0 for one that was
// never migrated.
func Version(ctx context.Context, conn *pgx.Conn) (int, error) {
	schema, err := currentSchema(ctx, conn)
	if err != nil {
		return 0, err
	}
	table := qualified(schema)
	var present bool
	if err := conn.QueryRow(ctx, `select to_regclass($1) is not null`, table).Scan(&present); err != nil || !present {
		return 0, err
	}
	var version int
	err = conn.QueryRow(ctx, "select version from "+table).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil // created by another process, which has not filled it yet
	}
	return version, err
}

// Up brings the connection's schema to the latest version. If there is nothing to do, it costs three short queries. The error is a
// *NewerError if the schema is ahead, and ErrNoSchema if there is no schema to migrate.
func Up(ctx context.Context, conn *pgx.Conn) error {
	latest, err := Latest()
	if err != nil {
		return err
	}
	have, err := Version(ctx, conn)
	switch {
	case err != nil:
		return fmt.Errorf("read the schema's version: %w", err)
	case have > latest:
		return &NewerError{Have: have, Know: latest}
	case have == latest:
		return nil
	}
	m, err := migrator(ctx, conn)
	if err != nil {
		return err
	}
	err = m.Migrate(ctx)
	var bad migrate.BadVersionError
	if errors.As(err, &bad) { // a newer agent was faster while this one waited for the lock
		if have, err := Version(ctx, conn); err == nil && have > latest {
			return &NewerError{Have: have, Know: latest}
		}
	}
	if err != nil {
		return fmt.Errorf("migrate the schema from version %d to %d: %w", have, latest, err)
	}
	return nil
}

// Fill brings an empty schema that nobody else knows of yet to the latest version, in one transaction. Up lets only one caller of a
// database through at a time, whatever their schemas: tests that each make a schema would all wait for each other.
func Fill(ctx context.Context, conn *pgx.Conn) error {
	m, err := migrator(ctx, conn)
	if err != nil {
		return err
	}
	schema, err := currentSchema(ctx, conn)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, step := range m.Migrations {
			if _, err := tx.Exec(ctx, step.UpSQL); err != nil {
				return fmt.Errorf("migration %s: %w", step.Name, err)
			}
		}
		_, err := tx.Exec(ctx, "update "+qualified(schema)+" set version = $1", len(m.Migrations))
		return err
	})
}

// migrator returns a tern migrator for the connection's schema, loaded with the embedded files.
func migrator(ctx context.Context, conn *pgx.Conn) (*migrate.Migrator, error) {
	schema, err := currentSchema(ctx, conn)
	if err != nil {
		return nil, err
	}
	m, err := migrate.NewMigrator(ctx, conn, qualified(schema))
	if err != nil {
		return nil, fmt.Errorf("prepare the version table: %w", err)
	}
	m.Data["schema"] = pgx.Identifier{schema}.Sanitize()
	if err := m.LoadMigrations(files); err != nil {
		return nil, fmt.Errorf("load migrations: %w", err)
	}
	return m, nil
}

// currentSchema returns the name of the schema that the migrations go to.
func currentSchema(ctx context.Context, conn *pgx.Conn) (string, error) {
	var schema *string
	if err := conn.QueryRow(ctx, "select current_schema()").Scan(&schema); err != nil {
		return "", err
	}
	if schema == nil {
		return "", ErrNoSchema
	}
	return *schema, nil
}

// qualified returns the version table's name as SQL. It is always quoted, so any schema name is safe in it.
func qualified(schema string) string {
	return pgx.Identifier{schema, versionTable}.Sanitize()
}
