package lex

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tokens lists the tokens of a line.
func tokens(s string) []string {
	var out []string
	EachToken(s, func(t string) { out = append(out, t) })
	return out
}

func TestTokensKeepStringsAndNamesWhole(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"":                 nil,
		"  \t ":            nil,
		"x":                {"x"},
		"x=1":              {"x", "=", "1"},
		"x = 1":            {"x", "=", "1"},
		"foo_bar(a1,$b)":   {"foo_bar", "(", "a1", ",", "$b", ")"},
		"a += b":           {"a", "+=", "b"},
		"a = -b":           {"a", "=", "-", "b"},
		"a <-b":            {"a", "<-", "b"},
		`f("a  b", 'c')`:   {"f", "(", `"a  b"`, ",", "'c'", ")"},
		`"a \" b" c`:       {`"a \" b"`, "c"},
		"`a b` c":          {"`a b`", "c"},
		`don't stop`:       {"don", "'", "t", "stop"},
		`"open and 'this'`: {`"`, "open", "and", "'this'"},
		"größe = 2":        {"größe", "=", "2"},
		"\xff\xfe":         {"\xff", "\xfe"},
		"''":               {"''"},
		`'\'`:              {"'", `\`, "'"},
	} {
		if got := tokens(in); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Whatever a line contains, its tokens are its text without the space between them.
func TestTokensLoseNothingButSpace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[a'"\\ (\x60é]{0,20}`).Draw(t, "line")
		got, at := tokens(s), 0
		for _, tok := range got {
			i := strings.Index(s[at:], tok)
			if i < 0 || strings.TrimSpace(s[at:at+i]) != "" {
				t.Fatalf("%q has the tokens %q: something before %q is lost", s, got, tok)
			}
			at += i + len(tok)
		}
		if strings.TrimSpace(s[at:]) != "" {
			t.Fatalf("%q has the tokens %q: %q is lost", s, got, s[at:])
		}
	})
}
