// Package match finds the one place in a file that a block means, and turns the block into splices of that place.
//
// It owns the strategies, from the strictest to the loosest; the hints of a form that choose among equal places; and the rewriting,
// which changes only the lines that a block changes and indents them as the file is. It refuses a place that is not the only one
// and a token that differs, and never edits similar text. Explaining a block without a place is left to package explain.
package match
