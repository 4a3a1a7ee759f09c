// Package explain says why a block does not have exactly one place: which lines come nearest, how they differ token by token, which
// lines distinguish equal places, and what to send instead.
//
// It owns the sentences about single blocks and the excerpts of a file in them, short enough to be read. It changes nothing and
// finds no place: it only shows resemblance.
package explain
