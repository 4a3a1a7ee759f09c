package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

func TestNumbersAndSpansReadWell(t *testing.T) {
	t.Parallel()
	for want, in := range map[string][]int{"": nil, "3": {3}, "3 and 5": {3, 5}, "1, 3 and 5": {1, 3, 5}} {
		if got := numbers(in); got != want {
			t.Errorf("%v: %q, want %q", in, got, want)
		}
	}
	for want, in := range map[string][2]int{"line 1": {0, 1}, "lines 1 to 2": {0, 2}, "lines 8 to 20": {7, 20}} {
		if got := span(in[0], in[1]); got != want {
			t.Errorf("%v: %q, want %q", in, got, want)
		}
	}
}

// The nearest place of an almost matching block contains the lines that its author needs to correct it.
func TestTheNearestPlaceIsTheOneThatWasMeant(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "def part_%d(items):\n    total = %d\n    for item in items:\n        total += item.count_%d\n    return total\n\n\n", i, i, i%7)
	}
	d := document.New("a.py", []byte(b.String()))
	at := 7 * 23 // the lines of part_23
	lines := func(from, to int) []string {
		var out []string
		for i := from; i < to; i++ {
			out = append(out, d.Line(at+i))
		}
		return out
	}
	for _, c := range []struct {
		name   string
		search []string
	}{
		{"one token differs", append(lines(0, 3), "        total -= item.count_2")},
		{"a line is missing", append(lines(0, 1), lines(2, 5)...)},
		{"a line too many", slices.Insert(lines(0, 5), 2, "    seen = set()")},
		{"one line with another word", []string{"def part_23(things):"}},
		{"other indentation and a word", []string{"def part_23(items):", "  total = 23", "  for item in things:"}},
		{"out of order", []string{d.Line(at + 1), d.Line(at), d.Line(at + 3)}},
		{"only the first line is right", append(lines(0, 1), "    sum = 1", "    done()")},
	} {
		p := notFound(d, &parse.Operation{Block: 1, Search: c.search, Replace: []string{"x"}})
		if !strings.Contains(p.Nearest, fmt.Sprintf("%6d | def part_23(items):", at+1)) {
			t.Errorf("%s: %s\n%s", c.name, p.Reason, p.Nearest)
		}
		if p.Kind != problem.KindNotFound && p.Kind != problem.KindStale || p.Advice == "" || len(p.Lines) == 0 {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

func TestNothingNearIsSaidPlainly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, search string }{
		{"another language", "def f():\n    return 1\n", "interface Stock {"},
		{"an empty file", "", "x = 1"},
		{"only braces in common", "{\n}\n", "class Stock {\n}"},
	} {
		d := document.New("a.py", []byte(c.file))
		p := notFound(d, &parse.Operation{Block: 1, Search: parse.SplitBody(c.search), Replace: []string{"y"}})
		if p.Kind != problem.KindNotFound || len(p.Lines) > 0 && !strings.HasPrefix(p.Advice, "none of these is like it: ") {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}
