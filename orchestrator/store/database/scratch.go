package database

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Scratch makes an empty schema next to that of the record, at the version that this program knows, and returns its address and a
// function that drops it. It first drops a schema of that name that a killed process left. A scratch schema serves to try out another
// program's migrations: what they do to it, they would do to the record.
//
// name must be used by this caller only: anyone else who uses it at the same time has the schema dropped underneath them. drop may be
// called more than once, and removes whatever was made in the schema by then. No error contains the password.
func Scratch(ctx context.Context, address, name string) (own string, drop func(context.Context) error, err error) {
	// The other form, words with equals signs, has no place for a search path that would need no quoting.
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return "", nil, errors.New("make a scratch schema: write the database's address as postgres://user:password@host:5432/database")
	}
	schema := pgx.Identifier{name}.Sanitize()
	drop = func(ctx context.Context) error {
		return perform(ctx, address, "drop schema if exists "+schema+" cascade")
	}
	if err := drop(ctx); err != nil {
		return "", nil, fmt.Errorf("drop an old scratch schema: %w", err)
	}
	if err := perform(ctx, address, "create schema "+schema); err != nil {
		return "", nil, fmt.Errorf("make a scratch schema: %w: grant the user CREATE on the database", err)
	}
	query := u.Query()
	query.Set("search_path", name)
	u.RawQuery = query.Encode()
	// Open migrates, so the schema has the state from which the other program's migrations start.
	db, err := Open(ctx, u.String())
	if err != nil {
		return "", nil, errors.Join(err, drop(ctx))
	}
	db.Close()
	return u.String(), drop, nil
}

// perform runs one statement on a connection of its own. The connection ends with it, so that nothing is left of a killed session.
func perform(ctx context.Context, address, statement string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		// The text of err may contain the password.
		return errors.New("the database does not answer")
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// Apart removes the password from a database's address, for a process whose environment or arguments others can read. bare is the
// address without it. file is the content for the file that PGPASSFILE names there, nil if there is no password. A password that this
// process has from elsewhere is in file too.
func Apart(address string) (bare string, file []byte, err error) {
	malformed := errors.New("write the database's address as postgres://user:password@host:5432/database")
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return "", nil, malformed // the cause may contain the password
	}
	with, err := pgx.ParseConfig(address)
	if err != nil {
		return "", nil, malformed
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	// Re-encoding would turn a blank into a plus, which Postgres takes literally.
	params := strings.Split(u.RawQuery, "&")
	u.RawQuery = strings.Join(slices.DeleteFunc(params, func(p string) bool { return strings.HasPrefix(p, "password=") }), "&")
	bare = u.String()
	if c, err := pgx.ParseConfig(bare); err != nil || c.Host != with.Host || c.Port != with.Port || c.User != with.User || c.Database != with.Database {
		return "", nil, malformed
	}
	if with.Password == "" {
		return bare, nil, nil
	}
	return bare, []byte("*:*:*:*:" + strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(with.Password) + "\n"), nil
}
