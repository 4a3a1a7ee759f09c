package lex

import "strings"

// Blank reports whether a line holds nothing but space.
func Blank(s string) bool { return strings.TrimSpace(s) == "" }

// Indent returns the space at the start of a line.
func Indent(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// Outer returns the range of lines without the blank ones at either end.
func Outer(lines []string) (lo, hi int) {
	hi = len(lines)
	for lo < hi && Blank(lines[lo]) {
		lo++
	}
	for hi > lo && Blank(lines[hi-1]) {
		hi--
	}
	return lo, hi
}

// TrimSpace is strings.TrimSpace, named for what the strategies mean by space.
func TrimSpace(s string) string { return strings.TrimSpace(s) }

// LastByte returns the last byte of s without trailing space, as a string.
func LastByte(s string) string {
	s = TrimSpace(s)
	return s[max(0, len(s)-1):]
}

// Only reports whether s holds nothing but c.
func Only(s string, c byte) bool { return strings.Trim(s, string(c)) == "" }

// BOM is the byte order mark that some editors put before UTF-8 text.
const BOM = "\ufeff"

// SameLines reports whether two bodies are equal.
func SameLines(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// AllBlank reports whether lines hold nothing but space.
func AllBlank(lines []string) bool {
	lo, hi := Outer(lines)
	return lo == hi
}

// Each line costs the engine about a hundred bytes when it is indexed and paired, and an ordinary line pays for that with its own
// length. A text with more than lightLines lines that are on average shorter than lightLine does not.
const (
	lightLines = 3 << 14
	lightLine  = 16 // bytes, including the line end
)

// Crowded reports whether a text of that size has too many short lines for an index.
func Crowded(lines, size int) bool { return lines > lightLines && lines > size/lightLine }
