// Package concealed finds parts of a text that a person who reads it does not see, or sees in a different order than
// a machine: marks that change the direction of writing, characters without a shape, control characters, and code so
// far to the right that it is outside every window. It reads text alone, in any language.
package concealed

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A Line is a line that conceals something, counted from 1.
type Line struct {
	Number int
	// What it does, as a part of a sentence.
	What string
}

// mostLines bounds the lines that are reported for one text.
const mostLines = 5

// Find lists the lines of after that conceal something, except for lines that before has too. code says that a
// machine runs the text: then characters without a shape and control characters have no purpose in it. In other text,
// such characters hold emoji together, and words of several languages.
func Find(before, after string, code bool) (found []Line) {
	if !suspicious(after, code) {
		return nil
	}
	known := map[string]bool{}
	for line := range strings.Lines(before) {
		known[strings.TrimSpace(line)] = true
	}
	n := 0
	for line := range strings.Lines(after) {
		n++
		if known[strings.TrimSpace(line)] {
			continue
		}
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // says how the file is encoded
		}
		if what := inLine(strings.TrimRight(line, "\r\n"), code); what != "" {
			if found = append(found, Line{n, what}); len(found) == mostLines {
				return found
			}
		}
	}
	return found
}

// suspicious reports, in one pass, whether a text contains anything to look at.
func suspicious(text string, code bool) bool {
	for _, r := range text {
		if r >= utf8.RuneSelf && (unicode.Is(unicode.C, r) || unicode.Is(unicode.Variation_Selector, r) || blank(r)) || r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return true
		}
	}
	return code && farRight.MatchString(text)
}

// inLine says what a line conceals, "" if nothing.
func inLine(line string, code bool) string {
	var last rune
	for i, r := range line {
		switch {
		case r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			return named("changes the direction in which it is shown", r)
		// The flags of some countries consist of a black flag and such letters.
		case r >= '\U000e0000' && r <= '\U000e007f' && !strings.HasPrefix(flagOf(line[:i]), "\U0001f3f4"):
			return named("holds letters that are not shown", r)
		case unicode.Is(unicode.Variation_Selector, r) && unicode.Is(unicode.Variation_Selector, last):
			return named("holds a row of characters that are not shown", r)
		case code && (r == '\u00ad' || r == '\u180e' || r == '\u200b' || r >= '\u2060' && r <= '\u2064' || r == '\ufeff' || blank(r)):
			return named("holds a character without a visible shape", r)
		case code && (r < ' ' && r != '\t' && r != '\f' || r == 0x7f || r >= 0x80 && r < 0xa0):
			return named("holds a control character", r)
		}
		last = r
	}
	if code && farRight.MatchString(line) {
		return "continues far to the right, after blank space"
	}
	return ""
}

// flagOf returns the end of a text from the last character that is not a letter of a flag.
func flagOf(text string) string {
	for i := len(text); i > 0; {
		r, size := utf8.DecodeLastRuneInString(text[:i])
		if i -= size; r < '\U000e0000' || r > '\U000e007f' {
			return text[i:]
		}
	}
	return ""
}

// blank reports whether a character counts as a letter but is shown as nothing.
func blank(r rune) bool { return r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0' }

// farRight matches something after more blank space, within a line or at its start, than any alignment or indentation needs.
var farRight = lazyregexp.New(`[^ \t\n][ \t]{120,}[^ \t\r\n]|(?m)^[ \t]{200,}[^ \t\r\n]`)

// named says what a line does, and with which character.
func named(does string, r rune) string { return fmt.Sprintf("%s (U+%04X)", does, r) }

// IsCode reports whether a machine runs the text of a file and people read it: the file is source, and not data of a test.
func IsCode(path, text string) bool {
	l := lang.Detect(path, text)
	return l != nil && l.Values == lang.Code && !l.MayTest(path) && !lang.InTests(path)
}
