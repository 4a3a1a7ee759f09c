package edit

import "strings"

// blank reports whether a line holds nothing but space.
func blank(s string) bool { return strings.TrimSpace(s) == "" }

// indent returns the space at the start of a line.
func indent(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// outer returns the range of lines without the blank ones at either end.
func outer(lines []string) (lo, hi int) {
	hi = len(lines)
	for lo < hi && blank(lines[lo]) {
		lo++
	}
	for hi > lo && blank(lines[hi-1]) {
		hi--
	}
	return lo, hi
}

// trimSpace is strings.TrimSpace, named for what the strategies mean by it.
func trimSpace(s string) string { return strings.TrimSpace(s) }

// lastByte returns the last byte of s without trailing space, as a string.
func lastByte(s string) string {
	s = trimSpace(s)
	return s[max(0, len(s)-1):]
}

// only reports whether s holds nothing but c.
func only(s string, c byte) bool { return strings.Trim(s, string(c)) == "" }

// bom is the byte order mark that some editors put before UTF-8 text.
const bom = "\ufeff"

// sameLines reports whether two bodies are the same.
func sameLines(a, b []string) bool {
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

// allBlank reports whether lines hold nothing but space.
func allBlank(lines []string) bool {
	lo, hi := outer(lines)
	return lo == hi
}

// Each line costs the engine some hundred bytes where it is indexed and
// paired, and a line of text pays for that with its own length. A text of
// more lines than lightLines that are shorter than lightLine on average does not.
const (
	lightLines = 3 << 14
	lightLine  = 16 // bytes, the line end included
)

// crowded reports whether a text of that size has too many short lines for
// an index.
func crowded(lines, size int) bool { return lines > lightLines && lines > size/lightLine }
