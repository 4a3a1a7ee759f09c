package match

import (
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/parse"
)

func TestLinesAtWhichATextStands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, text string
		want       []int
	}{
		{"a\nb\na\n", "a", []int{1, 3}},
		{"a\nb\na\n", "c", nil},
		{"xax\nb\n", "a", []int{1}},
		{"aa\na\n", "a", []int{1, 1, 2}},
		{"a\nb\na\nb\n", "a\nb", []int{1, 3}},
		{"a\nba\nb\n", "a\nb", []int{1, 2}},
		{"a\r\nb\r\na\r\nb\r\n", "a\nb", []int{1, 3}},
		{strings.Repeat("a\n", document.Most+3), "a", []int{1, 2, 3, 4, 5}}, // no more than are shown
	} {
		if got := within(document.New("x", []byte(c.file)), c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q in %q: lines %v, want %v", c.text, c.file, got, c.want)
		}
	}
}

// Lines are counted from 0; the result is the line after the block.
func TestWhereABlockEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file     string
		at, want int
	}{
		{"a\n", 0, 1},
		{"a\n b\n", 0, 2},
		{"a\n b\n\n c\nd\n", 0, 4},
		{"a\n b\n\n\nd\n", 0, 2}, // blank lines at its end do not belong to it
		{"a\nb\n c\n", 0, 1},
		{"a {\n b\n}\nc\n", 0, 2},
		{"a(\n b,\n) {\n c\n}\nd\n", 0, 4}, // a closing bracket continues the block
		{"a(\n)\n b\n", 0, 1},              // but does not begin one
		{"x\n  a\n   b\n  c\n   d\n", 1, 3},
		{"x\n  a\n   b\nc\n", 1, 3},
	} {
		if end, ok := bodyEnd(document.New("x", []byte(c.file)), c.at); !ok || end != c.want {
			t.Errorf("%q from %d: %d, %v, want %d", c.file, c.at, end, ok, c.want)
		}
	}
}

// taken parses the lines of a hunk into an operation. Lines are divided by "|"; each has its mark, and "\r" if it ends in one.
func taken(lines string) *parse.Operation {
	op := &parse.Operation{Kind: parse.OpEdit, Hunk: &parse.Hunk{}}
	var old, new []bool // which lines of either side end in "\r\n"
	for _, l := range strings.Split(lines, "|") {
		text, cr := strings.CutSuffix(l[1:], "\r")
		if l[0] != '+' {
			op.Search, old = append(op.Search, text), append(old, cr)
		}
		if l[0] != '-' {
			op.Replace, new = append(op.Replace, text), append(new, cr)
		}
	}
	if slices.Contains(old, true) {
		op.Hunk.OldCR = old
	}
	if slices.Contains(new, true) {
		op.Hunk.NewCR = new
	}
	return op
}

// A hunk is written literally only if it spells out its line ends and they agree with those of the file.
func TestAHunkIsWrittenWithItsLineEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lines, file, want string }{
		{" a|-b\r|+b", "a\nb\r\n", "a\nb\n"},
		{" a|-b|+b\r", "a\nb\n", "a\nb\r\n"},
		{" a\r|-b|+c", "a\r\nb\nd\n", "a\r\nc\nd\n"},
		{" a|+b\r| c", "a\nc\n", "a\nb\r\nc\n"},
		{" a\r|-b", "a\r\nb\n", "a\r\n"},
		{" a|-b|+c", "a\nb\n", ""},        // no line end is spelled out
		{" a|-b\r|+b", "a\r\nb\r\n", ""},  // the file has other line ends
		{" a|-b\r|+b", "a\nb", ""},        // and here it has none
		{" a|-b\r|+b", "x\na\nb\r\n", ""}, // it is elsewhere
	} {
		op, d := taken(c.lines), document.New("x", []byte(c.file))
		at := Place{Lo: 0, Hi: len(op.Search), Strategy: Exact, Search: op.Search, Replace: op.Replace}
		got := ""
		for _, s := range Verbatim(op, d, []Place{at}) {
			got = c.file[:d.Off[s.Lo]] + s.Text + c.file[d.Off[s.Hi]:]
		}
		if got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.lines, c.file, got, c.want)
		}
		if Verbatim(op, d, []Place{at, at}) != nil || Verbatim(op, d, nil) != nil {
			t.Errorf("%q: written to other than one place", c.lines)
		}
	}
}
