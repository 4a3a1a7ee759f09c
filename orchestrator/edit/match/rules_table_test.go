package match

import (
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
	"agent/sandbox/workspace/lang"
)

// The innermost bracket decides whether a line may be broken.
func TestWhereALineMayBeBroken(t *testing.T) {
	t.Parallel()
	flows := []lang.Flow{lang.Fixed, lang.Brackets, lang.Braces, lang.Free}
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
		least      lang.Flow
	}{
		{"alike", "a b|c", "a  b|c", lang.Fixed},
		{"an empty line more", "a||b", "a|b", lang.Fixed},
		{"broken at the top", "a b", "a|b", lang.Free},
		{"joined at the top", "a|b", "a b", lang.Free},
		{"in a call", "f(a, b)", "f(a,|b)", lang.Brackets},
		{"after the bracket that opens", "f(a)", "f(|a)", lang.Brackets},
		{"after the bracket that closes", "f(a) b", "f(a)|b", lang.Free},
		{"before the bracket that opens", "f (a)", "f|(a)", lang.Free},
		{"in a map", "{a: b}", "{|a: b|}", lang.Braces},
		{"in a block within a call", "f({a})", "f({|a})", lang.Braces},
		{"after a block within a call", "f({a}, b)", "f({a},|b)", lang.Brackets},
		{"more closed than opened", ") f(a)", ") f(|a)", lang.Brackets},
	} {
		for f := lang.Fixed; f <= lang.Free; f++ {
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
		if got := spaceMatters(lex.LanguageOf(c.path), c.line); got != c.want {
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

// The character of a file's indentation is that of more lines, a space when
// neither leads.
func TestTheCharacterOfIndentation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]byte{
		"": ' ', "a\n": ' ', "a\n\tb\n": '\t', "a\n\tb\n b\n": ' ', "\ta\n\tb\n b\n": '\t', "a\n\t\t\t\tb\n c\n c\n": ' ',
	} {
		if got := document.New("a.py", []byte(text)).IndentChar(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]byte{"a": ' ', "a|\t|  b": ' ', "a|\tb|  c": '\t', "  |\tb": '\t'} {
		if got := charOfLines(bars(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
