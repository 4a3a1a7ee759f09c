package lex

import (
	"strings"
	"testing"
)

// A comment is a placeholder for code only if all its words are from a small set, they name what is omitted, and nothing in it looks like
// code or a tool's marker.
func TestWhatMakesACommentAStandIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line string
		want       bool
	}{
		{"one word that tells", "# unchanged", true},
		{"one word that does not", "# same", false},
		{"the same without a mark", "unchanged", false},
		{"an asterisk is a list, not a mark", "* unchanged", false},
		{"capitals", "// REST OF THE FILE", true},
		{"the rest of nothing named", "// the rest stays the same", false},
		{"the rest of what is left out", "// the rest of this component stays the same", true},
		{"what exists, unnamed", "// existing body here", false},
		{"what exists, named", "// existing implementation goes here", true},
		{"what remains, of lines", "# remaining lines", false},
		{"a word of its own", "# unchanged since then", false},
		{"a number", "# lines 4 unchanged", false},
		{"an assignment", "# code = unchanged", false},
		{"a key", "# code: unchanged", false},
		{"an address of somebody", "# @unchanged", false},
		{"a quotation", "# \"unchanged\"", false},
		{"a question", "// unchanged?", false},
		{"brackets and dots", "<!-- [rest of the module ...] -->", true},
		{"a letter of another language", "# code unver\u00e4ndert unchanged", false},
		{"only marks", "/* */", false},
		{"nothing", "", false},
		{"space alone", "  \t", false},
	} {
		if got := isStandIn(c.line); got != c.want {
			t.Errorf("%s: %q: %v, want %v", c.name, c.line, got, c.want)
		}
	}
}

// Three dots stand for code in the languages with // comments, except in C and C++.
func TestThreeDotsPromiseCodeInSomeLanguages(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a.java": true, "a.kt": true, "a.php": true, "a.proto": true, "a.js": true,
		"a.cpp": false, "a.h": false, "a.css": false, "a.sql": false, "a.json": false, "Makefile": false,
	} {
		l := LanguageOf(name)
		for _, s := range []string{"...", "\t\u2026  "} {
			if got := l.promises(s); got != want {
				t.Errorf("%q in %s: %v, want %v", s, name, got, want)
			}
		}
		for _, s := range []string{"....", "..", "... x", "f(...)", ""} {
			if l.promises(s) {
				t.Errorf("%q in %s is taken for a promise", s, name)
			}
		}
	}
}

// The result tells how each line begins and how the text ends: "-" in plain code, "t" in a string or lost, "c" in a comment.
func TestWhereEachLineBegins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, path, text, want string }{
		{"statements", "a.py", "x = 1|y = 2", "---"},
		{"a docstring", "a.py", "\"\"\"a|b|\"\"\"|x", "-tt--"},
		{"a string that does not close", "a.py", "x = 'a|y|z", "-ttt"},
		{"a raw string", "a.go", "x := `a|// b|`", "-tt-"},
		{"a comment", "a.go", "/* a|b|*/|x", "-cc--"},
		{"a comment within one", "a.go", "/* a|/* b|*/|x", "-cttt"},
		{"a template", "a.js", "x = `a|b`|y", "-t--"},
		{"a template with code", "a.js", "x = `${f('a')}`|y", "-tt"},
		{"tags in a script", "a.tsx", "x = <a></a>|y", "ttt"},
		{"a here-document", "a.sh", "cat <<END|# a|END|x", "-tt--"},
		{"a here-document with quotes", "a.sh", "cat <<-'END'|# a|\tEND|x", "-tt--"},
		{"a here-string", "a.sh", "cat <<< a|x", "---"},
		{"two here-documents", "a.sh", "cat <<A <<B|x|A|B|y", "-ttttt"},
		{"a text of YAML", "a.yaml", "a: ||  # b||c: 1|d: 2", "-ttt--"},
		{"a folded text of YAML", "a.yaml", "a: >-|  # b|c: 1|d: 2", "-tt--"},
		{"an apostrophe in YAML", "a.yaml", "a: it's|b: 'c'", "---"},
		{"no syntax", "a.rb", "x = \"a|b\"", "---"},
	} {
		// A block scalar of YAML begins with a bar of its own.
		lines := bars(strings.Replace(c.text, "a: ||", "a: \x00|", 1))
		for i, s := range lines {
			lines[i] = strings.ReplaceAll(s, "\x00", "|")
		}
		got := ""
		for _, w := range LanguageOf(c.path).scan(lines).Within {
			got += string("-tc"[w])
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A comment may follow a line if nothing is open at its end.
func TestLinesThatACommentMayFollow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, line string
		want       bool
	}{
		{"a.py", "x = 1", true},
		{"a.py", "x = '# a'", true},
		{"a.py", "x = \"\"\"a", false},
		{"a.py", "x = 'a", false},
		{"a.py", "x = 1 + \\", false},
		{"a.go", "x /* a", false},
		{"a.go", "x := `a`", true},
		{"a.rs", "let x = r\"a\";", false},
		{"a.rb", "x = 1", false},
		{"a.sh", "cat <<END", false},
		{"a.yaml", "a: |", false},
	} {
		if got := LanguageOf(c.path).Closed(c.line); got != c.want {
			t.Errorf("%q in %s: %v, want %v", c.line, c.path, got, c.want)
		}
	}
}

// In JavaScript, a slash after a keyword opens a regular expression. In YAML, a quotation mark opens a string only where a value may
// begin.
func TestWhatStandsBeforeAMarkDecides(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"return": true, "x = typeof": true, "(case": true, "returned": false, "x": false, "": false, "$return ": false, "of": true} {
		if got := newScanner(ScriptLanguage, nil).endsInKeyword(s); got != want {
			t.Errorf("%q ends in a keyword: %v, want %v", s, got, want)
		}
	}
	for s, want := range map[string]bool{"": true, "  ": true, "a: ": true, "- ": true, "[": true, "a: {b, ": true, "a: it": false, "a: b ": false, "!": true, "a: \"b\"": false} {
		if got := startsValue(s); got != want {
			t.Errorf("a value may begin after %q: %v, want %v", s, got, want)
		}
	}
	for s, want := range map[string]bool{"\u201ca": true, "\u2019": true, "\u00e9": false, "\u2026": false, "\u2014": false} {
		if got := quoteLike(s); got != want {
			t.Errorf("%q begins with a quotation mark: %v, want %v", s, got, want)
		}
	}
}
