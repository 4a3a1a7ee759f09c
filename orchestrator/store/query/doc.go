// Package query answers questions that somebody else wrote: one statement of SQL,
// run as the role that may read the views and nothing else. It lists these views,
// and tells psql how to open the same database as the same reader.
//
// It writes nothing, refuses what is no single reading statement, and knows no
// table: what may be asked is what the views' own comments say.
package query
