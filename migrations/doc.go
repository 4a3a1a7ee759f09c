// Package migrations owns the shape of the database: tables, views and the
// reader's role, as numbered SQL files that only go forward. They work in
// whichever schema the connection's search_path names first, so one server
// serves many installations and every test has a schema of its own.
//
// Up is safe when several processes call it at once: an advisory lock lets one
// through and the others find nothing to do. Each file runs in a transaction
// together with the new version number, so a migration that is interrupted
// leaves nothing behind. A schema that is newer than this program is refused,
// never guessed at.
//
// The package knows nothing of runs or stores, and does not connect by itself.
package migrations
