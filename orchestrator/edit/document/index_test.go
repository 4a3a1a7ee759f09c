package document

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// linesOf returns a document with the lines of file, split at "|".
func linesOf(path, file string) *Document {
	return New(path, []byte(strings.ReplaceAll(file, "|", "\n")+"\n"))
}

// A short text is counted completely; of a long text, only the sample is read.
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
		{"a long text", strings.Repeat("a", 100*sampled), 'a', 1014}, // every 101st byte
	} {
		if got := newByteFrequency(c.text)[c.of]; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// A search from an offset never looks back, and the empty text is found at every offset.
func TestIndexFromAByteOn(t *testing.T) {
	t.Parallel()
	d := New("a.txt", []byte("one two one\ntwo one\n"))
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
		if got := d.Index(c.at, c.s); got != c.want {
			t.Errorf("%q from %d: %d, want %d", c.s, c.at, got, c.want)
		}
		if got, want := d.contains(c.s), strings.Contains(d.Text, c.s); got != want {
			t.Errorf("the text holds %q: %v, want %v", c.s, got, want)
		}
	}
}

// Each new key gets the next number, and the position of its first occurrence is kept.
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

// A search starts from the rarest number but returns where the needle begins. It keeps to the limit, and skips places that are not
// accepted or that would exceed the text.
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
		if got := q.repeated(c.needle, c.limit, c.ok); !slices.Equal(got, c.want) {
			t.Errorf("%s as bytes: %v, want %v", c.name, got, c.want)
		}
	}
}

// Only numbers that are a multiple of 256 apart share a byte.
func TestNumbersAsBytes(t *testing.T) {
	t.Parallel()
	if got, want := asBytes([]int32{0, 1, 255, 256, 257}), "\x00\x01\xff\x00\x01"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Each kind of view compares its own part of a line.
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
		got := []string{whole.Key(c.line), TrimmedEnd.Key(c.line), Loose.Key(c.line), LooseFilled.Key(c.line)}
		if want := []string{c.whole, c.trimmed, c.loose, c.loose}; !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", c.line, got, want)
		}
	}
}

// Views that skip lines still return the file's line numbers, and do not contain the skipped lines.
func TestAViewLeavesLinesOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind    ViewKind
		window  []int32 // the lines at its first two positions
		search  string
		kept    []int // the lines of search that it keeps; nil if one is not in the file
		has, no string
	}{
		{whole, []int32{0, 1}, "a = 1||# c", []int{0, 1, 2}, "# c", "a = 1 "},
		{TrimmedEnd, []int32{0, 1}, "a = 1 ||# c", []int{0, 1, 2}, "a = 1 ", "  # c"},
		{Loose, []int32{0, 1}, "  a = 1||# c", []int{0, 1, 2}, "  # c", "a"},
		{LooseFilled, []int32{0, 2}, "a = 1|| |# c", []int{0, 3}, "# c", ""},
		{LooseCode, []int32{0, 4}, "a = 1|# other||b = 2", []int{0, 3}, "b = 2", "# c"},
		{whole, []int32{0, 1}, "a = 1|b = 3", nil, "", "b = 3"},
	} {
		v := linesOf("a.py", "a = 1||# c||b = 2").View(c.kind).build()
		if got := v.Window(0, 2); !slices.Equal(got, c.window) {
			t.Errorf("view %d: its first places are lines %v, want %v", c.kind, got, c.window)
		}
		if got := v.Line(1); got != int(c.window[1]) {
			t.Errorf("view %d: place 1 is line %d, want %d", c.kind, got, c.window[1])
		}
		ids, kept, ok := v.Numbers(bars(c.search))
		if !slices.Equal(kept, c.kept) || ok != (c.kept != nil) || len(ids) != len(kept) {
			t.Errorf("view %d keeps lines %v of %q as %v, want %v", c.kind, kept, c.search, ids, c.kept)
		}
		if !v.has(c.has) || v.has(c.no) {
			t.Errorf("view %d: has %q: %v, has %q: %v", c.kind, c.has, v.has(c.has), c.no, v.has(c.no))
		}
	}
}

// Without an index, a document tells whether lines are absent, whether their code occurs at most once, and whether they belong to another
// text.
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
		if got := d.CodeOnce(s); got != c.codeOnce {
			t.Errorf("%s: once: %v", c.name, got)
		}
		if got := d.LacksLongestLine(s); got != c.foreign {
			t.Errorf("%s: foreign: %v", c.name, got)
		}
	}
	if linesOf("a.py", "a").nowhere([]string{"", " "}) {
		t.Error("blank lines alone are said to stand nowhere")
	}
}

// A line counts as contained only as a whole line; space and variants of punctuation do not matter.
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
			if d.PreferIndex = busy; d.HasLine(c.line) != c.want {
				t.Errorf("%q holds %q, busy %v: want %v", c.file, c.line, busy, c.want)
			}
		}
	}
}
