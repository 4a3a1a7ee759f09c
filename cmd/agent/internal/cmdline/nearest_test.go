package cmdline

import (
	"testing"
)

func TestNearestWordIsClose(t *testing.T) {
	t.Parallel()
	words := []string{"list", "show", "diff"}
	for word, want := range map[string]string{"lst": "list", "shwo": "show", "d": "diff", "": "", "elephant": "", "shows": "show"} {
		if got := Nearest(word, words); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
