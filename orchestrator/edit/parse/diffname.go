package parse

import (
	"strconv"
	"strings"

	"agent/orchestrator/edit/lex"
)

// gitPrefixes are the letters that git puts before the names of the two sides: "a" and "b", or with diff.mnemonicPrefix those of
// commit, index, object and work tree.
const gitPrefixes = "abciow"

// stripped returns the path without git's prefix; if on is false it returns the name unchanged.
func stripped(name string, on bool) string {
	if on && len(name) > 2 && name[1] == '/' && strings.IndexByte(gitPrefixes, name[0]) >= 0 {
		return name[2:]
	}
	return name
}

// diffName returns the unquoted file name of a "---" or "+++" line: the part before a tab, which begins a timestamp.
func diffName(s string) string {
	name, _, _ := strings.Cut(s, "\t")
	return unquote(strings.TrimRight(name, " \r"))
}

// gitNames returns the two names of a "diff --git" line. It separates names with spaces at the point where both are equal except
// for their prefixes.
//
// They matter only if nothing else names the file: for a change of mode, a binary file and an empty one.
func gitNames(s string) (old, name string) {
	if strings.HasPrefix(s, `"`) {
		if n := lex.Quoted(s); n > 1 && n < len(s) {
			return unquote(s[:n]), unquote(strings.TrimSpace(s[n:]))
		}
	}
	for i := range len(s) {
		if s[i] == ' ' && strings.TrimPrefix(s[:i], "a/") == strings.TrimPrefix(unquote(s[i+1:]), "b/") {
			return s[:i], unquote(s[i+1:])
		}
	}
	old, name, _ = strings.Cut(s, " ")
	return old, unquote(name)
}

// unquote undoes git's quoting of names with special bytes.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	if out, err := strconv.Unquote(s); err == nil { // git's escapes are those of Go, including octal ones
		return out
	}
	return s
}
