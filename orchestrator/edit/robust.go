package edit

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// trimSpace is strings.TrimSpace, named for what the strategies mean by it.
func trimSpace(s string) string { return strings.TrimSpace(s) }

// locateElided reads lines such as "# ... existing code ..." in SEARCH and
// REPLACE as "these lines stay". Both must elide as often; every piece between
// two elisions must have one place, and the places must follow in order.
//
// The pieces are located independently and to the letter, or else by
// indentation; an elision is no wildcard that could stretch over any text
// until something fits. REPLACE gives new pieces in the same order, and the
// elided lines are not touched at all.
func locateElided(d *document, search, replace []string) (finding, bool) {
	ps, pr := pieces(search), pieces(replace)
	if len(ps) < 2 || len(ps) != len(pr) {
		return finding{}, false
	}
	f, at := finding{}, 0
	for i, s := range ps {
		if len(s) == 0 {
			if len(pr[i]) > 0 {
				return finding{}, false // nothing tells where these lines would go
			}
			continue
		}
		g, _ := locateStrict(d, s, pr[i])
		if len(g.places) == 0 && len(g.ambiguous) == 0 && anchor(d.lang, s) {
			g, _ = locateLoose(d, loose, s, pr[i])
		}
		if len(g.ambiguous) > 0 {
			return g, true
		}
		if len(g.places) == 0 || g.places[0].lo < at || !anchor(d.lang, s) {
			return finding{}, false
		}
		g.places[0].strategy = Robust
		at = g.places[0].hi
		f.places = append(f.places, g.places[0])
	}
	return f, len(f.places) > 0
}

// pieces cuts lines at the elisions.
func pieces(lines []string) [][]string {
	out := [][]string{nil}
	for _, s := range lines {
		if yes, _ := elision(s); yes {
			out = append(out, nil)
		} else {
			out[len(out)-1] = append(out[len(out)-1], s)
		}
	}
	for i, p := range out {
		lo, hi := outer(p)
		out[i] = p[lo:hi]
	}
	return out
}

// A wordView is a file as tokens, for SEARCH lines that were joined or
// broken differently.
type wordView struct {
	ids   []int32
	lines []int32 // the line of each token
	known map[string]int32
	count []int32
	first [][]int32
}

// number returns the number of a token, and whether the file has it.
func (w *wordView) number(t string) (int32, bool) {
	id, ok := w.known[t]
	return id, ok
}

// places returns up to rare places of a number, in order.
func (w *wordView) places(id int32) []int32 { return w.first[id] }

// line returns the line of token i.
func (w *wordView) line(i int) int { return int(w.lines[i]) }

// The least that a reflowed SEARCH must hold: fewer tokens could stand
// together by chance.
const (
	minTokens = 6
	minBytes  = 20
)

// wordView returns the tokens of the file, cutting it at the first call.
func (d *document) wordView() *wordView {
	if d.words != nil {
		return d.words
	}
	w := &wordView{known: map[string]int32{}}
	for i := range d.len() {
		eachToken(d.line(i), func(t string) {
			id, ok := w.known[t]
			if !ok {
				id = int32(len(w.count))
				w.known[t] = id
				w.count, w.first = append(w.count, 0), append(w.first, nil)
			}
			if w.count[id]++; w.count[id] <= rare {
				w.first[id] = append(w.first[id], int32(len(w.ids)))
			}
			w.ids, w.lines = append(w.ids, id), append(w.lines, int32(i))
		})
	}
	d.words = w
	return w
}

// locateReflowed looks for the tokens of search, whatever the line breaks and
// the space between them. The match must begin and end with whole lines.
//
// Formatters and models break long calls and conditions at different places.
// Equal tokens in equal order are the same code whatever the breaks, or the
// same prose. That the match begins and ends with whole lines keeps half
// statements out.
func locateReflowed(d *document, search, replace []string) (finding, bool) {
	var ids []int32
	var ends []int // tokens up to and with each line of search
	w, size, known := d.wordView(), 0, true
	for _, s := range search {
		eachToken(s, func(t string) {
			id, ok := w.known[t]
			known = known && ok
			ids, size = append(ids, id), size+len(t)
		})
		ends = append(ends, len(ids))
	}
	if !known || len(ids) < minTokens || size < minBytes {
		return finding{}, false
	}
	hits := wholeLines(w, searchKMP(w.ids, ids, math.MaxInt), len(ids))
	if len(hits) == 0 {
		return finding{}, false
	}
	lines := make([]int, len(hits))
	for i, h := range hits {
		lines[i] = w.line(h)
	}
	h := hits[0]
	p := place{lo: lines[0], hi: w.line(h+len(ids)-1) + 1, strategy: Robust, search: search, replace: replace}
	p.groups = reflowGroups(w, h, ends)
	return one(lines, p), true
}

// wholeLines keeps the hits that begin with a line's first token and end with
// a line's last.
func wholeLines(w *wordView, hits []int, n int) []int {
	var out []int
	for _, h := range hits {
		starts := h == 0 || w.line(h-1) != w.line(h)
		stops := h+n == len(w.ids) || w.line(h+n-1) != w.line(h+n)
		if starts && stops {
			out = append(out, h)
		}
	}
	return out
}

// reflowGroups pairs the lines of search, of which line i ends before token
// ends[i], with the lines of the file from token h on: a group closes
// wherever both have a line end.
//
// For SEARCH "f(a,\nb)\nc" and the file's "f(a, b)\nc" the groups are two
// lines for one, then one for one.
func reflowGroups(w *wordView, h int, ends []int) []group {
	var groups []group
	s0, f0, t0 := 0, w.line(h), 0
	for s, e := range ends {
		if e == t0 { // a line without tokens: blank
			if s0 == s {
				groups = append(groups, group{s, s + 1, f0, f0})
				s0 = s + 1
			}
			continue
		}
		last := h + e - 1
		if last+1 < len(w.ids) && w.line(last+1) == w.line(last) {
			continue // the file's line goes on
		}
		groups = append(groups, group{s0, s + 1, w.line(h + t0), w.line(last) + 1})
		s0, t0, f0 = s+1, e, w.line(last)+1
	}
	return groups
}

// eachToken calls yield for every token of a line: a word, a quoted string
// that closes on the line, or one other character. Space between tokens does
// not count, space inside a string does.
//
// It is no lexer of any language. It only has to cut two texts alike, and
// never to take two different texts for the same: so strings stay whole,
// names and numbers stay whole, and everything else is compared byte by
// byte.
func eachToken(s string, yield func(string)) {
	open := "" // quotation marks that do not close: looking again would cost quadratic time
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case unicode.IsSpace(r):
			s = s[n:]
			continue
		case (r == '"' || r == '\'' || r == '`') && !strings.ContainsRune(open, r):
			if n = quoted(s); n == 1 {
				open += s[:1]
			}
		case word(r):
			for n < len(s) {
				r, m := utf8.DecodeRuneInString(s[n:])
				if !word(r) {
					break
				}
				n += m
			}
		}
		yield(s[:n])
		s = s[n:]
	}
}

// quoted returns the length of the string literal at the start of s, or 1
// when it does not close.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return 1
}

// word reports whether r belongs to a name or number.
func word(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
}
