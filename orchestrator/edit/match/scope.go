package match

import (
	"slices"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/indent"
	"agent/orchestrator/edit/lex"
)

// crosses reports whether the lines that SEARCH leaves out between two of its pieces leave the scope that the pieces share. The
// first piece ends before line lo, the second begins at line hi. If they do, the second piece is part of another function whose
// lines happen to be the only ones with that text:
//
//	def a():          SEARCH   def a():
//	    return 1                   # ...
//	def b():                       return 2
//	    return 2
//
// Depth shows it. From a line to a deeper one, all lines between are deeper than the first. From a line to one that is not deeper,
// no line between is less deep than the second. A line that closes or continues a block belongs to the nearest one above it.
// Comments, text within strings, labels and preprocessor directives may have any depth.
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

// continues reports whether a line closes or continues a block above it.
func continues(s string) bool {
	s = lex.TrimSpace(s)
	if s == "" || strings.IndexByte(")]}", s[0]) >= 0 {
		return s != ""
	}
	word := s[:len(s)-len(strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyz"))]
	return slices.Contains([]string{"else", "elif", "elsif", "except", "catch", "finally", "rescue", "ensure", "end", "fi", "done", "esac"}, word)
}

// depthless reports whether the depth of line i of the file, s, has no meaning.
func depthless(d *document.Document, i int, s string) bool {
	if lex.Blank(s) || d.IsComment(i) || !d.Unindexed && !d.Outside(i) {
		return true
	}
	return !d.Lang.Offside && lex.LastByte(s) == ":" || d.Lang == lex.CLanguage && lex.TrimSpace(s)[0] == '#'
}
