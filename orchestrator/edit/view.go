package edit

import (
	"strings"
	"unicode/utf8"
)

// A viewKind is one way to look at the lines of a file, each looser than the one before.
type viewKind int

const (
	whole       viewKind = iota // as they are, but for the line ends
	trimmedEnd                  // trailing space aside
	loose                       // indentation, trailing space and Unicode punctuation aside
	looseFilled                 // as loose, without blank lines
	looseCode                   // as loose, without blank lines and whole-line comments
	viewKinds
)

// A view is the lines of a file as numbers: equal lines, in this way of
// looking, have equal numbers, so that comparing windows costs no text.
//
// Building one costs a hash of every line, so views are built only when a
// strategy is reached that needs them; most blocks are settled by Exact,
// which needs none.
type view struct {
	kind  viewKind
	lang  *language
	ids   []int32          // one a line that the view keeps
	lines []int32          // the line of the file that ids[i] stands for
	known map[string]int32 // from a line's key to its number
	count []int32          // how often each number occurs
	first [][]int32        // places of each number, at most rare of them
}

// rare bounds the places that are kept and tried for one line. A line more
// frequent than that is no help in finding its block; see search.
const rare = 32

// view returns the view of that kind, building it at the first call.
func (d *document) view(k viewKind) *view {
	if d.views[k] != nil {
		return d.views[k]
	}
	n := d.len()
	v := &view{kind: k, lang: d.lang, known: make(map[string]int32, n)}
	v.ids, v.lines = make([]int32, 0, n), make([]int32, 0, n)
	for i := range n {
		s := d.line(i)
		if v.skips(s) {
			continue
		}
		key := k.key(s)
		id, ok := v.known[key]
		if !ok {
			id = int32(len(v.count))
			v.known[key] = id
			v.count = append(v.count, 0)
			v.first = append(v.first, nil)
		}
		if v.count[id]++; v.count[id] <= rare {
			v.first[id] = append(v.first[id], int32(len(v.ids)))
		}
		v.ids, v.lines = append(v.ids, id), append(v.lines, int32(i))
	}
	d.views[k] = v
	return v
}

// build returns the view, numbered.
func (v *view) build() *view { return v }

// number returns the number of a line's key, and whether it is in the view.
func (v *view) number(key string) (int32, bool) {
	id, ok := v.known[key]
	return id, ok
}

// places returns up to rare places of a number, in order.
func (v *view) places(id int32) []int32 { return v.first[id] }

// has reports whether the view holds the line s.
func (v *view) has(s string) bool {
	_, ok := v.known[v.kind.key(s)]
	return ok
}

// line returns the line of the file that place i of the view stands for.
func (v *view) line(i int) int { return int(v.lines[i]) }

// window returns the lines of the file that n places from lo on stand for.
func (v *view) window(lo, n int) []int32 { return v.lines[lo : lo+n] }

// skips reports whether the view leaves the line s out.
func (v *view) skips(s string) bool {
	switch v.kind {
	case looseFilled:
		return blank(s)
	case looseCode:
		return blank(s) || v.lang.comment(s)
	}
	return false
}

// key returns what views of kind k compare of the line s.
func (k viewKind) key(s string) string {
	switch k {
	case whole:
		return s
	case trimmedEnd:
		return strings.TrimRight(s, " \t\r\f\v")
	}
	return strings.TrimSpace(plainUnicode(s))
}

// numbers returns the lines of s that the view keeps, as numbers and as
// indexes into s; ok is false when one of them is not in the file at all.
//
// That a line is not in the file at all is the most frequent answer for a
// block that does not match, and it ends the search before it begins.
func (v *view) numbers(s []string) (ids []int32, kept []int, ok bool) {
	for i, l := range s {
		if v.skips(l) {
			continue
		}
		id, known := v.known[v.kind.key(l)]
		if !known {
			return nil, nil, false
		}
		ids, kept = append(ids, id), append(kept, i)
	}
	return ids, kept, len(ids) > 0
}

// find returns up to limit places in the view, as indexes into v.ids, at
// which s stands, and which lines of s the view kept.
func (v *view) find(s []string, limit int) (places, kept []int) {
	ids, kept, ok := v.numbers(s)
	if !ok {
		return nil, nil
	}
	return search(v.ids, ids, v.count, v.first, limit), kept
}

// search returns up to limit places of needle in hay. It starts from
// needle's rarest number; when even that one is frequent, it falls back on
// Knuth-Morris-Pratt, so that repetitive text costs linear time.
//
// Nearly always the rarest line of a block stands a few times in the file,
// so that a few comparisons settle it.
func search(hay, needle, count []int32, first [][]int32, limit int) []int {
	best := 0
	for i, id := range needle {
		if count[id] < count[needle[best]] {
			best = i
		}
	}
	if id := needle[best]; count[id] > rare {
		return searchKMP(hay, needle, limit)
	}
	var hits []int
	for _, p := range first[needle[best]] {
		lo := int(p) - best
		if lo < 0 || lo+len(needle) > len(hay) || !equal(hay[lo:lo+len(needle)], needle) {
			continue
		}
		if hits = append(hits, lo); len(hits) == limit {
			break
		}
	}
	return hits
}

// equal reports whether two runs of numbers are the same.
func equal(a, b []int32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// searchKMP is the Knuth-Morris-Pratt search over numbers.
func searchKMP(hay, needle []int32, limit int) []int {
	fail := make([]int32, len(needle)+1)
	for i, k := 1, int32(0); i < len(needle); i++ {
		for k > 0 && needle[i] != needle[k] {
			k = fail[k]
		}
		if needle[i] == needle[k] {
			k++
		}
		fail[i+1] = k
	}
	var hits []int
	k := int32(0)
	for i, id := range hay {
		for k > 0 && id != needle[k] {
			k = fail[k]
		}
		if id == needle[k] {
			k++
		}
		if int(k) == len(needle) {
			if hits = append(hits, i+1-len(needle)); len(hits) == limit {
				break
			}
			k = fail[k]
		}
	}
	return hits
}

// plainUnicode replaces typographic punctuation and spaces by their ASCII
// forms. Models and editors swap them in both directions; the table holds
// only characters whose exchange never changes a token's meaning.
//
// Letters are left alone: an accent more or less is another word.
func plainUnicode(s string) string {
	if ascii(s) {
		return s
	}
	return unicodeForms.Replace(s)
}

// ascii reports whether s has no byte beyond 0x7f.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// unicodeForms is the table of plainUnicode: hyphens and dashes, single and
// double quotation marks, spaces of other widths, the ellipsis.
var unicodeForms = strings.NewReplacer(
	"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-", "\u2212", "-",
	"\u2018", "'", "\u2019", "'", "\u201a", "'", "\u201b", "'",
	"\u201c", `"`, "\u201d", `"`, "\u201e", `"`, "\u201f", `"`,
	"\u00a0", " ", "\u2002", " ", "\u2003", " ", "\u2009", " ", "\u202f", " ", "\u3000", " ",
	"\u2026", "...",
)
