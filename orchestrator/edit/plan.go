package edit

import (
	"bytes"
	"slices"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/explain"
	"agent/orchestrator/edit/guard"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

// applyToFile applies edits to the content of one file.
//
// The result must differ: a caller that asked for a change and got none would assume that it was made.
func applyToFile(path string, before []byte, ops []*parse.Operation) ([]byte, []Applied, error) {
	if len(ops) == 1 && lex.AllBlank(ops[0].Search) && textless(before) {
		return fillFile(path, before, ops[0])
	}
	w := document.NewWork()
	w.Open(len(before))
	after, applied, problems := editFile(path, before, ops, w)
	if len(problems) == 0 && string(after) == string(before) {
		problems = append(problems, problem.Problem{
			Path: path, Kind: problem.KindNoop, Reason: "every block leaves the file as it is",
			Advice: "send nothing, or the change that is missing",
		})
	}
	if len(problems) > 0 {
		return nil, nil, problem.NewRefusal(parse.BlockNumbers(ops), problems)
	}
	return after, applied, nil
}

// textless reports whether a file is empty except for a byte order mark and blank lines.
func textless(before []byte) bool {
	return len(bytes.TrimSpace(bytes.TrimPrefix(before, []byte(lex.BOM)))) == 0
}

// fillFile gives a file without text the content of a block without SEARCH.
func fillFile(path string, before []byte, op *parse.Operation) ([]byte, []Applied, error) {
	text := parse.JoinLines(op.Replace)
	p := problem.Problem{Block: op.Block, Path: path, Kind: problem.KindRefused}
	if line, ok := guard.PromisedContent(path, text); ok {
		p.Reason, p.Advice = placeholderReason(line), "send the whole content"
		return nil, nil, problem.Refuse(p)
	}
	after := []byte(likeBefore(text, before))
	if bytes.Equal(after, before) {
		p.Kind, p.Reason, p.Advice = problem.KindNoop, "every block leaves the file as it is", "send nothing, or the change that is missing"
		return nil, nil, problem.Refuse(p)
	}
	return after, []Applied{{Block: op.Block, Path: path, Strategy: match.Content, Line: 1}}, nil
}

// editFile matches all ops against the content, then applies them. A block whose SEARCH is not in the original is tried once more
// in the result of the others. If there is any problem the content is nil.
//
// The order is the one in the package comment: match everything against the original, then check the splices against one another,
// then apply. A block is never matched against text that another block of the same round has changed, so the order of independent
// blocks does not matter.
func editFile(path string, before []byte, ops []*parse.Operation, w *document.Work) ([]byte, []Applied, []problem.Problem) {
	if bytes.IndexByte(before, 0) >= 0 {
		return nil, nil, explain.Binary(path, ops)
	}
	d := document.New(path, before)
	d.Work = w
	d.PreferIndex = len(ops) > document.ManyBlocks && !d.Unindexed
	ops = match.AssignEqualBlocks(d, ops)
	found, missing, problems := matchAll(d, ops)
	found, missing, problems = preferChained(d, ops, found, missing, problems)
	if d.Work.Spent() {
		return nil, nil, tooMuchWork(path)
	}
	problems = append(problems, overlaps(d, found)...)
	if len(problems) > 0 || len(found) == 0 && len(missing) > 0 { // a chained block cannot be judged in this case: report it as missing
		return nil, nil, explain.NotFoundAll(d, missing, ops, problems)
	}
	applied := report(path, found)
	after := match.Merge(d, found)
	if len(missing) > 0 {
		var chained []Applied
		after, chained, problems = chain(d, after, found, missing)
		if len(problems) > 0 {
			return nil, nil, problems
		}
		applied = append(applied, chained...)
		slices.SortStableFunc(applied, func(a, b Applied) int { return a.Block - b.Block })
	}
	if p := guard.CheckEdit(d, ops, len(after)); p != nil {
		return nil, nil, []problem.Problem{*p}
	}
	return after, applied, nil
}

// matchAll matches every operation against the original text.
func matchAll(d *document.Document, ops []*parse.Operation) (found []*match.Match, missing []*parse.Operation, problems []problem.Problem) {
	for _, op := range ops {
		if d.Work.Spent() {
			break // the caller refuses all of them
		}
		d.Work.Add(document.WorkBlock)
		if p := guard.CheckBlock(d, op); p != nil {
			problems = append(problems, *p)
			continue
		}
		m, p := matchOne(d, op)
		switch {
		case p != nil:
			problems = append(problems, *p)
		case m == nil:
			missing = append(missing, op)
		default:
			found = append(found, m)
		}
	}
	return found, missing, problems
}

// matchOne finds and rewrites one operation. Both results are nil if its SEARCH is nowhere.
//
// A place that is found but cannot be rewritten is a problem of its own: it tells the author that the lines are right and what
// prevents their replacement.
func matchOne(d *document.Document, op *parse.Operation) (*match.Match, *problem.Problem) {
	f := match.Find(d, op)
	if len(f.Ambiguous) > 0 {
		return nil, explain.Ambiguous(d, op, f.Ambiguous)
	}
	if len(f.Places) == 0 {
		return nil, nil
	}
	m := &match.Match{Op: op, Places: f.Places, Splices: match.Verbatim(op, d, f.Places)}
	if m.Splices != nil {
		match.Endings(op, d, m)
		return m, nil
	}
	for _, p := range f.Places {
		if explain.AlreadyAround(d, p) {
			return nil, explain.Already(d, op, p.Lo)
		}
		s, err := match.Rewrite(d, p)
		if err != nil {
			return nil, &problem.Problem{
				Block: op.Block, Path: d.Path, Kind: problem.KindRefused, Reason: err.Error(), Lines: []int{p.Lo + 1},
				Nearest: explain.Excerpt(d, p.Lo, p.Hi), Advice: "copy the lines exactly into SEARCH, with their indentation and comments",
			}
		}
		m.Splices = append(m.Splices, s...)
	}
	match.Endings(op, d, m)
	return m, nil
}

// report lists how each match was found, for the caller. Line is the line in the original, from 1, even where blocks above it add
// or remove lines: only that number is useful to a reader who has the old file.
func report(path string, found []*match.Match) []Applied {
	var out []Applied
	for _, m := range found {
		out = append(out, Applied{Block: m.Op.Block, Path: path, Strategy: m.Strategy(), Line: m.Places[0].Lo + 1})
	}
	return out
}

// overlaps reports every match that changes a line which another match changes or repeats, since it is undecidable which of the two
// is meant. Lines that both matches only repeat are not a conflict.
//
// The rule, for a block A that changes lines and any other block B: A may not change or remove a line in the range that B's SEARCH
// covers, nor insert lines inside that range. B says that those lines follow one another and, where it repeats them, that they
// stay. Two insertions before the same line have no order. A block after B may change lines that B only repeats; see within.
func overlaps(d *document.Document, found []*match.Match) []problem.Problem {
	if len(found) < 2 {
		return nil
	}
	line := map[int]int{}  // for each changed line: 1 + the index of the match
	gap := map[int]int{}   // for each line with an insertion before it: the same
	blame := map[int]int{} // later match → earlier one
	clash := func(i, j int) {
		if i != j && found[i].Op.Block < found[j].Op.Block {
			i, j = j, i
		}
		if _, known := blame[i]; i != j && !known {
			blame[i] = j
		}
	}
	for i, m := range found {
		for _, s := range m.Splices {
			if s.Lo == s.Hi {
				if o := gap[s.Lo]; o > 0 {
					clash(i, o-1)
				}
				gap[s.Lo] = i + 1
			}
			for l := s.Lo; l < s.Hi; l++ {
				if o := line[l]; o > 0 {
					clash(i, o-1)
				}
				line[l] = i + 1
			}
		}
	}
	known := map[[2]int]bool{}
	inside := func(outer, inner int) bool {
		at := [2]int{outer, inner}
		if _, ok := known[at]; !ok {
			known[at] = within(d, found[outer], found[inner])
		}
		return known[at]
	}
	for i, m := range found {
		for _, p := range m.Places {
			for l := p.Lo; l < p.Hi; l++ {
				if o := line[l]; o > 0 && !inside(i, o-1) {
					clash(i, o-1)
				}
				if o := gap[l]; o > 0 && l > p.Lo && !inside(i, o-1) {
					clash(i, o-1)
				}
			}
		}
	}
	var out []problem.Problem
	for i, m := range found {
		if j, ok := blame[i]; ok {
			out = append(out, explain.Overlapping(d, m, found[j]))
		}
	}
	return out
}

// within reports whether a later block concerns only lines that an earlier one repeats: all of them are inside one of its places,
// and it changes none of them. Then applying the two in turn gives the same result as applying both at once. In the opposite order
// the outer block would say that a line stays which the inner one has already changed.
//
// The inner block must also be found exactly once, to the letter, in the result of the outer one, since the outer one may have put
// a copy of the lines elsewhere.
func within(d *document.Document, outer, inner *match.Match) bool {
	if inner.Op.Block < outer.Op.Block || inner.Op.Hunk != nil || outer.Op.Hunk != nil || len(inner.Places) != 1 {
		return false
	}
	in := inner.Places[0]
	holds := func(p match.Place) bool { return p.Lo <= in.Lo && in.Hi <= p.Hi }
	if !slices.ContainsFunc(outer.Places, holds) {
		return false
	}
	for _, s := range outer.Splices {
		if s.Lo < in.Hi && s.Hi > in.Lo {
			return false
		}
	}
	d.Work.Add(len(d.Text))
	if d.Work.Spent() {
		return false
	}
	next := document.New(d.Path, match.Merge(d, []*match.Match{outer}))
	next.Work = d.Work
	return len(match.LocateStrict(next, inner.Op.Search, inner.Op.Replace).Places) == 1
}

// tooMuchWork refuses the blocks for a file that would need too many comparisons.
func tooMuchWork(path string) []problem.Problem {
	return []problem.Problem{{
		Path: path, Kind: problem.KindRefused, Reason: "finding the blocks takes more comparisons than one response may use: too many of their lines occur too often",
		Advice: "send fewer and smaller blocks at a time, each with a line that is rare in the file",
	}}
}
