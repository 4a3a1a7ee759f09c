package explain

import (
	"testing"

	"agent/orchestrator/edit/document"
)

func TestPlacesAreNamedByWhatTellsThemApart(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]spot{
		"lines 8 to 9, told apart by line 7:":               {lo: 7, hi: 9, from: 6, to: 9, alone: true},
		"line 8, told apart by lines 9 to 10:":              {lo: 7, hi: 8, from: 7, to: 10, alone: true},
		"line 8, told apart by its space:":                  {lo: 7, hi: 8, from: 7, to: 8, alone: true},
		"line 8, not told apart by the lines around:":       {lo: 7, hi: 8, from: 7, to: 8},
		"lines 1 to 2, not told apart by the lines around:": {lo: 0, hi: 2, from: 0, to: 2},
	} {
		if got := q.header(); got != want {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
}

// The surroundings of a line that a parser stumbled over stop at the edges.
func TestTheLinesAroundOne(t *testing.T) {
	t.Parallel()
	d := document.New("", []byte("a\nb\nc\nd\ne\n"))
	for line, want := range map[int]string{
		1: "     1 | a\n     2 : b\n",
		2: "     1 : a\n     2 | b\n     3 : c\n",
		4: "     2 : b\n     3 : c\n     4 | d\n     5 : e\n",
		5: "     3 : c\n     4 : d\n     5 | e\n",
	} {
		if got := Around(d, line); got != want {
			t.Errorf("line %d:\n%swant\n%s", line, got, want)
		}
	}
}
