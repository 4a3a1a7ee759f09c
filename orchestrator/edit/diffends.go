package edit

import (
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
)

// endsIn returns what ends line i of a side of which cr is known.
func endsIn(cr []bool, i int) string {
	if i < len(cr) && cr[i] {
		return "\r\n"
	}
	return "\n"
}

// verbatim returns the splice of a hunk that spells out its line ends, nil for
// any other, and where the file's lines end otherwise than the hunk's old ones.
//
// A program that compares files of mixed ends, or changes the ends, writes
// them into its diff. Elsewhere new lines take the ends of the file, since few
// authors know them.
func verbatim(op *operation, d *document.Document, places []place) []splice {
	h := op.hunk
	if h == nil || h.oldCR == nil && h.newCR == nil || len(places) != 1 || places[0].groups != nil || d.Sep != '\n' {
		return nil
	}
	p := places[0]
	n := p.hi - p.lo
	if n != len(op.search) || !lex.SameLines(p.search, op.search) || !lex.SameLines(p.replace, op.replace) {
		return nil
	}
	for i := range n {
		if end := d.End(p.lo + i); end != endsIn(h.oldCR, i) && (end != "" || !h.oldNoEOL) {
			return nil
		}
	}
	same := func(i, j int) bool {
		return op.search[i] == op.replace[j] && endsIn(h.oldCR, i) == endsIn(h.newCR, j)
	}
	head, tail := 0, 0
	for head < min(n, len(op.replace)) && same(head, head) {
		head++
	}
	for tail < min(n, len(op.replace))-head && same(n-1-tail, len(op.replace)-1-tail) {
		tail++
	}
	var b strings.Builder
	for j := head; j < len(op.replace)-tail; j++ {
		b.WriteString(op.replace[j] + endsIn(h.newCR, j))
	}
	return []splice{{lo: p.lo + head, hi: p.hi - tail, text: b.String()}}
}
