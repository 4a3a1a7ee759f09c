package explain

import (
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

// A refusal says why a block has no place and what its author should do: the kind, the lines, the reason and the advice.
func TestWhyABlockHasNoPlace(t *testing.T) {
	t.Parallel()
	const file = "def total(items):|    count = 0|    for item in items:|        count += item.price|    return count"
	for _, c := range []struct {
		name, file, block string
		kind              string
		lines             []int
		reason, advice    string
	}{
		{
			"asks for nothing", file, "no = 1>no = 1", problem.KindNoop, nil,
			"SEARCH and REPLACE are the same: the block asks for no change", "leave this block out",
		},
		{
			"applied already", file, "    total = 0>    count = 0|    for item in items:", problem.KindAlready,
			[]int{2},
			"already applied at line 2", "leave this block out",
		},
		{
			"nothing like it", file, "interface Stock {>x", problem.KindNotFound, nil,
			"SEARCH text not found in the file", "read the file and copy the lines to replace from it, or leave this block out",
		},
		{
			"one word differs", file, "def total(things):|    count = 0|    for item in items:>x = 1", problem.KindStale,
			[]int{1},
			"SEARCH text not found in the file; nearest lines 1 to 3", "copy lines 1 to 3 exactly into SEARCH",
		},
		{
			"one line is never stale", file, "def total(item):>x = 1", problem.KindNotFound,
			[]int{1},
			"SEARCH text not found in the file; nearest line 1", "copy line 1 exactly into SEARCH",
		},
		{
			"a piece of a line", file, "total(items)>sum(items)", problem.KindNotFound,
			[]int{1},
			"SEARCH text not found in the file; nearest line 1",
			"write REPLACE as whole lines too; copy line 1 exactly into SEARCH",
		},
		{
			"other indentation", file, "def total(things):|  count = 0|  for item in items:>x = 1", problem.KindStale,
			[]int{1},
			"SEARCH text not found in the file; nearest lines 1 to 3", "copy lines 1 to 3 exactly into SEARCH; indent REPLACE alike",
		},
	} {
		op := pairs(c.block)[0]
		p := notFound(linesOf("a.py", c.file), op)
		if p.Kind != c.kind || p.Block != 1 || p.Path != "a.py" || !slices.Equal(p.Lines, c.lines) {
			t.Errorf("%s: block %d of %s, %s at %v, want %s at %v", c.name, p.Block, p.Path, p.Kind, p.Lines, c.kind, c.lines)
		}
		if p.Reason != c.reason {
			t.Errorf("%s: %q, want %q", c.name, p.Reason, c.reason)
		}
		if p.Advice != c.advice {
			t.Errorf("%s: advice %q, want %q", c.name, p.Advice, c.advice)
		}
	}
}

// If another block creates the lines of a block, the refusal names that block and not the nearest lines. A later block, or a line that
// the file contains, does not count.
func TestABlockBuiltOnAnotherIsToldSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		blocks []string
		of     int // the block in question, from 0
		want   int
	}{
		{"the block before", []string{"a = 1>b = 2", "b = 2>c = 3"}, 1, 1},
		{"the first of two", []string{"a = 1>b = 2", "c = 3>b = 2", "b = 2>d"}, 2, 1},
		{"one line of several", []string{"a = 1>x|  b = 2", "y|b = 2>c"}, 1, 1},
		{"the block after", []string{"b = 2>c = 3", "a = 1>b = 2"}, 0, 0},
		{"itself", []string{"b = 2>b = 2"}, 0, 0},
		{"a line that the file has", []string{"z>a = 1", "a = 1>c"}, 1, 0},
		{"a brace", []string{"a = 1>}", "}>c"}, 1, 0},
		{"none", []string{"a = 1>b = 2", "q>c"}, 1, 0},
	} {
		ops := pairs(c.blocks...)
		if got := newMakers(ops).of(linesOf("a.py", "a = 1"), ops[c.of]); got != c.want {
			t.Errorf("%s: block %d, want %d", c.name, got, c.want)
		}
	}
	d, op := linesOf("a.py", "a = 1"), pairs("b = 2>c = 3")[0]
	want := "SEARCH text not found in the file as it is; it may be in the result of block 4"
	if p := builtOn(op, d, 4, false); p.Reason != want || p.Kind != problem.KindNotFound || p.Nearest != "" {
		t.Errorf("%+v", p)
	}
	if p := builtOn(op, d, 4, true); p.Reason != want+", which was refused" {
		t.Errorf("%q", p.Reason)
	}
}

// The advice names the lines to send, the lines to repeat in REPLACE, and the bytes that cannot be sent at all.
func TestTheAdviceToCopyLines(t *testing.T) {
	t.Parallel()
	d := document.New("a.py", []byte("one\ntwo\nthree\nfour\ncaf\xe9\n"+fill('w', shownWidth+1)+"\n"))
	for _, c := range []struct {
		name    string
		q       spot
		shifted bool
		want    string
	}{
		{"alone", spot{1, 3, 1, 3, true}, false, "copy lines 2 to 3 exactly into SEARCH"},
		{"one line", spot{1, 2, 1, 2, true}, false, "copy line 2 exactly into SEARCH"},
		{"a line before", spot{1, 3, 0, 3, true}, false, "copy lines 1 to 3 exactly into SEARCH; begin REPLACE with line 1"},
		{"two lines after", spot{0, 1, 0, 3, true}, false, "copy lines 1 to 3 exactly into SEARCH; end REPLACE with lines 2 to 3"},
		{"indented otherwise", spot{1, 2, 1, 2, true}, true, "copy line 2 exactly into SEARCH; indent REPLACE alike"},
		{
			"not told apart",
			spot{1, 2, 1, 2, false},
			false,
			"copy line 2 exactly into SEARCH, in a unified diff with their true line number",
		},
		{"no text", spot{3, 5, 3, 5, true}, false, "line 5 holds bytes that are not UTF-8 and cannot be sent: leave it out of the lines to replace"},
		{"too wide to be shown", spot{5, 6, 5, 6, true}, false, "read the file, then copy line 6 exactly into SEARCH"},
	} {
		if got := copyAdvice(pairs("x>y")[0], d, c.q, c.shifted); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	hunked := pairs("x>y")[0]
	hunked.Hunk = &parse.Hunk{}
	if got, want := copyAdvice(hunked, d, spot{1, 2, 0, 2, true}, true), "copy lines 1 to 2 exactly into the hunk's old lines; begin its new lines with line 1; indent its new lines alike"; got != want {
		t.Errorf("a hunk: %q, want %q", got, want)
	}
}

// A REPLACE counts as present where all its lines are, ignoring space at their ends, if it contains more than a brace and a return.
func TestWhereAReplacementStands(t *testing.T) {
	t.Parallel()
	d := linesOf("a.py", "head|  first_line = 1  ||  second = 2|tail|first_line = 1")
	for _, c := range []struct {
		name, replace string
		at            int // -1 for nowhere
	}{
		{"as it is", "  first_line = 1||  second = 2", 1},
		{"outer blank lines aside", "|  second = 2|tail|", 3},
		{"at another depth", "first_line = 1", 5},
		{"a blank line fewer", "  first_line = 1|  second = 2", -1},
		{"too little", "tail", -1},
		{"too little on many lines", "tail|firs|a", -1},
		{"beyond the end", "first_line = 1|first_line = 1", -1},
		{"before the start", "first_line_0|head", -1},
		{"nothing", "", -1},
	} {
		at, ok := alreadyAt(d, bars(c.replace))
		if ok != (c.at >= 0) || ok && at != c.at {
			t.Errorf("%s: at %d, %v, want %d", c.name, at, ok, c.at)
		}
	}
}

// One comparison of a line with a place is loose, the other strict.
func TestStandingStrictlyAndLoosely(t *testing.T) {
	t.Parallel()
	d := linesOf("a.py", "a|  b = \u201cq\u201d |c")
	for _, c := range []struct {
		at            int
		lines         string
		loose, strict bool
	}{
		{0, "a", true, true},
		{1, "  b = \u201cq\u201d", true, true},
		{1, "b = \u201cq\u201d", true, false},
		{1, "  b = \"q\"", true, false},
		{1, "b = \"q\"|c", true, false},
		{1, "b = \"r\"", false, false},
		{2, "c|d", false, false},
		{-1, "a", false, false},
		{3, "c", false, false},
	} {
		if got := matchesAt(d, c.at, bars(c.lines)); got != c.loose {
			t.Errorf("%q at %d: %v, want %v", c.lines, c.at, got, c.loose)
		}
		if got := sameLinesAt(d, c.at, bars(c.lines)); got != c.strict {
			t.Errorf("%q as is at %d: %v, want %v", c.lines, c.at, got, c.strict)
		}
	}
}

// The advice quotes the placeholder in a REPLACE that must be written out.
func TestPromisedLinesAreAskedFor(t *testing.T) {
	t.Parallel()
	for replace, want := range map[string]string{
		"x = 1":                         "",
		"x = 1|# ... existing code ...": "; write REPLACE out in full, without \"# ... existing code ...\"",
	} {
		if got := writeOut(pairs("a>" + replace)[0]); got != want {
			t.Errorf("%q: %q, want %q", replace, got, want)
		}
	}
}

// Two lines are similar if a third of the words of the file's line is in the other.
func TestAkinLinesShareTheirWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mine, file string
		want       bool
	}{
		{"total = price", "total = cost", true},
		{"total = price", "sum = cost", false},
		{"ab", "ab xxxx", true},
		{"ab", "ab xxxxx", false},
		{"a + b", "x + y", false},
		{"anything", "}", true},
		{"say \u2018hello\u2019", "say 'hello'", true},
	} {
		if got := similar(c.mine, c.file); got != c.want {
			t.Errorf("%q and %q: %v, want %v", c.mine, c.file, got, c.want)
		}
	}
}

// At most three differing pieces are listed, each with its counterpart.
func TestThePiecesThatDiffer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want [][2]string
	}{
		{"same", "same", nil},
		{"", "x", [][2]string{{"", "x"}}},
		{"f(a)", "f(a, b)", [][2]string{{"", ", b"}}},
		{"x = 1", "x == 1", [][2]string{{"=", "=="}}},
		{"a, b, c", "d, b, e", [][2]string{{"a", "d"}, {"c", "e"}}},
		{"1, a, 2, b, 3, c, 4", "5, a, 6, b, 7, c, 8", [][2]string{{"1", "5"}, {"2", "6"}, {"3", "7"}}},
	} {
		if got := changes(c.a, c.b); !slices.Equal(got, c.want) {
			t.Errorf("%q and %q: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

// Only pieces that look alike are shown by signs and code points.
func TestPiecesThatLookAlike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{" ", "\t", true},
		{"  ", "", true},
		{"'", "\u2019", true},
		{"-", "\u2013", true},
		{"name", "n\u0430me", true},
		{"name", "n\u0430mes", false},
		{"one", "two", false},
		{"\u0430", "\u0431", false},
	} {
		if got, back := lookAlike(c.a, c.b), lookAlike(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q and %q: %v, and the other way %v, want %v", c.a, c.b, got, back, c.want)
		}
	}
}

// A range that is too long loses its middle; if the bound is odd, the extra line stays in front.
func TestWhatFitsInAnExcerpt(t *testing.T) {
	t.Parallel()
	short, wide := linesOf("", strings.Repeat("x|", 20)), linesOf("", strings.Repeat(fill('w', shownWidth)+"|", 20))
	for _, c := range []struct {
		name       string
		d          *document.Document
		lo, hi     int
		most       int
		head, tail int
	}{
		{"all", short, 3, 9, 6, 7, 7}, // the last line counts as part of the front
		{"an odd bound", short, 0, 20, 5, 3, 18},
		{"an even bound", short, 0, 20, 4, 2, 18},
		{"nothing", short, 4, 4, 5, 4, 4},
		{"by bytes", wide, 0, 20, 20, 3, 17},
	} {
		if head, tail := fitting(c.d, c.lo, c.hi, c.most); head != c.head || tail != c.tail {
			t.Errorf("%s: without [%d, %d), want [%d, %d)", c.name, head, tail, c.head, c.tail)
		}
	}
}

// Runs of equal lines are measured, and looked for at a distance from others, only within the file.
func TestEqualRuns(t *testing.T) {
	t.Parallel()
	d := linesOf("", "a|b|c|a|b|d")
	for _, c := range []struct{ lo, hi, at, want int }{{0, 3, 3, 2}, {0, 2, 3, 2}, {0, 2, 1, 0}, {2, 2, 0, 0}} {
		if got := equalRun(d, c.lo, c.hi, c.at); got != c.want {
			t.Errorf("lines [%d, %d) from line %d on: %d, want %d", c.lo, c.hi, c.at, got, c.want)
		}
	}
	for _, c := range []struct {
		lo, hi int
		starts []int
		by     int
		want   bool
	}{
		{0, 1, []int{4}, -1, true},
		{0, 1, []int{5}, -1, false},
		{0, 1, []int{0, 4}, -1, true},
		{4, 6, []int{4}, 1, false},
		{0, 1, nil, 0, false},
	} {
		if got := anyEqual(d, c.lo, c.hi, c.starts, c.by); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A single SEARCH line that is part of a file's line is told apart from a whole line.
func TestAPieceOfALine(t *testing.T) {
	t.Parallel()
	d := linesOf("a.py", "  total = 1|b")
	for _, c := range []struct {
		search string
		hi     int
		want   bool
	}{
		{"total", 1, true},
		{"|total|", 1, true},
		{"  total = 1", 1, false},
		{"total = 1  ", 1, false},
		{"other", 1, false},
		{"total|b", 2, false},
		{"total", 2, false},
	} {
		if got := piece(d, near{lo: 0, hi: c.hi}, bars(c.search)); got != c.want {
			t.Errorf("%q in lines [0, %d): %v, want %v", c.search, c.hi, got, c.want)
		}
	}
}

// The first meaningful line decides whether SEARCH is indented differently.
func TestAShiftedSearch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, search string
		want         bool
	}{
		{"  a = 1|  b = 2", "  a = 1|  b = 2", false},
		{"  a = 1|  b = 2", "a = 1|b = 2", true},
		{"\ta = 1", "    a = 1", true},
		{"  {|a = 1", "{|a = 1", false},
		{"a = 1", "z", false},
	} {
		d, a := fileOf(strings.ReplaceAll(c.file, "|", "\n")+"\n", c.search)
		if got := a.shifted(d); got != c.want {
			t.Errorf("%q in %q: %v, want %v", c.search, c.file, got, c.want)
		}
	}
}

// If REPLACE is already present around the place, it counts as applied, unless SEARCH matches exactly.
func TestAReplacementAroundItsPlace(t *testing.T) {
	t.Parallel()
	d := linesOf("a.py", "import os|# why|value = 1|check(value)|other = 2")
	for _, c := range []struct {
		name            string
		strategy        match.Strategy
		search, replace string
		lo, hi          int
		want            bool
	}{
		{"loosely there", match.Indentation, "  value = 1", "  value = 1|  check(value)", 2, 3, true},
		{"to the letter", match.Exact, "value = 1", "value = 1|check(value)", 2, 3, false},
		{"comments aside", match.Indentation, "import os|value = 1", "import os|value = 1|check(value)", 0, 3, true},
		{"other lines", match.Indentation, "  value = 1", "  value = 1|  log(value)", 2, 3, false},
		{"no longer than SEARCH", match.Indentation, "  value = 1", "value = 1", 2, 3, false},
		{"elsewhere", match.Indentation, "  other = 2", "  value = 1|  check(value)", 4, 5, false},
	} {
		p := match.Place{Lo: c.lo, Hi: c.hi, Strategy: c.strategy, Search: bars(c.search), Replace: bars(c.replace)}
		if got := AlreadyAround(d, p); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// One line is called a line; several are named by the first and the last.
func TestSpansOfLines(t *testing.T) {
	t.Parallel()
	for want, in := range map[string][2]int{"line 3": {2, 3}, "lines 3 to 5": {2, 5}} {
		if got := span(in[0], in[1]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
