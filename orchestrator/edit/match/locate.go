package match

import (
	"agent/orchestrator/edit/document"
	"agent/sandbox/workspace/lang"
)

// strategies lists every way in which an operation gets its place, in the order in which they are tried: from the strictest to the
// loosest. A new strategy is a new row.
//
// The first one that finds anything decides, because each sees every place that a stricter one sees. If Exact finds two places, no
// looser one finds fewer. If Exact finds one, that one is the block's text to the letter, and further places that only resemble it
// are different places.
//
// Similarity never counts. A SEARCH with one token that differs searches for another text, however long the part that agrees.
var strategies = []row{
	{name: Creation, trust: 12},
	{name: Deletion, trust: 11},
	{name: Renaming, trust: 10},
	{name: ModeBits, trust: 9},
	{name: Content, trust: 8},
	{name: Hunk, trust: 7},
	{name: Exact, trust: 6, find: findExact},
	{name: Stripped, trust: 5, aside: space, find: findStripped},
	{name: Indentation, trust: 3, aside: more, find: byView(document.Loose), refuse: (*query).tooLittle},
	{name: Normalised, trust: 4, aside: more, find: byView(document.LooseFilled), refuse: (*query).tooLittle},
	{name: Normalised, trust: 4, aside: more, find: byView(document.LooseCode), refuse: func(q *query) bool { return q.tooLittle() || q.d.LacksLongestLine(q.core) }},
	{name: Robust, trust: 2, aside: more, find: findElided, refuse: (*query).tooLittle},
	{name: Robust, trust: 2, aside: more, find: findReflowed, refuse: func(q *query) bool { return q.tooLittle() || q.d.Lang.Flow == lang.Fixed }},
	{name: Chained, trust: 1},
}

// rowOf returns the first row of a strategy, and whether it has one.
func rowOf(s Strategy) (row, bool) {
	for _, r := range strategies {
		if r.name == s {
			return r, true
		}
	}
	return row{}, false
}

// Trust returns how certain a place found by the strategy is: higher is more certain, and 0 is an unknown strategy.
func (s Strategy) Trust() int {
	r, _ := rowOf(s)
	return r.trust
}

// Verbatim reports whether the strategy ignores nothing.
func (s Strategy) Verbatim() bool {
	r, ok := rowOf(s)
	return ok && r.aside == nothing
}

// Strict reports whether the strategy ignores nothing but space.
func (s Strategy) Strict() bool {
	r, ok := rowOf(s)
	return ok && r.aside <= space
}

// locate finds the one place that search means, by the strategies in order.
func locate(d *document.Document, search, replace []string) Finding {
	return newQuery(strategies, d, search, replace).find(more)
}

// LocateStrict is like locate, but tries only Exact and Stripped.
func LocateStrict(d *document.Document, search, replace []string) Finding {
	return newQuery(strategies, d, search, replace).find(space)
}
