package explain

import (
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
)

func TestTheNearestPlacesAreRankedAndApart(t *testing.T) {
	t.Parallel()
	file := bars("alpha one two|beta one|gamma||alpha one|beta two|delta||alpha one two|beta three|gamma four||other")
	d := document.New("a.txt", []byte(strings.Join(file, "\n")+"\n"))
	for _, c := range []struct {
		search string
		want   []int // first lines, from 1, best first
	}{
		{"alpha one two|beta one|delta", []int{5, 1}},
		{"alpha one two|beta three|gamma", []int{9, 1}},
		{"|alpha one two|beta three|gamma|", []int{9, 1}},
		{"other|zebra", []int{13}},
		{"zebra|quagga", nil},
		{"", nil},
	} {
		var got []int
		for _, n := range nearest(d, bars(c.search)) {
			got = append(got, n.lo+1)
			if n.score <= 0 || n.score > 1 || n.lo < 0 || n.hi > d.Len() {
				t.Errorf("%q: %+v", c.search, n)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.search, got, c.want)
		}
	}
}

func TestAReplacementStandsOnlyWhenItSaysEnough(t *testing.T) {
	t.Parallel()
	d := document.New("a.py", []byte("def f():\n    return 1\n\n    total = 100\n}\n"))
	for replace, want := range map[string]int{
		"    total = 100|}":        3,
		"    total = 100 \t|}":     3,
		"total = 100|}":            -1, // indented differently
		"||def f():|    return 1|": 0,
		"    total = 100":          -1, // eleven bytes: too little
		"total = 100|":             -1,
		"}":                        -1,
		"":                         -1,
		"def f():|    return 2":    -1,
		"    return 1|total = 100": -1, // the file has a blank line between
	} {
		at, ok := alreadyAt(d, bars(replace))
		if ok != (want >= 0) || ok && at != want {
			t.Errorf("%q stands at %d, %v; want %d", replace, at, ok, want)
		}
	}
}
