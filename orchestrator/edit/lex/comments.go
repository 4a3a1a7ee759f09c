package lex

import (
	"slices"
	"strings"
)

// A Scanned text is its lines without their comments, and where each begins.
type Scanned struct {
	Code   []string
	Within []state // one more than lines: the last is where the text ends
}

// scan returns the lines without the comments that the language has there:
// "" for a line that is only a comment, a line's beginning where a comment
// ends it. A line inside a string is left as it is, whatever it looks like.
//
// Without a syntax the lines alone tell: whole-line comments are found,
// comments after code are not.
func (l *Language) scan(lines []string) Scanned { return l.ScanOver(slices.Clone(lines)) }

// ScanOver is scan for lines that nobody else holds: it changes them.
func (l *Language) ScanOver(lines []string) Scanned {
	out := Scanned{lines, make([]state, len(lines)+1)}
	if l.syntax == nil {
		for i, s := range lines {
			if l.Comment(s) {
				out.Code[i] = ""
			}
		}
		return out
	}
	sc := newScanner(l, lines)
	for i, s := range lines {
		out.Within[i] = sc.state()
		out.Code[i] = s[:sc.line(s)]
	}
	out.Within[len(lines)] = sc.state()
	return out
}

// Code returns the lines without comments.
func (l *Language) Code(lines []string) []string { return l.scan(lines).Code }

// Marks reports whether something in the line s may begin a comment.
func (l *Language) Marks(s string) bool {
	in := func(m string) bool { return strings.Contains(s, m) }
	return slices.ContainsFunc(l.line, in) || slices.ContainsFunc(l.Block, func(b [2]string) bool { return in(b[0]) })
}

// Closed reports whether a comment may follow the line s: no string and no
// comment is open at its end, and the line does not go on with the next.
//
// It is asked of a line of REPLACE that is to keep the comment of the line
// that it replaces: within a string the comment would become text.
func (l *Language) Closed(s string) bool {
	if l.syntax == nil {
		return false
	}
	t := l.scan([]string{s})
	return t.Within[0] == InCode && t.Within[1] == InCode && LastByte(t.Code[0]) != `\`
}
