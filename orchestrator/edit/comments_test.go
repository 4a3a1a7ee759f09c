package edit

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// shownCode shows what a language takes for code: its lines divided by "|",
// what it takes for a comment left out, trailing space too.
func shownCode(path, text string) string {
	var out []string
	for _, s := range languageOf(path).code(strings.Split(text, "\n")) {
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

// Whatever a text holds, its code is where it was: each line is cut at its
// end at most, and one that is cut is cut before a comment.
func TestCodeIsTheBeginningOfALine(t *testing.T) {
	t.Parallel()
	files := []string{"a.py", "a.go", "a.js", "a.rs", "a.c", "a.css", "a.sh", "a.yaml", "a.toml", "a.lua", "a.java"}
	rapid.Check(t, func(t *rapid.T) {
		l := languageOf(rapid.SampledFrom(files).Draw(t, "file"))
		piece := rapid.SampledFrom(strings.Split(`x|"|'|#|//|/*|*/|/|\|${|}|<<|EOF| |`+"`|\"\"\"|:|--|é", "|"))
		var lines []string
		for range rapid.IntRange(1, 6).Draw(t, "lines") {
			lines = append(lines, strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "line"), ""))
		}
		got := l.scan(lines)
		if len(got.code) != len(lines) || len(got.within) != len(lines)+1 {
			t.Fatalf("%q has %d lines of code and %d states", lines, len(got.code), len(got.within))
		}
		for i, s := range lines {
			rest, ok := strings.CutPrefix(s, got.code[i])
			mark := false
			for _, m := range l.line {
				mark = mark || strings.HasPrefix(strings.TrimSpace(rest), m)
			}
			for _, b := range l.block {
				mark = mark || strings.HasPrefix(strings.TrimSpace(rest), b[0]) || got.within[i] == inComment
			}
			if !ok || rest != "" && !mark {
				t.Fatalf("line %d of %q has the code %q", i+1, lines, got.code[i])
			}
		}
	})
}

// The comment after code stays with a line that is changed in its place, and
// is never lost.
func TestACommentAfterCodeFollowsItsLine(t *testing.T) {
	t.Parallel()
	const file = "a = 1  # why|b = 2|c = 3\t# how|d = 4"
	for _, c := range []struct{ name, search, replace, want string }{
		{"kept", "a = 1|b = 2", "a = 1|b = 9", "1-2 b = 9|"},
		{"changed in place", "a = 1|b = 2", "a = 9|b = 2", "0-1 a = 9  # why|"},
		{"all changed in place", "a = 1|b = 2|c = 3", "x = 1|y = 2|z = 3", "0-3 x = 1  # why|y = 2|z = 3\t# how|"},
		{"with another comment", "a = 1|b = 2", "a = 9 # so|b = 2", "0-1 a = 9 # so|"},
		{"named, then left out", "a = 1  # why|b = 2", "a = 9|b = 2", "0-1 a = 9|"},
		{"removed", "a = 1|b = 2", "b = 2", errComment.Error()},
		{"two for one", "a = 1|b = 2", "a = 9|x = 9|b = 2", errComment.Error()},
		{"one for two", "a = 1|b = 2|c = 3", "a = 9|c = 3", errComment.Error()},
		{"a line after it", "a = 1|b = 2", "a = 1|x = 9|b = 2", "1-1 x = 9|"},
		{"a string that goes on", "a = 1|b = 2", "a = '''|b = 2", errComment.Error()},
		{"a line that goes on", "a = 1|b = 2", `a = \|b = 2`, errComment.Error()},
		{"trailing space of the new line", "a = 1|b = 2", "a = 9 |b = 2", "0-1 a = 9  # why|"},
	} {
		if got := rewritten(t, "a.py", file, c.search, c.replace); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNewLinesAfterACommentAreNotAddedTwice(t *testing.T) {
	t.Parallel()
	const file = "a = 1  # why|b = 2|c = 3"
	for block, want := range map[string]string{
		"a = 1>a = 1|b = 2":   "already_applied 1",
		"a = 1>a = 1|# so":    "a = 1  # why|# so|b = 2|c = 3",
		"a = 1>a = 1|b = 3":   "a = 1  # why|b = 3|b = 2|c = 3",
		"b = 2|c = 3>b = 2":   "a = 1  # why|b = 2",
		"a = 1|c = 3>a = 1":   "not_found 1",
		"a = 1|b = 2>a = 1|b": "a = 1  # why|b|c = 3",
	} {
		if got := edited(file, block); got != want {
			t.Errorf("%s: %s, want %s", block, got, want)
		}
	}
}

func TestCommentsAroundSearchArePairedWithTheFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, search, want string }{
		{"the first of two at the start", "# a|# b|x = 1|y = 2", "# a|x = 1|y = 2", "normalised 1-4"},
		{"the last of two at the start", "# a|# b|x = 1|# c|y = 2", "# b|x = 1|y = 2", "normalised 2-5"},
		{"one at the end", "x = 1|# a|y = 2|# b|# c", "x = 1|y = 2|# c", "normalised 1-5"},
		{"one at the start that is behind code", "# a|z = 0|x = 1|# c|y = 2", "# a|x = 1|y = 2", "nowhere"},
		{"one at the end that is behind code", "x = 1|# c|y = 2|z = 3|# a", "x = 1|y = 2|# a", "nowhere"},
		{"one above the file's first line", "x = 1|# c|y = 2", "# a|x = 1|y = 2", "nowhere"},
		{"after code, once each", "x = 1  # a|y = 2", "x = 1|y = 2", "normalised 1-2"},
		{"after code, of two places", "x = 1  # a|x = 1  # b", "x = 1", "ambiguous [1 2]"},
		{"after code, beside the text to the letter", "x = 1  # a|x = 1", "x = 1", "exact 2-2"},
		{"after code, only in SEARCH", "x = 1|y = 2", "x = 1  # a|y = 2", "nowhere"},
		{"after code, another", "x = 1  # a|# c|y = 2", "x = 1  # b|y = 2", "nowhere"},
		{"after code, the same", "x = 1  # a|# c|y = 2", "x = 1  # a|y = 2", "normalised 1-3"},
		{"a comment that tells two places apart", "  # a|  x = 1|  # b|  x = 1", "# a|x = 1", "indentation 1-2"},
		{"one place with a comment, another at another depth", "  x = 1|  # c|  y = 2|z = 3|x = 1|y = 2", "  x = 1|  y = 2", "ambiguous [1 5]"},
		{"after code, at another depth", "  x = 1  # a|  y = 2", "x = 1|y = 2", "robust 1-2"},
	} {
		if got := located(locate(lined("a.py", c.file), bars(c.search), []string{"new"})); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestACommentOfSeveralLinesIsLeftOutWhole(t *testing.T) {
	t.Parallel()
	const file = "x = 1;|/*| * why| * how| */|y = 2;"
	for search, want := range map[string]string{
		"x = 1;|y = 2;":                      "normalised 1-6",
		"x = 1;|/*| * why| * how| */|y = 2;": "exact 1-6",
		"x = 1;|/*| * why| */|y = 2;":        "nowhere",
		"x = 1;|/*| */|y = 2;":               "nowhere",
		"x = 1;| * how| */|y = 2;":           "nowhere",
		" * how| */|y = 2;":                  "exact 4-6",
	} {
		if got := located(locate(lined("a.go", file), bars(search), []string{"new"})); got != want {
			t.Errorf("%s: %s, want %s", search, got, want)
		}
	}
}

func TestBlankLinesAroundSearchCountWhereTheFileHasThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, search, replace, want string }{
		{"both there", "a||b ||c", "|b|", "B", "1-4 B|"},
		{"one of two there", "a||b ||c", "||b||", "||B||", "2-3 B|"},
		{"one of two there, and one less in REPLACE", "a||b ||c", "||b||", "|B|", "1-4 B|"},
		{"none there", "a|b |c", "|b|", "|B|", "1-2 B|"},
		{"shifted", "a||  b1||c", "|b1|", "b2", "1-4   b2|"},
		{"one more in REPLACE", "a||b |c", "|b", "||B", "2-3 |B|"},
	} {
		if got := rewritten(t, "a.py", c.file, c.search, c.replace); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A line in a string is no remark, whatever it looks like.
func Example_remark() {
	d := newDocument("a.py", []byte("# a\nx = 1 # b\n\"\"\"\n# c\n\"\"\"\n"))
	for i := range d.len() {
		fmt.Printf("%t %q\n", d.remark(i), d.tail(i))
	}
	// Output:
	// true ""
	// false " # b"
	// false ""
	// false ""
	// false ""
}
