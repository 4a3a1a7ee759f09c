package lex

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A scanner walks the lines of a text and knows at each line end what is open.
//
// One scanner serves all languages. They differ in their marks, which the syntax holds, and in the few constructs that mix code and
// text, which the syntax enables one by one. A construct that is not enabled does not exist.
type scanner struct {
	*syntax
	lang   *Language
	lost   bool   // nothing is known from here on
	end    string // what closes the open string or comment, or ""
	remark bool   // end closes a comment
	escape bool   // a backslash escapes in it
	word   string // the line that ends a here-document, or ""
	below  int    // lines indented deeper than this belong to a YAML text, or -1
}

// newScanner returns a scanner at the start of a text. It is lost from the first line if the text holds something that the syntax
// cannot follow.
func newScanner(l *Language, lines []string) *scanner {
	sc := &scanner{syntax: l.syntax, lang: l, below: -1}
	for _, a := range sc.alien {
		sc.lost = sc.lost || slices.ContainsFunc(lines, func(s string) bool { return strings.Contains(s, a) })
	}
	return sc
}

// state tells where the next line begins. A lost scanner is treated as inside a string: nothing there is a comment.
func (sc *scanner) state() state {
	switch {
	case sc.lost || sc.word != "" || sc.below >= 0 || sc.end != "" && !sc.remark:
		return inText
	case sc.end != "":
		return InComment
	}
	return InCode
}

// line reads the next line and returns how much of it is not comment.
//
// A comment that begins after code and continues on the next line counts as code: its lines belong together.
func (sc *scanner) line(s string) int {
	if sc.lost || sc.inText(s) {
		return len(s)
	}
	at, start := 0, -1 // start is where a comment begins that may end the line
	if sc.end != "" {
		if sc.remark {
			start = 0
		}
		if at = sc.closing(s, 0); at < 0 {
			at = len(s)
		} else {
			sc.end = ""
		}
	}
	doubt := false
	for at < len(s) && !sc.lost {
		n, kind := sc.token(s, at)
		switch {
		case kind == comment && start < 0:
			start = at
		case kind == code || kind == doubtful:
			doubt, start = doubt || kind == doubtful, -1
		}
		at += n
	}
	split := sc.remark && sc.end != "" && !Blank(s[:max(start, 0)])
	if start < 0 || split || doubt {
		start = len(s)
	}
	sc.opens(s[:start])
	if sc.lost {
		return len(s)
	}
	return start
}

// What a token of a line is.
const (
	space = iota
	code
	comment
	doubtful // a string that may hold code: no comment is recognized on its line
)

// token reads the token that begins at s[at] and returns its length and kind.
//
// The order matters: words come before marks, so that a prefix is seen with its string; comments before strings, since no string
// begins with a comment's mark; long strings before short ones, since their marks begin alike.
func (sc *scanner) token(s string, at int) (n, kind int) {
	rest, c := s[at:], s[at]
	switch {
	case c == ' ' || c == '\t' || c == '\r' || c == '\f':
		return 1, space
	case letter(c):
		return sc.name(rest), code
	case c == '\\':
		return min(2, len(rest)), code
	case c >= 0x80 && quoteLike(rest):
		sc.lost = true // an editor put it in place of a mark that has a meaning
		return 1, code
	}
	for _, m := range sc.lang.line {
		if !strings.HasPrefix(rest, m) || sc.spaced && !spaceBefore(s, at) {
			continue
		}
		if !spaceBefore(s, at) {
			return len(rest), doubtful // more often the slashes of a URL than a comment
		}
		sc.lost = strings.HasSuffix(s, `\`) // in C the next line would be comment too
		return len(rest), comment
	}
	for _, b := range sc.lang.Block {
		if strings.HasPrefix(rest, b[0]) {
			sc.end, sc.remark, sc.escape = b[1], true, false
			return sc.within(s, at, len(b[0])), comment
		}
	}
	for _, l := range sc.long {
		if strings.HasPrefix(rest, l.open) {
			return sc.text(s, at, l, true)
		}
	}
	return sc.mark(s, at)
}

// quoteLike reports whether s begins with a typographic quotation mark.
func quoteLike(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return strings.ContainsAny(PlainUnicode(string(r)), `"'`)
}

// spaceBefore reports whether s[at] begins the line or has space before it.
func spaceBefore(s string, at int) bool { return at == 0 || s[at-1] == ' ' || s[at-1] == '\t' }

// name returns the length of the word at the start of rest. Before a quotation mark the word may be a prefix that changes the kind
// of the string.
func (sc *scanner) name(rest string) int {
	n := 1
	for n < len(rest) && letter(rest[n]) {
		n++
	}
	if sc.raw != "" && strings.HasSuffix(rest[:n], sc.raw) && n < len(rest) && (rest[n] == '"' || rest[n] == '#') {
		sc.lost = true
	}
	return n
}

// mark reads a token that begins with any other character: a string on one line, a character literal, a regular expression or an
// operator. An operator of several characters is read one by one, which makes no difference here.
func (sc *scanner) mark(s string, at int) (n, kind int) {
	c, m := s[at], s[at:at+1]
	switch {
	case strings.Contains(sc.quotes+sc.literal, m) && (!sc.scalars || startsValue(s[:at])):
		return sc.text(s, at, longString{m, m, strings.Contains(sc.quotes, m)}, false)
	case c == '\'' && sc.letter:
		return sc.character(s[at:]), code
	case c == '/' && sc.script:
		return sc.slash(s, at), code
	case sc.shell && strings.HasPrefix(s[at:], "${"):
		if i := strings.IndexByte(s[at:], '}'); i > 0 {
			return i + 1, doubtful // ${name# text}
		}
		sc.lost = true
	}
	return 1, code
}

// within returns the length of the string or comment that opens with the open bytes at s[at], as far as it is on this line.
func (sc *scanner) within(s string, at, open int) int {
	end := sc.closing(s, at+open)
	if end < 0 {
		return len(s) - at
	}
	sc.end = ""
	return end - at
}

// text reads a string from s[at]. A string that must end on its line and does not ends the scan: its mark opened no string, and
// which mark does is unknown.
//
// Strings with code in them are read as if they had none. The strings in that code then split them in pairs, so the line is
// doubtful but its end is not.
func (sc *scanner) text(s string, at int, l longString, long bool) (n, kind int) {
	sc.end, sc.remark, sc.escape = l.end, false, l.escapes
	n, kind = sc.within(s, at, len(l.open)), code
	for sc.scalars && sc.end == "" && l.open == "'" && strings.HasPrefix(s[at+n:], "'") {
		sc.end = "'" // two of them stand for one
		n += sc.within(s, at+n, 1)
	}
	inside := s[at : at+n]
	nested := strings.Count(inside, "{") != strings.Count(inside, "}")
	switch {
	case sc.shell && l.escapes && (nested || strings.ContainsAny(inside, "(`")):
		kind = doubtful // "$(cat "a # b")"
	case sc.formatted && nested && at > 0 && strings.ContainsAny(s[at-1:at], "fFrR"):
		kind = doubtful // f"{a["b # c"]}"
	}
	sc.lost = sc.lost || sc.end != "" && (!long || kind == doubtful && sc.shell)
	return n, kind
}

// closing returns the index after the mark that closes the open string or comment, at or after from, or -1.
//
// A comment within a comment ends the scan, since some languages nest them and others do not. So does code within a template that
// is more than a name or call.
func (sc *scanner) closing(s string, from int) int {
	for i := from; i < len(s); i++ {
		rest := s[i:]
		switch {
		case sc.escape && s[i] == '\\':
			i++
		case strings.HasPrefix(rest, sc.end):
			return i + len(sc.end)
		case sc.remark && strings.HasPrefix(rest, "/*"):
			sc.lost = true
		case sc.script && sc.end == "`" && strings.HasPrefix(rest, "${"):
			hole, _, ok := strings.Cut(rest[2:], "}")
			sc.lost = sc.lost || !ok || strings.ContainsAny(hole, "`\"'{/")
		}
	}
	return -1
}

// character returns the length of a character literal, or 1 for the mark of a lifetime; anything else ends the scan.
//
// A literal holds one character or one escape, and the longest escapes have ten bytes, so a few runes decide.
func (sc *scanner) character(rest string) int {
	r := []rune(rest[:min(len(rest), 16)])
	switch {
	case len(r) > 2 && r[1] != '\\' && r[2] == '\'':
		return len(string(r[:3]))
	case len(r) > 3 && r[1] == '\\':
		if i := strings.IndexByte(rest[3:], '\''); i >= 0 {
			return i + 4
		}
	case sc.lifetime && len(r) > 1 && Word(r[1]):
		return 1
	}
	sc.lost = true
	return 1
}

// slash returns the length of a regular expression, or 1 for a division. The text before the slash decides; if that leaves a doubt,
// the scan ends.
//
// After a value a slash divides; anywhere else it opens an expression. A brace may have closed either a value or a block. Within
// the brackets of a class a slash is a plain character.
func (sc *scanner) slash(s string, at int) int {
	before := TrimSpace(s[:at])
	last := LastByte(before)
	switch {
	case last == "}":
		sc.lost = true
		return 1
	case last != "" && (strings.Contains(")]\"'`", last) || Word(rune(last[0]))) && !sc.endsInKeyword(before):
		return 1
	}
	class := false
	for i := at + 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '[':
			class = true
		case s[i] == ']':
			class = false
		case s[i] == '/' && !class:
			return i + 1 - at
		}
	}
	sc.lost = true
	return 1
}

// endsInKeyword reports whether s ends in a JavaScript keyword that a value follows: a slash after "return" begins an expression,
// one after "x" divides.
func (sc *scanner) endsInKeyword(s string) bool {
	i := strings.LastIndexFunc(s, func(r rune) bool { return !Word(r) })
	return slices.Contains(sc.keywords, s[i+1:])
}

// startsValue reports whether a quotation mark after s opens a string in YAML. Within a plain value a quotation mark is an ordinary
// character: the mark in "a: it's" opens no string, the one in "a: 'it'" does.
func startsValue(s string) bool { return Blank(s) || strings.ContainsAny(LastByte(s), ":-[{,?!&") }

// inText reports whether the line s is in a here-document or a YAML text. The latter holds all lines that are indented deeper than
// the line that opened it.
func (sc *scanner) inText(s string) bool {
	switch {
	case sc.word != "":
		if TrimSpace(s) == sc.word {
			sc.word = ""
		}
		return true
	case sc.below >= 0 && (Blank(s) || len(Indent(s)) > sc.below):
		return true
	}
	sc.below = -1
	return false
}

// opens records a here-document or a YAML text that begins after the line whose code is s.
//
// A "<<" that only shifts a number is taken for a document too. Its end never comes, and no comment is recognized below it: a loss,
// but not a mistake.
func (sc *scanner) opens(s string) {
	if _, after, ok := strings.Cut(s, "<<"); ok && sc.shell && !strings.HasPrefix(after, "<") {
		after = strings.TrimLeft(after, "- \t")
		i := strings.IndexFunc(after, func(r rune) bool { return !Word(r) && !strings.ContainsRune(`'"\`, r) })
		if i >= 0 {
			after = after[:i]
		}
		sc.word = strings.Trim(after, `'"\`)
		sc.lost = sc.lost || sc.word == "" || sc.end != "" || strings.Count(s, "<<") > 1
	}
	text := strings.TrimRight(s, " \t+-0123456789")
	if sc.scalars && (strings.HasSuffix(text, "|") || strings.HasSuffix(text, ">")) {
		sc.below = len(Indent(s))
	}
}

// A state tells where a line begins.
type state uint8

const (
	InCode    state = iota // in neither of the others
	inText                 // in a string, or where the scanner is lost
	InComment              // in a comment that began above
)
