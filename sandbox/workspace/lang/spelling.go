package lang

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"agent/sandbox/workspace/lazyregexp"
	"golang.org/x/text/unicode/norm"
)

// A Spelling is a name that stands in code as one text and is read by its language as another.
type Spelling struct{ Written, Read string }

var (
	// anyName matches a word that is not of ASCII letters alone.
	anyName = lazyregexp.New(`[\pL\pM\pN\p{Pc}$\x{b7}]*[^\x00-\x7f][\pL\pM\pN\p{Pc}$\x{b7}]*`)
	// escaped matches a name of JavaScript with escapes in it, and escape one of them.
	escaped = lazyregexp.New(`[\pL\pM\pN_$#]*(?:\\u(?:[0-9A-Fa-f]{4}|\{0*[0-9A-Fa-f]{1,8}\})[\pL\pM\pN_$]*)+`)
	escape  = lazyregexp.New(`\\u(?:[0-9A-Fa-f]{4}|\{0*[0-9A-Fa-f]{1,8}\})`)
)

// longestName bounds in bytes the names that are told: no language has a longer one of its own.
const longestName = 1024

// Respelled lists the names in code, as Lex gives it, that a language reads otherwise than they are written: Python compares names in their
// form of compatibility (NFKC), and JavaScript takes an escape for the character that it stands for.
func Respelled(family Family, code string) (list []Spelling) {
	add := func(written, read string) {
		if read != written && len(written) <= longestName {
			list = append(list, Spelling{written, read})
		}
	}
	switch {
	case family == Python && strings.IndexFunc(code, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0:
		for _, name := range anyName.FindAllString(code, -1) {
			add(name, norm.NFKC.String(name))
		}
	case family == Script && strings.Contains(code, `\u`):
		for _, name := range escaped.FindAllString(code, -1) {
			add(name, escape.ReplaceAllStringFunc(name, func(e string) string {
				n, err := strconv.ParseUint(strings.Trim(e, `\u{}`), 16, 32)
				if err != nil || n > utf8.MaxRune {
					return e
				}
				return string(rune(n))
			}))
		}
	}
	return list
}

// AsRead returns lines of a language with each name as the language reads it, in their code and as they stand: who looks for a name
// finds it however it is spelled. Lines of which nothing is spelled otherwise are as they were.
func AsRead(family Family, lines []Line) []Line {
	own := false
	for i := range lines {
		var pairs []string
		for _, s := range Respelled(family, lines[i].Code) {
			pairs = append(pairs, s.Written, s.Read)
		}
		if pairs == nil {
			continue
		}
		if !own {
			lines, own = slices.Clone(lines), true
		}
		// One pass over the line, however many they are.
		as := strings.NewReplacer(pairs...)
		lines[i].Code, lines[i].Raw = as.Replace(lines[i].Code), as.Replace(lines[i].Raw)
	}
	return lines
}
