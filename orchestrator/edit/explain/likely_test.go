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

// desk is a file with lines that use the same names for different things.
const desk = `class Desk:
    def __init__(self):
        self.tickets = {}

    def open(self, id):
        ticket = Ticket(id)
        self.tickets[id] = ticket
        return ticket

    def get(self, id):
        return self.tickets[id]

    def close(self, id):
        found = self.get(id)
        found.closed = True
        return found
`

// A place is advised only if it is likely the intended one: an author who is told to copy an unrelated line does so, and loses that line.
func TestOnlyLikelyPlacesAreAdvised(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		search string
		likely bool
		lines  []int
	}{
		{"        ticket = self.gett(id)", false, []int{5, 6, 7, 8, 10, 11, 13, 14}},
		{"    def reopen(self, id):\n        ticket = self.gett(id)\n        ticket.closed = False", false, []int{5, 13}},
		{"self.get(id)", true, []int{14, 10}},
		{"        found = self.gets(id)", true, []int{14}},
		{"        ticket = Ticket(id, self)", true, []int{6, 7}},
		{"    def open(self, id):\n        ticket = Ticket(number)\n        self.tickets[number] = ticket", true, []int{5}},
		{"    def close(self, id):\n        # settle it first\n        found = self.get(id)", true, []int{13}},
		{"        return compute(everything)", false, []int{8, 16}},
		{"import json", false, nil},
	} {
		p := notFound(document.New("a.py", []byte(desk)), &parse.Operation{Block: 1, Path: "a.py", Search: parse.SplitBody(c.search), Replace: []string{"y"}})
		if copies := strings.Contains(p.Advice, "copy line") && !strings.Contains(p.Advice, "none of these"); copies != c.likely && !strings.HasPrefix(p.Advice, "read the file") {
			t.Errorf("%q: %s; %s", c.search, p.Reason, p.Advice)
		}
		if c.likely && (len(p.Lines) == 0 || p.Lines[0] != c.lines[0]) {
			t.Errorf("%q: lines %v, want %v", c.search, p.Lines, c.lines)
		}
		if c.likely {
			continue
		}
		if p.Kind != problem.KindNotFound || !slices.IsSorted(p.Lines) || len(p.Lines) > mostClosest || !strings.Contains(c.search, "\n") && strings.Count(p.Nearest, "\n") != len(p.Lines) {
			t.Errorf("%q: %+v", c.search, p)
		}
		for _, n := range p.Lines {
			if !slices.Contains(c.lines, n) {
				t.Errorf("%q: line %d is among the closest, %v", c.search, n, p.Lines)
			}
		}
		if (len(p.Lines) > 0) != strings.HasPrefix(p.Advice, "none of these is like it: read the file") {
			t.Errorf("%q: %d lines with the advice %q", c.search, len(p.Lines), p.Advice)
		}
	}
}

// At most ten lines are shown, even of a large file, and in the file's order.
func TestTheClosestLinesAreFew(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&file, "    value_%d = settings.read(name_%d, %d)\n", i, i, i)
	}
	d := document.New("a.py", []byte(file.String()))
	lines, text := closest(d, parse.SplitBody("    result = settings.write(value_17777, default)"))
	if len(lines) == 0 || len(lines) > mostClosest || !slices.IsSorted(lines) || !slices.Contains(lines, 17778) || len(text) > 2000 {
		t.Errorf("%v\n%s", lines, text)
	}
}

func TestWhatIsInOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b     string
		from, to float64
	}{
		{"a = b", "a = b", 1, 1},
		{"a = b", "", 0, 0},
		{"", "", 0, 0},
		{"ticket = self.gett(id)", "self.tickets[id] = ticket", 0.1, 0.5},
		{"def total(item):", "def total(items):", 0.66, 0.9},
	} {
		if got := inOrder(tokens([]string{c.a}), tokens([]string{c.b})); got < c.from || got > c.to {
			t.Errorf("%q and %q: %.2f, want %.2f to %.2f", c.a, c.b, got, c.from, c.to)
		}
	}
}
