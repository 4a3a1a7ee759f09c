package lex

import "testing"

// A text is crowded if it has both many lines and short ones.
func TestCrowded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines, size int
		want        bool
	}{
		{lightLines, lightLines, false},
		{lightLines + 1, lightLines + 1, true},
		{2 * lightLines, 2*lightLines*lightLine - 1, true},
		{2 * lightLines, 2 * lightLines * lightLine, false},
	} {
		if got := Crowded(c.lines, c.size); got != c.want {
			t.Errorf("%d lines of %d bytes: %v", c.lines, c.size, got)
		}
	}
}
