package indent

import (
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
)

func lines(s string) []string { return strings.Split(s, "|") }

// In languages with braces continuation lines are deeper too, so depth does not prove that the further lines are right as they are.
func TestOneLineIsRelativeOutsidePython(t *testing.T) {
	t.Parallel()
	pairs := []Pair{{File: "    "}}
	replace := []string{"promise", "    .then(x)"}
	if absolute(lex.LanguageOf("a.ts"), pairs, replace) {
		t.Error("a continuation line in TypeScript was taken as it stands")
	}
	if !absolute(lex.LanguageOf("a.py"), pairs, replace) {
		t.Error("a deeper line in Python was taken for a continuation")
	}
	for _, shallow := range [][]string{{"a"}, {"a", "b"}, {"a", "  b"}, {"a", "", ""}, {"    a", "    b"}} {
		if absolute(lex.LanguageOf("a.py"), pairs, shallow) {
			t.Errorf("%q was taken as it stands", shallow)
		}
	}
}

func TestWidthsAndSteps(t *testing.T) {
	t.Parallel()
	for x, want := range map[string]int{"": 0, " ": 1, "    ": 4, "\t": 8, "\t\t": 16, "\t  ": 10} {
		if got := Width(x); got != want {
			t.Errorf("%q is %d wide, want %d", x, got, want)
		}
	}
	for _, c := range [][3]int{{0, 4, 1}, {4, 0, -1}, {4, 4, 0}, {0, 1, 1}, {8, 7, -1}} {
		if got := Step(c[0], c[1]); got != c[2] {
			t.Errorf("from %d to %d: %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

// Each rule maps an indentation, or fails; "-" stands for failure.
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

// pairsOf parses pairs of indentations, "search file", given as numbers of spaces.
func pairsOf(s string) (pairs []Pair) {
	for _, p := range lines(s) {
		pairs = append(pairs, Pair{Search: strings.Repeat(" ", int(p[0]-'0')), File: strings.Repeat(" ", int(p[1]-'0'))})
	}
	return pairs
}

// Pairs of depths, the block's and the file's, show whether the block is mixed up or lost its first indentation.
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
		if got := Swallowed(pairs); got != c.swallowed {
			t.Errorf("%s lost its first indentation: %v, want %v", c.pairs, got, c.swallowed)
		}
	}
}

// A file is indented with the character that more of its lines use, or with spaces if there is a tie.
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
		if got := charOfLines(lines(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
