package match

import (
	"slices"
	"testing"

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

// Each case has two layouts of the same tokens, with lines divided by "|", and the least flow in which they mean the same.
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

// On these lines, space has a meaning of its own.
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
