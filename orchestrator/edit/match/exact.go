package match

import (
	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
)

// findExact searches for the lines as they are. If only the line ends differ, the place counts as found by Stripped.
func findExact(q *query) Finding {
	return q.strict(Exact, q.d.FindExact(q.search, document.Most), q.search, q.replace)
}

// findStripped searches ignoring trailing space. If that fails, it drops the outer blank lines and searches exactly, then the same way.
//
// Blank lines around the text of SEARCH first count as text, since they may distinguish one place from another. Only if the lines
// are nowhere do the blank lines count as an accident of the form. A block whose only change is in such blank lines would change
// nothing without them, so it is not tried then.
func findStripped(q *query) Finding {
	trimmed := func(s []string) []int {
		places, _ := q.d.View(document.TrimmedEnd).Find(s, document.Most)
		return places // document.TrimmedEnd keeps every line: places are lines
	}
	if hits := trimmed(q.search); len(hits) > 0 {
		return q.strict(Stripped, hits, q.search, q.replace)
	}
	if len(q.core) == len(q.search) || lex.SameLines(q.core, q.rep) {
		return Finding{}
	}
	hits := q.d.FindExact(q.core, document.Most)
	if len(hits) == 0 {
		hits = trimmed(q.core)
	}
	return q.strict(Stripped, hits, q.core, q.rep)
}

// strict makes a finding of the lines, from 0, at which s occurs.
func (q *query) strict(by Strategy, hits []int, s, r []string) Finding {
	if len(hits) == 0 {
		return Finding{}
	}
	p := Place{Lo: hits[0], Hi: hits[0] + len(s), Strategy: by, Search: s, Replace: r}
	if !q.d.PlainEnds(p.Lo, p.Hi) {
		p.Strategy = Stripped // the line ends had to be ignored
	}
	return one(hits, p).widen(q.d, q.search, q.replace)
}
