// Package query answers questions that somebody else wrote: one SQL statement, run as the role that may only read the views. It lists
// these views, and tells psql how to open the same database as the same reader.
//
// It writes nothing, refuses anything but a single reading statement, and knows no table: the comments of the views say what can be
// asked.
package query
