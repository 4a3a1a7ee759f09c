package match

import (
	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
)

// byView returns the search in a view. A single place found by one of the two stricter views is still ambiguous if ignoring
// comments too yields others: some places differ in depth, some in comments, and which is nearer is undecidable.
func byView(k document.ViewKind) func(*query) Finding {
	return func(q *query) Finding {
		f := locateLoose(q.d, k, q.core, q.rep)
		if f.found() && k != document.LooseCode && !q.d.CodeOnce(q.core) {
			if all := locateLoose(q.d, document.LooseCode, q.core, q.rep); len(all.Ambiguous) > 0 {
				return all
			}
		}
		return f.widen(q.d, q.search, q.replace)
	}
}

// locateLoose searches in a view that ignores indentation and Unicode punctuation, and in the looser views also blank lines or
// comments. The differences that it really had to ignore decide the strategy's name.
func locateLoose(d *document.Document, k document.ViewKind, search, replace []string) Finding {
	v := d.View(k)
	hits, kept := v.Find(search, document.Most)
	var found []Place
	var lines []int
	for _, h := range hits {
		at := v.Window(h, len(kept))
		d.Work.Add(document.WorkPair * (len(search) + int(at[len(at)-1]-at[0])))
		groups, ok := pair(d, search, kept, at)
		if ok || len(hits) == document.Most { // with so many places there may be more
			lines = append(lines, v.Line(h))
		}
		if ok {
			found = append(found, Place{Lo: groups[0].f0, Hi: groups[len(groups)-1].f1, Search: search, Replace: replace, groups: groups})
		}
	}
	if len(lines) != 1 {
		return one(lines, Place{})
	}
	found[0].Strategy = looseName(d, found[0])
	return Finding{Places: found}
}

// pair makes the groups of a loose match: line kept[i] of search is at at[i]. Any other line of search must be blank, or a comment
// that the file has in the same gap: a comment that is not there is a different text. So is a comment after code that differs from
// the file's.
//
// Comments that the file has and SEARCH leaves out are skipped, and so survive: a model that drops a comment from SEARCH rarely
// means to delete it.
func pair(d *document.Document, search []string, kept []int, at []int32) ([]group, bool) {
	groups, ok := pairHead(d, search[:kept[0]], int(at[0]))
	s, f, code := kept[0], int(at[0]), d.Lang.Code(search)
	for i, k := range kept {
		for ; s < k && ok; s++ {
			groups, f, ok = pairGap(d, search[s], s, f, int(at[i]), groups)
		}
		f = int(at[i])
		if !ok || !sameComment(d, search[k], code[k], f) {
			return nil, false
		}
		groups = append(groups, group{k, k + 1, f, f + 1})
		s, f = k+1, f+1
	}
	end := f
	for s < len(search) && end < d.Len() && lex.Blank(d.CodeLines()[end]) {
		end++
	}
	for ; s < len(search) && ok; s++ {
		groups, f, ok = pairGap(d, search[s], s, f, end, groups)
	}
	return groups, ok && wholeComments(d, groups)
}

// wholeComments reports whether each comment of several lines is either skipped whole or paired whole: with a line more or less it
// is another comment.
func wholeComments(d *document.Document, groups []group) bool {
	lo, hi := groups[0].f0, groups[len(groups)-1].f1
	paired := make([]bool, hi-lo)
	for _, g := range groups {
		for f := g.f0; f < g.f1; f++ {
			paired[f-lo] = true
		}
	}
	for f := lo + 1; f < hi; f++ {
		if paired[f-lo] != paired[f-lo-1] && d.Scanned().Within[f] == lex.InComment {
			return false
		}
	}
	return true
}

// sameComment reports whether a line s of SEARCH has no comment, or loosely equals line f of the file; code is the part of s that
// is not comment.
func sameComment(d *document.Document, s, code string, f int) bool {
	return lex.TrimSpace(code) == lex.TrimSpace(s) || document.Loose.Key(s) == document.Loose.Key(d.Line(f))
}

// pairGap pairs line s of SEARCH, a blank line or a comment, with one of the lines [f, end) of the file, and returns where the rest
// of them begins. A blank line of SEARCH may be missing from the file.
func pairGap(d *document.Document, line string, s, f, end int, groups []group) ([]group, int, bool) {
	if lex.Blank(line) {
		g := group{s, s + 1, f, f}
		if f < end && lex.Blank(d.Line(f)) {
			g.f1, f = f+1, f+1
		}
		return append(groups, g), f, true
	}
	for f < end && document.Loose.Key(d.Line(f)) != document.Loose.Key(line) {
		f++
	}
	if f == end {
		return nil, f, false
	}
	return append(groups, group{s, s + 1, f, f + 1}), f + 1, true
}

// pairHead pairs the blank lines and comments that SEARCH begins with, from the last one upwards, with those of the file above line
// f.
func pairHead(d *document.Document, head []string, f int) ([]group, bool) {
	groups := make([]group, len(head))
	for s := len(head) - 1; s >= 0; s-- {
		if lex.Blank(head[s]) {
			groups[s] = group{s, s + 1, f, f}
			if f > 0 && lex.Blank(d.Line(f-1)) {
				groups[s].f0, f = f-1, f-1
			}
			continue
		}
		for f--; f >= 0 && document.Loose.Key(d.Line(f)) != document.Loose.Key(head[s]); f-- {
			if !lex.Blank(d.CodeLines()[f]) {
				return nil, false
			}
		}
		if f < 0 || !lex.Blank(d.CodeLines()[f]) {
			return nil, false
		}
		groups[s] = group{s, s + 1, f, f + 1}
	}
	return groups, true
}

// looseName names the strategy by the differences: indentation alone, anything else with equal indentation, or both.
func looseName(d *document.Document, p Place) Strategy {
	same, text := true, true
	for _, g := range p.groups {
		if g.f0 == g.f1 || lex.Blank(p.Search[g.s0]) {
			continue
		}
		f, s := d.Line(g.f0), p.Search[g.s0]
		same = same && lex.Indent(f) == lex.Indent(s)
		text = text && lex.TrimSpace(f) == lex.TrimSpace(s)
	}
	text = text && p.Hi-p.Lo == len(p.Search)
	switch {
	case same:
		return Normalised
	case text:
		return Indentation
	}
	return Robust
}
