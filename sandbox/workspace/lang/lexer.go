package lang

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A lexer splits a text in one pass. It knows only as much of a language as finding comments requires, and resumes at
// the next line if it does not understand one: text is often hostile or unfinished.
type lexer struct {
	*Syntax
	text  string
	at    int // what is read next
	lines []Line
	// The first bytes of the marks of comments, and of strings and expressions.
	marks, opens [256]bool
	// About the line being read.
	begin  int
	code   []byte
	notes  []string
	inside bool
	filled bool // there is code on it
	// The strings that are open around the code being read, with the depth of braces in each; quoted says that the text
	// of the last one is being read.
	holes  []hole
	quoted bool
	// Whether the word before each open parenthesis is one after which an expression begins anew: the meaning of a
	// slash depends on it.
	parens  []bool
	control bool
	last    byte // the last byte of code that is no space
	// Where the last word of code is in text, whether it names a property, as in module.default, and how many dots the
	// code ends with.
	wordAt, wordEnd int
	named           bool
	dots            int
	// Maps the first byte of a mark to a place before which that mark has no end. Without it a line of a million quotes
	// would be searched a million times.
	endless [256]int
}

// A hole is code within a string.
type hole struct {
	form  *String
	depth int
}

// Lex splits a text of the language into its lines. Time and memory grow linearly with the text, whatever it contains.
// For a nil language everything is code.
//
// If a string with code in it has no end, some mark was not one. Lex then reads the text again without such strings.
func (l *Language) Lex(text string) []Line {
	// Python and JavaScript also end a line, and with it a comment, at a lone carriage return.
	if strings.Contains(text, "\r") {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	text = strings.TrimPrefix(text, "\ufeff")
	syntax := none
	if l != nil {
		syntax = l.Syntax
	}
	x := newLexer(syntax, text)
	x.run()
	if len(x.holes) > 0 {
		open := x.holes[0].form.Open[0]
		x = newLexer(syntax, text)
		x.endless[open] = len(text)
		x.run()
	}
	return x.lines
}

// newLexer returns a lexer at the start of text.
func newLexer(s *Syntax, text string) *lexer {
	l := &lexer{Syntax: s, text: text}
	for _, c := range []Comments{s.Comments, s.Inner} {
		for _, m := range c.Line {
			l.marks[m[0]] = true
		}
		for _, b := range c.Block {
			l.marks[b[0][0]] = true
		}
	}
	// A stray mark of a string would hide the comments after it, and a shell script is full of those.
	if s.Spaced {
		return l
	}
	for _, form := range s.Strings {
		l.opens[form.Open[0]] = true
	}
	l.opens['\''] = l.opens['\''] || s.Char
	l.opens['/'] = s.RegexAfter != nil
	l.opens['#'] = l.opens['#'] || s.Raw != ""
	return l
}

// run reads the text to its end.
func (l *lexer) run() {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case l.quoted:
			l.body()
		case l.marks[c] && l.comment(), l.opens[c] && l.literal(c):
		default:
			l.plain(c)
		}
	}
	if l.begin < len(l.text) {
		l.flush(len(l.text))
	}
}

// flush ends a line at a place.
func (l *lexer) flush(end int) {
	l.lines = append(l.lines, Line{l.text[l.begin:end], string(l.code), l.notes, l.inside})
	l.begin, l.code, l.notes, l.inside, l.filled = end+1, l.code[:0], nil, false, false
}

// plain reads one byte of code.
func (l *lexer) plain(c byte) {
	l.at++
	switch c {
	case '\n':
		l.flush(l.at - 1)
		return
	case '(':
		l.parens = append(l.parens, slices.Contains(l.RegexCondition, l.word()))
	case ')':
		l.control = false
		if n := len(l.parens); n > 0 {
			l.control, l.parens = l.parens[n-1], l.parens[:n-1]
		}
	case '{', '}':
		if n := len(l.holes); n > 0 && c == '{' {
			l.holes[n-1].depth++
		} else if n > 0 && l.holes[n-1].depth == 0 {
			l.quoted = true
			return
		} else if n > 0 {
			l.holes[n-1].depth--
		}
	}
	l.track(c)
	l.code = append(l.code, c)
	if !isSpace(c) {
		l.last, l.filled = c, true
	}
}

// track updates words and dots for one byte of code, which was just read.
func (l *lexer) track(c byte) {
	switch {
	case isWord(rune(c)):
		if l.wordEnd != l.at-1 { // a word begins
			l.wordAt, l.named = l.at-1, l.dots == 1
		}
		l.wordEnd, l.dots = l.at, 0
	case c == '.':
		l.dots++
	case !isSpace(c):
		l.dots = 0
	}
}

// word returns the word at the end of the code read so far, "" for none.
func (l *lexer) word() string {
	if !isWord(rune(l.last)) {
		return ""
	}
	return l.text[l.wordAt:l.wordEnd]
}

// isWord reports whether a rune is part of a name.
func isWord(r rune) bool {
	return r == '_' || r == '$' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
}

// isSpace reports whether c is any white space that occurs in code.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\v' }

// comment reads a comment if one begins here.
func (l *lexer) comment() bool {
	for _, c := range []*Comments{&l.Comments, &l.Inner} {
		for _, b := range c.Block {
			if !strings.HasPrefix(l.text[l.at:], b[0]) || b[0][0] == '=' && l.at != l.begin {
				continue
			}
			end := len(l.text)
			if i := strings.Index(l.text[l.at+len(b[0]):], b[1]); i >= 0 {
				end = l.at + len(b[0]) + i + len(b[1])
			}
			l.note(b[0], end)
			return true
		}
		for _, mark := range c.Line {
			if strings.HasPrefix(l.text[l.at:], mark) && !l.isText(mark) {
				l.note(mark, l.lineEnd())
				return true
			}
		}
	}
	return false
}

// isText reports whether the comment mark at this place is plain text: $#, and https://.
func (l *lexer) isText(mark string) bool {
	return l.Spaced && l.filled || l.Addresses && mark == "//" && l.at > 0 && !isSpace(l.text[l.at-1])
}

// note keeps the text up to end as comments of its lines. A mark that stands alone on its line is repeated on the next.
func (l *lexer) note(mark string, end int) {
	rest := l.text[l.at+len(mark) : end]
	for {
		line, after, more := strings.Cut(rest, "\n")
		l.notes = append(l.notes, mark+line)
		if !more {
			break
		}
		if strings.Trim(line, "* \t") != "" {
			mark = ""
		}
		l.flush(end - len(after) - 1)
		rest = after
	}
	l.at = end
}

// lineEnd returns where the line being read ends.
func (l *lexer) lineEnd() int {
	if i := strings.IndexByte(l.text[l.at:], '\n'); i >= 0 {
		return l.at + i
	}
	return len(l.text)
}

// literal reads a string, or a regular expression, if one begins with c here and has a valid end.
func (l *lexer) literal(c byte) bool {
	if l.at < l.endless[c] {
		return false
	}
	end := -1
	if c == '/' && l.RegexAfter != nil {
		// If another slash follows the end, the two more likely begin a comment: a regular expression is never divided,
		// and after "}" nothing else tells it from a division.
		if l.mayMatch() {
			end = l.closing(c)
		}
		if end > 0 && strings.HasPrefix(l.text[end:], "/") && !strings.HasPrefix(l.text[end:], "//") {
			end = -1
		}
	} else if c == '\'' && l.Char {
		end = l.character()
	} else if l.rawWord() && (c == '"' || c == '#') {
		end = l.rawEnd()
	} else if i := slices.IndexFunc(l.Strings, func(s String) bool { return strings.HasPrefix(l.text[l.at:], s.Open) }); i >= 0 {
		switch s := &l.Strings[i]; {
		case s.Hole != "":
			l.holes, l.quoted = append(l.holes, hole{form: s}), true
			end = l.at + len(s.Open)
		case s.Lines:
			end = l.longEnd(s)
		default:
			end = l.closing(c)
		}
	}
	if end < 0 {
		return false
	}
	l.code, l.last, l.filled, l.dots = append(l.code, '"', '"'), '"', true, 0
	l.within(end)
	return true
}

// maxCharacter bounds a character literal, in bytes: the longest escapes have ten.
const maxCharacter = 16

// character returns the place after a character literal that begins here, or -1: the mark may also begin a lifetime.
func (l *lexer) character() int {
	rest := l.text[l.at:min(len(l.text), l.at+maxCharacter)]
	if len(rest) > 3 && rest[1] == '\\' {
		if i := strings.IndexByte(rest[3:], '\''); i >= 0 && !strings.Contains(rest[:i+3], "\n") {
			return l.at + i + 4
		}
		return -1
	}
	_, n := utf8.DecodeRuneInString(rest[1:])
	if n > 0 && rest[1] != '\'' && rest[1] != '\n' && strings.HasPrefix(rest[1+n:], "'") {
		return l.at + n + 2
	}
	return -1
}

// rawWord reports whether the word that makes a string raw is directly before this place.
func (l *lexer) rawWord() bool {
	return l.Raw != "" && l.wordEnd == l.at && strings.HasSuffix(l.text[:l.at], l.Raw)
}

// maxDelimiter bounds the delimiter around a raw string.
const maxDelimiter = 16

// rawEnd returns the place after a raw string that begins here, or -1. In Rust, as many # signs follow the string as
// precede it. In C++, a word and a parenthesis surround it, within its marks.
func (l *lexer) rawEnd() int {
	head := l.text[l.at:min(len(l.text), l.at+maxDelimiter+2)]
	signs := len(head) - len(strings.TrimLeft(head, "#"))
	if signs == len(head) || head[signs] != '"' {
		return -1
	}
	from, close := l.at+signs+1, `"`+head[:signs]
	if l.Raw == "R" {
		word, _, ok := strings.Cut(head[1:], "(")
		if !ok || signs > 0 {
			return -1
		}
		from, close = from+len(word)+1, ")"+word+`"`
	}
	if i := strings.Index(l.text[from:], close); i >= 0 {
		return from + i + len(close)
	}
	// After one without an end none is recognised any more: each would be searched for.
	l.endless['"'], l.endless['#'] = len(l.text), len(l.text)
	return -1
}

// within skips the text of a string up to end.
func (l *lexer) within(end int) {
	for ; l.at < end; l.at++ {
		if l.text[l.at] == '\n' {
			l.flush(l.at)
			l.inside = true
		}
	}
}

// closing returns the place after the mark that closes what the same mark opens here on one line, or -1. A backslash
// escapes the next byte, even at the end of the line; a slash in brackets closes nothing.
func (l *lexer) closing(mark byte) int {
	class, i := false, l.at+1
	for ; i < len(l.text) && l.text[i] != '\n'; i++ {
		switch c := l.text[i]; {
		case c == '\\':
			i++
		case mark == '/' && c == '[':
			class = true
		case c == ']':
			class = false
		case c == mark && !class:
			return i + 1
		}
	}
	l.endless[mark] = i
	return -1
}

// longEnd returns the place after the mark that closes a string of this form, or -1.
func (l *lexer) longEnd(s *String) int {
	for i := l.at + len(s.Open); i < len(l.text); i++ {
		if s.Escapes && l.text[i] == '\\' {
			i++
		} else if l.text[i] == s.Close[0] && strings.HasPrefix(l.text[i:], s.Close) {
			return i + len(s.Close)
		}
	}
	l.endless[s.Open[0]] = len(l.text)
	return -1
}

// mayMatch reports whether a slash here opens a regular expression: after a value it divides, and after "<" and before
// ">" it closes a tag.
func (l *lexer) mayMatch() bool {
	switch {
	case l.last == '<' || strings.HasPrefix(l.text[l.at:], "/>"):
		return false
	case l.last == ')':
		return l.control
	case l.last == '>':
		return strings.HasSuffix(strings.TrimRight(string(l.code[max(0, len(l.code)-8):]), " \t"), "=>")
	case l.last == ']' || l.last == '"':
		return false
	case isWord(rune(l.last)):
		return !l.named && slices.Contains(l.RegexAfter, l.word())
	}
	return true
}

// body reads the text of a string with code in it, up to its end or to the code.
func (l *lexer) body() {
	form := l.holes[len(l.holes)-1].form
	for ; l.at < len(l.text); l.at++ {
		switch c := l.text[l.at]; {
		case c == '\n':
			l.flush(l.at)
			l.inside = true
		case c == '\\' && l.at+1 < len(l.text) && l.text[l.at+1] != '\n':
			l.at++
		case c == form.Close[0]:
			l.at++
			l.holes, l.quoted = l.holes[:len(l.holes)-1], false
			return
		case c == form.Hole[0] && strings.HasPrefix(l.text[l.at:], form.Hole):
			l.at += len(form.Hole)
			l.quoted = false
			return
		}
	}
}

// Indent counts the columns before the code of a line; a tab advances to the next multiple of eight, as in Python.
func Indent(code string) (n int) {
	for _, c := range code {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		default:
			return n
		}
	}
	return n
}
