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

// Scratch makes a schema beside that of the record, as this program knows it and with nothing in it, and returns its
// address and what drops it. One of that name that a killed process left is dropped first. It serves to try another
// program's migrations on: what they do to the copy they would do to the record.
//
// name must be the caller's alone: whoever else uses it at the same time has the schema dropped under it. drop may be
// called more than once, and removes whatever was made in the schema by then. No error has the password in it.
func Scratch(ctx context.Context, address, name string) (own string, drop func(context.Context) error, err error) {
	// The other form, of words and equals signs, has no place where a search path could be put without quoting it.
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
	// Open migrates, and so the schema has the state from which the other program's migrations start.
	db, err := Open(ctx, u.String())
	if err != nil {
		return "", nil, errors.Join(err, drop(ctx))
	}
	db.Close()
	return u.String(), drop, nil
}

// perform runs one statement on a connection of its own.
// The connection ends with it: what is left of a session that was killed is nothing.
func perform(ctx context.Context, address, statement string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		// Its text may hold the password.
		return errors.New("the database does not answer")
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// Apart takes the password out of a database's address, for a process whose environment or arguments others can
// read: bare has none, and file is for the place that PGPASSFILE names there, nil when there is no password. A
// password that this process has from elsewhere is in file too.
func Apart(address string) (bare string, file []byte, err error) {
	malformed := errors.New("write the database's address as postgres://user:password@host:5432/database")
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return "", nil, malformed // the cause may hold the password
	}
	with, err := pgx.ParseConfig(address)
	if err != nil {
		return "", nil, malformed
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	// Encoded anew, a blank would be a plus, which Postgres takes for itself.
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
