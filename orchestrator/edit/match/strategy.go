package match

import (
	"strings"
	"unicode"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
)

// A Strategy is how a block's SEARCH found its place.
type Strategy string

// The strategies. Create, Delete, Rename and Diff hunks have their own names in Applied.
const (
	Exact       Strategy = "exact"       // whole lines, byte for byte
	Stripped    Strategy = "stripped"    // outer blank lines, trailing space and line ends aside
	Normalised  Strategy = "normalised"  // Unicode punctuation and spaces, blank lines and comments of the language aside
	Indentation Strategy = "indentation" // one uniform shift of the indentation
	Robust      Strategy = "robust"      // elided or reflowed lines with equal tokens
	Chained     Strategy = "chained"     // exact, in the result of the blocks before it
)

// The names of what has no SEARCH to match.
const (
	Creation Strategy = "create"  // a new file
	Deletion Strategy = "delete"  // a file removed
	Renaming Strategy = "rename"  // a file moved
	Content  Strategy = "content" // a whole file given anew
	Hunk     Strategy = "diff"    // a hunk of a diff or a chunk of a patch, located by its content
	ModeBits Strategy = "mode"    // only the execute bit
)

// A row is one strategy.
type row struct {
	name  Strategy // of the places that find does not name itself
	trust int      // how sure such a place is: 1 is the least; the same in all rows of a name
	aside aside    // what of the lines is set aside
	find  func(*query) Finding
	// refuse reports whether find must not be asked; nil is never.
	refuse func(*query) bool
}

// An aside is what of the lines a strategy does not compare.
type aside int

const (
	nothing aside = iota
	space         // outer blank lines, trailing space, line ends
	more
)

// A query is one SEARCH that is looked for, with its REPLACE.
type query struct {
	rows            []row // in the order in which they are tried
	d               *document.Document
	search, replace []string
	core, rep       []string // the same without the outer blank lines of SEARCH
	tells           bool     // whether core says enough to set aside more than space; known once one does
	known           bool
}

// newQuery returns a query that tries the rows.
func newQuery(rows []row, d *document.Document, search, replace []string) *query {
	lo, hi := lex.Outer(search)
	return &query{rows: rows, d: d, search: search, replace: replace, core: search[lo:hi], rep: trimOuter(replace, lo, len(search)-hi)}
}

// find asks the rows that set aside no more than upTo, in order. The first
// that finds anything decides; blank lines alone are looked for by none.
func (q *query) find(upTo aside) Finding {
	if len(q.core) == 0 {
		return Finding{}
	}
	for _, r := range q.rows {
		if r.find == nil || r.aside > upTo || r.refuse != nil && r.refuse(q) {
			continue
		}
		if f := r.find(q); f.found() {
			for i := range f.Places {
				if f.Places[i].Strategy == "" {
					f.Places[i].Strategy = r.name
				}
			}
			return f
		}
	}
	return Finding{}
}

// tooLittle reports whether SEARCH may be looked for only as it is: it says
// too little, or the file has no index.
func (q *query) tooLittle() bool {
	if !q.known {
		q.known, q.tells = true, !q.d.Unindexed && telling(q.d.Lang, q.core)
	}
	return !q.tells
}

// telling reports whether lines say enough to be looked for by a strategy
// that sets something aside: a letter or digit outside comments, or a comment
// as long as a reflowed text must be.
//
// Lines of braces, or of a short remark alone, are everywhere in one guise or
// another. To the letter they may be unique, and Exact takes them then.
func telling(lang *lex.Language, lines []string) bool {
	words := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	tokens, size := 0, 0
	for _, s := range lines {
		if strings.IndexFunc(s, words) < 0 {
			continue
		}
		if !lang.Comment(s) {
			return true
		}
		lex.EachToken(s, func(t string) { tokens, size = tokens+1, size+len(t) })
	}
	return tokens >= minTokens && size >= minBytes
}
