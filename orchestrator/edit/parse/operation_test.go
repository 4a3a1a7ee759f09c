package parse

import (
	"slices"
	"strings"
	"testing"
)

func TestABodyIsCutIntoLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"\n", []string{""}},
		{"a", []string{"a"}},
		{"a\n", []string{"a"}},
		{"a\n\n", []string{"a", ""}},
		{"\na", []string{"", "a"}},
		{"a\r\nb\r\n", []string{"a", "b"}},
		{"a\r\nb\r", []string{"a", "b"}},
		{"a\rb\n", []string{"a\rb"}},
		{"\ufeffa\n", []string{"a"}},
		{"  a  \n", []string{"  a  "}},
	} {
		if got := SplitBody(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestATagTakesOneNewlineOfItsBody(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":              "",
		"\n":            "",
		"a":             "a",
		"\na\n":         "a\n",
		"\r\na\r\n":     "a\r\n",
		"\n\na\n\n":     "\na\n\n",
		"\n    a\n    ": "    a\n",
		"    a":         "    a",
		"a\n\t":         "a\n",
		"  ":            "",
		"\n  a":         "  a",
		"a \n b ":       "a \n b ",
	} {
		if got := tagBody(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestAFenceAroundTheWholeBodyGoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, want string
		ok             bool
	}{
		{"none", "a|b", "a|b", false},
		{"plain", "```|a|```", "a", true},
		{"with a language", "```python|a|b|```", "a|b", true},
		{"with blank lines around", "|```|a|```|", "a", true},
		{"blank lines within stay", "```||a||```", "|a|", true},
		{"indented", "  ```go|a|  ```", "a", true},
		{"longer", "````|```|a|```|````", "```|a|```", true},
		{"tildes", "~~~|a|~~~", "a", true},
		{"empty", "```|```", "", true},
		{"not closed", "```|a", "```|a", false},
		{"not opened", "a|```", "a|```", false},
		{"of two lengths", "````|a|```", "````|a|```", false},
		{"of two kinds", "~~~|a|```", "~~~|a|```", false},
		{"too short", "``|a|``", "``|a|``", false},
		{"one line", "```", "```", false},
		{"inline code", "```a```|b|```", "```a```|b|```", false},
	} {
		got, ok := Unfence(strings.Split(c.in, "|"))
		if s := strings.Join(got, "|"); s != c.want || ok != c.ok {
			t.Errorf("%s: %q, %v; want %q, %v", c.name, s, ok, c.want, c.ok)
		}
	}
}
