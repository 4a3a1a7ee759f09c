package explain

import (
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
)

// The lines that tell a place apart occur once in the file, and none of them is superfluous.
func TestEqualPlacesAreToldApartByTheFewestLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file string
		lo, hi     int
		want       string // from, to, alone
	}{
		{"alone already", "a|b|c", 1, 2, "1 2 true"},
		{"a line before", "a|x|b|x", 1, 2, "0 2 true"},
		{"a line after", "x|a|x|b", 0, 1, "0 2 true"},
		{"a line after is nearer", "a|s|x|b|s|x", 2, 3, "2 4 true"},
		{"two lines before", "a|s|x|s|b|s|x|s", 2, 3, "0 3 true"},
		{"a blank line is not the last one added", "a||x||b||x||", 2, 3, "0 3 true"},
		{"a blank line tells nothing apart", "|x|a|x", 1, 2, "1 3 true"},
		{"at the end of the file", "x|x", 1, 2, "0 2 true"},
		{"another depth is another line", "  x|x", 1, 2, "1 2 true"},
		{"nothing but repetition", strings.Repeat("x|", 40), 20, 21, "20 21 false"},
	} {
		d := document.New("", []byte(strings.Join(bars(c.file), "\n")+"\n"))
		q := tellApart(d, c.lo, c.hi)
		if got := fmt.Sprint(q.from, q.to, q.alone); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if n, _ := repeats(d, q.from, q.to); q.alone && len(n) > 0 {
			t.Errorf("%s: stands also at %v", c.name, n)
		}
	}
}

func TestAFileThatRepeatsItselfTooOftenIsGivenUp(t *testing.T) {
	t.Parallel()
	d := document.New("", []byte(strings.Repeat("x = 1\n", 5000)))
	if others, all := repeats(d, 0, 1); all || len(others) != maxRepeats {
		t.Errorf("%d other places, all: %v", len(others), all)
	}
	if _, all := repeats(d, 0, 2500); all { // few places, but long ones
		t.Error("compared without bound")
	}
}

// A place extends as far as its text, including comments that were ignored to find it.
func TestThePlaceEndsWhereItsTextEnds(t *testing.T) {
	t.Parallel()
	d := document.New("a.py", []byte("a = 1\n# why\n\nb = 2\nc = 3\n\nd = 4\n"))
	for search, want := range map[string]int{
		"a = 1|# why||b = 2": 4, "a = 1|b = 2": 4, "a = 1|# ...|c = 3": 5, "a = 1": 1, "|a = 1||": 1, "a = 1|# why": 2, "a = 1|z = 9": 2,
	} {
		if got := extent(d, 0, bars(search)); got != want {
			t.Errorf("%q ends at %d, want %d", search, got, want)
		}
	}
}
