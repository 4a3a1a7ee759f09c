package document

import (
	"strings"
	"testing"
)

func TestStepIsWhatAllDepthsShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines string
		want  int
	}{
		{"a|b", 0},
		{"a|  b|      c", 2},
		{"a|    b|        c", 4},
		{"a|    b|      c", 2},
		{"a|   b||", 3},
	} {
		if got := LevelOf(strings.Split(c.lines, "|"), ' '); got != c.want {
			t.Errorf("%q: %d, want %d", c.lines, got, c.want)
		}
	}
}
