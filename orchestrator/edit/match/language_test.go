package match

import (
	"testing"

	"agent/orchestrator/edit/lex"
)

func TestAnAnchorSaysSomethingBeyondComments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file  string
		lines []string
		want  bool
	}{
		{"a.py", []string{"x"}, true},
		{"a.py", []string{"# x"}, false},
		{"a.py", []string{"# x", "", "# y"}, false},
		{"a.py", []string{"# x", "y"}, true},
		{"a.go", []string{"}", "", ")"}, false},
		{"a.go", []string{"}", "return 1"}, true},
		{"a.txt", []string{"# x"}, true},
		{"a.txt", []string{"é"}, true},
		{"a.txt", []string{"---", "==="}, false},
		{"a.txt", nil, false},
	} {
		if got := telling(lex.LanguageOf(c.file), c.lines); got != c.want {
			t.Errorf("%s %q: %v, want %v", c.file, c.lines, got, c.want)
		}
	}
}
