package explain

import (
	"cmp"
	"math"
	"slices"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/problem"
)

// A near is a window of the file that resembles SEARCH: lines [lo, hi), from 0. Lines [from, to) hold it and the similarly good
// windows that overlap it.
type near struct {
	lo, hi   int
	from, to int
	score    float64 // the share that it and SEARCH have in common, 0 to 1
	lines    int     // how many lines of SEARCH are in their position in it
}

// A vote says that SEARCH would begin at a line of the file, with a weight; lines counts the lines of SEARCH that would then be in
// their position.
type vote struct {
	start  int
	weight float64
	lines  int
}

// nearest returns some windows of the file that resemble search, best first, each as long as search without its outer blank lines.
// Lines that are in the file vote for where SEARCH would begin; for lines that are not, their longest words cast weak votes. A
// similarity is never enough to edit there: it only helps the author to find the text.
//
// A frequent line votes for many windows with little weight each; a line that occurs once has one whole vote.
func nearest(d *document.Document, search []string) []near {
	lo, hi := lex.Outer(search)
	search = search[lo:hi]
	if len(search) == 0 || d.Len() == 0 {
		return nil
	}
	votes, absent := lineVotes(d, search)
	if 2*len(absent) > len(search) {
		votes = append(votes, wordVotes(d, search, absent)...)
	}
	return rank(d, search, tally(votes))
}

// A lineFilter rules out most lines by their length and first byte, which needs no hash.
type lineFilter struct{ lengths, firsts [4]uint64 }

// set adds the line s, which is not blank.
func (f *lineFilter) set(s string) {
	n := min(len(s), 255)
	f.lengths[n>>6] |= 1 << (n & 63)
	f.firsts[s[0]>>6] |= 1 << (s[0] & 63)
}

// may reports whether s, which is not blank, can be one of the added lines.
func (f *lineFilter) may(s string) bool {
	n := min(len(s), 255)
	return f.lengths[n>>6]&(1<<(n&63)) != 0 && f.firsts[s[0]>>6]&(1<<(s[0]&63)) != 0
}

// lineVotes returns the votes of the lines of search that are in the file, ignoring the space around them, and the indexes of those
// that are not.
//
// It reads the file once, whatever the number of lines: a filter and a small table of SEARCH's lines are cheaper than an index of
// the file.
func lineVotes(d *document.Document, search []string) (votes []vote, absent []int) {
	var filter lineFilter
	asked := map[string][]int{} // from a line to where it is in search
	step := 1 + len(search)/voters
	for i := 0; i < len(search); i += step {
		if s := trimASCII(search[i]); s != "" && len(asked[s]) < 4 {
			filter.set(s)
			asked[s] = append(asked[s], i)
		}
	}
	hits := make(map[string][]int32, len(asked))
	for l := range d.Len() {
		s := trimASCII(d.Text[d.Off[l]:d.Off[l+1]])
		if s == "" || !filter.may(s) || asked[s] == nil {
			continue
		}
		if h := hits[s]; len(h) < mostHits {
			hits[s] = append(h, int32(l))
		}
	}
	for i := 0; i < len(search); i += step {
		s := trimASCII(search[i])
		if s == "" {
			continue
		}
		if len(hits[s]) == 0 {
			absent = append(absent, i)
		}
		if slices.Contains(asked[s], i) {
			for _, l := range hits[s] {
				votes = append(votes, vote{int(l) - i, 1 / float64(len(hits[s])), 1})
			}
		}
	}
	return votes, absent
}

// wordVotes returns the votes of the longest words of the lines absent: a line with one changed word is found by its other words.
func wordVotes(d *document.Document, search []string, absent []int) (votes []vote) {
	lines := map[string][]int{} // from a word to the lines of search that hold it
	var words []string
	for _, i := range absent[:min(len(absent), compared)] {
		lex.EachToken(problem.Clip(search[i], longLine), func(t string) {
			if len(t) < 3 || len(lines[t]) == mostHits {
				return
			}
			if lines[t] == nil {
				words = append(words, t)
			}
			lines[t] = append(lines[t], i)
		})
	}
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	found := 0
	for _, t := range words[:min(len(words), 4*probes)] {
		at := linesWith(d, t)
		for _, l := range at {
			for _, i := range lines[t] {
				votes = append(votes, vote{l - i, 0.2 / float64(len(at)*len(lines[t])), 0})
			}
		}
		if len(at) > 0 {
			found++
		}
		if found == probes {
			break
		}
	}
	return votes
}

// linesWith returns the lines, from 0, that hold the text s, or none if it occurs more than mostHits times.
func linesWith(d *document.Document, s string) (lines []int) {
	for at := d.Index(0, s); at >= 0; at = d.Index(at+len(s), s) {
		if len(lines) == mostHits {
			return nil
		}
		lines = append(lines, d.LineAt(at))
	}
	return lines
}

// tally sums the votes and returns the starts with the most weight, best first; of equals the first in the file.
func tally(votes []vote) []vote {
	slices.SortStableFunc(votes, func(a, b vote) int { return a.start - b.start })
	n := 0
	for _, v := range votes {
		if n > 0 && votes[n-1].start == v.start {
			votes[n-1].weight += v.weight
			votes[n-1].lines += v.lines
		} else {
			votes[n] = v
			n++
		}
	}
	votes = votes[:n]
	slices.SortStableFunc(votes, func(a, b vote) int { return cmp.Compare(b.weight, a.weight) })
	return votes[:min(n, windows)]
}

// The resemblance of a place that counts as near, and how many places are shown if there is one and if there is none.
const (
	nearScore = 0.5
	someNear  = 3
	vaguely   = 5
)

// rank compares search with the windows that were voted for. A place that is clearly near comes first, with others that are nearly
// as near. If there is none, the best one is followed by those that hold the most lines of SEARCH.
func rank(d *document.Document, search []string, starts []vote) []near {
	t := countTokens(search)
	var all []near
	for _, v := range starts {
		n := near{lo: max(0, v.start), hi: min(d.Len(), v.start+len(search)), lines: v.lines}
		if n.lo < n.hi {
			n.from, n.to, n.score = n.lo, n.hi, t.share(d, n)
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(b.score, a.score) })
	if len(all) == 0 || all[0].score < 0.1 && all[0].lines == 0 {
		return nil
	}
	most, rest := someNear, all[1:]
	if all[0].score < nearScore {
		most = vaguely
		slices.SortStableFunc(rest, func(a, b near) int { return cmp.Or(b.lines-a.lines, a.lo-b.lo) })
	} else {
		rest = slices.DeleteFunc(rest, func(n near) bool { return n.score < 0.7*all[0].score })
	}
	out := all[:1:1]
	for _, n := range rest {
		i := slices.IndexFunc(out, func(o near) bool { return n.lo < o.to && o.from < n.hi })
		switch {
		case i >= 0 && 2*n.lines >= out[i].lines:
			out[i].from, out[i].to = min(out[i].from, n.lo), max(out[i].to, n.hi)
		case i < 0 && len(out) < most:
			out = append(out, n)
		}
	}
	return out
}

// A tokenCount counts the tokens of a SEARCH, to compare it with windows.
type tokenCount struct {
	ids   map[string]int
	count []int // of each token
	total int
	left  []int // of each token, the occurrences that the window under comparison has not shown yet
}

// countTokens counts the tokens of search, or of its first lines if it is long.
func countTokens(search []string) *tokenCount {
	t := &tokenCount{ids: map[string]int{}}
	for _, s := range search[:min(len(search), compared)] {
		lex.EachToken(lex.PlainUnicode(problem.Clip(s, longLine)), func(w string) {
			id, ok := t.ids[w]
			if !ok {
				id = len(t.count)
				t.ids[w] = id
				t.count = append(t.count, 0)
			}
			t.count[id]++
			t.total += len(w)
		})
	}
	t.left = make([]int, len(t.count))
	return t
}

// share returns the share that the window and SEARCH have in common, 0 to 1: twice the bytes of their common tokens divided by the
// bytes of all tokens of both.
//
// It counts tokens and ignores their positions: the order within a window hardly matters for finding it, and counting takes linear
// time.
func (t *tokenCount) share(d *document.Document, n near) float64 {
	copy(t.left, t.count)
	hit, size := 0, 0
	for i := n.lo; i < min(n.hi, n.lo+compared); i++ {
		lex.EachToken(lex.PlainUnicode(problem.Clip(d.Line(i), longLine)), func(w string) {
			size += len(w)
			if id, ok := t.ids[w]; ok && t.left[id] > 0 {
				t.left[id]--
				hit += len(w)
			}
		})
	}
	return 2 * float64(hit) / math.Max(1, float64(t.total+size))
}

// trimASCII returns s without the ASCII space around it, including line ends.
func trimASCII(s string) string {
	for s != "" && s[0] <= ' ' {
		s = s[1:]
	}
	for s != "" && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// Bounds on the search for similar places. They keep it cheap on any input:
// one pass over the lines of the file, a few scans of its text, a few windows.
const (
	voters   = 500     // lines of SEARCH that may vote
	mostHits = 32      // places of one line or token that count; a more frequent one says little
	probes   = 8       // tokens that are looked up in the text
	windows  = 16      // places with the most votes that are compared token by token
	compared = 100     // lines of SEARCH that are compared with each place
	longLine = 4 << 10 // bytes of a line that are compared
)
