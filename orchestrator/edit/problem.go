package edit

import (
	"fmt"
	"slices"
	"strings"
)

// A Refusal explains why a response was not applied.
//
// It is one structure for both readers. The text goes back to the model as
// it is; a terminal shows the same; the JSON of a run holds the fields. It
// can hold lines of the workspace, so whoever sends it on must be allowed to
// see those.
type Refusal struct {
	Problems []Problem `json:"problems"`         // by block; those of the whole response first
	Staged   []int     `json:"staged,omitempty"` // blocks that matched and would have been applied, to be sent again as they are
}

// Error lists every problem, with the nearest lines: text for a person and for
// a model, of at most 16 KiB. Problems that would go beyond are told without
// the lines, then only counted.
//
// The later problems are cut, not all of them a little: whoever corrects the
// first ones from whole lines gets the others whole in the next round.
func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString("nothing was applied")
	for i, p := range r.Problems {
		text := p.text(true)
		if b.Len()+len(text) > shownAll {
			text = p.text(false)
		}
		if b.Len()+len(text) > shownAll {
			fmt.Fprintf(&b, "\n%d more problems: correct these first", len(r.Problems)-i)
			break
		}
		b.WriteString(text)
	}
	b.WriteString(clip(r.rest(), 512))
	// A diff quotes paths byte by byte, so that one may be no text.
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// Hidden returns a refusal with what it quotes of the files and of the response as hide
// returns it.
func (r *Refusal) Hidden(hide func(string) string) *Refusal {
	hidden := *r
	hidden.Problems = slices.Clone(r.Problems)
	for i, p := range hidden.Problems {
		p.Reason, p.Nearest, p.Differs, p.Advice = hide(p.Reason), hide(p.Nearest), hide(p.Differs), hide(p.Advice)
		hidden.Problems[i] = p
	}
	return &hidden
}

// rest says what to do with the blocks that are sound, or that none are left.
//
// Without it an author may send sound blocks in other words the second time,
// and trade one refusal for another. A block that is applied already or changes
// nothing is no reason to send anything.
func (r *Refusal) rest() string {
	open := slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Block == 0 || p.Kind != kindAlready && p.Kind != kindNoop })
	switch {
	case len(r.Staged) == 0 && open:
		return ""
	case len(r.Staged) == 0:
		return "\nnothing is left to send"
	}
	end := ""
	if open {
		end = " with the corrected ones"
	}
	return fmt.Sprintf("\n%s as sent and would apply: repeat %s unchanged%s", count(r.Staged), plural(len(r.Staged), "it", "them"), end)
}

// text renders one problem: block, file, reason, the nearest lines and what
// differs in them, advice. In short it leaves the lines out.
//
// "\nblock 2, a.py: not found: SEARCH stands nowhere in the file" comes first,
// then the lines and differences as they are, then the advice behind an arrow.
func (p Problem) text(whole bool) string {
	var b strings.Builder
	switch {
	case p.Block > 0 && p.Path != "":
		fmt.Fprintf(&b, "\nblock %d, %s: ", p.Block, p.Path)
	case p.Block > 0:
		fmt.Fprintf(&b, "\nblock %d: ", p.Block)
	case p.Path != "":
		fmt.Fprintf(&b, "\n%s: ", p.Path)
	default:
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s: %s", strings.ReplaceAll(p.Kind, "_", " "), p.Reason)
	if whole {
		for _, part := range []string{p.Nearest, p.Differs} {
			if part != "" {
				b.WriteString("\n" + strings.TrimSuffix(part, "\n"))
			}
		}
	}
	if p.Advice != "" {
		b.WriteString("\n  → " + p.Advice)
	}
	return b.String()
}

// count names blocks: "block 2 matches", "blocks 1, 3 to 9 match".
// Only three or more in a row are drawn together: "1 to 2" is no shorter.
func count(blocks []int) string {
	var names []string
	for i := 0; i < len(blocks); {
		j := i + 1
		for j < len(blocks) && blocks[j] == blocks[j-1]+1 {
			j++
		}
		if j-i > 2 {
			names = append(names, fmt.Sprintf("%d to %d", blocks[i], blocks[j-1]))
			i = j
			continue
		}
		names = append(names, fmt.Sprint(blocks[i]))
		i++
	}
	return plural(len(blocks), "block ", "blocks ") + strings.Join(names, ", ") + plural(len(blocks), " matches", " match")
}

// plural chooses by number.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// refuse makes a refusal of the response as a whole.
func refuse(p Problem) *Refusal { return &Refusal{Problems: []Problem{p}} }

// newRefusal sorts the problems by block and names the operations without one.
//
// A problem without a block is one of the whole response: then nothing is
// known about the single blocks, and none is called sound. Nor is a block
// that another is to be merged with.
func newRefusal(ops []*operation, problems []Problem) *Refusal {
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Block - b.Block })
	for i := range problems {
		if i >= maxQuoted {
			problems[i].Nearest, problems[i].Differs = "", ""
		}
	}
	r := &Refusal{Problems: problems}
	if slices.ContainsFunc(problems, func(p Problem) bool { return p.Block == 0 }) {
		return r
	}
	for _, op := range ops {
		bad := slices.ContainsFunc(problems, func(p Problem) bool { return p.Block == op.block || p.Other == op.block })
		if !bad && !slices.Contains(r.Staged, op.block) {
			r.Staged = append(r.Staged, op.block)
		}
	}
	return r
}

// tooMany refuses a response of n operations.
//
// None of them is applied: the first few of many are a part of a change.
func tooMany(n int) Problem {
	return Problem{Kind: kindRefused, Reason: fmt.Sprintf("%d blocks are more than the %d that are read at once", n, MaxBlocks), Advice: "send the change in several responses"}
}

// unplaced explains a block that has no one place.
//
// Several places are told before any likeness: all of them are right, so that
// a nearest one would only mislead.
func unplaced(d *document, op *operation, f finding) *Problem {
	if len(f.ambiguous) > 0 {
		return ambiguous(d, op, f.ambiguous)
	}
	p := op.nowhere(d)
	if d.explains() {
		p = notFound(d, op)
	}
	return &p
}

// asksNothing is the problem of a block that asks for no change and has no
// one place either, nil when it asks for one. Where it stands does not matter then.
func asksNothing(d *document, op *operation) *Problem {
	if !sameLines(op.search, op.replace) {
		return nil
	}
	old, new := op.bodies()
	return &Problem{
		Block: op.block, Path: d.path, Kind: kindNoop, Reason: fmt.Sprintf("%s and %s are the same: the block asks for no change", old, new),
		Advice: "leave this block out",
	}
}

// ambiguous says at which lines SEARCH matches alike, and which lines around
// each place tell it apart from the others.
//
// To say only that there are several would have authors add lines at random.
// The places are shown instead with the lines that would have made SEARCH unique.
// Where no lines around do, since whole stretches of the file are equal, only
// a number can tell, which a diff has and a block has not.
func ambiguous(d *document, op *operation, lines []int) *Problem {
	if p := asksNothing(d, op); p != nil {
		return p
	}
	more := ""
	if len(lines) == most {
		more = " or more"
	}
	p := &Problem{
		Block: op.block, Path: d.path, Kind: kindAmbiguous, Lines: lines,
		Reason: fmt.Sprintf("%s at %d%s places, lines %s", op.stands(), len(lines), more, numbers(lines)),
	}
	search, out := op.search, op.writeOut()
	if !d.explains() {
		p.Advice = numberedAdvice + out
		return p
	}
	if piece := pieceAt(d, search, lines[0]-1); piece != nil {
		search, out, p.Advice = piece, "", "send each piece between the elisions as a block of its own; "
	}
	var b strings.Builder
	alone := 0
	for _, l := range lines[:min(len(lines), maxPlaces)] {
		q := d.tellApart(l-1, d.extent(l-1, search))
		if q.alone {
			alone++
		}
		b.WriteString("  " + q.header() + "\n" + d.excerptUpTo(shownOther, q.from, q.to))
	}
	p.Nearest = b.String()
	if alone == 0 {
		p.Advice = numberedAdvice + out
		return p
	}
	old, new := op.bodies()
	p.Advice += fmt.Sprintf("choose the place that is meant: send %s as its lines above, and repeat the lines that tell it apart in %s", old, new)
	if alone < min(len(lines), maxPlaces) {
		p.Advice += "; for a place that is not told apart, send a unified diff with its true line number"
	}
	if lo, hi := outer(search); lo < hi && indent(search[lo]) != indent(d.line(lines[0]-1)) && !blank(d.line(lines[0]-1)) {
		p.Advice += "; indent " + new + " alike"
	}
	p.Advice += out
	return p
}

// numberedAdvice is the advice for places that no lines tell apart, or that are
// not shown.
const numberedAdvice = "send the change as a unified diff with the true line number of the place that is meant"

// header names a place and the lines that tell it apart.
//
// It reads "lines 8 to 9, told apart by line 7:".
func (q spot) header() string {
	s := span(q.lo, q.hi)
	switch {
	case q.from < q.lo:
		s += ", told apart by " + span(q.from, q.lo)
	case q.to > q.hi:
		s += ", told apart by " + span(q.hi, q.to)
	case q.alone:
		s += ", told apart by its space"
	default:
		s += ", not told apart by the lines around"
	}
	return s + ":"
}

// pieceAt returns the piece of an elided SEARCH that stands at line at, nil
// when SEARCH elides nothing.
//
// Each piece is looked for by itself, so that one may be ambiguous and the
// others not: the advice must speak of that piece and not of all SEARCH.
func pieceAt(d *document, search []string, at int) []string {
	all := pieces(search)
	for _, s := range all {
		if len(all) > 1 && len(s) > 0 && d.standsAt(at, s) {
			return s
		}
	}
	return nil
}

// numbers joins line numbers for a sentence.
// It reads "3", "3 and 5", or "1, 3 and 5".
func numbers(lines []int) string {
	s := make([]string, len(lines))
	for i, l := range lines {
		s[i] = fmt.Sprint(l)
	}
	if n := len(s); n > 1 {
		return strings.Join(s[:n-1], ", ") + " and " + s[n-1]
	}
	return strings.Join(s, "")
}

// binary refuses all operations on a file that is no text.
//
// Every block is named, so that none is called sound and sent again. A file in
// UTF-16 has a NUL in every other byte, hence the second guess.
func binary(path string, ops []*operation) (problems []Problem) {
	for _, op := range ops {
		problems = append(problems, Problem{
			Block: op.block, Path: path, Kind: kindRefused, Reason: "the file holds NUL bytes: it is binary, or in a wide encoding",
			Advice: "leave it, or replace the whole file",
		})
	}
	return problems
}

// already says that the change is there.
//
// It is no success: the author worked from an older file than this one, and
// what else the response says may rest on that.
func already(d *document, op *operation, at int) *Problem {
	lo, hi := outer(op.replace)
	return &Problem{
		Block: op.block, Path: d.path, Kind: kindAlready, Lines: []int{at + 1},
		Reason:  fmt.Sprintf("%s already at line %d: this change has been made", op.newStands(), at+1),
		Nearest: d.excerptUpTo(shownOther, at, at+hi-lo), Advice: "leave this block out",
	}
}

// overlapping says that two blocks contradict each other. It shows the lines
// of both: what one block for both would replace.
//
// One block for both is the only advice that always works: which of the two
// should give way is not known, and in turn they would not match.
func overlapping(d *document, m, other *match) Problem {
	lo, hi := m.places[0].lo, m.places[len(m.places)-1].hi
	lo, hi = min(lo, other.places[0].lo), max(hi, other.places[len(other.places)-1].hi)
	first, second := min(m.op.block, other.op.block), max(m.op.block, other.op.block)
	return Problem{
		Block: m.op.block, Path: d.path, Kind: kindOverlap, Lines: []int{m.places[0].lo + 1}, Other: other.op.block,
		Reason: fmt.Sprintf("it touches lines that block %d changes", other.op.block), Nearest: d.excerpt(lo, hi),
		Advice: fmt.Sprintf("send blocks %d and %d as one block, with %s above as SEARCH", first, second, span(lo, hi)),
	}
}

// stands begins a sentence about where the lines to replace are.
func (op *operation) stands() string {
	if op.hunk != nil {
		return "the hunk's old lines stand"
	}
	return "SEARCH stands"
}

// pronoun stands for the lines to replace in such a sentence.
func (op *operation) pronoun() string {
	if op.hunk != nil {
		return "they"
	}
	return "it"
}

// newStands is stands for the lines that would replace them.
func (op *operation) newStands() string {
	if op.hunk != nil {
		return "the hunk's new lines stand"
	}
	return "REPLACE stands"
}
