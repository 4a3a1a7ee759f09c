package edit

import (
	"path"
	"strings"
)

// A language is what the engine must know of a file's language: how a line
// that is only a comment looks. The zero language has no comments.
//
// It is deliberately little. Comments decide only two things: whether a line
// of the file may be passed over in the search, and whether SEARCH is more
// than remarks. Neither removes text from a file.
type language struct {
	line  []string    // what begins a comment that runs to the end of the line
	block [][2]string // what begins and ends a comment
}

// The families of languages that share their comments. Markdown and plain
// text have none that a line can be told by: "#" is a heading there.
var (
	plainLanguage = &language{}
	hashLanguage  = &language{line: []string{"#"}}
	slashLanguage = &language{line: []string{"//"}, block: [][2]string{{"/*", "*/"}}}
	phpLanguage   = &language{line: []string{"//", "#"}, block: [][2]string{{"/*", "*/"}}}
	cssLanguage   = &language{block: [][2]string{{"/*", "*/"}}}
	markLanguage  = &language{block: [][2]string{{"<!--", "-->"}}}
	dashLanguage  = &language{line: []string{"--"}, block: [][2]string{{"/*", "*/"}}}
	luaLanguage   = &language{line: []string{"--"}}
	texLanguage   = &language{line: []string{"%"}}
	lispLanguage  = &language{line: []string{";"}}
	proseLanguage = &language{block: [][2]string{{"<!--", "-->"}}}
)

// languageOf tells the language by the file's name.
//
// A name that is not known has no comments, which only makes matching
// stricter.
func languageOf(name string) *language {
	switch base := strings.ToLower(path.Base(name)); base {
	case "makefile", "dockerfile", "containerfile", "gemfile", "rakefile", "justfile", ".gitignore", ".dockerignore":
		return hashLanguage
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".py", ".pyi", ".sh", ".bash", ".zsh", ".rb", ".pl", ".r", ".jl", ".yaml", ".yml", ".toml", ".tf",
		".cfg", ".conf", ".mk", ".cmake", ".ps1", ".ex", ".exs", ".nix":
		return hashLanguage
	case ".go", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".java", ".kt", ".kts", ".c", ".h", ".cc", ".cpp",
		".hpp", ".cs", ".rs", ".swift", ".scala", ".dart", ".proto", ".scss", ".less", ".groovy", ".gradle", ".zig":
		return slashLanguage
	case ".php":
		return phpLanguage
	case ".css":
		return cssLanguage
	case ".html", ".htm", ".xml", ".svg", ".vue", ".svelte":
		return markLanguage
	case ".sql", ".hs", ".elm":
		return dashLanguage
	case ".lua":
		return luaLanguage
	case ".tex", ".sty", ".erl":
		return texLanguage
	case ".lisp", ".clj", ".el", ".scm", ".ini", ".asm":
		return lispLanguage
	case ".md", ".markdown", ".mdx":
		return proseLanguage
	}
	return plainLanguage
}

// fenced reports whether a fence of backquotes is part of the language, so
// that one around a body may belong to the file.
func (l *language) fenced() bool { return l == proseLanguage || l == plainLanguage }

// comment reports whether the line s is a comment and nothing else. A line
// inside a longer comment or string is not told apart: callers keep such lines
// in the file and never drop them.
//
// Comments after code on one line count as code: to know where they begin
// takes the language's strings, and to set them aside saves few edits.
func (l *language) comment(s string) bool {
	s = strings.TrimSpace(s)
	for _, p := range l.line {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	for _, b := range l.block {
		if strings.HasPrefix(s, b[0]) && strings.Index(s[len(b[0]):], b[1]) == len(s)-len(b[0])-len(b[1]) && len(s) >= len(b[0])+len(b[1]) {
			return true
		}
	}
	return false
}

// commentMarks are what may stand around an elision, in any language: models
// write the comment of the language they think in.
var commentMarks = []string{"//", "/*", "{/*", "<!--", "--", "#", "%", ";", "*"}

// elision reports whether a line stands for lines left out: three dots,
// alone, in a comment, or with a word such as "existing" or "rest" after them.
// marked is false for bare dots, which are an expression in Python.
//
// Yes: "...", "# ...", "// ... existing code ...", "{/* ... rest ... */}",
// "# \u2026 (rest of the class)". No: "...args", "x = ...", "wait...".
func elision(s string) (yes, marked bool) {
	s = strings.TrimSpace(s)
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

// elisionWords follow the dots of an elision.
var elisionWords = []string{"existing", "rest", "the rest", "other", "remaining", "unchanged", "omitted", "same", "previous", "keep"}

// placeholder reports whether a line promises code instead of giving it: a
// marked elision, or a comment such as "# rest of the code unchanged".
//
// Both ends of such a comment must fit, so that "# rest of the arguments are
// passed on" is a comment like any other.
func placeholder(s string) bool {
	if yes, marked := elision(s); yes {
		return marked
	}
	s = strings.TrimSpace(s)
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
