package edit

import (
	"bytes"
	"slices"
)

// A match is an operation with its places in a file, ready to be applied.
//
// Most have one place and one splice. A block with elisions has a place for
// each piece, and a block that changes lines at both ends of its context has
// two splices in one place.
type match struct {
	op      *operation
	places  []place
	splices []splice
	ends    *bool // whether the file then ends in a newline; nil when nothing says so
}

// strategy returns how the match is named to the caller.
func (m *match) strategy() Strategy {
	if m.op.hunk != nil {
		return Hunk
	}
	return m.places[0].strategy
}

// applyToFile applies edits to the content of one file.
//
// The result must differ: a caller that asked for a change and got none
// would take it for done.
func applyToFile(path string, before []byte, ops []*operation) ([]byte, []Applied, error) {
	w := newWork()
	w.open(len(before))
	after, applied, problems := editFile(path, before, ops, w)
	if len(problems) == 0 && string(after) == string(before) {
		problems = append(problems, Problem{
			Path: path, Kind: kindNoop, Reason: "every block leaves the file as it is",
			Advice: "send nothing, or the change that is missing",
		})
	}
	if len(problems) > 0 {
		return nil, nil, newRefusal(ops, problems)
	}
	return after, applied, nil
}

// editFile matches all ops against the content, then applies them. A block
// whose SEARCH is not in the original is tried once more in the result of the
// others. With any problem the content is nil.
//
// The order is that of the package: match everything against the original,
// then check the splices against one another, then apply. No block is
// matched against a text that another block of the same round has changed,
// so that the order of independent blocks does not matter.
func editFile(path string, before []byte, ops []*operation, w *work) ([]byte, []Applied, []Problem) {
	if bytes.IndexByte(before, 0) >= 0 {
		return nil, nil, binary(path, ops)
	}
	d := newDocument(path, before)
	d.work = w
	d.busy = len(ops) > manyBlocks && !d.thin
	ops = dealt(d, ops)
	found, missing, problems := matchAll(d, ops)
	found, missing, problems = preferChained(d, ops, found, missing, problems)
	if d.work.spent() {
		return nil, nil, overworked(path)
	}
	problems = append(problems, overlaps(d, found)...)
	if len(problems) > 0 || len(found) == 0 && len(missing) > 0 { // a chained block cannot be judged then: report it as missing
		return nil, nil, notFoundAll(d, missing, ops, problems)
	}
	applied := report(path, found)
	after := d.splice(found)
	if len(missing) > 0 {
		var chained []Applied
		after, chained, problems = chain(d, after, found, missing)
		if len(problems) > 0 {
			return nil, nil, problems
		}
		applied = append(applied, chained...)
		slices.SortStableFunc(applied, func(a, b Applied) int { return a.Block - b.Block })
	}
	if p := guardEdit(d, ops, len(after)); p != nil {
		return nil, nil, []Problem{*p}
	}
	return after, applied, nil
}

// manyBlocks is how many blocks a file takes before an index of its lines
// is cheaper than reading it through for each.
const manyBlocks = 16

// matchAll matches every operation against the original text.
func matchAll(d *document, ops []*operation) (found []*match, missing []*operation, problems []Problem) {
	for _, op := range ops {
		if d.work.spent() {
			break // the caller refuses them all
		}
		d.work.add(workBlock)
		if p := checkBlock(d, op); p != nil {
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

// matchOne finds and rewrites one operation; both results are nil when
// its SEARCH is nowhere.
//
// A place that is found but cannot be rewritten is a problem of its own: the
// author sees that the lines are right and what about them is not.
func matchOne(d *document, op *operation) (*match, *Problem) {
	f := find(d, op)
	if len(f.ambiguous) > 0 {
		return nil, ambiguous(d, op, f.ambiguous)
	}
	if len(f.places) == 0 {
		return nil, nil
	}
	m := &match{op: op, places: f.places, splices: op.verbatim(d, f.places)}
	if m.splices != nil {
		op.endings(d, m)
		return m, nil
	}
	for _, p := range f.places {
		if alreadyAround(d, p) {
			return nil, already(d, op, p.lo)
		}
		s, err := rewrite(d, p)
		if err != nil {
			return nil, &Problem{
				Block: op.block, Path: d.path, Kind: kindRefused, Reason: err.Error(), Lines: []int{p.lo + 1},
				Nearest: d.excerpt(p.lo, p.hi), Advice: "send SEARCH as the lines stand in the file, with their indentation and comments",
			}
		}
		m.splices = append(m.splices, s...)
	}
	op.endings(d, m)
	return m, nil
}

// find locates an operation, setting aside a Markdown fence around the bodies
// when SEARCH is not found with it.
//
// Fences are set aside only where they cannot be text: in a REPLACE for a
// language without fences, and on both bodies when SEARCH stands nowhere
// with them.
func find(d *document, op *operation) finding {
	search, replace := op.search, op.replace
	if _, both := unfence(search); !both && op.hunk == nil && !d.lang.fenced() {
		replace, _ = unfence(replace) // code does not begin and end with a fence
	}
	f := locate(d, search, replace)
	if op.hunk != nil || len(f.places)+len(f.ambiguous) > 0 {
		return op.choose(d, replace, f)
	}
	inner, ok := unfence(search)
	if !ok || op.every {
		return f
	}
	replace, both := unfence(replace)
	if !both && d.lang.fenced() {
		return f // SEARCH begins and ends with fences of the text
	}
	return locate(d, inner, replace)
}

// endings settles the newline at the end of the file for an operation that
// reaches it: as the file had it, or as a diff says.
//
// A block that removes lines up to the end without leaving one of its own
// says nothing about the line before them, which stays as it is.
func (op *operation) endings(d *document, m *match) {
	last := m.places[len(m.places)-1]
	if last.hi != d.len() || len(last.replace) == 0 {
		return // the last line is not the block's
	}
	ends := d.end(d.len()-1) != ""
	if h := op.hunk; h != nil && (h.oldNoEOL || h.newNoEOL) {
		ends = !h.newNoEOL
	}
	m.ends = &ends
}

// report tells the caller how each match was found.
// The line is that of the original, from 1, also where blocks above it add or
// remove lines: only that number means something to whoever has the old file.
func report(path string, found []*match) []Applied {
	var out []Applied
	for _, m := range found {
		out = append(out, Applied{Block: m.op.block, Path: path, Strategy: m.strategy(), Line: m.places[0].lo + 1})
	}
	return out
}

// splice returns the text with all matches applied, the byte order mark included.
//
// Text between two splices is copied as one slice of the original, which is
// why nothing outside them can change.
func (d *document) splice(found []*match) []byte {
	all := sorted(found)
	size := len(d.mark) + len(d.text) + len(d.eol)
	for _, s := range all {
		size += len(s.text)
	}
	out := make([]byte, 0, size)
	out = append(out, d.mark...)
	at := 0
	for _, s := range all {
		out = append(out, d.text[d.off[at]:d.off[s.lo]]...)
		if s.text != "" && s.lo > 0 && s.lo == d.len() && d.end(s.lo-1) == "" {
			out = append(out, d.eol...) // lines added after a last line that had no newline
		}
		out = append(out, s.text...)
		at = s.hi
	}
	out = append(out, d.text[d.off[at]:]...)
	for _, m := range found {
		if m.ends != nil {
			out = d.endWith(out, *m.ends)
		}
	}
	return out
}

// endWith returns the text with one newline at its end, or without.
//
// That the last line of a file has no newline is a property of the file, not
// of the line: whatever line comes last inherits it.
func (d *document) endWith(text []byte, newline bool) []byte {
	has := len(text) > 0 && text[len(text)-1] == d.sep
	switch {
	case newline && !has && string(text) != d.mark:
		return append(text, d.eol...)
	case !newline && has && d.sep == '\n':
		return bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	case !newline && has:
		return bytes.TrimSuffix(text, []byte("\r"))
	}
	return text
}

// sorted returns the splices of all matches in the order of the file.
//
// Of two that begin at one line, the shorter goes first: an insertion before a
// line is written before the line's own replacement.
func sorted(found []*match) []splice {
	n := 0
	for _, m := range found {
		n += len(m.splices)
	}
	all := make([]splice, 0, n)
	for _, m := range found {
		all = append(all, m.splices...)
	}
	slices.SortStableFunc(all, func(a, b splice) int {
		if a.lo != b.lo {
			return a.lo - b.lo
		}
		return a.hi - b.hi
	})
	return all
}

// overlaps reports every match that changes a line which another match
// changes or repeats: which of the two is meant cannot be told. Lines that
// both only repeat are no conflict.
//
// The rule, for a block A that changes lines and any other block B: A may
// not change or remove a line in the range that B's SEARCH covers, nor
// insert lines inside that range. B says that those lines follow one another
// and, where it repeats them, that they stay. Two insertions before one line
// have no order.
//
// The work is linear in the lines that the blocks cover.
func overlaps(d *document, found []*match) []Problem {
	if len(found) < 2 {
		return nil
	}
	line := map[int]int{}  // for each changed line 1 + the index of the match
	gap := map[int]int{}   // for each line with an insertion before it the same
	blame := map[int]int{} // later match → earlier one
	clash := func(i, j int) {
		if i != j && found[i].op.block < found[j].op.block {
			i, j = j, i
		}
		if _, known := blame[i]; i != j && !known {
			blame[i] = j
		}
	}
	for i, m := range found {
		for _, s := range m.splices {
			if s.lo == s.hi {
				if o := gap[s.lo]; o > 0 {
					clash(i, o-1)
				}
				gap[s.lo] = i + 1
			}
			for l := s.lo; l < s.hi; l++ {
				if o := line[l]; o > 0 {
					clash(i, o-1)
				}
				line[l] = i + 1
			}
		}
	}
	for i, m := range found {
		for _, p := range m.places {
			for l := p.lo; l < p.hi; l++ {
				if o := line[l]; o > 0 {
					clash(i, o-1)
				}
				if o := gap[l]; o > 0 && l > p.lo {
					clash(i, o-1)
				}
			}
		}
	}
	var out []Problem
	for i, m := range found {
		if j, ok := blame[i]; ok {
			out = append(out, overlapping(d, m, found[j]))
		}
	}
	return out
}
