package edit

import (
	"math"
	"slices"

	"agent/orchestrator/edit/lex"
)

// A wordView is a range of a file's lines as tokens, for SEARCH lines that
// were joined or broken differently.
type wordView struct {
	sequence
	words []string // the token of each number
	lo    int      // the first line
	ends  []int32  // tokens up to and with each line
}

// line returns the line of the file that token t is on.
func (w *wordView) line(t int) int {
	i, _ := slices.BinarySearch(w.ends, int32(t)+1)
	return w.lo + i
}

// wordView returns the tokens of the file, cutting it at the first call.
// Many blocks may ask for it, and it is the dearest view of a file.
func (d *document) wordView() *wordView {
	if d.words == nil {
		d.work.add(workLine * len(d.text))
		d.words = d.cutWords(0, d.len())
	}
	return d.words
}

// cutWords returns the tokens of lines [lo, hi).
//
// They are counted first: a file of punctuation has as many tokens as bytes,
// and an array that grows would take several times its size.
func (d *document) cutWords(lo, hi int) *wordView {
	n := 0
	for i := lo; i < hi; i++ {
		lex.EachToken(d.line(i), func(string) { n++ })
	}
	w := &wordView{lo: lo, ends: make([]int32, 0, hi-lo)}
	w.ids = make([]int32, 0, n)
	w.keys = newTable(min(n, 1024), func(id int32) string { return w.words[id] })
	for i := lo; i < hi; i++ {
		lex.EachToken(d.line(i), func(t string) {
			if w.push(t); len(w.words) < len(w.count) {
				w.words = append(w.words, t)
			}
		})
		w.ends = append(w.ends, int32(len(w.ids)))
	}
	return w
}

// wholeLines returns the places, as tokens, at which search stands, n tokens
// long, that begin with a line's first token and end with a line's last.
func (w *wordView) wholeLines(search []string, n int) []int {
	ids, known := make([]int32, 0, n), true
	for _, s := range search {
		lex.EachToken(s, func(t string) {
			id, ok := w.number(t)
			known = known && ok
			ids = append(ids, id)
		})
		if !known {
			return nil
		}
	}
	return w.search(ids, math.MaxInt, func(t int) bool {
		starts := t == 0 || w.line(t-1) != w.line(t)
		stops := t+n == len(w.ids) || w.line(t+n-1) != w.line(t+n)
		return starts && stops
	})
}
