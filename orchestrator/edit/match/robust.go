package match

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
)

// findElided reads lines such as "# ... existing code ..." in SEARCH and REPLACE as "these lines stay". Both must elide equally
// often; every piece between two elisions must have one place, and the places must follow in order.
//
// The pieces are located independently, to the letter or else by indentation. An elision is not a wildcard that could stretch over
// any text until something fits. REPLACE gives new pieces in the same order, and the elided lines are not touched at all.
func findElided(q *query) Finding {
	ps := Pieces(q.search)
	if len(ps) < 2 {
		return Finding{}
	}
	pr := Pieces(q.replace)
	if len(ps) != len(pr) {
		return Finding{}
	}
	f, at := Finding{Places: make([]Place, 0, len(ps))}, 0
	for i, s := range ps {
		if q.d.Work.Spent() {
			return Finding{}
		}
		if lex.AllBlank(s) {
			if !lex.AllBlank(pr[i]) {
				return Finding{} // nothing shows where these lines would go
			}
			continue
		}
		g := findPiece(newQuery(q.rows, q.d, s, pr[i]))
		if len(g.Ambiguous) > 0 {
			return g
		}
		if len(g.Places) == 0 || g.Places[0].Lo < at || !telling(q.d.Lang, s) {
			return Finding{}
		}
		g.Places[0].Strategy = Robust
		g.Places[0].crossing = at > 0 && crosses(q.d, at, g.Places[0].Lo)
		at = g.Places[0].Hi
		f.Places = append(f.Places, g.Places[0])
	}
	return f
}

// findPiece finds one piece of a block with elisions: to the letter, or else ignoring indentation and punctuation.
func findPiece(q *query) Finding {
	f := q.find(space)
	if !f.found() && !q.tooLittle() {
		f = locateLoose(q.d, document.Loose, q.core, q.rep).widen(q.d, q.search, q.replace)
	}
	return f
}

// Pieces divides lines at the elisions, without copying them.
//
// "a", "# ...", "b" are the pieces "a" and "b". An elision at an end leaves an empty piece there, which has no place and moves
// nothing.
func Pieces(lines []string) [][]string {
	var out [][]string
	from := 0
	for i, s := range lines {
		if yes, _ := lex.Elision(s); yes {
			out = append(out, lines[from:i])
			from = i + 1
		}
	}
	return append(out, lines[from:])
}

// The least that a reflowed SEARCH must hold: fewer tokens could occur together by accident.
const (
	minTokens = 6
	minBytes  = 20
)

// A shape describes SEARCH as tokens before any are compared.
type shape struct {
	ends    []int  // the number of tokens up to and including each line
	tokens  int    // their total number
	size    int    // their total bytes
	longest string // the longest name or number, or "" if there is none
}

// shapeOf measures lines as tokens.
func shapeOf(lines []string) shape {
	h := shape{ends: make([]int, 0, len(lines))}
	for _, s := range lines {
		lex.EachToken(s, func(t string) {
			h.tokens, h.size = h.tokens+1, h.size+len(t)
			if r, _ := utf8.DecodeRuneInString(t); len(t) > len(h.longest) && lex.Word(r) {
				h.longest = t
			}
		})
		h.ends = append(h.ends, h.tokens)
	}
	return h
}

// findReflowed searches for the tokens of SEARCH, ignoring line breaks and the space between them. The match must begin and end
// with whole lines.
//
// Formatters and models break long calls and conditions at different places. Equal tokens in equal order are the same code whatever
// the breaks, or the same prose. Matching whole lines at both ends excludes half statements.
func findReflowed(q *query) Finding {
	h := shapeOf(q.core)
	if h.tokens < minTokens || h.size < minBytes {
		return Finding{}
	}
	var lines []int
	var p Place
	for _, w := range reflowRegions(q.d, q.core, h) {
		q.d.Work.Add(document.WorkLine * w.Len())
		for _, t := range w.WholeLines(q.core, h.tokens) {
			if n := len(lines); n > 0 && lines[n-1] >= w.Line(t) {
				continue // regions may overlap
			}
			if len(lines) == 0 {
				p = Place{Lo: w.Line(t), Hi: w.Line(t+h.tokens-1) + 1, Search: q.core, Replace: q.rep}
				p.groups = reflowGroups(w, t, h.ends)
			}
			lines = append(lines, w.Line(t))
		}
	}
	if len(lines) == 0 || len(lines) == 1 && !flows(q.d, q.core, p.groups) {
		return Finding{}
	}
	return one(lines, p).widen(q.d, q.search, q.replace)
}

// reflowRegions returns the parts of the file, as tokens and in order, in which search can occur reflowed.
//
// Dividing a whole file into tokens takes longer than everything else together, and most SEARCHes that come this far are nowhere.
// So the longest name is looked up as text, and tokens are compared only where the text around it agrees too, ignoring space. The
// file is divided once as a whole if there are many blocks, or if lookups could take longer than that because the name is
// frequent and SEARCH long.
func reflowRegions(d *document.Document, search []string, h shape) []*document.WordView {
	if d.PreferIndex || d.Words != nil || h.longest == "" {
		return wholeFile(d)
	}
	text := strings.Join(search, "\n")
	mid := strings.Index(text, h.longest)
	before, after := text[:mid], text[mid:]
	var out []*document.WordView
	cut := 0 // bytes that were divided into tokens; a line counts once per place
	for n, at := 0, 0; ; n++ {
		if at = d.Index(at, h.longest); at < 0 {
			return out
		}
		if n >= document.Rare && n*len(text)+cut > 4*len(d.Text) {
			return wholeFile(d)
		}
		d.Work.Add(len(text)) // at most: usually the first byte differs
		if end, ok := continuesWith(d.Text[at:], after); ok {
			if start, ok := precededBy(d.Text[:at], before); ok {
				lo, hi := d.LineAt(start), d.LineAt(at+end-1)+1
				cut += int(d.Off[hi] - d.Off[lo])
				out = append(out, d.CutWords(lo, hi))
			}
		}
		at++
	}
}

// maxWords bounds the bytes of a file that is divided into tokens as a whole. Tokens take up to a hundred times as much; in a
// larger file text is found in other ways or not at all.
const maxWords = 2 << 20

// wholeFile returns the file as tokens, or nil if it is too large for that.
func wholeFile(d *document.Document) []*document.WordView {
	if len(d.Text) > maxWords && d.Words == nil {
		return nil
	}
	return []*document.WordView{d.WordView()}
}

// continuesWith reports whether text begins with want, ignoring space, and where want ends in it.
//
// "f(a,\n  b)" continues like "f( a, b )": space between any two bytes is skipped here, even inside a string. The tokens that are
// compared afterwards decide.
func continuesWith(text, want string) (end int, ok bool) {
	rest := text
	for want = strings.TrimLeftFunc(want, unicode.IsSpace); want != ""; want = strings.TrimLeftFunc(want[1:], unicode.IsSpace) {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		if rest == "" || rest[0] != want[0] {
			return 0, false
		}
		rest = rest[1:]
	}
	return len(text) - len(rest), true
}

// precededBy reports whether text ends with want, ignoring space, and where want begins in it.
func precededBy(text, want string) (start int, ok bool) {
	start = len(text)
	for want = strings.TrimRightFunc(want, unicode.IsSpace); want != ""; want = strings.TrimRightFunc(want[:len(want)-1], unicode.IsSpace) {
		text = strings.TrimRightFunc(text, unicode.IsSpace)
		if start = len(text) - 1; start < 0 || text[start] != want[len(want)-1] {
			return 0, false
		}
		text = text[:start]
	}
	return start, true
}

// reflowGroups pairs the lines of SEARCH with the lines of the file from token h on; line i of SEARCH ends before token ends[i]. A
// group closes wherever both have a line end.
func reflowGroups(w *document.WordView, h int, ends []int) []group {
	var groups []group
	s0, f0, t0 := 0, w.Line(h), 0
	for s, e := range ends {
		if e == t0 { // a line without tokens: blank
			if s0 == s {
				groups = append(groups, group{s, s + 1, f0, f0})
				s0 = s + 1
			}
			continue
		}
		last := h + e - 1
		if last+1 < w.Len() && w.Line(last+1) == w.Line(last) {
			continue // the file's line continues
		}
		groups = append(groups, group{s0, s + 1, w.Line(h + t0), w.Line(last) + 1})
		s0, t0, f0 = s+1, e, w.Line(last)+1
	}
	return groups
}
