package edit

import (
	"slices"
	"strings"
	"testing"
)

// A comment stands for code only when all its words are of the few, they name
// what is left out, and nothing in it looks like code or a tool's marker.
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

// Three dots are a promise in the languages with the comments of C, but for C.
func TestThreeDotsPromiseCodeInSomeLanguages(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a.java": true, "a.kt": true, "a.php": true, "a.proto": true, "a.js": true,
		"a.cpp": false, "a.h": false, "a.css": false, "a.sql": false, "a.json": false, "Makefile": false,
	} {
		l := languageOf(name)
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

// The innermost bracket decides whether a line may be broken.
func TestWhereALineMayBeBroken(t *testing.T) {
	t.Parallel()
	flows := []flow{fixed, brackets, braces, free}
	for open, want := range map[string][]bool{
		"":   {false, false, false, true},
		"(":  {false, true, true, true},
		"[":  {false, true, true, true},
		"{":  {false, false, true, true},
		"({": {false, false, true, true},
		"{(": {false, true, true, true},
	} {
		for i, f := range flows {
			if got := bends(f, []byte(open)); got != want[i] {
				t.Errorf("flow %d within %q: %v, want %v", f, open, got, want[i])
			}
		}
	}
}

// Two layouts of the same tokens, lines divided by "|", and the least flow in
// which they mean the same.
func TestLayoutsThatMeanTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, a, b string
		least      flow
	}{
		{"alike", "a b|c", "a  b|c", fixed},
		{"an empty line more", "a||b", "a|b", fixed},
		{"broken at the top", "a b", "a|b", free},
		{"joined at the top", "a|b", "a b", free},
		{"in a call", "f(a, b)", "f(a,|b)", brackets},
		{"after the bracket that opens", "f(a)", "f(|a)", brackets},
		{"after the bracket that closes", "f(a) b", "f(a)|b", free},
		{"before the bracket that opens", "f (a)", "f|(a)", free},
		{"in a map", "{a: b}", "{|a: b|}", braces},
		{"in a block within a call", "f({a})", "f({|a})", braces},
		{"after a block within a call", "f({a}, b)", "f({a},|b)", brackets},
		{"more closed than opened", ") f(a)", ") f(|a)", brackets},
	} {
		for f := fixed; f <= free; f++ {
			if got, want := breaksMeanNothing(f, bars(c.a), bars(c.b)), f >= c.least; got != want {
				t.Errorf("%s, flow %d: %v, want %v", c.name, f, got, want)
			}
		}
	}
}

func TestTokensAreCutWithTheirBreaks(t *testing.T) {
	t.Parallel()
	tokens, breaks := cutTokens([]string{"f(a,", "", "  b)"})
	if want := []string{"f", "(", "a", ",", "b", ")"}; !slices.Equal(tokens, want) {
		t.Errorf("tokens %q, want %q", tokens, want)
	}
	for i := range len(tokens) + 1 {
		if want := i == 4 || i == 6; breaks[i] != want {
			t.Errorf("a line ends after %d tokens: %v, want %v", i, breaks[i], want)
		}
	}
}

// Lines on which space has a meaning of its own.
func TestLinesThatArePeculiar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, line string
		want       bool
	}{
		{"a.c", "  #define X", true},
		{"a.c", "x = 1; \\ ", true},
		{"a.c", "x = a / b;", false},
		{"a.c", "x = \"#\";", false},
		{"a.ts", "a / b", true},
		{"a.ts", "#private", false},
		{"a.go", "a / b \\", false},
		{"a.py", "# a", false},
	} {
		if got := peculiar(languageOf(c.path), c.line); got != c.want {
			t.Errorf("%q in %s: %v, want %v", c.line, c.path, got, c.want)
		}
	}
}

func TestWidthsAndSteps(t *testing.T) {
	t.Parallel()
	for x, want := range map[string]int{"": 0, " ": 1, "    ": 4, "\t": 8, "\t\t": 16, "\t  ": 10} {
		if got := width(x); got != want {
			t.Errorf("%q is %d wide, want %d", x, got, want)
		}
	}
	for _, c := range [][3]int{{0, 4, 1}, {4, 0, -1}, {4, 4, 0}, {0, 1, 1}, {8, 7, -1}} {
		if got := step(c[0], c[1]); got != c[2] {
			t.Errorf("from %d to %d: %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

// Where each line begins, and where the text ends: "-" plainly, "t" in a
// string or lost, "c" in a comment.
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
		// A text of YAML begins with a bar of its own.
		lines := bars(strings.Replace(c.text, "a: ||", "a: \x00|", 1))
		for i, s := range lines {
			lines[i] = strings.ReplaceAll(s, "\x00", "|")
		}
		got := ""
		for _, w := range languageOf(c.path).scan(lines).within {
			got += string("-tc"[w])
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A comment may follow a line where nothing is open at its end.
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
		if got := languageOf(c.path).closed(c.line); got != c.want {
			t.Errorf("%q in %s: %v, want %v", c.line, c.path, got, c.want)
		}
	}
}

// The comment behind the code of a line comes with the space before it.
func TestTheTailOfALine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, line, want string }{
		{"a.py", "x = 1  # why", "  # why"},
		{"a.py", "x = 1\t# why ", "\t# why "},
		{"a.py", "x = '#'", ""},
		{"a.py", "# whole", ""},
		{"a.py", "x = 1  ", ""},
		{"a.go", "x() /* why */", " /* why */"},
		{"a.go", "f(a /* why */)", ""},
		{"a.go", "x() /* a */ // b", " /* a */ // b"},
		{"a.rb", "x = 1 # why", ""},
	} {
		d := newDocument(c.path, []byte(c.line+"\n"))
		if got := d.tail(0); got != c.want {
			t.Errorf("%q in %s: %q, want %q", c.line, c.path, got, c.want)
		}
	}
}

// A slash behind one of the words of JavaScript opens an expression, and a
// quotation mark opens a string of YAML only where a value may begin.
func TestWhatStandsBeforeAMarkDecides(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"return": true, "x = typeof": true, "(case": true, "returned": false, "x": false, "": false, "$return ": false, "of": true} {
		if got := endsInKeyword(s); got != want {
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

// Each rule maps an indentation, or says that it cannot; "-" is for that.
func TestARuleOfIndentation(t *testing.T) {
	t.Parallel()
	tabs := &shift{from: ' ', to: '\t', num: 1, den: 4}
	for _, c := range []struct {
		name     string
		rule     *shift
		in, want string
	}{
		{"a prefix comes", &shift{put: "  "}, "\t", "  \t"},
		{"a prefix goes", &shift{cut: "  "}, "    ", "  "},
		{"a prefix that is not there", &shift{cut: "    "}, "  ", "-"},
		{"tabs for four", tabs, "        ", "\t\t"},
		{"tabs for four, aligned", tabs, "      ", "\t  "},
		{"a tab that is not expected", tabs, "    \t", "-"},
		{"four for a tab", &shift{from: '\t', to: ' ', num: 4, den: 1}, "\t\t", "        "},
		{"a space behind the tab stays", &shift{from: '\t', to: ' ', num: 4, den: 1}, "\t ", "     "},
		{"half of it", &shift{from: ' ', to: ' ', num: 1, den: 2}, "    ", "  "},
		{"half of an odd depth", &shift{from: ' ', to: ' ', num: 1, den: 2}, "   ", "-"},
		{"deeper by two", &shift{from: ' ', to: ' ', num: 2, den: 1, add: 2}, "  ", "      "},
		{"out beyond the margin", &shift{from: ' ', to: ' ', num: 2, den: 1, add: -4}, " ", "-"},
		{"just to the margin", &shift{from: ' ', to: ' ', num: 2, den: 1, add: -4}, "  ", ""},
	} {
		got, ok := c.rule.apply(c.in)
		if !ok {
			got = "-"
		}
		if got != c.want {
			t.Errorf("%s: %q becomes %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

// pairsOf reads pairs of indentations: "search file" in numbers of spaces.
func pairsOf(s string) (pairs []depth) {
	for _, p := range bars(s) {
		pairs = append(pairs, depth{strings.Repeat(" ", int(p[0]-'0')), strings.Repeat(" ", int(p[1]-'0'))})
	}
	return pairs
}

// What pairs of depths, the block's and the file's, say of the block.
func TestWhatPairsOfDepthsSay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pairs            string
		mixed, swallowed bool
	}{
		{"00", false, false},
		{"04|48", false, false},
		{"04|44", true, true},
		{"04|88", false, true},
		{"04|88|88", false, true},
		{"04|88|80", true, false},
		{"04|05", true, false},
		{"24|44", true, false},
		{"08|44", true, true},
		{"24|48|24", false, false},
		{"04", false, true},
	} {
		pairs := pairsOf(c.pairs)
		if got := mixedUp(pairs); got != c.mixed {
			t.Errorf("%s is mixed up: %v, want %v", c.pairs, got, c.mixed)
		}
		if got := swallowed(pairs); got != c.swallowed {
			t.Errorf("%s lost its first indentation: %v, want %v", c.pairs, got, c.swallowed)
		}
	}
}

// The width of a level: what all depths share, and the most frequent step.
func TestTheWidthsThatALevelMayHave(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string][]int{
		"a|b":         {0, 0},
		"a|  b|    c": {2, 2},
		"a|    b|      c|    d|        e|a|    b": {2, 4},
		"a|  b|a|    b": {2, 2},
		"a||  b":        {2, 2},
		"a|>b":          {0, 0},
	} {
		if got := levels(bars(strings.ReplaceAll(lines, ">", "\t")), ' '); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", lines, got, want)
		}
	}
	for _, c := range [][3]int{{4, 6, 2}, {0, 3, 3}, {3, 0, 3}, {0, 0, 0}, {5, 7, 1}, {8, 4, 4}} {
		if got := gcd(c[0], c[1]); got != c[2] {
			t.Errorf("of %d and %d: %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

// The character of a file's indentation is that of more lines, a space when
// neither leads.
func TestTheCharacterOfIndentation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]byte{
		"": ' ', "a\n": ' ', "a\n\tb\n": '\t', "a\n\tb\n b\n": ' ', "\ta\n\tb\n b\n": '\t', "a\n\t\t\t\tb\n c\n c\n": ' ',
	} {
		if got := newDocument("a.py", []byte(text)).indentChar(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]byte{"a": ' ', "a|\t|  b": ' ', "a|\tb|  c": '\t', "  |\tb": '\t'} {
		if got := charOfLines(bars(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
