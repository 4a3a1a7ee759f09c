package lex

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// shownCode shows what a language treats as code: lines divided by "|", without comments and trailing space.
func shownCode(path, text string) string {
	var out []string
	for _, s := range LanguageOf(path).Code(strings.Split(text, "\n")) {
		out = append(out, strings.TrimRight(s, " \t"))
	}
	return strings.Join(out, "|")
}

func TestCommentsAreToldFromWhatLooksLikeThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, path, text, want string }{
		{"after code", "a.py", "x = 1  # why", "x = 1"},
		{"without space, which leaves a doubt", "a.py", "x = 1# no # no\ny # why", "x = 1# no # no|y"},
		{"an address among typographic marks", "a.rs", "x = \u201dhttp://a b // c\u201d;\ny // no", "x = \u201dhttp://a b // c\u201d;|y // no"},
		{"in a string", "a.py", `x = "# no"  # why`, `x = "# no"`},
		{"behind an escaped quote", "a.py", `x = "\"# no"`, `x = "\"# no"`},
		{"in a docstring", "a.py", "\"\"\"a # no\nb # no\n\"\"\"  # why\n# whole", "\"\"\"a # no|b # no|\"\"\"|"},
		{"in the other docstring", "a.py", "'''a\n# no\n'''\nx # why", "'''a|# no|'''|x"},
		{"in code within a string", "a.py", "f\"{x[\" # no\"]}\" # why\ny # why", "f\"{x[\" # no\"]}\" # why|y"},
		{"braces that close", "a.py", "f\"{x}\" # why", "f\"{x}\""},
		{"after a string that does not close", "a.py", "x = \"a # no\n# no\ny # no", "x = \"a # no|# no|y # no"},
		{"a raw string of Go", "a.go", "x := `a // no\n// no\n` // why", "x := `a // no|// no|`"},
		{"an address", "a.go", `x := "http://a" // why`, `x := "http://a"`},
		{"a character", "a.go", "x := '\"' // why\ny := '\\'' // why\nz := '/' // why", "x := '\"'|y := '\\''|z := '/'"},
		{"between brackets", "a.go", "f(a /* no */, b) /* why */ // and", "f(a /* no */, b)"},
		{"of several lines", "a.go", "/* a\nb\n*/\nx", "|||x"},
		{"of several lines, with code behind it", "a.go", "/* a\nb */ x", "|b */ x"},
		{"of several lines, after code", "a.go", "x /* a\nb */\ny", "x /* a||y"},
		{"one within another", "a.rs", "/* a /* b */ x */\ny // no", "/* a /* b */ x */|y // no"},
		{"a line that goes on", "a.c", "x // why \\\ny\nz // no", "x // why \\|y|z // no"},
		{"a raw string of C++", "a.cc", "x = R\"(// no)\"; // no", "x = R\"(// no)\"; // no"},
		{"an apostrophe that is none", "a.c", "#error don't\nx // no", "#error don't|x // no"},
		{"a lifetime", "a.rs", "fn f<'a>(x: &'a str) // why\nlet c = 'a'; // why", "fn f<'a>(x: &'a str)|let c = 'a';"},
		{"a string of several lines", "a.rs", "let x = \"a // no\n// no\"; // why", "let x = \"a // no|// no\";"},
		{"a raw string of Rust", "a.rs", "let x = r#\"a\"#; // no", "let x = r#\"a\"#; // no"},
		{"a text block", "A.java", "x = \"\"\"\n  // no\n  \"\"\"; // why", "x = \"\"\"|  // no|  \"\"\";"},
		{"a template", "a.js", "x = `a // no ${b} // no`; // why", "x = `a // no ${b} // no`;"},
		{"a template with code in it", "a.js", "x = `a ${f(`b`)} c`; // no", "x = `a ${f(`b`)} c`; // no"},
		{"a regular expression", "a.js", "x = /\\/\\/[/]'/; // why", "x = /\\/\\/[/]'/;"},
		{"a regular expression after a word", "a.js", "return /'/ // why", "return /'/"},
		{"a division", "a.js", "x = a / b; // why\ny = f() / 2 // why", "x = a / b;|y = f() / 2"},
		{"a slash that may be either", "a.js", "} / 2 // no", "} / 2 // no"},
		{"text among tags", "a.tsx", "<p>see // no</p>\nx // no", "<p>see // no</p>|x // no"},
		{"a colour", "a.css", "a { color: #fff; } /* why */", "a { color: #fff; }"},
		{"an address in a style", "a.css", "a { b: url(\"/*\"); } /* why */", "a { b: url(\"/*\"); }"},
		{"a length in a shell", "a.sh", "echo $# # why\necho a#b", "echo $#|echo a#b"},
		{"a default in a shell", "a.sh", "echo ${x# no} # no", "echo ${x# no} # no"},
		{"a command in a string", "a.sh", "x=\"$(f \"a # no\")\" # no\ny # why", "x=\"$(f \"a # no\")\" # no|y"},
		{"a string of several lines in a shell", "a.sh", "x='a\n# no' # why", "x='a|# no'"},
		{"a here-document", "a.sh", "cat <<-'EOF' # why\n# no\n\tEOF\nx # why", "cat <<-'EOF'|# no|\tEOF|x"},
		{"two here-documents", "a.sh", "cat <<A <<B\nx # no", "cat <<A <<B|x # no"},
		{"a word that is no document", "a.sh", "cat <<< a # why\nx # why", "cat <<< a|x"},
		{"a value", "a.yaml", "a: b # why\nc: d#e", "a: b|c: d#e"},
		{"an apostrophe in a value", "a.yaml", "a: it's # why\nb: 'it''s # no' # why", "a: it's|b: 'it''s # no'"},
		{"a text in YAML", "a.yml", "a: | # why\n  # no\n\n  b # no\nc: 1 # why", "a: ||  # no||  b # no|c: 1"},
		{"a literal string", "a.toml", "a = 'C:\\' # why", "a = 'C:\\'"},
		{"a long literal string", "a.toml", "a = '''\n# no\n''' # why", "a = '''|# no|'''"},
		{"two kinds of quotes", "a.proto", "a = 'b\" // no'; // why", "a = 'b\" // no';"},
		{"a language without a syntax: whole lines only", "a.lua", "-- why\nx -- no", "|x -- no"},
		{"a language without comments", "a.txt", "# no\nx # no", "# no|x # no"},
	} {
		if got := shownCode(c.path, c.text); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// Whatever a text contains, its code stays in place: a line is cut only at its end, and only before a comment.
func TestCodeIsTheBeginningOfALine(t *testing.T) {
	t.Parallel()
	files := []string{"a.py", "a.go", "a.js", "a.rs", "a.c", "a.css", "a.sh", "a.yaml", "a.toml", "a.lua", "a.java"}
	rapid.Check(t, func(t *rapid.T) {
		l := LanguageOf(rapid.SampledFrom(files).Draw(t, "file"))
		piece := rapid.SampledFrom(strings.Split(`x|"|'|#|//|/*|*/|/|\|${|}|<<|EOF| |`+"`|\"\"\"|:|--|é", "|"))
		var lines []string
		for range rapid.IntRange(1, 6).Draw(t, "lines") {
			lines = append(lines, strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "line"), ""))
		}
		got := l.scan(lines)
		if len(got.Code) != len(lines) || len(got.Within) != len(lines)+1 {
			t.Fatalf("%q has %d lines of code and %d states", lines, len(got.Code), len(got.Within))
		}
		for i, s := range lines {
			rest, ok := strings.CutPrefix(s, got.Code[i])
			mark := false
			for _, m := range l.line {
				mark = mark || strings.HasPrefix(strings.TrimSpace(rest), m)
			}
			for _, b := range l.Block {
				mark = mark || strings.HasPrefix(strings.TrimSpace(rest), b[0]) || got.Within[i] == InComment
			}
			if !ok || rest != "" && !mark {
				t.Fatalf("line %d of %q has the code %q", i+1, lines, got.Code[i])
			}
		}
	})
}
