package match

import (
	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
)

// A group pairs lines of SEARCH with the lines of the file that they stand for. Mostly both are one line. Reflowed lines pair
// several with several, and a blank line that the file does not have pairs with none.
//
// The groups of a place are in order and do not overlap. The lines of the file between two groups are those that the strategy
// skipped: blank lines, or comments that SEARCH leaves out.
type group struct{ s0, s1, f0, f1 int }

// A Place is where a block's SEARCH was found. A block with elisions has several places, in order.
//
// Strategies set things aside on both sides: outer blank lines that SEARCH has and the file does not are not part of REPLACE
// either. So a place carries the bodies as they were matched, and later steps never look at the block again.
type Place struct {
	Lo, Hi   int // lines of the file, from 0, Hi excluded
	Strategy Strategy
	Search   []string // SEARCH as it was matched, without the parts that were set aside
	Replace  []string // REPLACE without the same parts
	groups   []group  // nil if line i of Search is at Lo+i
	crossing bool     // the lines that SEARCH leaves out before it leave the scope of the piece above

	// Blank lines that SEARCH has before or after its text, but the file does not, were set aside.
	Headless, Tailless bool
}

// A Finding is the result of a search for a block: places, or several lines at which it matches equally, or neither.
type Finding struct {
	Places    []Place
	Ambiguous []int // first lines, from 1
}

// found reports whether a finding is not empty.
func (f Finding) found() bool { return len(f.Places)+len(f.Ambiguous) > 0 }

// one makes a finding of the hits, lines from 0: the place p if there is one hit, else the ambiguity.
func one(hits []int, p Place) Finding {
	if len(hits) == 1 {
		return Finding{Places: []Place{p}}
	}
	f := Finding{}
	for _, h := range hits {
		f.Ambiguous = append(f.Ambiguous, h+1)
	}
	return f
}

// widen takes back the blank lines around SEARCH that were set aside although the file has them too: the block repeats them, or
// removes them. Only those that the file lacks there stay set aside, and as many in REPLACE: a block adds or removes the difference
// between its bodies.
func (f Finding) widen(d *document.Document, search, replace []string) Finding {
	if len(f.Places) != 1 || len(f.Places[0].Search) == len(search) {
		return f
	}
	p := &f.Places[0]
	lo, hi := lex.Outer(search)
	before, after := 0, 0
	for before < lo && p.Lo > before && lex.Blank(d.Line(p.Lo-before-1)) {
		before++
	}
	for after < len(search)-hi && p.Hi+after < d.Len() && lex.Blank(d.Line(p.Hi+after)) {
		after++
	}
	if p.groups != nil {
		p.groups = widenGroups(*p, before, after)
	}
	p.Search, p.Replace = search[lo-before:hi+after], trimOuter(replace, lo-before, len(search)-hi-after)
	p.Lo, p.Hi = p.Lo-before, p.Hi+after
	p.Headless, p.Tailless = before < lo, after < len(search)-hi
	return f
}

// widenGroups pairs the blank lines that a place takes back, one for one.
func widenGroups(p Place, before, after int) []group {
	var out []group
	for i := range before {
		out = append(out, group{i, i + 1, p.Lo - before + i, p.Lo - before + i + 1})
	}
	for _, g := range p.groups {
		out = append(out, group{g.s0 + before, g.s1 + before, g.f0, g.f1})
	}
	for i := range after {
		s := before + len(p.Search) + i
		out = append(out, group{s, s + 1, p.Hi + i, p.Hi + i + 1})
	}
	return out
}

// trimOuter removes up to before blank lines at the start and after at the end: those that were set aside in SEARCH.
func trimOuter(lines []string, before, after int) []string {
	for before > 0 && len(lines) > 0 && lex.Blank(lines[0]) {
		lines, before = lines[1:], before-1
	}
	for after > 0 && len(lines) > 0 && lex.Blank(lines[len(lines)-1]) {
		lines, after = lines[:len(lines)-1], after-1
	}
	return lines
}
