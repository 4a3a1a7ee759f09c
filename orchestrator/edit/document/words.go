package document

import (
	"math"
	"slices"

	"agent/orchestrator/edit/lex"
)

// A WordView is a range of a file's lines as tokens, for SEARCH lines that were joined or broken differently.
type WordView struct {
	sequence
	lo   int     // the first line
	ends []int32 // the number of tokens up to and including each line
}

// Len returns the number of tokens.
func (w *WordView) Len() int { return len(w.ids) }

// Line returns the line of the file that token t is on.
func (w *WordView) Line(t int) int {
	i, _ := slices.BinarySearch(w.ends, int32(t)+1)
	return w.lo + i
}

// WordView returns the tokens of the file. The first call computes them, since many blocks may need them and this is a file's most
// expensive view.
func (d *Document) WordView() *WordView {
	if d.Words == nil {
		d.Work.Add(WorkLine * len(d.Text))
		d.Words = d.CutWords(0, d.Len())
	}
	return d.Words
}

// CutWords returns the tokens of lines [lo, hi).
//
// It counts them first: a file of punctuation has as many tokens as bytes, and an array that grows would take several times its
// size.
func (d *Document) CutWords(lo, hi int) *WordView {
	n := 0
	for i := lo; i < hi; i++ {
		lex.EachToken(d.Line(i), func(string) { n++ })
	}
	w := &WordView{lo: lo, ends: make([]int32, 0, hi-lo)}
	w.ids, w.numbers, w.work = make([]int32, 0, n), make(map[string]int32, min(n, 1024)), d.Work
	for i := lo; i < hi; i++ {
		lex.EachToken(d.Line(i), w.push)
		w.ends = append(w.ends, int32(len(w.ids)))
	}
	return w
}

// WholeLines returns the places, as tokens, at which search, n tokens long, occurs. Each begins with the first token of a line and
// ends with the last token of a line.
func (w *WordView) WholeLines(search []string, n int) []int {
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
		starts := t == 0 || w.Line(t-1) != w.Line(t)
		stops := t+n == len(w.ids) || w.Line(t+n-1) != w.Line(t+n)
		return starts && stops
	})
}
