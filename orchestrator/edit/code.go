package edit

import (
	"strings"

	"agent/orchestrator/edit/lex"
)

// scanned returns the file as its language cuts it, at the first call: only
// blocks that no stricter strategy finds need it.
func (d *document) scanned() *lex.Scanned {
	if d.parts == nil {
		lines := make([]string, d.len())
		for i := range lines {
			lines[i] = d.line(i)
		}
		t := d.lang.ScanOver(lines)
		d.parts = &t
	}
	return d.parts
}

// bare returns the lines of the file without comments.
func (d *document) bare() []string { return d.scanned().Code }

// outside reports whether line i begins and ends outside of strings and longer comments.
func (d *document) outside(i int) bool {
	w := d.scanned().Within
	return w[i] == lex.InCode && w[i+1] == lex.InCode
}

// remark reports whether line i of the file is a comment and nothing else.
// In a file that is not indexed what looks like one is taken for it.
func (d *document) remark(i int) bool {
	if d.thin {
		return d.lang.Comment(d.line(i))
	}
	return !lex.Blank(d.line(i)) && lex.Blank(d.bare()[i])
}

// tail returns the comment that follows the code of line i, with the space before it, or "".
func (d *document) tail(i int) string {
	if !d.lang.Marks(d.line(i)) {
		return "" // spares the file its scan
	}
	code, s := strings.TrimRight(d.bare()[i], " \t"), d.line(i)
	if code == "" || lex.Blank(s[len(code):]) {
		return ""
	}
	return s[len(code):]
}
