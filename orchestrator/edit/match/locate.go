package match

import (
	"agent/orchestrator/edit/document"
	"agent/sandbox/workspace/lang"
)

// strategies is every way in which an operation gets its place, in the order in
// which they are tried: from the strictest to the loosest. A new one is a row.
//
// Why the first that finds anything decides: each sees every place that a
// stricter one sees. If Exact finds two places, no looser one finds fewer; if
// Exact finds one, that one is the block's text to the letter, and further
// places that only resemble it are others.
//
// Similarity never counts. A SEARCH with one token that differs is a SEARCH
// for another text, however long the part that agrees.
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

// Trust returns how sure a place is that was found by the strategy: the more
// the surer, 0 for one that is not known.
func (s Strategy) Trust() int {
	r, _ := rowOf(s)
	return r.trust
}

// Verbatim reports whether nothing was set aside.
func (s Strategy) Verbatim() bool {
	r, ok := rowOf(s)
	return ok && r.aside == nothing
}

// Strict reports whether no more than space was set aside.
func (s Strategy) Strict() bool {
	r, ok := rowOf(s)
	return ok && r.aside <= space
}

// locate finds the one place that search means, by the strategies in order.
func locate(d *document.Document, search, replace []string) Finding {
	return newQuery(strategies, d, search, replace).find(more)
}

// LocateStrict is locate by Exact and Stripped alone.
func LocateStrict(d *document.Document, search, replace []string) Finding {
	return newQuery(strategies, d, search, replace).find(space)
}
