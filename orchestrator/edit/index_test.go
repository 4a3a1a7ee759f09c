package edit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// linesOf makes a document from lines divided by "|".
func linesOf(path, file string) *document {
	return newDocument(path, []byte(strings.ReplaceAll(file, "|", "\n")+"\n"))
}

// A short text is counted whole; of a long one no more than the sample is read.
func TestARaritySamplesEvenly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		of         byte
		want       uint16
	}{
		{"nothing", "", 'a', 0},
		{"all of a short text", "banana", 'a', 3},
		{"what is not there", "banana", 'z', 0},
		{"half of a text as long as the sample", strings.Repeat("a", sampled), 'a', sampled / 2},
		{"a long text", strings.Repeat("a", 100*sampled), 'a', 1014}, // each 101st byte
	} {
		if got := newRarity(c.text)[c.of]; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// A search from a byte on never looks back, and the empty text stands everywhere.
func TestIndexFromAByteOn(t *testing.T) {
	t.Parallel()
	d := newDocument("a.txt", []byte("one two one\ntwo one\n"))
	for _, c := range []struct {
		s    string
		at   int
		want int
	}{
		{"one", 0, 0},
		{"one", 1, 8},
		{"one", 9, 16},
		{"one", 17, -1},
		{"", 5, 5},
		{"one\ntwo", 0, 8},
		{"one\ntwo one\n!", 0, -1},
		{"\n", 12, 19},
	} {
		if got := d.index(c.at, c.s); got != c.want {
			t.Errorf("%q from %d: %d, want %d", c.s, c.at, got, c.want)
		}
		if got, want := d.contains(c.s), strings.Contains(d.text, c.s); got != want {
			t.Errorf("the text holds %q: %v, want %v", c.s, got, want)
		}
	}
}

// Numbers go up by one for each new key, and remember where it came first.
func TestASequenceCountsItsKeys(t *testing.T) {
	t.Parallel()
	q := numbered([]int{7, 8, 7, 9, 8, 7})
	if want := []int32{0, 1, 0, 2, 1, 0}; !slices.Equal(q.ids, want) {
		t.Errorf("numbers %v, want %v", q.ids, want)
	}
	if want := []int32{0, 1, 3}; !slices.Equal(q.first, want) {
		t.Errorf("first at %v, want %v", q.first, want)
	}
	if want := []int32{3, 2, 1}; !slices.Equal(q.count, want) {
		t.Errorf("counts %v, want %v", q.count, want)
	}
	for want, needle := range [][]int32{{2, 0, 1}, {0, 2, 1}, {0, 1, 2}} {
		if got := q.rarest(needle); got != want {
			t.Errorf("the rarest of %v is at %d, want %d", needle, got, want)
		}
	}
}

// A search starts from the rarest number and still names where the needle
// begins, keeps to the limit, and leaves out what is not accepted or what
// would reach beyond the text.
func TestASequenceIsSearchedFromItsRarestNumber(t *testing.T) {
	t.Parallel()
	q := numbered([]int{1, 2, 3, 1, 2, 1, 2, 3})
	later := func(lo int) bool { return lo > 0 }
	for _, c := range []struct {
		name   string
		needle []int32
		limit  int
		ok     func(int) bool
		want   []int
	}{
		{"all", []int32{0, 1, 2}, math.MaxInt, nil, []int{0, 5}},
		{"limited", []int32{0, 1}, 2, nil, []int{0, 3}},
		{"accepted only", []int32{0, 1, 2}, math.MaxInt, later, []int{5}},
		{"the limit counts what is accepted", []int32{0, 1}, 1, later, []int{3}},
		{"beyond the end", []int32{1, 2, 0, 1, 2}, math.MaxInt, nil, nil},
		{"before the start", []int32{1, 0, 1, 2}, math.MaxInt, nil, []int{4}},
		{"another order", []int32{2, 1}, math.MaxInt, nil, nil},
	} {
		if got := q.search(c.needle, c.limit, c.ok); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if got := searchKMP(q.ids, c.needle, c.limit, c.ok); !slices.Equal(got, c.want) {
			t.Errorf("%s by KMP: %v, want %v", c.name, got, c.want)
		}
	}
}

// Numbers 256 apart share a byte, others do not.
func TestNumbersAsBytes(t *testing.T) {
	t.Parallel()
	if got, want := asBytes([]int32{0, 1, 255, 256, 257}), "\x00\x01\xff\x00\x01"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A table always has a free slot, and as many slots as a power of two.
func TestATableKeepsAFreeSlot(t *testing.T) {
	t.Parallel()
	key := func(id int32) string { return fmt.Sprint(id) }
	for _, n := range []int{0, 1, 8, 9, 1000} {
		tab := newTable(n, key)
		if size := len(tab.slots); size < 2*n || size&(size-1) != 0 {
			t.Errorf("%d slots for %d keys", size, n)
		}
		for i := range int32(100) {
			tab.add(key(i))
			if !slices.Contains(tab.slots, 0) {
				t.Fatalf("no slot is free after %d keys", i+1)
			}
		}
		if _, added := tab.add("42"); added {
			t.Errorf("a key is new the second time, in a table for %d", n)
		}
		if _, ok := tab.find("100"); ok {
			t.Errorf("a key that was never added is found, in a table for %d", n)
		}
	}
}

// What each kind of view compares of a line.
func TestTheKeysOfALine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, whole, trimmed, loose string }{
		{"x", "x", "x", "x"},
		{"\tx = \u201ca\u201d ", "\tx = \u201ca\u201d ", "\tx = \u201ca\u201d", `x = "a"`},
		{"x \t\f\v\r", "x \t\f\v\r", "x", "x"},
		{" \t", " \t", "", ""},
		{"\u00a0x\u00a0", "\u00a0x\u00a0", "\u00a0x\u00a0", "x"},
		{"cafe\u0301", "cafe\u0301", "cafe\u0301", "caf\u00e9"},
		{"x\u200b", "x\u200b", "x\u200b", "x\u200b"},
	} {
		got := []string{whole.key(c.line), trimmedEnd.key(c.line), loose.key(c.line), looseFilled.key(c.line)}
		if want := []string{c.whole, c.trimmed, c.loose, c.loose}; !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", c.line, got, want)
		}
	}
}

// The views that leave lines out still name the lines of the file, and a
// line that they leave out stands nowhere in them.
func TestAViewLeavesLinesOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind    viewKind
		window  []int32 // the lines of its first two places
		search  string
		kept    []int // the lines of search that it keeps, nil when one is not in the file
		has, no string
	}{
		{whole, []int32{0, 1}, "a = 1||# c", []int{0, 1, 2}, "# c", "a = 1 "},
		{trimmedEnd, []int32{0, 1}, "a = 1 ||# c", []int{0, 1, 2}, "a = 1 ", "  # c"},
		{loose, []int32{0, 1}, "  a = 1||# c", []int{0, 1, 2}, "  # c", "a"},
		{looseFilled, []int32{0, 2}, "a = 1|| |# c", []int{0, 3}, "# c", ""},
		{looseCode, []int32{0, 4}, "a = 1|# other||b = 2", []int{0, 3}, "b = 2", "# c"},
		{whole, []int32{0, 1}, "a = 1|b = 3", nil, "", "b = 3"},
	} {
		v := linesOf("a.py", "a = 1||# c||b = 2").view(c.kind).build()
		if got := v.window(0, 2); !slices.Equal(got, c.window) {
			t.Errorf("view %d: its first places are lines %v, want %v", c.kind, got, c.window)
		}
		if got := v.line(1); got != int(c.window[1]) {
			t.Errorf("view %d: place 1 is line %d, want %d", c.kind, got, c.window[1])
		}
		ids, kept, ok := v.numbers(bars(c.search))
		if !slices.Equal(kept, c.kept) || ok != (c.kept != nil) || len(ids) != len(kept) {
			t.Errorf("view %d keeps lines %v of %q as %v, want %v", c.kind, kept, c.search, ids, c.kept)
		}
		if !v.has(c.has) || v.has(c.no) {
			t.Errorf("view %d: has %q: %v, has %q: %v", c.kind, c.has, v.has(c.has), c.no, v.has(c.no))
		}
	}
}

// Without an index a document tells of lines that they stand nowhere, that their
// code stands once at most, or that they are about another text.
func TestWhatASightingTells(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, search         string
		nowhere, codeOnce, foreign bool
	}{
		{"there once", "alpha = 1|b", "alpha = 1|b", false, true, false},
		{"there twice", "alpha = 1|alpha = 1", "alpha = 1", false, false, false},
		{"a blank line more", "alpha = 1||b", "alpha = 1|b", false, true, false},
		{"a blank line fewer", "alpha = 1|b", "|alpha = 1||b", false, true, false},
		{"another order", "alpha = 1|b", "b|alpha = 1", true, true, false},
		{"part of a longer line only", "alpha = 10", "alpha = 1", true, true, false},
		{"nothing of it", "alpha = 1", "omega = 2", true, false, true},
		{"the longest line is a comment that is not there", "b", "# a longer comment|b", true, true, true},
		{"characters of another kind", "say(\u201ca\u201d)", `say("a")`, false, false, false},
	} {
		d, s := linesOf("a.py", c.file), bars(c.search)
		if got := d.nowhere(s); got != c.nowhere {
			t.Errorf("%s: nowhere: %v", c.name, got)
		}
		if got := d.codeOnce(s); got != c.codeOnce {
			t.Errorf("%s: once: %v", c.name, got)
		}
		if got := d.foreign(s); got != c.foreign {
			t.Errorf("%s: foreign: %v", c.name, got)
		}
	}
	if linesOf("a.py", "a").nowhere([]string{"", " "}) {
		t.Error("blank lines alone are said to stand nowhere")
	}
}

// A line is held as a whole line, space and punctuation of other kinds aside.
func TestAFileHoldsWholeLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, line string
		want       bool
	}{
		{"x = 10", "x = 1", false},
		{"x = 10|x = 1", "x = 1", true},
		{"x = 10|  x = 1\t", "x = 1", true},
		{"x = 1", "\tx = 1 ", true},
		{"x = 'a'", "x = \u2018a\u2019", true},
		{"x = \u2018a\u2019", "x = 'a'", true},
		{"caf\u00e9", "cafe\u0301", true},
		{"caf\u00e9", "cafe", false},
	} {
		for _, busy := range []bool{false, true} {
			d := linesOf("a.py", c.file)
			if d.busy = busy; d.holds(c.line) != c.want {
				t.Errorf("%q holds %q, busy %v: want %v", c.file, c.line, busy, c.want)
			}
		}
	}
}

// The lines that hold a text are named by number, unless they are too many.
func TestTheLinesWithAText(t *testing.T) {
	t.Parallel()
	d := linesOf("a.py", "one|two one|three|one one")
	if got := linesWith(d, "one"); !slices.Equal(got, []int{0, 1, 3, 3}) {
		t.Errorf("one: %v", got)
	}
	if got := linesWith(d, "four"); got != nil {
		t.Errorf("four: %v", got)
	}
	if got := linesWith(newDocument("", []byte(strings.Repeat("x\n", mostHits))), "x"); len(got) != mostHits {
		t.Errorf("%d lines of %d", len(got), mostHits)
	}
	if got := linesWith(newDocument("", []byte(strings.Repeat("x\n", mostHits+1))), "x"); got != nil {
		t.Errorf("%d lines of a text that is too frequent", len(got))
	}
}

// Votes for one start are one vote; the weightiest comes first, of equals the
// first in the file, and only the best are kept.
func TestVotesAreTallied(t *testing.T) {
	t.Parallel()
	got := tally([]vote{{9, 1, 1}, {4, 0.5, 1}, {2, 1, 1}, {4, 1, 1}, {4, 0.25, 0}})
	if want := []vote{{4, 1.75, 2}, {2, 1, 1}, {9, 1, 1}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	var many []vote
	for i := range 3 * windows {
		many = append(many, vote{start: i, weight: 1})
	}
	if got := tally(many); len(got) != windows || got[0].start != 0 {
		t.Errorf("%d starts from %d on, want %d from 0", len(got), got[0].start, windows)
	}
}

// A line votes for where SEARCH would begin, with less weight the oftener it
// stands; a line that stands nowhere is named, a blank one says nothing.
func TestLinesVoteForAStart(t *testing.T) {
	t.Parallel()
	votes, absent := lineVotes(linesOf("a.py", "a|b|c|b"), bars("a||  b|z"))
	if want := []vote{{0, 1, 1}, {-1, 0.5, 1}, {1, 0.5, 1}}; !slices.Equal(votes, want) {
		t.Errorf("votes %v, want %v", votes, want)
	}
	if !slices.Equal(absent, []int{3}) {
		t.Errorf("absent %v, want the last line", absent)
	}
}

// A filter lets every line pass that was added, and most others not.
func TestAFilterPassesItsLines(t *testing.T) {
	t.Parallel()
	var f lineFilter
	long := fill('l', 1000)
	for _, s := range []string{"alpha", "{", long} {
		f.set(s)
	}
	for s, want := range map[string]bool{
		"alpha": true, "{": true, long: true, long + "l": true, // all long lines have one length
		"a": true, "beta!": false, "alphas": false, "\xff": false,
	} {
		if got := f.may(s); got != want {
			t.Errorf("%.10q of %d bytes passes: %v, want %v", s, len(s), got, want)
		}
	}
}

// Only ASCII space is trimmed, line ends included.
func TestTrimASCII(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", " \t\r\n": "", " a b\r\n": "a b", "\u00a0a": "\u00a0a", "a": "a"} {
		if got := trimASCII(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
