package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"agent/orchestrator/edit/align"
	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/problem"
)

// The share that a place and SEARCH must have in common, in order, for the place to be the one that was meant. A single line needs
// more: code is full of lines that share their names and do something else.
const (
	likelyLines = 0.6
	likelyLine  = 0.65
)

// The number of closest lines shown if no place is likely, their least resemblance, and the number of lines compared for them.
const (
	mostClosest  = 10
	leastClosest = 0.3
	closestOf    = 400
)

// likely reports whether the place of an alignment, found around n, is the one that its SEARCH means. It is if SEARCH is a piece of
// it, if half of the lines with a word are in it, or if most of the tokens are, in order. An author who is told to copy a place
// does so, whatever it holds.
func (a *alignment) likely(d *document.Document, n near) bool {
	told, paired := 0, 0
	for i, s := range a.search {
		if hasWord(s) {
			told++
			if a.at[i] >= 0 {
				paired++
			}
		}
	}
	if piece(d, n, a.search) || told > 0 && 2*paired >= told {
		return true
	}
	var file []string
	for i := n.lo; i < n.hi; i++ {
		file = append(file, d.Line(i))
	}
	least := likelyLines
	if len(a.search) == 1 {
		least = likelyLine
	}
	return inOrder(tokens(a.search), tokens(file)) >= least
}

// tokens returns the tokens of lines; of a long text, only those of its beginning.
func tokens(lines []string) (list []string) {
	for _, s := range lines[:min(len(lines), compared)] {
		lex.EachToken(lex.PlainUnicode(problem.Clip(s, longLine)), func(t string) { list = append(list, t) })
	}
	return list
}

// inOrder returns the share of bytes, 0 to 1, that two token lists have in common in the same order.
func inOrder(a, b []string) float64 {
	common := 0
	for j, i := range align.Heaviest(a, b, func(t string) int { return len(t) }) {
		if i >= 0 {
			common += len(b[j])
		}
	}
	all := 0
	for _, t := range slices.Concat(a, b) {
		all += len(t)
	}
	return 2 * float64(common) / float64(max(1, all))
}

// closest shows the lines of the file that have most in common with any line of search, each separately and in the order of the
// file, and returns their numbers, from 1.
func closest(d *document.Document, search []string) (lines []int, text string) {
	lo, hi := lex.Outer(search)
	search = search[lo:hi]
	votes, absent := lineVotes(d, search)
	votes = append(votes, wordVotes(d, search, absent)...)
	type line struct {
		n     int
		score float64
	}
	var all []line
	seen := map[int]bool{}
	for _, v := range tally(votes) {
		for i := max(0, v.start); i < min(d.Len(), v.start+len(search)) && len(seen) < closestOf; i++ {
			if seen[i] || !hasWord(d.Line(i)) {
				continue
			}
			seen[i] = true
			best, file := 0.0, tokens([]string{d.Line(i)})
			for _, s := range search[:min(len(search), compared)] {
				best = max(best, inOrder(tokens([]string{s}), file))
			}
			if best >= leastClosest {
				all = append(all, line{i, best})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Or(cmp.Compare(b.score, a.score), a.n-b.n) })
	for _, l := range all[:min(len(all), mostClosest)] {
		lines = append(lines, l.n+1)
	}
	slices.Sort(lines)
	var b strings.Builder
	for _, n := range lines {
		fmt.Fprint(&b, excerptUpTo(d, 1, n-1, n))
	}
	return lines, b.String()
}
