package match

import (
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/parse"
)

// endsIn returns the end of line i on the side of a hunk described by cr.
func endsIn(cr []bool, i int) string {
	if i < len(cr) && cr[i] {
		return "\r\n"
	}
	return "\n"
}

// Verbatim returns the splice of a hunk that spells out its line ends. It returns nil for any other hunk, and if the file's lines
// end otherwise than the hunk's old lines.
//
// A program that compares files of mixed line ends, or changes the ends, writes them into its diff. Elsewhere new lines take the
// ends of the file, since few authors know them.
func Verbatim(op *parse.Operation, d *document.Document, places []Place) []Splice {
	h := op.Hunk
	if h == nil || h.OldCR == nil && h.NewCR == nil || len(places) != 1 || places[0].groups != nil || d.Sep != '\n' {
		return nil
	}
	p := places[0]
	n := p.Hi - p.Lo
	if n != len(op.Search) || !lex.SameLines(p.Search, op.Search) || !lex.SameLines(p.Replace, op.Replace) {
		return nil
	}
	for i := range n {
		if end := d.End(p.Lo + i); end != endsIn(h.OldCR, i) && (end != "" || !h.OldNoEOL) {
			return nil
		}
	}
	same := func(i, j int) bool {
		return op.Search[i] == op.Replace[j] && endsIn(h.OldCR, i) == endsIn(h.NewCR, j)
	}
	head, tail := 0, 0
	for head < min(n, len(op.Replace)) && same(head, head) {
		head++
	}
	for tail < min(n, len(op.Replace))-head && same(n-1-tail, len(op.Replace)-1-tail) {
		tail++
	}
	var b strings.Builder
	for j := head; j < len(op.Replace)-tail; j++ {
		b.WriteString(op.Replace[j] + endsIn(h.NewCR, j))
	}
	return []Splice{{Lo: p.Lo + head, Hi: p.Hi - tail, Text: b.String()}}
}
