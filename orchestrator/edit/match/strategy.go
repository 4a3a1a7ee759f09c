package match

import (
	"strings"
	"unicode"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
)

// A Strategy names the way in which a block's SEARCH was matched.
type Strategy string

// The strategies. Creations, deletions, renames and diff hunks have their own names in Applied.
const (
	Exact       Strategy = "exact"       // whole lines, byte for byte
	Stripped    Strategy = "stripped"    // ignoring outer blank lines, trailing space and line ends
	Normalised  Strategy = "normalised"  // ignoring Unicode punctuation and spaces, blank lines and comments of the language
	Indentation Strategy = "indentation" // one uniform shift of the indentation
	Robust      Strategy = "robust"      // elided or reflowed lines with equal tokens
	Chained     Strategy = "chained"     // exact, in the result of the blocks before it
)

// The names for operations without a SEARCH to match.
const (
	Creation Strategy = "create"  // a new file
	Deletion Strategy = "delete"  // a file removed
	Renaming Strategy = "rename"  // a file moved
	Content  Strategy = "content" // a whole file with new content
	Hunk     Strategy = "diff"    // a hunk of a diff or a chunk of a patch, located by its content
	ModeBits Strategy = "mode"    // only the execute bit
)

// A row is one strategy.
type row struct {
	name  Strategy // of the places to which find gives no name
	trust int      // how certain such a place is: 1 is the least; the same in all rows of a name
	aside aside    // the parts of the lines that are ignored
	find  func(*query) Finding
	// refuse reports whether find must not be called; nil stands for never.
	refuse func(*query) bool
}

// An aside tells which parts of the lines a strategy does not compare.
type aside int

const (
	nothing aside = iota
	space         // outer blank lines, trailing space, line ends
	more
)

// A query is one search for a SEARCH, with its REPLACE.
type query struct {
	rows            []row // in the order in which they are tried
	d               *document.Document
	search, replace []string
	core, rep       []string // the same without the outer blank lines of SEARCH
	tells           bool     // whether core says enough to ignore more than space; valid if known is set
	known           bool
}

// newQuery returns a query that tries the rows.
func newQuery(rows []row, d *document.Document, search, replace []string) *query {
	lo, hi := lex.Outer(search)
	return &query{rows: rows, d: d, search: search, replace: replace, core: search[lo:hi], rep: trimOuter(replace, lo, len(search)-hi)}
}

// find tries the rows that ignore no more than upTo, in order. The first that finds anything decides. It does not search for blank
// lines alone.
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

// tooLittle reports whether SEARCH may only be looked up as it is: it says too little, or the file has no index.
func (q *query) tooLittle() bool {
	if !q.known {
		q.known, q.tells = true, !q.d.Unindexed && telling(q.d.Lang, q.core)
	}
	return !q.tells
}

// telling reports whether lines say enough for a strategy that ignores something: they hold a letter or digit outside comments, or
// comments as long as a reflowed text must be.
//
// Lines of braces, or only a short remark, are everywhere in one form or another. They may be unique to the letter, and then Exact
// finds them.
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
