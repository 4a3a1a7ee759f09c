package edit

import (
	"fmt"
	"slices"
	"strings"
)

// shown bounds the lines of the file that a problem quotes, and shownWidth
// the bytes of each.
const (
	shown      = 14
	shownWidth = 200
)

// voters bounds the lines of SEARCH that are asked where it may belong.
const voters = 500

// A near is a window of the file that resembles SEARCH.
type near struct {
	lo, hi int
	score  float64 // the share of SEARCH's lines that stand there, by tokens
}

// nearest returns up to three windows of the file that resemble search, best
// first. Lines that stand in the file vote for where SEARCH would begin, and
// lines that do not are compared by their rarer tokens; no similarity is ever
// enough to edit there, it only helps the author to find the text.
//
// A line that stands often votes for many windows with little weight each; a
// line that stands once has one whole vote. Tokens of lines that stand
// nowhere vote weakly, which finds a single line with one word changed.
func nearest(d *document, search []string) []near {
	lo, hi := outer(search)
	search = search[lo:hi]
	if len(search) == 0 || d.len() == 0 {
		return nil
	}
	votes := map[int]float64{}
	v, w := d.view(loose).build(), d.wordView()
	step := 1 + len(search)/voters
	for i := 0; i < len(search); i += step {
		s := search[i]
		if blank(s) {
			continue
		}
		if id, ok := v.number(loose.key(s)); ok {
			for _, p := range v.places(id) {
				votes[int(p)-i] += 1 / float64(min(int(v.count[id]), rare))
			}
			continue
		}
		eachToken(s, func(t string) {
			if id, ok := w.number(t); ok && len(t) > 2 && w.count[id] <= rare {
				for _, p := range w.places(id) {
					votes[w.line(int(p))-i] += 0.2 / float64(w.count[id])
				}
			}
		})
	}
	var starts []int
	for p := range votes {
		starts = append(starts, p)
	}
	slices.SortFunc(starts, func(a, b int) int {
		if votes[a] != votes[b] {
			if votes[a] > votes[b] {
				return -1
			}
			return 1
		}
		return a - b
	})
	return rank(d, search, starts)
}

// rank scores the best-voted windows and keeps the three best that do not overlap.
func rank(d *document, search []string, starts []int) []near {
	var all []near
	for _, p := range starts[:min(len(starts), 12)] {
		n := near{lo: max(0, p), hi: min(d.len(), p+len(search))}
		if n.lo < n.hi {
			n.score = resemblance(d, n, search)
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(a, b near) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	var out []near
	for _, n := range all {
		apart := !slices.ContainsFunc(out, func(o near) bool { return n.lo < o.hi && o.lo < n.hi })
		if apart && n.score > 0.2 && len(out) < 3 {
			out = append(out, n)
		}
	}
	return out
}

// resemblance returns which share of the tokens of search stand in the window.
//
// Tokens are counted, not placed: the order within a window hardly matters
// for finding it, and counting takes linear time.
func resemblance(d *document, n near, search []string) float64 {
	have := map[string]int{}
	for i := n.lo; i < n.hi; i++ {
		eachToken(plainUnicode(d.line(i)), func(t string) { have[t]++ })
	}
	total, hit := 0, 0
	for _, s := range search {
		eachToken(plainUnicode(s), func(t string) {
			total++
			if have[t] > 0 {
				have[t]--
				hit++
			}
		})
	}
	return float64(hit) / float64(max(1, total))
}

// difference names the first line of search that the window does not have.
//
// One line is enough: an author who corrects it by the excerpt has read the
// others too.
func difference(d *document, n near, search []string) string {
	lo, hi := outer(search)
	here := map[string]bool{}
	for i := n.lo; i < n.hi; i++ {
		here[loose.key(d.line(i))] = true
	}
	for i := lo; i < hi; i++ {
		if key := loose.key(search[i]); key != "" && !here[key] {
			return fmt.Sprintf("your line %d, %s, is not there", i+1, quote(search[i]))
		}
	}
	return "your lines are there, but in another order, at another depth or with others between them"
}

// quote shows a line with its space visible.
func quote(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(s, "\ufffd"))
}

// around shows the surroundings of some lines, from 1, in one excerpt each;
// those that would overlap are shown as one.
func (d *document) around(lines []int) string {
	var parts []string
	for i := 0; i < len(lines); {
		lo, hi := lines[i]-2, lines[i]+1
		for i++; i < len(lines) && lines[i]-3 <= hi; i++ {
			hi = lines[i] + 1
		}
		parts = append(parts, d.excerpt(max(0, lo), min(d.len(), hi)))
	}
	return strings.Join(parts, "       ⋮\n")
}

// excerpt shows lines [lo, hi) with their numbers, and one line of context
// on either side; a long range loses its middle.
func (d *document) excerpt(lo, hi int) string {
	lo, hi = max(0, lo-1), min(d.len(), hi+1)
	var b strings.Builder
	for i := lo; i < hi; i++ {
		if hi-lo > shown && i == lo+shown/2 {
			skip := hi - lo - shown
			fmt.Fprintf(&b, "%6s | … %d more lines\n", "", skip)
			i += skip
		}
		s := d.line(i)
		if len(s) > shownWidth {
			s = s[:shownWidth] + "…"
		}
		fmt.Fprintf(&b, "%6d | %s\n", i+1, strings.ToValidUTF8(s, "\ufffd"))
	}
	return b.String()
}
