// Package database manages one schema of a Postgres server for the record: it connects to it, brings it to the version of package
// migrations, and retries while the server has trouble. It knows no table except the version table.
//
// # Trouble
//
// A lost connection, a restart of the server, a serialization failure and a deadlock are retried with growing pauses for 100 seconds;
// each attempt has a deadline of its own. If the trouble lasts, the result is an *UnavailableError that names the database without its
// password and says what to do.
//
// # Text
//
// What tools print and what a response says about itself may contain any byte. Postgres takes neither NUL nor broken UTF-8 in text, so
// text goes through Clean on its way in. What must come back byte for byte, such as the answer of a model, is kept as bytes. Paths of
// files that were written are never altered, see Exact: undo depends on them.
package database
