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
	Problems []Problem
	Staged   []int // blocks that matched and would have been applied
}

// Error lists every problem, with the nearest lines: text for a person and for a model.
func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString("nothing was applied")
	for _, p := range r.Problems {
		b.WriteString("\n")
		p.write(&b)
	}
	if len(r.Staged) > 0 {
		fmt.Fprintf(&b, "\n%s as sent and would apply: repeat %s unchanged with the corrected ones", count(r.Staged), plural(len(r.Staged), "it", "them"))
	}
	return b.String()
}

// write renders one problem: block, file, reason, the nearest lines, advice.
func (p Problem) write(b *strings.Builder) {
	switch {
	case p.Block > 0 && p.Path != "":
		fmt.Fprintf(b, "block %d, %s: ", p.Block, p.Path)
	case p.Block > 0:
		fmt.Fprintf(b, "block %d: ", p.Block)
	case p.Path != "":
		fmt.Fprintf(b, "%s: ", p.Path)
	}
	fmt.Fprintf(b, "%s: %s", strings.ReplaceAll(p.Kind, "_", " "), p.Reason)
	if p.Nearest != "" {
		b.WriteString("\n")
		b.WriteString(strings.TrimSuffix(p.Nearest, "\n"))
	}
	if p.Advice != "" {
		fmt.Fprintf(b, "\n  → %s", p.Advice)
	}
}

// count names blocks: "block 2 matches", "blocks 1, 3 match".
func count(blocks []int) string {
	names := make([]string, len(blocks))
	for i, n := range blocks {
		names[i] = fmt.Sprint(n)
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
// known about the single blocks, and none is called sound.
func newRefusal(ops []*operation, problems []Problem) *Refusal {
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Block - b.Block })
	for i := range problems {
		if i >= maxQuoted {
			problems[i].Nearest = ""
		}
	}
	r := &Refusal{Problems: problems}
	if slices.ContainsFunc(problems, func(p Problem) bool { return p.Block == 0 }) {
		return r
	}
	for _, op := range ops {
		bad := slices.ContainsFunc(problems, func(p Problem) bool { return p.Block == op.block })
		if !bad && !slices.Contains(r.Staged, op.block) {
			r.Staged = append(r.Staged, op.block)
		}
	}
	return r
}

// tooMany refuses a response of n operations.
func tooMany(n int) Problem {
	return Problem{Kind: kindRefused, Reason: fmt.Sprintf("%d blocks are more than the %d that are read at once", n, MaxBlocks), Advice: "send the change in several responses"}
}

// ambiguous says at which lines SEARCH matches alike.
//
// The excerpt shows two lines before each place, which is mostly what the
// author needs to tell them apart.
func ambiguous(d *document, op *operation, lines []int) *Problem {
	more := ""
	if len(lines) == most {
		more = " or more"
	}
	p := &Problem{
		Block: op.block, Path: d.path, Kind: kindAmbiguous, Lines: lines,
		Reason: fmt.Sprintf("%s at %d%s places, lines %s", op.stands(), len(lines), more, numbers(lines)),
		Advice: "send it with enough lines before or after it that only one place is meant",
	}
	p.Nearest = d.around(lines[:min(3, len(lines))])
	return p
}

// numbers joins line numbers for a sentence.
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
func already(d *document, op *operation, at int) *Problem {
	return &Problem{
		Block: op.block, Path: d.path, Kind: kindNoop, Lines: []int{at + 1},
		Reason:  fmt.Sprintf("REPLACE already stands at line %d: this change has been made", at+1),
		Nearest: d.excerpt(at, at+len(op.replace)), Advice: "leave this block out",
	}
}

// overlapping says that two blocks contradict each other.
func overlapping(d *document, m, other *match) Problem {
	lo, hi := m.places[0].lo, m.places[len(m.places)-1].hi
	return Problem{
		Block: m.op.block, Path: d.path, Kind: kindOverlap, Lines: []int{lo + 1},
		Reason: fmt.Sprintf("it touches lines that block %d changes", other.op.block), Nearest: d.excerpt(lo, hi),
		Advice: fmt.Sprintf("send blocks %d and %d as one block", min(m.op.block, other.op.block), max(m.op.block, other.op.block)),
	}
}

// stands begins a sentence about where the lines to replace are.
func (op *operation) stands() string {
	if op.hunk != nil {
		return "the hunk's old lines stand"
	}
	return "SEARCH stands"
}

// maxQuoted bounds the problems of one refusal that quote the file: more
// would neither be read nor fit into a prompt.
const maxQuoted = 10

// notFoundAll adds a problem for each missing operation, the first of them
// with what comes nearest.
func notFoundAll(d *document, missing []*operation, problems []Problem) []Problem {
	for _, op := range missing {
		if len(problems) < maxQuoted {
			problems = append(problems, notFound(d, op))
			continue
		}
		problems = append(problems, Problem{
			Block: op.block, Path: d.path, Kind: kindNotFound, Reason: op.stands() + " nowhere in the file",
			Advice: "copy the lines to replace from the file as they stand",
		})
	}
	return problems
}

// notFound explains a block whose SEARCH is nowhere: already applied, stale,
// or simply not there, with what comes nearest.
//
// What is already applied is told first: it looks like any other SEARCH that
// is not there, and the advice is the opposite.
func notFound(d *document, op *operation) Problem {
	if at, ok := standing(d, op.replace); ok {
		return *already(d, op, at)
	}
	p := Problem{
		Block: op.block, Path: d.path, Kind: kindNotFound, Reason: op.stands() + " nowhere in the file",
		Advice: "copy the lines to replace from the file as they stand, or read the file again",
	}
	places := nearest(d, op.search)
	if len(places) == 0 {
		return p
	}
	best := places[0]
	for _, n := range places {
		p.Lines = append(p.Lines, n.lo+1)
	}
	if best.score >= staleScore && best.hi-best.lo > 1 {
		p.Kind = kindStale
	}
	p.Reason += fmt.Sprintf("; nearest %s: %s", span(best.lo, best.hi), difference(d, best, op.search))
	p.Nearest = d.excerpt(best.lo, best.hi)
	p.Advice = "copy the lines to replace from the file as they stand above"
	if at := d.within(strings.Join(op.search, "\n")); len(at) > 0 {
		p.Advice = fmt.Sprintf("send whole lines: the text stands within line %d, and only whole lines are replaced", at[0])
	}
	return p
}

// staleScore is the resemblance from which on the file is taken to have
// changed since its author read it, rather than never to have held the lines.
// It only names the refusal.
const staleScore = 0.8

// span names lines [lo, hi), from 0, to a reader who counts from 1.
func span(lo, hi int) string {
	if hi-lo < 2 {
		return fmt.Sprintf("line %d", lo+1)
	}
	return fmt.Sprintf("lines %d to %d", lo+1, hi)
}

// standing returns where the lines of a replacement already stand, when they
// say enough not to stand there by chance.
//
// A replacement of a brace and a return stands in every file. Twelve bytes
// without the space around them are about two words of code.
func standing(d *document, replace []string) (int, bool) {
	lo, hi := outer(replace)
	core, size := replace[lo:hi], 0
	for _, s := range core {
		size += len(trimSpace(s))
	}
	if size < 12 {
		return 0, false
	}
	places, _ := d.view(loose).find(core, 1)
	if len(places) == 0 {
		return 0, false
	}
	return places[0], true
}

// alreadyAround reports whether REPLACE, longer than SEARCH, stands around
// the place already, for a SEARCH that was found only by setting something
// aside. A SEARCH that stands there to the letter is taken at its word:
// adding the same lines once more may be what is meant.
func alreadyAround(d *document, p place) bool {
	if (p.strategy == Exact || p.strategy == Stripped) && !p.headless && !p.tailless || len(p.replace) <= len(p.search) {
		return false
	}
	hits, _ := d.view(loose).find(p.replace, most)
	if slices.ContainsFunc(hits, func(h int) bool { return h <= p.lo && p.hi <= h+len(p.replace) }) {
		return true
	}
	v := d.view(looseCode)
	_, named, _ := v.numbers(p.search)
	hits, kept := v.find(p.replace, most)
	return len(kept) > len(named) && slices.ContainsFunc(hits, func(h int) bool {
		return int(v.line[h]) <= p.lo && p.hi <= int(v.line[h+len(kept)-1])+1
	})
}
