package lex

import "testing"

func TestOuterBlankLinesAreTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines  []string
		lo, hi int
	}{
		{nil, 0, 0},
		{[]string{"a"}, 0, 1},
		{[]string{"", " ", "a", "", "b", "\t"}, 2, 5},
		{[]string{"", "a"}, 1, 2},
		{[]string{"a", ""}, 0, 1},
	} {
		if lo, hi := Outer(c.lines); lo != c.lo || hi != c.hi {
			t.Errorf("%q: %d to %d, want %d to %d", c.lines, lo, hi, c.lo, c.hi)
		}
	}
	if lo, hi := Outer([]string{"", " "}); lo != hi {
		t.Errorf("blank lines have a range of text, %d to %d", lo, hi)
	}
}
