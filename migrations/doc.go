// Package migrations owns the shape of the database: tables, views and the reader's role, as numbered SQL files that only go forward.
// They work in the schema that the connection's search_path names first, so one server serves many installations and every test has a
// schema of its own.
//
// Up is safe if several processes call it at once: an advisory lock lets one through, and the others find nothing to do. Each file runs
// in a transaction together with the new version number, so an interrupted migration leaves nothing behind. A schema that is newer than
// this program is refused, never guessed at.
//
// The package knows nothing about runs or stores, and does not connect by itself.
package migrations
