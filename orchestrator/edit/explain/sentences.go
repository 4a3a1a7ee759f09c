package explain

import (
	"fmt"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

// asksNothing returns the problem of a block that requests no change and does not have exactly one place either, or nil if it
// requests one. Where its lines are does not matter then.
func asksNothing(d *document.Document, op *parse.Operation) *problem.Problem {
	if !lex.SameLines(op.Search, op.Replace) {
		return nil
	}
	old, new := bodies(op)
	return &problem.Problem{
		Block: op.Block, Path: d.Path, Kind: problem.KindNoop, Reason: fmt.Sprintf("%s and %s are the same: the block asks for no change", old, new),
		Advice: "leave this block out",
	}
}

// Ambiguous says at which lines SEARCH matches equally, and which lines around each place distinguish it from the others.
//
// Reporting only that there are several would make authors add lines at random. So each place is shown with the lines that would
// have made SEARCH unique. If no surrounding lines do, since whole stretches of the file are equal, only a line number can decide,
// which a diff has and a block does not.
func Ambiguous(d *document.Document, op *parse.Operation, lines []int) *problem.Problem {
	if p := asksNothing(d, op); p != nil {
		return p
	}
	more := ""
	if len(lines) == document.Most {
		more = " or more"
	}
	p := &problem.Problem{
		Block: op.Block, Path: d.Path, Kind: problem.KindAmbiguous, Lines: lines,
		Reason: fmt.Sprintf("%s at %d%s places, lines %s", matches(op), len(lines), more, numbers(lines)),
	}
	search, out := op.Search, writeOut(op)
	if !explains(d) {
		p.Advice = numberedAdvice + out
		return p
	}
	if part := pieceAt(d, search, lines[0]-1); part != nil {
		search, out, p.Advice = part, "", "send each piece between the elisions as a block of its own; "
	}
	var b strings.Builder
	alone := 0
	for _, l := range lines[:min(len(lines), maxPlaces)] {
		q := tellApart(d, l-1, extent(d, l-1, search))
		if q.alone {
			alone++
		}
		b.WriteString("  " + q.header() + "\n" + excerptUpTo(d, shownOther, q.from, q.to))
	}
	p.Nearest = b.String()
	if alone == 0 {
		p.Advice = numberedAdvice + out
		return p
	}
	old, new := bodies(op)
	p.Advice += fmt.Sprintf("choose the place that is meant: send %s as its lines above, and repeat the lines that tell it apart in %s", old, new)
	if alone < min(len(lines), maxPlaces) {
		p.Advice += "; for a place that is not told apart, send a unified diff with its true line number"
	}
	if lo, hi := lex.Outer(search); lo < hi && lex.Indent(search[lo]) != lex.Indent(d.Line(lines[0]-1)) && !lex.Blank(d.Line(lines[0]-1)) {
		p.Advice += "; indent " + new + " alike"
	}
	p.Advice += out
	return p
}

// numberedAdvice is the advice for places that no lines distinguish, or that are not shown.
const numberedAdvice = "send the change as a unified diff with the true line number of the place that is meant"

// header names a place and the lines that distinguish it.
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

// pieceAt returns the piece of an elided SEARCH that is at line at, or nil if SEARCH elides nothing.
func pieceAt(d *document.Document, search []string, at int) []string {
	all := match.Pieces(search)
	for _, s := range all {
		if len(all) > 1 && len(s) > 0 && matchesAt(d, at, s) {
			return s
		}
	}
	return nil
}

// numbers joins line numbers for a sentence: "3", "3 and 5", or "1, 3 and 5".
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

// Binary refuses all operations on a file that is not text.
//
// It names every block, so that none is called sound and sent again. A file in UTF-16 can have a NUL in every other byte, hence the
// second guess.
func Binary(path string, ops []*parse.Operation) (problems []problem.Problem) {
	for _, op := range ops {
		problems = append(problems, problem.Problem{
			Block: op.Block, Path: path, Kind: problem.KindRefused, Reason: "the file holds NUL bytes: it is binary, or in a wide encoding",
			Advice: "leave it, or replace the whole file",
		})
	}
	return problems
}

// Already says that the change has already been made.
//
// That does not count as success: the author worked from an older file than this one, and the rest of the response may depend on
// that.
func Already(d *document.Document, op *parse.Operation, at int) *problem.Problem {
	lo, hi := lex.Outer(op.Replace)
	return &problem.Problem{
		Block: op.Block, Path: d.Path, Kind: problem.KindAlready, Lines: []int{at + 1},
		Reason:  fmt.Sprintf("already applied at line %d", at+1),
		Nearest: excerptUpTo(d, shownOther, at, at+hi-lo), Advice: "leave this block out",
	}
}

// Overlapping says that two blocks contradict each other. It shows the lines of both, which one block for both would replace.
//
// One block for both is the only advice that always works: which of the two should give way is unknown, and one after the other
// they would not match.
func Overlapping(d *document.Document, m, other *match.Match) problem.Problem {
	lo, hi := m.Places[0].Lo, m.Places[len(m.Places)-1].Hi
	lo, hi = min(lo, other.Places[0].Lo), max(hi, other.Places[len(other.Places)-1].Hi)
	first, second := min(m.Op.Block, other.Op.Block), max(m.Op.Block, other.Op.Block)
	return problem.Problem{
		Block: m.Op.Block, Path: d.Path, Kind: problem.KindOverlap, Lines: []int{m.Places[0].Lo + 1}, Other: other.Op.Block,
		Reason: fmt.Sprintf("it touches lines that block %d changes", other.Op.Block), Nearest: Excerpt(d, lo, hi),
		Advice: fmt.Sprintf("send blocks %d and %d as one block, with %s above as SEARCH", first, second, span(lo, hi)),
	}
}

// matches begins a sentence about where the lines to replace match.
func matches(op *parse.Operation) string {
	if op.Hunk != nil {
		return "the hunk's old lines match"
	}
	return "SEARCH matches"
}

// notInFile begins a sentence about lines to replace that are nowhere in the file, and returns the pronoun that continues it.
func notInFile(op *parse.Operation) (sentence, pronoun string) {
	if op.Hunk != nil {
		return "the hunk's old lines were not found in the file", "they"
	}
	return "SEARCH text not found in the file", "it"
}

// bodies names the lines to replace and the new ones in the form of the operation.
func bodies(op *parse.Operation) (old, new string) {
	if op.Hunk != nil {
		return "the hunk's old lines", "its new lines"
	}
	return "SEARCH", "REPLACE"
}

// explains reports whether to explain one more problem of the file with its lines: the first few are explained, the others only
// named.
func explains(d *document.Document) bool {
	d.Explained++
	return !d.Work.TrialOnly() && d.Explained <= problem.MaxQuoted
}

// maxPlaces bounds the places that one problem quotes: more would not be read.
const maxPlaces = 3

// notFoundAtAll returns the problem of a block for which nothing in the file can be shown.
func notFoundAtAll(op *parse.Operation, d *document.Document) problem.Problem {
	reason, _ := notInFile(op)
	if d.LongLine {
		reason += ", which has a line of more than 128 KiB: there only equal lines are found"
	}
	return problem.Problem{
		Block: op.Block, Path: d.Path, Kind: problem.KindNotFound, Reason: reason,
		Advice: "read the file and copy the lines to replace from it, or leave this block out" + writeOut(op),
	}
}

// writeOut asks for the lines that REPLACE promises instead of giving them.
func writeOut(op *parse.Operation) string {
	_, new := bodies(op)
	if line, ok := lex.Promised(lex.LanguageOf(op.Path), op.Replace, nil); ok {
		return fmt.Sprintf("; write %s out in full, without %s", new, problem.Quote(line))
	}
	return ""
}
