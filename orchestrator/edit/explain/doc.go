// Package explain tells why a block has no one place: what comes nearest, token by
// token what differs, which lines tell equal places apart, and what to send instead.
//
// It owns the sentences about single blocks and the excerpts of a file in them,
// short enough to be read. It changes nothing and finds no place: likeness is only shown.
package explain
