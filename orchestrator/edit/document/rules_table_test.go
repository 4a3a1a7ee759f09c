package document

import (
	"slices"
	"strings"
	"testing"
)

// A comment after the code of a line is returned with the space before it.
func TestTheTailOfALine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, line, want string }{
		{"a.py", "x = 1  # why", "  # why"},
		{"a.py", "x = 1\t# why ", "\t# why "},
		{"a.py", "x = '#'", ""},
		{"a.py", "# whole", ""},
		{"a.py", "x = 1  ", ""},
		{"a.go", "x() /* why */", " /* why */"},
		{"a.go", "f(a /* why */)", ""},
		{"a.go", "x() /* a */ // b", " /* a */ // b"},
		{"a.rb", "x = 1 # why", ""},
	} {
		d := New(c.path, []byte(c.line+"\n"))
		if got := d.TrailingComment(0); got != c.want {
			t.Errorf("%q in %s: %q, want %q", c.line, c.path, got, c.want)
		}
	}
}

// The width of a level: the common divisor of all depths, and the most frequent step.
func TestTheWidthsThatALevelMayHave(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string][]int{
		"a|b":         {0, 0},
		"a|  b|    c": {2, 2},
		"a|    b|      c|    d|        e|a|    b": {2, 4},
		"a|  b|a|    b": {2, 2},
		"a||  b":        {2, 2},
		"a|>b":          {0, 0},
	} {
		if got := levels(bars(strings.ReplaceAll(lines, ">", "\t")), ' '); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", lines, got, want)
		}
	}
	for _, c := range [][3]int{{4, 6, 2}, {0, 3, 3}, {3, 0, 3}, {0, 0, 0}, {5, 7, 1}, {8, 4, 4}} {
		if got := GCD(c[0], c[1]); got != c[2] {
			t.Errorf("of %d and %d: %d, want %d", c[0], c[1], got, c[2])
		}
	}
}
