package document

import (
	"strings"

	"agent/orchestrator/edit/lex"
)

// Find returns up to limit places in the view at which s occurs, and which lines of s the view kept. A place is an index into ids;
// if the view keeps every line, that is a line of the file.
//
// The cheap answers come first. For most blocks an anchor tells where they are; for the views that leave lines out it can only tell
// that they are nowhere. Then the loose view serves the stricter ones: anything that matches by a strict view also matches by the
// loose one, so only its few places need to be compared.
func (v *view) Find(s []string, limit int) (places, kept []int) {
	switch {
	case v.numbers != nil:
	case v.kind <= Loose:
		if places, ok := v.byAnchor(s, limit); ok {
			return places, upTo(len(s))
		}
	case v.kind == LooseFilled && v.d.nowhere(s), v.kind == LooseCode && v.d.codeAbsent(s):
		return nil, nil
	}
	if v.d.Unindexed {
		return nil, nil
	}
	if v.kind < Loose && v.numbers == nil {
		w := v.d.View(Loose)
		ids, kept, ok := w.Numbers(s)
		if !ok {
			return nil, nil
		}
		if w.count[ids[w.rarest(ids)]] <= Rare {
			return w.seek(ids, limit, func(lo int) bool { return v.matchesAt(s, lo) }), kept
		}
		if w.seek(ids, 1, nil) == nil {
			return nil, nil // no loose match, so no strict one
		}
	}
	ids, kept, ok := v.Numbers(s)
	if !ok {
		return nil, nil
	}
	return v.seek(ids, limit, nil), kept
}

// seek is search with its work counted. The place of a line that occurs once is known. For a rare line that occurs more often the
// whole file may be read. Lines without any rare one are compared with the whole file.
func (v *view) seek(ids []int32, limit int, ok func(lo int) bool) []int {
	switch n := v.count[ids[v.rarest(ids)]]; {
	case n > Rare:
		v.d.Work.Add(WorkLine * len(v.ids))
	case n > 1:
		v.d.Work.Add(len(v.ids))
	}
	return v.search(ids, limit, ok)
}

// byAnchor returns up to limit lines of the file at which s occurs; ok is false if the file cannot be searched without numbers.
//
// s may have blank lines at its ends, which the anchor leaves out; they count when the lines are compared.
func (v *view) byAnchor(s []string, limit int) (places []int, ok bool) {
	lo, hi := lex.Outer(s)
	if lo == hi {
		return nil, false
	}
	q := v.d.anchorOf(s[lo:hi])
	if !q.suits(v.d, v.kind) {
		return nil, false
	}
	for _, at := range q.at {
		if at -= q.line + lo; at >= 0 && at+len(s) <= v.d.Len() && v.matchesAt(s, at) {
			if places = append(places, at); len(places) == limit {
				break
			}
		}
	}
	return places, true
}

// upTo returns the numbers below n.
func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// matchesAt reports whether s occurs at line lo; the file must have enough lines from there on.
func (v *view) matchesAt(s []string, lo int) bool {
	for i, l := range s {
		if v.keyOf(lo+i) != v.kind.Key(l) {
			return false
		}
	}
	return true
}

// FindExact returns up to limit first lines at which the lines s occur, byte for byte except for the line ends.
//
// Each hit is a run of whole lines, since the needle begins and ends with a newline. More than limit places are not needed: two are
// already too many.
func (d *Document) FindExact(s []string, limit int) []int {
	if len(s) == 0 {
		return nil
	}
	v := d.View(whole)
	if d.PreferIndex {
		hits, _ := v.Find(s, limit)
		return hits
	}
	if hits, ok := v.byAnchor(s, limit); ok {
		return hits
	}
	body, needle := d.Plain(), "\n"+strings.Join(s, "\n")+"\n"
	var hits []int
	at, line := 0, 0
	for len(hits) < limit {
		i := strings.Index(body[at:], needle)
		if i < 0 {
			d.Work.Add(len(body) - at)
			break
		}
		d.Work.Add(i)
		line += strings.Count(body[at:at+i], "\n")
		hits = append(hits, line)
		at, line = at+i+1, line+1 // the next hit may overlap this one
	}
	return hits
}
