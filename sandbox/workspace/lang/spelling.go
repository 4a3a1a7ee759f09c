package lang

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"agent/sandbox/workspace/lazyregexp"
	"golang.org/x/text/unicode/norm"
)

// A Spelling is a name that is written one way in code and that its language reads another way.
type Spelling struct{ Written, Read string }

var (
	// anyName matches a word that does not consist of ASCII letters alone.
	anyName = lazyregexp.New(`[\pL\pM\pN\p{Pc}$\x{b7}]*[^\x00-\x7f][\pL\pM\pN\p{Pc}$\x{b7}]*`)
	// escaped matches a JavaScript name that contains escapes, and escape one of them.
	escaped = lazyregexp.New(`[\pL\pM\pN_$#]*(?:\\u(?:[0-9A-Fa-f]{4}|\{0*[0-9A-Fa-f]{1,8}\})[\pL\pM\pN_$]*)+`)
	escape  = lazyregexp.New(`\\u(?:[0-9A-Fa-f]{4}|\{0*[0-9A-Fa-f]{1,8}\})`)
)

// longestName bounds, in bytes, the names that are reported: no language has a longer one of its own.
const longestName = 1024

// Respelled lists the names in code, as Lex returns it, that a language reads differently from how they are written.
// Python compares names in their compatibility form (NFKC), and JavaScript replaces an escape by its character.
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

// AsRead returns lines of a language with each name as the language reads it, in both Code and Raw, so that a search
// for a name finds every spelling of it. Lines without such names are unchanged.
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
		// One pass over the line, however many names there are.
		as := strings.NewReplacer(pairs...)
		lines[i].Code, lines[i].Raw = as.Replace(lines[i].Code), as.Replace(lines[i].Raw)
	}
	return lines
}
