package explain

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

// staleScore is the resemblance from which the file counts as changed since its author read it, rather than as never having held
// the lines. It only affects the name of the refusal.
const staleScore = 0.8

// NotFoundAll adds a problem for each missing operation; the first ones include the nearest lines. If only the result of one of the
// blocks ops may hold the lines of an operation, its problem says just that.
func NotFoundAll(d *document.Document, missing, ops []*parse.Operation, problems []problem.Problem) []problem.Problem {
	if d.Work.TrialOnly() {
		for _, op := range missing {
			problems = append(problems, notFoundAtAll(op, d))
		}
		return problems
	}
	d.Work = document.NewWork() // explaining does not count against finding
	refused := map[int]bool{}
	for _, p := range problems {
		refused[p.Block] = true
	}
	for _, op := range missing {
		refused[op.Block] = true
	}
	makers := newMakers(ops)
	for _, op := range missing {
		p := notFoundAtAll(op, d)
		if len(problems) < problem.MaxQuoted && explains(d) {
			p = notFound(d, op)
		}
		if n := makers.of(d, op); n > 0 && (p.Kind == problem.KindNotFound || p.Kind == problem.KindStale) {
			p = builtOn(op, d, n, refused[n])
		}
		problems = append(problems, p)
	}
	return problems
}

// makers maps a line, ignoring space around it, to the first block that has it in its REPLACE.
type makers map[string]int

// newMakers collects the new lines of some blocks.
func newMakers(ops []*parse.Operation) makers {
	m := makers{}
	for _, op := range ops {
		for _, s := range op.Replace {
			if key := lex.TrimSpace(s); hasWord(key) && (m[key] == 0 || op.Block < m[key]) {
				m[key] = op.Block
			}
		}
	}
	return m
}

// of returns a block before op that creates a line of op's SEARCH which the file does not hold, or 0 if there is none.
func (m makers) of(d *document.Document, op *parse.Operation) int {
	for _, s := range op.Search {
		if d.Work.Spent() {
			break // the rest is not examined
		}
		if n := m[lex.TrimSpace(s)]; n > 0 && n < op.Block && !d.HasLine(s) {
			return n
		}
	}
	return 0
}

// builtOn returns the problem of a block that could only be found in the result of block n, which does not exist: the nearest lines
// in the file would mislead its author.
func builtOn(op *parse.Operation, d *document.Document, n int, refused bool) problem.Problem {
	reason, pronoun := notInFile(op)
	p := problem.Problem{
		Block: op.Block, Path: d.Path, Kind: problem.KindNotFound, Advice: "send it again with the corrected blocks" + writeOut(op),
		Reason: fmt.Sprintf("%s as it is; %s may be in the result of block %d", reason, pronoun, n),
	}
	if refused {
		p.Reason += ", which was refused"
	}
	return p
}

// unlike begins the advice if the lines shown are not the ones that were meant.
const unlike = "none of these is like it: "

// notFound explains a block whose SEARCH is nowhere: already applied, stale, or simply not there, with the nearest lines.
//
// It reports a block that is already applied first: it looks like any other SEARCH that is not there, but the advice is the
// opposite.
func notFound(d *document.Document, op *parse.Operation) problem.Problem {
	if p := asksNothing(d, op); p != nil {
		return *p
	}
	if at, ok := alreadyAt(d, op.Replace); ok {
		return *Already(d, op, at)
	}
	p := notFoundAtAll(op, d)
	if d.Len() == 0 {
		p.Reason, p.Advice = "the file is empty", "send an empty SEARCH, and the whole content as REPLACE"
		return p
	}
	places := nearest(d, op.Search)
	if len(places) == 0 {
		return p
	}
	a := newAlignment(d, places[0], op.Search)
	if lo, hi := lex.Outer(op.Replace); lo < hi && hi-lo == a.hi-a.lo && sameLinesAt(d, a.lo, op.Replace[lo:hi]) {
		return *Already(d, op, a.lo)
	}
	if places[0].score >= staleScore && a.hi-a.lo > 1 {
		p.Kind = problem.KindStale
	}
	likely := a.likely(d, places[0])
	if !likely {
		p.Kind = problem.KindNotFound
	}
	if lo, hi := lex.Outer(op.Search); !likely && hi-lo < 2 {
		if p.Lines, p.Nearest = closest(d, op.Search); len(p.Lines) > 0 {
			p.Reason += "; the closest lines are"
			p.Advice = unlike + p.Advice
		}
		return p
	}
	q := tellApart(d, a.lo, a.hi)
	p.Lines = []int{a.lo + 1}
	p.Reason += "; nearest " + span(a.lo, a.hi)
	p.Nearest = excerptIn(d, q, places[0].from, places[0].to)
	var others strings.Builder
	for _, n := range places[1:] {
		p.Lines = append(p.Lines, n.lo+1)
		fmt.Fprintf(&others, "  or %s:\n%s", span(n.from, n.to), excerptUpTo(d, shownOther, n.from, n.to))
	}
	p.Nearest += others.String()
	if !likely { // shown whole, so that the author sees how the code continues there, but without advice to copy it
		p.Advice = unlike + p.Advice
		return p
	}
	p.Differs, p.Advice = a.differences(d, op), copyAdvice(op, d, q, a.shifted(d))
	if piece(d, places[0], op.Search) {
		p.Advice = pieceAdvice + p.Advice
	}
	return p
}

// pieceAdvice is the advice for a SEARCH that is a piece of one line: correcting only SEARCH would leave a piece of a line as
// REPLACE.
const pieceAdvice = "write REPLACE as whole lines too; "

// piece reports whether search is a single line and only a piece of the line at n, apart from space around that line.
func piece(d *document.Document, n near, search []string) bool {
	lo, hi := lex.Outer(search)
	if hi-lo != 1 || n.hi-n.lo != 1 {
		return false
	}
	part, line := lex.TrimSpace(search[lo]), lex.TrimSpace(d.Line(n.lo))
	return len(part) < len(line) && strings.Contains(line, part)
}

// shifted reports whether SEARCH is indented differently from the file, so that REPLACE probably is too.
func (a *alignment) shifted(d *document.Document) bool {
	for i, l := range a.at {
		if l >= 0 && hasWord(a.search[i]) {
			return lex.Indent(a.search[i]) != lex.Indent(d.Line(l))
		}
	}
	return false
}

// copyAdvice says what to send so that the place q is replaced. It names lines by number, so it is valid whether they are shown or
// not.
func copyAdvice(op *parse.Operation, d *document.Document, q spot, shifted bool) string {
	for i := q.from; i < q.to; i++ {
		if !utf8.ValidString(d.Line(i)) {
			return fmt.Sprintf("line %d holds bytes that are not UTF-8 and cannot be sent: leave it out of the lines to replace", i+1)
		}
	}
	old, new := bodies(op)
	lines := span(q.from, q.to)
	advice := fmt.Sprintf("copy %s exactly into %s", lines, old)
	if !legible(d, shown, q.from, q.to) {
		advice = "read the file, then " + advice
	}
	if !q.alone {
		advice += ", in a unified diff with their true line number"
	}
	switch {
	case q.from < q.lo:
		advice += fmt.Sprintf("; begin %s with %s", new, span(q.from, q.lo))
	case q.to > q.hi:
		advice += fmt.Sprintf("; end %s with %s", new, span(q.hi, q.to))
	}
	if shifted {
		advice += "; indent " + new + " alike"
	}
	return advice + writeOut(op)
}

// alreadyAt returns where the lines of a replacement already occur, if they say enough not to be there by coincidence.
//
// A replacement of a brace and a return is in every file. Twelve bytes without the space around the lines are about two words of
// code. Indentation and punctuation count: a block that corrects only those has not been applied.
func alreadyAt(d *document.Document, replace []string) (int, bool) {
	lo, hi := lex.Outer(replace)
	core, size, longest := replace[lo:hi], 0, 0
	for i, s := range core {
		if n := len(lex.TrimSpace(s)); n > len(lex.TrimSpace(core[longest])) {
			longest = i
		}
		size += len(lex.TrimSpace(s))
	}
	if size < 12 {
		return 0, false
	}
	key, at := lex.TrimSpace(core[longest]), 0
	for range maxRepeats {
		if at = d.Index(at, key); at < 0 {
			break
		}
		l := d.LineAt(at)
		if sameLinesAt(d, l-longest, core) {
			return l - longest, true
		}
		at = int(d.Off[l+1])
	}
	return 0, false
}

// sameLinesAt reports whether the lines s occur from line at on, ignoring only the space at their ends.
func sameLinesAt(d *document.Document, at int, s []string) bool {
	if at < 0 || at+len(s) > d.Len() {
		return false
	}
	for i := range s {
		if strings.TrimRight(d.Line(at+i), " \t\r") != strings.TrimRight(s[i], " \t\r") {
			return false
		}
	}
	return true
}

// maxAround bounds the lines that are compared to find a REPLACE around a place.
const maxAround = 1 << 22

// AlreadyAround reports whether REPLACE, longer than SEARCH, already occurs around the place, for a SEARCH that was found only by
// setting something aside. A SEARCH that occurs to the letter is taken literally: adding the same lines once more may be intended.
func AlreadyAround(d *document.Document, p match.Place) bool {
	if p.Strategy.Strict() && !p.Headless && !p.Tailless || len(p.Replace) <= len(p.Search) {
		return false
	}
	for at := max(0, p.Hi-len(p.Replace), p.Lo-maxAround/len(p.Replace)); at <= p.Lo; at++ {
		if matchesAt(d, at, p.Replace) {
			return true
		}
	}
	v := d.View(document.LooseCode)
	hits, kept := v.Find(p.Replace, document.Most)
	if len(hits) == 0 {
		return false
	}
	_, named, _ := v.Numbers(p.Search)
	return len(kept) > len(named) && slices.ContainsFunc(hits, func(h int) bool {
		return v.Line(h) <= p.Lo && p.Hi <= v.Line(h+len(kept)-1)+1
	})
}

// Unplaced explains a block that does not have exactly one place.
//
// It reports several places before any resemblance: all of them match, so a nearest one would only mislead.
func Unplaced(d *document.Document, op *parse.Operation, f match.Finding) *problem.Problem {
	if len(f.Ambiguous) > 0 {
		return Ambiguous(d, op, f.Ambiguous)
	}
	p := notFoundAtAll(op, d)
	if explains(d) {
		p = notFound(d, op)
	}
	return &p
}
