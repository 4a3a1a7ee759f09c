package lex

import (
	"fmt"
	"strings"

	"agent/sandbox/workspace/lang"
)

// A Grammar selects what the lexer of the guards must know of a language: how its strings, comments and brackets look. It is not a
// parser.
type Grammar int

const (
	NoGrammar     Grammar = iota // a file in which no names are followed
	PythonGrammar                // with f-strings read as code, as Python 3.12 does
	ScriptGrammar                // JavaScript and TypeScript, templates read as code
	MarkupGrammar                // the same with elements: JSX and TSX
	StyleGrammar                 // CSS
)

// GrammarOf returns the grammar for the file's name. In many projects plain .js holds elements, and a file without any reads the
// same either way.
func GrammarOf(name string) Grammar {
	row := lang.ByExtension(name)
	switch {
	case row == nil:
		return NoGrammar
	case row.Family == lang.Python:
		return PythonGrammar
	case row.Family == lang.Script && row.Elements(name):
		return MarkupGrammar
	case row.Family == lang.Script:
		return ScriptGrammar
	case row.ID == "css":
		return StyleGrammar
	}
	return NoGrammar
}

// A tokenKind is the kind of a token.
type tokenKind byte

const (
	TokenEnd    tokenKind = iota // the end of the text, or of its readable part
	TokenWord                    // a name or a keyword
	tokenNumber                  // a number
	TokenString                  // a string or a part of one, a regular expression, the text of an element
	TokenPunct                   // one byte of punctuation
	TokenLine                    // the end of a logical line; Python only
)

// A Lexeme is one token: text[lo:hi]. Space and comments are between lexemes.
type Lexeme struct {
	Kind   tokenKind
	Lo, Hi int
}

// A Fault says where and why a text cannot be read.
type Fault struct {
	At  int // byte offset
	Why string
}

// An opening is a bracket that is not closed yet, or a string that is interrupted by code. At "b" in f"a {(b" the string is open
// and, within it, the bracket. A closing mark must close the last opening.
type opening struct {
	at   int
	char byte   // ( [ {, or one of the states below
	end  string // for inString: what ends the string
	raw  bool   // for inString: a backslash hides only the quotation mark
	spec bool   // for inString: the format after the colon is being read
}

// The states that are not brackets of the language itself. In <a b={c}>d</a> the lexer is in the tag at b, in the brace within the
// tag at c, and at d in the element, which takes the tag's place.
const (
	inString  = 'f' // code inside an f-string or a template, up to its "}"
	inTag     = 't' // between "<name" and ">"
	inElement = 'e' // the text between a tag and its closing tag
)

// A lexer reads the tokens of one text in one pass and without looking back, so that its cost is linear for any text.
//
// Fault holds the first thing that cannot be read, which ends the text. Unsure is set if two readings are possible: then nothing
// may be concluded. It is never reset, since a wrong reading of a quotation mark or slash may turn everything after it from code
// into text.
type lexer struct {
	text   string
	at     int
	lang   Grammar
	open   []opening
	value  bool // the last token ends a value: a slash or "<" after it is an operator
	filled bool // the logical line holds a token
	Fault  *Fault
	Unsure bool
}

// NewLexer returns a lexer at the start of text.
func NewLexer(text string, lang Grammar) *lexer {
	return &lexer{text: text, lang: lang}
}

// Next returns the next token. From the end of the text on it always returns TokenEnd.
//
// The last opening decides which rules apply: the text of an element and a tag have rules of their own. If a text ends with
// something open, the fault is where that was opened, since a person would look there.
func (l *lexer) Next() Lexeme {
	if l.Fault != nil {
		return Lexeme{TokenEnd, l.at, l.at}
	}
	var t Lexeme
	switch {
	case l.lang == PythonGrammar:
		t = l.python()
	case len(l.open) > 0 && l.open[len(l.open)-1].char == inElement:
		t = l.element()
	case len(l.open) > 0 && l.open[len(l.open)-1].char == inTag:
		t = l.tag()
	default:
		t = l.script()
	}
	if t.Kind == TokenEnd && l.Fault == nil && len(l.open) > 0 {
		o := l.open[len(l.open)-1]
		l.stop(o.at, "%s is never closed", o.name())
	}
	return t
}

// name describes an opening for a person.
func (o opening) name() string {
	switch o.char {
	case inString:
		return "this string"
	case inTag, inElement:
		return "this element"
	}
	return `"` + string(o.char) + `"`
}

// stop records a fault and ends the text. Only the first fault counts: later ones are mostly its consequences.
func (l *lexer) stop(at int, why string, args ...any) Lexeme {
	if l.Fault == nil {
		l.Fault = &Fault{at, fmt.Sprintf(why, args...)}
	}
	return Lexeme{TokenEnd, l.at, l.at}
}

// word reads a name or keyword at l.at.
func (l *lexer) word() Lexeme {
	lo := l.at
	for l.at < len(l.text) && wordBytes[l.text[l.at]] {
		l.at++
	}
	return Lexeme{TokenWord, lo, l.at}
}

// number reads a number at l.at. A sign in an exponent ends it, which leaves two numbers and an operator: good enough for a reader
// that looks only at names.
func (l *lexer) number() Lexeme {
	lo := l.at
	for l.at < len(l.text) && (wordBytes[l.text[l.at]] || l.text[l.at] == '.') {
		l.at++
	}
	return Lexeme{tokenNumber, lo, l.at}
}

// punct reads one byte of punctuation and keeps the stack of openings. It pushes an opening bracket; a closing one pops the last
// opening, which must match. "(]" and a lone ")" are faults.
func (l *lexer) punct() Lexeme {
	lo, c := l.at, l.text[l.at]
	l.at++
	switch c {
	case '(', '[', '{':
		l.open = append(l.open, opening{at: lo, char: c})
	case ')', ']', '}':
		if len(l.open) == 0 {
			return l.stop(lo, "%q closes nothing", string(c))
		}
		o := l.open[len(l.open)-1]
		if o.char != Closes[c] {
			return l.stop(lo, "%q does not close %s of line %d", string(c), o.name(), 1+strings.Count(l.text[:o.at], "\n"))
		}
		l.open = l.open[:len(l.open)-1]
	}
	return Lexeme{TokenPunct, lo, l.at}
}

// Closes maps a closing bracket to its opening one.
var Closes = map[byte]byte{')': '(', ']': '[', '}': '{'}

// wordBytes are the bytes of names; those beyond ASCII count as letters.
var wordBytes = func() (set [256]bool) {
	for c := range 256 {
		set[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
	}
	return set
}()

// digit reports whether c begins a number.
func digit(c byte) bool { return c >= '0' && c <= '9' }

// peek returns the byte n after the current one, 0 beyond the end.
func (l *lexer) peek(n int) byte {
	if l.at+n >= len(l.text) {
		return 0
	}
	return l.text[l.at+n]
}

// skipTo moves past the next mark, or to the end if there is none.
func (l *lexer) skipTo(mark string) bool {
	i := strings.Index(l.text[l.at:], mark)
	if i < 0 {
		l.at = len(l.text)
		return false
	}
	l.at += i + len(mark)
	return true
}

// LexAll returns all tokens of a text. It returns false if the text cannot be read, or can be read in more than one way.
func LexAll(text string, lang Grammar) (list []Lexeme, ok bool) {
	l := NewLexer(text, lang)
	list = make([]Lexeme, 0, len(text)/4) // enough for nearly all texts: a list that grows takes several times its size
	for {
		t := l.Next()
		if t.Kind == TokenEnd {
			return list, l.Fault == nil && !l.Unsure
		}
		list = append(list, t)
	}
}
