package edit

import (
	"slices"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/explain"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

// workRound is the cost of a round for each byte of the file: the file is cut into lines and written anew.
const workRound = 8

// chain applies the blocks that are missing from the original to the result of the blocks before them, since a model may write its
// second block against the result of its first one. Only exact whole lines match here, since the block's author knew that text to
// the letter.
//
// A typical case: block 1 adds a function, block 2 corrects a line of that function. Only Exact and Stripped are tried. Each round
// takes the result of the round before, so that a third block may build on the second. The rounds continue while some block finds
// its place and work is left. Lines in the outcome are lines of the original, as for all other blocks.
func chain(d *document.Document, text []byte, found []*match.Match, missing []*parse.Operation) ([]byte, []Applied, []problem.Problem) {
	var applied []Applied
	done, before := slices.Clone(found), match.Sorted(found)
	for {
		d.FreeIndexes()
		d.Work.Add(workRound * len(text))
		next := document.New(d.Path, text)
		next.Work = d.Work
		var now []*match.Match
		var later []*parse.Operation
		for _, op := range missing {
			d.Work.Add(document.WorkBlock)
			if m := matchChained(next, op, done); m != nil {
				now = append(now, m)
			} else {
				later = append(later, op)
			}
			if d.Work.Spent() {
				return nil, nil, tooMuchWork(d.Path)
			}
		}
		if p := overlaps(next, now); len(p) > 0 {
			d.Cut()
			return nil, nil, explain.NotFoundAll(d, later, missing, p) // the remaining blocks cannot be judged
		}
		for _, m := range now {
			applied = append(applied, Applied{Block: m.Op.Block, Path: d.Path, Strategy: match.Chained, Line: originalLine(d, before, m.Places[0].Lo)})
		}
		if missing = later; len(now) == 0 || len(missing) == 0 {
			text = match.Merge(next, now)
			break
		}
		text, done = match.Merge(next, now), append(done, now...)
	}
	d.Cut()
	return text, applied, explain.NotFoundAll(d, missing, missing, nil)
}

// preferChained leaves some blocks to chain: those that only a lenient strategy found in the original, at one place or several, and
// that stand to the letter in the result of the blocks before them. If a block stands there twice, chain refuses it: the original
// is not meant in that case either.
//
// The usual case is a block that wraps lines in a condition and a second block that changes a wrapped line: apart from its
// indentation the line is in the original too.
func preferChained(d *document.Document, ops []*parse.Operation, found []*match.Match, missing []*parse.Operation, problems []problem.Problem) ([]*match.Match, []*parse.Operation, []problem.Problem) {
	strict := slices.DeleteFunc(slices.Clone(found), func(m *match.Match) bool { return !m.Places[0].Strategy.Strict() })
	if d.Unindexed || len(strict) == 0 || len(strict) == len(ops) || len(overlaps(d, strict)) > 0 {
		return found, missing, problems
	}
	var next *document.Document
	for _, op := range ops {
		if d.Work.Spent() {
			break
		}
		matched := func(m *match.Match) bool { return m.Op == op }
		if op.Hunk != nil || slices.ContainsFunc(strict, matched) || slices.Contains(missing, op) || foundStrictly(d, op) {
			continue
		}
		if next == nil {
			next = document.New(d.Path, match.Merge(d, strict))
			next.Work = d.Work
		}
		earlier := slices.ContainsFunc(strict, func(m *match.Match) bool { return m.Op.Block < op.Block })
		if earlier && foundStrictly(next, op) {
			found = slices.DeleteFunc(found, matched)
			problems = slices.DeleteFunc(problems, func(p problem.Problem) bool { return p.Block == op.Block })
			missing = append(missing, op)
		}
	}
	return found, missing, problems
}

// foundStrictly reports whether SEARCH is in the document to the letter, at any number of places.
func foundStrictly(d *document.Document, op *parse.Operation) bool {
	f := match.LocateStrict(d, op.Search, op.Replace)
	return len(f.Places)+len(f.Ambiguous) > 0
}

// matchChained matches op in the text that the blocks done have produced. It returns nil if op does not have exactly one place
// there, or if none of done precedes it in the response.
//
// A block that precedes all of them cannot have been written against their result: if its lines only appear there, it is a
// coincidence.
func matchChained(next *document.Document, op *parse.Operation, done []*match.Match) *match.Match {
	if op.Every || !slices.ContainsFunc(done, func(m *match.Match) bool { return m.Op.Block < op.Block }) {
		return nil
	}
	f := match.LocateStrict(next, op.Search, op.Replace)
	if len(f.Places) != 1 {
		return nil
	}
	s, err := match.Rewrite(next, f.Places[0])
	if err != nil {
		return nil
	}
	m := &match.Match{Op: op, Places: f.Places, Splices: s}
	match.Endings(op, next, m)
	return m
}

// originalLine returns the line of the original, from 1, from which line at of the result, counted from 0, comes. For an inserted
// line it is the line of the insertion. splices produced the result, in order.
func originalLine(d *document.Document, splices []match.Splice, at int) int {
	shift := 0
	for _, s := range splices {
		grown := strings.Count(s.Text, string(d.Sep)) // every line of a splice has a line end
		if at < s.Lo+shift {
			break
		}
		if at < s.Lo+shift+grown {
			return s.Lo + 1
		}
		shift += grown - (s.Hi - s.Lo)
	}
	return at - shift + 1
}
