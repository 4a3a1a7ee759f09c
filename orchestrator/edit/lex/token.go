package lex

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// operators are the characters that may combine into one operator.
const operators = "+-*/%=<>!&|^~?:.@#\\"

// EachToken calls yield for every token of a line: a word, a quoted string that closes on the line, a run of operators, or one
// other character. Space between tokens does not count, but space inside a string or between operators does.
//
// It is not a lexer of any language. It only has to cut two texts in the same way, and must never take two different texts for the
// same one. So strings, names and numbers stay whole, and everything else is compared byte by byte.
func EachToken(s string, yield func(string)) {
	open := "" // quotation marks that do not close: looking again would cost quadratic time
	for s != "" {
		n := 1
		switch c := s[0]; {
		case c == ' ' || '\t' <= c && c <= '\r':
			s = s[1:]
			continue
		case (c == '"' || c == '\'' || c == '`') && strings.IndexByte(open, c) < 0:
			if n = Quoted(s); n == 1 {
				open += s[:1]
			}
		case strings.IndexByte(operators, c) >= 0:
			for n < len(s) && strings.IndexByte(operators, s[n]) >= 0 {
				n++
			}
		case wordByte(c) || c >= utf8.RuneSelf:
			var space bool
			if n, space = wordLen(s); space {
				s = s[n:]
				continue
			}
		}
		yield(s[:n])
		s = s[n:]
	}
}

// wordLen returns the length of the word at the start of s, or of its first character if that begins no word. It also reports
// whether that character is space.
func wordLen(s string) (n int, space bool) {
	for n < len(s) && wordByte(s[n]) {
		n++
	}
	for n < len(s) && s[n] >= utf8.RuneSelf {
		r, m := utf8.DecodeRuneInString(s[n:])
		if !Word(r) {
			if n == 0 {
				return m, unicode.IsSpace(r)
			}
			break
		}
		for n += m; n < len(s) && wordByte(s[n]); n++ {
		}
	}
	return n, false
}

// wordByte reports whether an ASCII character belongs to a name or number.
func wordByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '$'
}

// Quoted returns the length of the string literal at the start of s, or 1 if it does not close.
func Quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return 1
}

// Word reports whether r belongs to a name or number.
func Word(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// letter reports whether c is an ASCII letter, digit or underscore.
func letter(c byte) bool { return wordByte(c) && c != '$' }
