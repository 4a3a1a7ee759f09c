// Package database is one schema of a Postgres server as the record uses it:
// connected, brought to the version of package migrations, and patient. It knows
// no table, but for the version's.
//
// # Trouble
//
// A lost connection, a restart of the server, a serialization failure and a
// deadlock are retried with growing pauses for 100 seconds; each attempt
// has a deadline of its own. What remains is an *UnavailableError that names
// the database without its password and says what to do.
//
// # Text
//
// What tools print and what a response says of itself may hold any byte.
// Postgres takes neither NUL nor broken UTF-8 in text, so text goes through
// Clean on its way in. What must come back byte for byte, such as the answer
// of a model, is kept as bytes. Paths of files that were written are never
// altered, see Exact: undo depends on them.
package database
