package explain

import (
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
)

// Bounds on the search for what distinguishes equal places.
const (
	maxAdded    = 12      // lines that may be added on one side
	maxRepeats  = 200     // equal places that are examined
	maxCompared = 1 << 20 // lines that are compared to find them
)

// tellApart adds lines before or after lines [lo, hi) until they occur only once in the file. The fewest lines win; on a tie, the
// lines before.
//
// If an author repeats exactly these lines, the place is unique, whatever else resembles them: Exact is tried first, and finds one
// place.
func tellApart(d *document.Document, lo, hi int) spot {
	q := spot{lo: lo, hi: hi, from: lo, to: hi, alone: true}
	others, all := repeats(d, lo, hi)
	if len(others) == 0 && all {
		return q
	}
	for n := 1; n <= maxAdded && all; n++ {
		if from := lo - n; from >= 0 && !lex.Blank(d.Line(from)) && !anyEqual(d, from, lo, others, -n) {
			q.from = from
			return q
		}
		if to := hi + n; to <= d.Len() && !lex.Blank(d.Line(to-1)) && !anyEqual(d, hi, to, others, hi-lo) {
			q.to = to
			return q
		}
	}
	q.alone = false
	return q
}

// anyEqual reports whether lines [lo, hi) also occur at distance by from one of starts.
func anyEqual(d *document.Document, lo, hi int, starts []int, by int) bool {
	for _, s := range starts {
		if at := s + by; at >= 0 && at+hi-lo <= d.Len() && equalRun(d, lo, hi, at) == hi-lo {
			return true
		}
	}
	return false
}

// equalRun returns how many of the lines [lo, hi) also occur from line at on.
func equalRun(d *document.Document, lo, hi, at int) int {
	for i := lo; i < hi; i++ {
		if d.Line(i) != d.Line(at+i-lo) {
			return i - lo
		}
	}
	return hi - lo
}

// repeats returns the other first lines at which lines [lo, hi) occur, and whether those are all: it gives up in a file that
// repeats itself too much.
func repeats(d *document.Document, lo, hi int) (others []int, all bool) {
	key, work := lo, 0 // the longest line is the rarest, or close to it
	for i := lo; i < hi; i++ {
		if len(d.Line(i)) > len(d.Line(key)) {
			key = i
		}
	}
	want := d.Line(key)
	for l := range d.Len() {
		at := l - (key - lo)
		if !strings.HasPrefix(d.Raw(l), want) || l == key || at < 0 || at+hi-lo > d.Len() || d.Line(l) != want {
			continue
		}
		n := equalRun(d, lo, hi, at)
		if n == hi-lo {
			others = append(others, at)
		}
		if work += n; work > maxCompared || len(others) == maxRepeats {
			return others, false
		}
	}
	return others, true
}

// extent returns the end of the text that search stands for from line lo on, whether it was found to the letter or ignoring blank
// lines, comments or elided lines.
//
// In the latter case it searches for each line of search after the one before it. If one does not follow soon, it assumes that the
// text is as long as search.
func extent(d *document.Document, lo int, search []string) int {
	from, to := lex.Outer(search)
	for _, s := range [][]string{search, search[from:to]} {
		if matchesAt(d, lo, s) {
			return lo + len(s)
		}
	}
	at := lo
	for _, s := range search[from:to] {
		if yes, _ := lex.Elision(s); yes || lex.Blank(s) || d.Lang.Comment(s) {
			continue
		}
		key, f := document.Loose.Key(s), at
		for f < d.Len() && f < at+shown && document.Loose.Key(d.Line(f)) != key {
			f++
		}
		if f == d.Len() || f == at+shown {
			return min(d.Len(), lo+to-from)
		}
		at = f + 1
	}
	return max(at, lo+1)
}

// matchesAt reports whether the lines s occur from line at on, ignoring the space around them and Unicode punctuation.
func matchesAt(d *document.Document, at int, s []string) bool {
	if at < 0 || at+len(s) > d.Len() {
		return false
	}
	for i := range s {
		d.Work.Add(document.WorkLine)
		if f := d.Line(at + i); f != s[i] && document.Loose.Key(f) != document.Loose.Key(s[i]) {
			return false
		}
	}
	return true
}
