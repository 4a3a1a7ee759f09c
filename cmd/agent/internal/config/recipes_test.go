package config

import (
	"slices"
	"strings"
	"testing"
)

// Recipes are shown only by name, and values that are called secret in them are masked.
func TestRecipesAreReadAndNotShown(t *testing.T) {
	t.Parallel()
	const text = `{"tool":{"vendor":"openai","env":{"API_TOKEN":"tok-J3hJd6FsG1aVeU5oQ7rk","LEVEL":"high"}},"claude":{"allow":["example.org"]}}`
	k := recipeList()
	if err := k.set(&values{}, text); err != nil {
		t.Fatal(err)
	}
	if got := ParseList(k.shown(text)); !slices.Equal(got, []string{"claude", "tool"}) {
		t.Errorf("shown as %q", got)
	}
	keys := k.secrets("exec", text)
	if len(keys) != 1 || keys[0].Secret() != "tok-J3hJd6FsG1aVeU5oQ7rk" {
		t.Errorf("its secrets are %v", keys)
	}
	s := Settings{"exec": {Text: text}}
	if r := s.Recipes(); len(r) != 2 || r["tool"].Vendor != "openai" || !slices.Equal(r["claude"].Allow, []string{"example.org"}) {
		t.Errorf("read as %+v", r)
	}
	for text, want := range map[string]string{
		`{"x":{"vendor":"nobody"}}`:    `x: vendor "nobody"`,
		`{"x":{"npm":["a"]}}`:          "NAME@VERSION",
		`{"x":{"allow":["http://a"]}}`: "not a port",
		`{`:                            "unexpected end",
	} {
		if err := k.set(&values{}, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if got := parseRecipes("{"); got != nil {
		t.Errorf("a text that is none is %v", got)
	}
}
