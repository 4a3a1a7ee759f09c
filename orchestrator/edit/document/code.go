package document

import (
	"strings"

	"agent/orchestrator/edit/lex"
)

// Scanned returns the file as its language divides it. The first call scans the file: only blocks that no stricter strategy finds
// need that.
func (d *Document) Scanned() *lex.Scanned {
	if d.parts == nil {
		lines := make([]string, d.Len())
		for i := range lines {
			lines[i] = d.Line(i)
		}
		t := d.Lang.ScanOver(lines)
		d.parts = &t
	}
	return d.parts
}

// CodeLines returns the lines of the file without comments.
func (d *Document) CodeLines() []string { return d.Scanned().Code }

// Outside reports whether line i begins and ends outside of strings and longer comments.
func (d *Document) Outside(i int) bool {
	w := d.Scanned().Within
	return w[i] == lex.InCode && w[i+1] == lex.InCode
}

// IsComment reports whether line i of the file is a comment and nothing else. In a file without an index it judges the line alone.
func (d *Document) IsComment(i int) bool {
	if d.Unindexed {
		return d.Lang.Comment(d.Line(i))
	}
	return !lex.Blank(d.Line(i)) && lex.Blank(d.CodeLines()[i])
}

// TrailingComment returns the comment that follows the code of line i, with the space before it, or "".
func (d *Document) TrailingComment(i int) string {
	if !d.Lang.Marks(d.Line(i)) {
		return "" // saves scanning the file
	}
	code, s := strings.TrimRight(d.CodeLines()[i], " \t"), d.Line(i)
	if code == "" || lex.Blank(s[len(code):]) {
		return ""
	}
	return s[len(code):]
}
