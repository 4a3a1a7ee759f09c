package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/parse"
)

const sections = `class A:
    def f(self):
        a()

        b()

    def g(
        self,
    ):
        a()


class B:
    def f(self):
        a()
end
`

func TestASectionIsWhatItsHeadingHeads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		headings string // divided by "|"
		lo, hi   int    // from 1, as editors show them; 0 for none
	}{
		{"class A:", 2, 10},
		{"  class A:  ", 2, 10},
		{"class B:", 14, 15},
		{"def g(", 8, 10},
		{"class A:|def f(self):", 3, 5},
		{"class B:|def f(self):", 15, 15},
		{"end", 17, 16},
		{"def f(self):", 0, 0},              // twice
		{"class C:", 0, 0},                  // nowhere
		{"class A", 0, 0},                   // not the whole line
		{"class B:|def g(", 0, 0},           // in another section
		{"class A:|a()", 0, 0},              // twice in the section
		{"class A:|class A:", 0, 0},         // not below itself
		{"class A:|def f(self):|b()", 6, 5}, // begins nothing in the section
	} {
		for _, ends := range []string{"\n", "\r\n"} {
			d := document.New("x.py", []byte(strings.ReplaceAll(sections, "\n", ends)))
			lo, hi, ok := section(d, strings.Split(c.headings, "|"))
			if ok != (c.lo > 0) || ok && (lo+1 != c.lo || hi != c.hi) {
				t.Errorf("%s: lines %d to %d, %v; want %d to %d", c.headings, lo+1, hi, ok, c.lo, c.hi)
			}
		}
	}
	if _, _, ok := section(document.New("x", []byte("a\n")), nil); ok {
		t.Error("no heading heads the whole file")
	}
	long := document.New("x", []byte("a\n"+strings.Repeat(" b\n", maxSection+1)))
	if _, _, ok := section(long, []string{"a"}); ok {
		t.Error("a section beyond the bound was taken")
	}
}

func TestHintsChooseAmongEqualPlacesOnly(t *testing.T) {
	t.Parallel()
	const file = "a\nb\na\n a\nb\na\n"
	for _, c := range []struct {
		name string
		op   parse.Operation
		want string // the lines of the places, from 1; "" for none
	}{
		{"no hint", parse.Operation{Search: []string{"a"}}, ""},
		{"a line", parse.Operation{Search: []string{"a"}, Line: 3}, "[3]"},
		{"a line between", parse.Operation{Search: []string{"a"}, Line: 2}, ""},
		{"a line where it is indented", parse.Operation{Search: []string{"a"}, Line: 4}, ""},
		{"a line beyond the file", parse.Operation{Search: []string{"a"}, Line: 7}, ""},
		{"a negative line", parse.Operation{Search: []string{"a"}, Line: -1}, ""},
		{"several lines that end beyond the file", parse.Operation{Search: []string{"b", "a"}, Line: 6}, ""},
		{"several lines", parse.Operation{Search: []string{"b", "a"}, Line: 5}, "[5]"},
		{"one place, and a wrong line", parse.Operation{Search: []string{" a"}, Line: 1}, "[4]"},
		{"the end", parse.Operation{Search: []string{"b", "a"}, Ending: true}, "[5]"},
		{"the end, where it is not", parse.Operation{Search: []string{"b"}, Ending: true}, ""},
		{"a section", parse.Operation{Search: []string{"b"}, Under: []string{"x"}}, ""},
		{"a line, for a hunk with wrong counts", parse.Operation{Search: []string{"a"}, Hunk: &parse.Hunk{Line: 3}}, ""},
		{"a line, for a hunk", parse.Operation{Search: []string{"a"}, Hunk: &parse.Hunk{Line: 3, Trusted: true}}, "[3]"},
		{"the end, for a hunk with a wrong line", parse.Operation{Search: []string{"b", "a"}, Ending: true, Hunk: &parse.Hunk{Line: 1, Trusted: true}}, "[5]"},
		{"every place", parse.Operation{Search: []string{"b"}, Every: true}, "[2 5]"},
		{"every place, and one is within a line", parse.Operation{Search: []string{"a"}, Every: true}, ""},
		{"every place of none", parse.Operation{Search: []string{"c"}, Every: true}, ""},
		{"every place of one that differs in space", parse.Operation{Search: []string{" a "}, Every: true}, "[4]"},
	} {
		var lines []int
		for _, p := range Find(document.New("x.txt", []byte(file)), &c.op).Places {
			lines = append(lines, p.Lo+1)
		}
		if got := strings.TrimPrefix(fmt.Sprint(lines), "[]"); got != c.want {
			t.Errorf("%s: lines %s, want %s", c.name, got, c.want)
		}
	}
	shared := Find(document.New("x.txt", []byte("a\na\na\n")), &parse.Operation{Search: []string{"a", "a"}, Every: true})
	if len(shared.Places) > 0 || len(shared.Ambiguous) == 0 {
		t.Errorf("places that share lines: %+v", shared)
	}
}

func TestEqualBlocksAreDealtToEqualPlaces(t *testing.T) {
	t.Parallel()
	deal := func(file string, ops ...*parse.Operation) (lines []int) {
		for _, op := range AssignEqualBlocks(document.New("x", []byte(file)), ops) {
			lines = append(lines, op.Line)
		}
		return lines
	}
	block := func(search, replace string) *parse.Operation {
		return &parse.Operation{Search: strings.Split(search, "|"), Replace: []string{replace}}
	}
	given := block("a", "b")
	given.Line = 9
	for name, c := range map[string]struct{ got, want []int }{
		"as many":        {deal("a\nx\na\n", block("a", "b"), block("a", "b")), []int{1, 3}},
		"more places":    {deal("a\na\na\n", block("a", "b"), block("a", "b")), []int{0, 0}},
		"more blocks":    {deal("a\n", block("a", "b"), block("a", "b")), []int{0, 0}},
		"others between": {deal("a\nc\na\n", block("a", "b"), block("c", "b"), block("a", "b")), []int{1, 0, 3}},
		"unequal":        {deal("a\na\n", block("a", "b"), block("a", "c")), []int{0, 0}},
		"one has a line": {deal("a\na\n", block("a", "b"), given), []int{0, 9}},
		"blank":          {deal("\n\n", block("", "b"), block("", "b")), []int{0, 0}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: lines %v, want %v", name, c.got, c.want)
		}
	}
	one, two := block("a", "b"), block("a", "b")
	if deal("a\na\n", one, two); one.Line+two.Line != 0 {
		t.Error("the operations themselves were changed: the next file would see lines of this one")
	}
}
