// Package match finds the one place in a file that a block means, and turns the
// block into splices of that place.
//
// It owns the strategies in order of trust, the hints of a form that choose
// among equal places, and the rewriting: only the lines that a block changes,
// indented as the file is. It refuses a place that is not the only one and a
// token that differs; similar text is never edited. What is said about a block
// without a place is not said here.
package match
