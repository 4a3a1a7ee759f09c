package lex

import (
	"slices"
	"strings"
)

// commentMarks may stand around an elision, in any language: models write the comments of the language they think in.
var commentMarks = []string{"//", "/*", "{/*", "<!--", "--", "#", "%", ";", "*"}

// elisionStarts are the first bytes of those marks, of three dots and of the ellipsis. Few lines of code begin with one, and only
// those are examined.
const elisionStarts = "/{<-#%;*.\xe2"

// Elision reports whether a line stands for omitted lines: three dots, alone, in a comment, or with a word such as "existing" or
// "rest" after them. marked is false for bare dots, which are an expression in Python.
//
// Yes: "...", "# ...", "// ... existing code ...", "{/* ... rest ... */}", "# \u2026 (rest of the class)". No: "...args",
// "x = ...", "wait...".
func Elision(s string) (yes, marked bool) {
	if s = strings.TrimSpace(s); s == "" || strings.IndexByte(elisionStarts, s[0]) < 0 {
		return false, false // nearly every line
	}
	for _, m := range commentMarks {
		if rest, ok := strings.CutPrefix(s, m); ok {
			s, marked = strings.TrimSpace(rest), true
			break
		}
	}
	for _, m := range []string{"*/}", "*/", "-->"} {
		s = strings.TrimSpace(strings.TrimSuffix(s, m))
	}
	rest, ok := strings.CutPrefix(strings.ReplaceAll(s, "\u2026", "..."), "...")
	if !ok {
		return false, false
	}
	words := strings.ToLower(strings.Trim(rest, " .()[]"))
	if words == "" {
		return true, marked
	}
	if !marked && !strings.HasPrefix(rest, " ") {
		return false, false // a spread or variadic argument: ...other
	}
	for _, w := range elisionWords {
		if after, ok := strings.CutPrefix(words, w); ok && (after == "" || after[0] == ' ') {
			return true, marked
		}
	}
	return false, false
}

// elisionWords follow the dots of an elision. Other words make the line an ordinary remark: "# ... and then some".
var elisionWords = []string{"existing", "rest", "the rest", "other", "remaining", "unchanged", "omitted", "same", "previous", "keep"}

// placeholder reports whether a line promises code instead of giving it: a marked elision, or a comment such as
// "# rest of the code unchanged".
//
// Both ends of such a comment must fit, so "# rest of the arguments are passed on" is an ordinary comment.
func placeholder(s string) bool {
	if yes, marked := Elision(s); yes {
		return marked
	}
	if s = strings.TrimSpace(s); s == "" || strings.IndexByte(elisionStarts, s[0]) < 0 {
		return false
	}
	found := false
	for _, m := range commentMarks {
		if rest, ok := strings.CutPrefix(s, m); ok && m != "*" {
			s, found = strings.ToLower(strings.TrimSpace(rest)), true
			break
		}
	}
	if !found {
		return false
	}
	for _, m := range []string{"*/}", "*/", "-->"} {
		s = strings.TrimSpace(strings.TrimSuffix(s, m))
	}
	s = strings.Trim(s, " .()[]\u2026")
	for _, head := range []string{"rest of", "the rest of", "remaining", "existing code", "other methods", "other code", "same as before", "previous code"} {
		if !strings.HasPrefix(s, head) {
			continue
		}
		for _, tail := range []string{
			"unchanged", "existing code", "same as before", "stays the same", "remains the same", "remain unchanged",
			"remains unchanged", "as before", "here", "rest of the code", "rest of the file", "rest of code",
		} {
			if strings.HasSuffix(s, tail) {
				return true
			}
		}
	}
	return false
}

// isStandIn reports whether a line is a comment that stands for code and says nothing else: "// (unchanged)",
// "# [previous code here]", "<!-- rest of the file -->".
//
// All its words must be among the few that such comments consist of, and they must name the omitted part. A comment with any other
// word has content of its own: "# the rest of the file is read lazily".
func isStandIn(s string) bool {
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
		return false // code that is commented out, or a tool's marker
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

// promises reports whether a line is only three dots in a language that has no such line. In Python it is a statement, in C the end
// of a parameter list, and in prose and data it is text; the remaining languages are those with the comments of C.
func (l *Language) promises(s string) bool {
	s = strings.TrimSpace(s)
	return (s == "..." || s == "\u2026") && l != CLanguage && slices.Contains(l.line, "//")
}

// Promised returns a line of replace that promises code instead of giving it, unless search elides lines too.
//
// A model that writes "# ... rest unchanged" means the elision of the block's form. In a block without elisions in SEARCH the words
// would end up in the file, and the code that they stand for would be gone.
func Promised(lang *Language, replace, search []string) (string, bool) {
	i := slices.IndexFunc(replace, func(s string) bool {
		return placeholder(s) || isStandIn(s) || lang.promises(s)
	})
	elides := func(s string) bool { yes, _ := Elision(s); return yes || placeholder(s) || isStandIn(s) }
	if i < 0 || slices.ContainsFunc(search, elides) { // few blocks promise anything: search is read only for those
		return "", false
	}
	return replace[i], true
}
