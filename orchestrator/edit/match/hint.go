package match

import (
	"slices"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/parse"
)

// choose decides which of several equal places is meant, by what the form says about the place beyond the lines.
//
// The lines always come first. A hint never finds a place and never overrules the only one. It only picks a place at which the
// lines occur to the letter, since numbers go stale and models write wrong ones. A hint that fits several places, or none, changes
// nothing, and the refusal stands. replace is op's REPLACE, without a fence if that was set aside.
func choose(op *parse.Operation, d *document.Document, replace []string, f Finding) Finding {
	var lines []int
	switch {
	case op.Every:
		if lines, f.Ambiguous = everywhere(op, d, f.Ambiguous); len(f.Ambiguous) > 0 {
			f.Places = nil
		}
	case len(f.Ambiguous) > 0:
		for _, hint := range []func(*parse.Operation, *document.Document) []int{byLine, bySection, byEnding} {
			if lines = hint(op, d); len(lines) == 1 {
				break
			}
			lines = nil
		}
	}
	if len(lines) == 0 {
		return f
	}
	f = Finding{}
	for _, lo := range lines {
		f.Places = append(f.Places, Place{Lo: lo, Hi: lo + len(op.Search), Strategy: Exact, Search: op.Search, Replace: replace})
	}
	return f
}

// byLine returns the line that the form names, if search is there.
//
// The number of a hunk counts only if the counts in its header are right. Programs that make diffs write correct numbers, and
// repetitive files need them: a table of equal lines has no other context. Models write wrong numbers, but then the counts are
// mostly wrong too.
func byLine(op *parse.Operation, d *document.Document) []int {
	lo := op.Line - 1
	if h := op.Hunk; h != nil && h.Trusted {
		lo = h.Line - 1
	}
	if lo < 0 || lo+len(op.Search) > d.Len() {
		return nil
	}
	for i, s := range op.Search {
		if d.Line(lo+i) != s {
			return nil
		}
	}
	return []int{lo}
}

// byEnding returns the place at the end of the file, if the form says so and search is there.
func byEnding(op *parse.Operation, d *document.Document) []int {
	if !op.Ending {
		return nil
	}
	last := *op
	last.Line, last.Hunk = d.Len()-len(op.Search)+1, nil
	return byLine(&last, d)
}

// bySection returns the places in the section that the form names. It gives up on lines that occur very often.
func bySection(op *parse.Operation, d *document.Document) []int {
	lo, hi, ok := section(d, op.Under)
	if !ok {
		return nil
	}
	places := d.FindExact(op.Search, document.Rare)
	if len(places) == document.Rare {
		return nil
	}
	return slices.DeleteFunc(places, func(at int) bool { return at < lo || at+len(op.Search) > hi })
}

// section returns the lines below the headings, outermost first: those that follow the last heading and are indented deeper than
// it, ignoring lines of closing brackets. If a heading has no such lines, as in prose, all lines after it are its section.
//
// A heading must occur exactly once in the section of the one before it. If it occurs twice, only the author knows which is meant.
func section(d *document.Document, headings []string) (lo, hi int, ok bool) {
	hi = d.Len()
	for _, h := range headings {
		if d.Work.Spent() {
			return 0, 0, false
		}
		places, _ := d.View(document.Loose).Find([]string{h}, document.Rare)
		n := len(places)
		places = slices.DeleteFunc(places, func(i int) bool { return i < lo || i >= hi || lex.TrimSpace(d.Line(i)) != lex.TrimSpace(h) })
		if n == document.Rare || len(places) != 1 {
			return 0, 0, false
		}
		at := places[0]
		end, ok := bodyEnd(d, at)
		if !ok {
			return 0, 0, false
		}
		if lo = at + 1; end > lo {
			hi = min(hi, end)
		}
	}
	return lo, hi, len(headings) > 0
}

// maxSection bounds the lines of a section; a longer one says little.
const maxSection = 20000

// bodyEnd returns the line after the last one of the block that line at begins, or at+1 if it begins none; ok is false if the block
// is too long.
func bodyEnd(d *document.Document, at int) (end int, ok bool) {
	depth, end := len(lex.Indent(d.Line(at))), at+1
	for i := at + 1; i < d.Len(); i++ {
		d.Work.Add(document.WorkLine)
		s := lex.TrimSpace(d.Line(i))
		switch {
		case i-at > maxSection:
			return 0, false
		case s == "":
		case len(lex.Indent(d.Line(i))) > depth:
			end = i + 1
		case end == at+1 || strings.IndexByte(")]}", s[0]) < 0:
			return end, true
		}
	}
	return end, true
}

// maxEverywhere bounds the places of one replacement. Each is kept until the file is written, at about a hundred bytes.
const maxEverywhere = 20000

// everywhere returns the first lines, from 0, of all places of a replacement that is meant for every one of them: lines that occur
// to the letter, and never within a longer line.
//
// If the text is also part of a longer line, the author meant those occurrences too, or did not know of them; changing only some of
// the places would leave a renaming half done. Then several names the places, from 1, as for any block that could mean several. It
// also does so if places share lines or are too many.
func everywhere(op *parse.Operation, d *document.Document, ambiguous []int) (lines, several []int) {
	text := strings.Join(op.Search, "\n")
	d.Work.Add(4 * len(d.Text)) // the text is searched, counted and reported
	if lex.AllBlank(op.Search) || !strings.Contains(d.Plain(), text) {
		return nil, ambiguous
	}
	lines = d.FindExact(op.Search, maxEverywhere+1)
	for i := 1; i < len(lines); i++ {
		if lines[i] < lines[i-1]+len(op.Search) {
			return nil, within(d, text)
		}
	}
	if len(lines) > maxEverywhere || strings.Count(d.Plain(), text) != len(lines) {
		return nil, within(d, text)
	}
	return lines, nil
}

// within returns the first lines, from 1, at which a text occurs, even within a line.
func within(d *document.Document, text string) []int {
	var lines []int
	body, line := d.Plain(), 0
	for len(lines) < document.Most {
		i := strings.Index(body, text)
		if i < 0 {
			break
		}
		line += strings.Count(body[:i], "\n")
		lines = append(lines, line)
		line += strings.Count(body[i:i+len(text)], "\n")
		body = body[i+len(text):]
	}
	return lines
}

// AssignEqualBlocks gives each of several equal blocks the line of its own place, if their lines occur at exactly as many places:
// whichever block means which place, the result is the same. The operations that get a line are copies, since the originals may be
// tried on other files.
func AssignEqualBlocks(d *document.Document, ops []*parse.Operation) []*parse.Operation {
	if len(ops) < 2 {
		return ops
	}
	equal := map[string][]int{}
	for i, op := range ops {
		d.Work.Add(document.WorkBlock)
		if op.Kind == parse.OpEdit && op.Hunk == nil && op.Line == 0 && !op.Every {
			key := strings.Join(op.Search, "\n") + "\x00" + strings.Join(op.Replace, "\n")
			equal[key] = append(equal[key], i)
		}
	}
	if len(equal) == len(ops) {
		return ops
	}
	out := slices.Clone(ops)
	for _, group := range equal {
		op := ops[group[0]]
		if len(group) < 2 || lex.AllBlank(op.Search) || d.Work.Spent() {
			continue
		}
		at := d.FindExact(op.Search, len(group)+1)
		if len(at) != len(group) {
			continue
		}
		for i, k := range group {
			if i > 0 && at[i] < at[i-1]+len(op.Search) {
				break // the places share lines, so the blocks overlap
			}
			one := *ops[k]
			one.Line = at[i] + 1
			out[k] = &one
		}
	}
	return out
}
