package match

import (
	"slices"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/indent"
	"agent/orchestrator/edit/lex"
)

// crosses reports whether the lines that SEARCH leaves out between two of its
// pieces, the first ending before line lo and the second beginning at line hi,
// leave the scope that the pieces share. Then the second piece is part of
// another function, whose lines happen to be the only ones of that text:
//
//	def a():          SEARCH   def a():
//	    return 1                   # ...
//	def b():                       return 2
//	    return 2
//
// Depth tells it: from a line to a deeper one all lines between are deeper
// than the first, and to one no deeper none is less deep than the second. What
// closes or continues a block belongs to the nearest above it. Comments, text
// within strings, labels and directives of a preprocessor stand at any depth.
func crosses(d *document.Document, lo, hi int) bool {
	from, to := lo-1, hi
	for from > 0 && lex.Blank(d.Line(from)) {
		from--
	}
	for to < d.Len()-1 && lex.Blank(d.Line(to)) {
		to++
	}
	a, b := indent.Width(lex.Indent(d.Line(from))), indent.Width(lex.Indent(d.Line(to)))
	least := b
	if b > a {
		least = a + 1
	} else if continues(d.Line(to)) {
		least = b + 1
	}
	d.Work.Add(document.WorkLine * (hi - lo))
	for i := lo; i < hi; i++ {
		if s := d.Line(i); indent.Width(lex.Indent(s)) < least && !depthless(d, i, s) {
			return true
		}
	}
	return false
}

// continues reports whether a line closes or goes on with a block above it.
func continues(s string) bool {
	s = lex.TrimSpace(s)
	if s == "" || strings.IndexByte(")]}", s[0]) >= 0 {
		return s != ""
	}
	word := s[:len(s)-len(strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyz"))]
	return slices.Contains([]string{"else", "elif", "elsif", "except", "catch", "finally", "rescue", "ensure", "end", "fi", "done", "esac"}, word)
}

// depthless reports whether line i of the file, s, has a depth that says nothing.
func depthless(d *document.Document, i int, s string) bool {
	if lex.Blank(s) || d.IsComment(i) || !d.Unindexed && !d.Outside(i) {
		return true
	}
	return !d.Lang.Offside && lex.LastByte(s) == ":" || d.Lang == lex.CLanguage && lex.TrimSpace(s)[0] == '#'
}
