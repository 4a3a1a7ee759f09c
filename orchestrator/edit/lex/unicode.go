package lex

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// PlainUnicode replaces typographic punctuation and spaces with their ASCII forms. Models and editors swap them in both directions;
// the table holds only characters whose exchange never changes a token's meaning.
//
// Letters are left alone apart from their composition: an added accent makes another word, but an accent written as a separate
// character does not. Zero-width characters are not ignored either: a name that contains one is another name, however it looks. A
// text without any of these characters is returned as it is, without a copy.
func PlainUnicode(s string) string {
	if ASCII(s) {
		return s
	}
	s = norm.NFC.String(s)
	var b strings.Builder
	done := 0
	for i, r := range s {
		if form := PlainForm(r); form != "" {
			b.WriteString(s[done:i])
			b.WriteString(form)
			done = i + utf8.RuneLen(r)
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// ASCII reports whether s has no byte beyond 0x7f. It checks eight bytes at a time, since nearly every line of code is ASCII and
// each of them is checked.
func ASCII(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		a := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
		b := uint32(s[4]) | uint32(s[5])<<8 | uint32(s[6])<<16 | uint32(s[7])<<24
		if (a|b)&0x80808080 != 0 {
			return false
		}
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// PlainForm is the table of PlainUnicode: hyphens and dashes, single and double quotation marks, spaces of other widths, the
// ellipsis. It returns "" if r has no plain form.
func PlainForm(r rune) string {
	switch r {
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212':
		return "-"
	case '\u2018', '\u2019', '\u201a', '\u201b':
		return "'"
	case '\u201c', '\u201d', '\u201e', '\u201f':
		return `"`
	case '\u00a0', '\u2002', '\u2003', '\u2009', '\u202f', '\u3000':
		return " "
	case '\u2026':
		return "..."
	}
	return ""
}
