// Package concealed finds what of a text a person who reads it does not see, or sees in another order than a machine: marks
// that turn the direction of writing, characters without a shape, control characters, and code so far to the right that it
// stands outside every window. It reads text alone, whatever its language.
package concealed

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A Line is one that conceals something, counted from 1.
type Line struct {
	Number int
	// What it has, as a part of a sentence.
	What string
}

// mostLines bounds what is told of one text.
const mostLines = 5

// Find lists the lines of after that conceal something, but for those of before. code says that a machine runs the text: then no
// character without a shape has anything to do in it, and no control character. In other text they hold emoji
// together, and words of several languages.
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

// suspicious reports whether a text has anything to look at, in one pass.
func suspicious(text string, code bool) bool {
	for _, r := range text {
		if r >= utf8.RuneSelf && (unicode.Is(unicode.C, r) || unicode.Is(unicode.Variation_Selector, r) || blank(r)) || r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return true
		}
	}
	return code && farRight.MatchString(text)
}

// inLine says what of a line is concealed, "" for nothing.
func inLine(line string, code bool) string {
	var last rune
	for i, r := range line {
		switch {
		case r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			return named("turns the direction in which it is shown", r)
		// The flags of some countries are a black flag and such letters.
		case r >= '\U000e0000' && r <= '\U000e007f' && !strings.HasPrefix(flagOf(line[:i]), "\U0001f3f4"):
			return named("holds letters that are not shown", r)
		case unicode.Is(unicode.Variation_Selector, r) && unicode.Is(unicode.Variation_Selector, last):
			return named("holds a row of characters that are not shown", r)
		case code && (r == '\u00ad' || r == '\u180e' || r == '\u200b' || r >= '\u2060' && r <= '\u2064' || r == '\ufeff' || blank(r)):
			return named("holds a character without a shape", r)
		case code && (r < ' ' && r != '\t' && r != '\f' || r == 0x7f || r >= 0x80 && r < 0xa0):
			return named("holds a control character", r)
		}
		last = r
	}
	if code && farRight.MatchString(line) {
		return "continues far to the right, behind blank space"
	}
	return ""
}

// flagOf is the end of a text from the last character that is no letter of a flag.
func flagOf(text string) string {
	for i := len(text); i > 0; {
		r, size := utf8.DecodeLastRuneInString(text[:i])
		if i -= size; r < '\U000e0000' || r > '\U000e007f' {
			return text[i:]
		}
	}
	return ""
}

// blank reports whether a character is a letter to languages, and is shown as nothing.
func blank(r rune) bool { return r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0' }

// farRight matches blank space within a line, or in front of it, that no alignment and no indentation needs, up to something.
var farRight = lazyregexp.New(`[^ \t\n][ \t]{120,}[^ \t\r\n]|(?m)^[ \t]{200,}[^ \t\r\n]`)

// named says what a line does, and by which character.
func named(does string, r rune) string { return fmt.Sprintf("%s (U+%04X)", does, r) }

// IsCode reports whether a machine runs the text of a file, and people read it: what is in it is source, no data of a test.
func IsCode(path, text string) bool {
	l := lang.Detect(path, text)
	return l != nil && l.Values == lang.Code && !l.MayTest(path) && !lang.InTests(path)
}
