package lex

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
)

// A syntax is what it takes to tell a comment after code from text that only
// looks like one: "#fff", "# no" in a string, the slashes of a URL.
//
// It is no grammar. Whatever a scanner cannot follow makes it lost, and from
// there on it calls nothing a comment: that costs a refusal at worst, where
// a wrong guess would cost a line of the user's code.
type syntax struct {
	quotes    string       // marks of strings that end on their line, where a backslash escapes
	literal   string       // the same where none does
	long      []longString // strings that may span lines, tried first
	letter    bool         // "'" begins a character literal
	lifetime  bool         // or a name: 'a
	raw       string       // a word that ends so makes the string after it one of another kind: r#"…"#
	formatted bool         // code may stand in f"{…}"
	script    bool         // "/" may begin a regular expression, and code stand in `${…}`
	keywords  []string     // words that a value follows: a slash behind one begins an expression
	shell     bool         // "<<WORD" begins a text up to a line WORD; code may stand in "$(…)"
	scalars   bool         // a line that ends in "|" or ">" begins an indented text
	spaced    bool         // without a space before it a mark begins no comment
	alien     []string     // files with one of these are not scanned at all
}

// A longString is a string that may span lines.
type longString struct {
	open, end string
	escapes   bool
}

// syntaxOf is that of a row of lang, nil where comments after code are not certain.
func syntaxOf(row *lang.Syntax) *syntax {
	if !row.Exact {
		return nil
	}
	s := &syntax{
		letter: row.Char, lifetime: row.Lifetimes, raw: row.Raw, formatted: row.Formatted, script: row.RegexAfter != nil, keywords: row.RegexAfter,
		shell: row.HereDocs, scalars: row.Scalars, spaced: row.Spaced, alien: row.Alien,
	}
	for _, form := range row.Strings {
		switch {
		case form.Lines:
			s.long = append(s.long, longString{form.Open, form.Close, form.Escapes})
		case form.Escapes:
			s.quotes += form.Open
		default:
			s.literal += form.Open
		}
	}
	return s
}

// A Scanned text is its lines without their comments, and where each begins.
type Scanned struct {
	Code   []string
	Within []state // one more than lines: the last is where the text ends
}

// A state is where a line begins.
type state uint8

const (
	InCode    state = iota // in neither of the others
	inText                 // in a string, or where the scanner is lost
	InComment              // in a comment that began above
)

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
