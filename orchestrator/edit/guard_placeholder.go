package edit

import (
	"slices"
	"strings"
)

// stands reports whether a line is a comment that stands for code and says no
// more than that: "// (unchanged)", "# [previous code here]", "<!-- rest of the
// file -->".
//
// All its words must be of the few that such comments are made of, and they
// must name what is left out. A comment with any other word tells something of
// its own: "# the rest of the file is read lazily".
func stands(s string) bool {
	s = strings.TrimSpace(s)
	i := slices.IndexFunc(commentMarks, func(m string) bool { return m != "*" && strings.HasPrefix(s, m) })
	if i < 0 {
		return false
	}
	s = strings.ToLower(strings.TrimLeft(s, "/*{<!-#%; "))
	words := strings.FieldsFunc(s, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r == '\'') })
	for _, w := range words {
		if !slices.Contains(standIns, w) {
			return false
		}
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r >= '0' && r <= '9' || strings.ContainsRune("=_@:<\"`+&|?", r) }) {
		return false // code that is commented out, or a marker of some tool
	}
	has := func(any ...string) bool {
		return slices.ContainsFunc(any, func(w string) bool { return slices.Contains(words, w) })
	}
	return has("unchanged", "omitted") ||
		has("rest") && has("file", "code", "class", "function", "method", "implementation", "component", "module") ||
		has("existing", "previous", "remaining", "original") && has("code", "implementation")
}

// standIns are the words of comments that stand for code.
var standIns = []string{
	"rest", "of", "the", "this", "your", "my", "all", "and", "other", "for", "brevity", "clarity", "as", "before", "above", "below", "here", "goes",
	"go", "is", "are", "stay", "stays", "remain", "remains", "same", "keep", "with", "unchanged", "omitted", "existing", "previous", "remaining", "original",
	"code", "file", "class", "function", "functions", "method", "methods", "implementation", "component", "module", "imports", "content", "body", "logic", "lines",
}

// promises reports whether a line is three dots and nothing else in a language
// that has no such line. In Python it is a statement, in C the end of a list of
// parameters, and in prose and data it is text; the languages left are those
// with the comments of C.
func (l *language) promises(s string) bool {
	s = strings.TrimSpace(s)
	return (s == "..." || s == "\u2026") && l != cLanguage && slices.Contains(l.line, "//")
}
