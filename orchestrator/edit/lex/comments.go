package lex

import (
	"slices"
	"strings"
)

// Scanned holds the lines of a text without their comments, and the state in which each line begins.
type Scanned struct {
	Code   []string
	Within []state // one more than lines: the last is the state at the end of the text
}

// scan returns the lines without comments: "" for a line that is only a comment, and the part before it for a line that ends in a
// comment. A line inside a string stays as it is, whatever it looks like.
//
// Without a syntax each line is judged alone: whole-line comments are found, comments after code are not.
func (l *Language) scan(lines []string) Scanned { return l.ScanOver(slices.Clone(lines)) }

// ScanOver is like scan, but overwrites lines, which the caller must not share.
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

// Closed reports whether a comment may follow the line s: no string or comment is open at its end, and the line does not continue
// on the next one.
//
// Callers ask it about a line of REPLACE that is to keep the comment of the line that it replaces: within a string the comment
// would become text.
func (l *Language) Closed(s string) bool {
	if l.syntax == nil {
		return false
	}
	t := l.scan([]string{s})
	return t.Within[0] == InCode && t.Within[1] == InCode && LastByte(t.Code[0]) != `\`
}
