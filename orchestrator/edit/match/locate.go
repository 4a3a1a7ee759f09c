package match

import (
	"strings"
	"unicode"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
)

// A group pairs lines of SEARCH with the lines of the file that they stand
// for. Mostly both are one line; reflowed lines pair several with several, and
// a blank line that the file does not have pairs with none.
//
// The groups of a place are in order and do not overlap. Lines of the file
// between two groups are those that the strategy passed over: blank lines,
// or comments that SEARCH leaves out.
type group struct{ s0, s1, f0, f1 int }

// A Place is where a block's SEARCH stands. A block with elisions has several
// places, in order.
//
// Strategies set things aside on both sides: outer blank lines that SEARCH
// has and the file has not are no part of REPLACE either. So a place carries
// the bodies as they were matched, and what follows never looks at the block
// again.
type Place struct {
	Lo, Hi   int // lines of the file, from 0, hi excluded
	Strategy Strategy
	Search   []string // SEARCH as it was matched, without what was set aside
	Replace  []string // REPLACE without the same
	groups   []group  // nil when line i of search stands at lo+i

	// Blank lines that SEARCH has before or after its text, and the file has not, were set aside.
	Headless, Tailless bool
}

// A Finding is the outcome of looking for a block: places, or several lines
// at which it matches alike, or neither.
type Finding struct {
	Places    []Place
	Ambiguous []int // first lines, from 1
}

// locate finds the one place that search means. The strategies run from the
// strictest to the loosest; the first that finds anything decides, so that a
// looser one never overrules a stricter one, and each must find one place only.
//
// Why the first strategy that finds anything decides: each strategy sees
// every place that a stricter one sees. If Exact finds two places, no looser
// one finds fewer; if Exact finds one, that one is the block's text to the
// letter, and further places that only resemble it are others.
//
// Similarity never counts. A SEARCH with one token that differs is a SEARCH
// for another text, however long the part that agrees.
func locate(d *document.Document, search, replace []string) Finding {
	if f, done := LocateStrict(d, search, replace); done || d.Thin {
		return f
	}
	lo, hi := lex.Outer(search)
	core, rep := search[lo:hi], trimOuter(replace, lo, len(search)-hi)
	if !anchor(d.Lang, core) {
		return Finding{}
	}
	for _, k := range []document.ViewKind{document.Loose, document.LooseFilled, document.LooseCode} {
		f, done := locateLoose(d, k, core, rep)
		if done && k != document.LooseCode && !d.CodeOnce(core) {
			if all, _ := locateLoose(d, document.LooseCode, core, rep); len(all.Ambiguous) > 0 {
				return all // some place differs in depth, some in comments: which is nearer nobody can tell
			}
		}
		if done && (k != document.LooseCode || !d.Foreign(core)) {
			return f.widen(d, search, replace)
		}
	}
	if f, done := locateElided(d, search, replace); done {
		return f
	}
	f, _ := locateReflowed(d, core, rep)
	return f.widen(d, search, replace)
}

// anchor reports whether lines say enough to be looked for by a strategy
// that sets something aside: a letter or digit outside comments, or a comment
// as long as a reflowed text must be.
//
// Lines of braces, or of a short remark alone, stand everywhere in one guise or
// another. To the letter they may be unique, and Exact takes them then.
func anchor(lang *lex.Language, lines []string) bool {
	words := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	tokens, size := 0, 0
	for _, s := range lines {
		if strings.IndexFunc(s, words) < 0 {
			continue
		}
		if !lang.Comment(s) {
			return true
		}
		lex.EachToken(s, func(t string) { tokens, size = tokens+1, size+len(t) })
	}
	return tokens >= minTokens && size >= minBytes
}

// LocateStrict tries Exact and Stripped: the lines as they are, then without
// trailing space, each with and without the outer blank lines.
//
// Blank lines that SEARCH has around its text count as text first: they may
// be what tells one place from another. Only when they are nowhere are they
// taken for an accident of the form. A block whose only change is in such
// blank lines would change nothing without them; it is not tried then.
func LocateStrict(d *document.Document, search, replace []string) (Finding, bool) {
	lo, hi := lex.Outer(search)
	if lo == hi {
		return Finding{}, true
	}
	core, rep := search[lo:hi], trimOuter(replace, lo, len(search)-hi)
	trimmed := len(core) < len(search) && !lex.SameLines(core, rep)
	v := func(s []string) []int {
		places, _ := d.View(document.TrimmedEnd).Find(s, document.Most)
		return places // document.TrimmedEnd keeps every line: places are lines
	}
	tries := []struct {
		on       bool
		strategy Strategy
		find     func() []int
		s, r     []string
	}{
		{true, Exact, func() []int { return d.FindExact(search, document.Most) }, search, replace},
		{true, Stripped, func() []int { return v(search) }, search, replace},
		{trimmed, Stripped, func() []int { return d.FindExact(core, document.Most) }, core, rep},
		{trimmed, Stripped, func() []int { return v(core) }, core, rep},
	}
	for _, t := range tries {
		if !t.on {
			continue
		}
		if hits := t.find(); len(hits) > 0 {
			p := Place{Lo: hits[0], Hi: hits[0] + len(t.s), Strategy: t.strategy, Search: t.s, Replace: t.r}
			if !d.PlainEnds(p.Lo, p.Hi) {
				p.Strategy = Stripped // the line ends had to be set aside
			}
			return one(hits, p).widen(d, search, replace), true
		}
	}
	return Finding{}, false
}

// one makes a finding of the hits: the place when there is one hit, else
// the ambiguity. hits are lines from 0.
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

// widen takes back the blank lines around SEARCH that were set aside though
// the file has them too: they are lines that the block repeats, or that it
// removes. Only those that the file lacks there stay set aside, and as many in
// REPLACE: what a block adds or takes is the difference between its bodies.
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

// trimOuter removes up to before blank lines at the start and after at the
// end: those that SEARCH had there and that were set aside.
//
// If SEARCH lost one blank line at its start and REPLACE has two there, one
// of them is new and stays.
func trimOuter(lines []string, before, after int) []string {
	for before > 0 && len(lines) > 0 && lex.Blank(lines[0]) {
		lines, before = lines[1:], before-1
	}
	for after > 0 && len(lines) > 0 && lex.Blank(lines[len(lines)-1]) {
		lines, after = lines[:len(lines)-1], after-1
	}
	return lines
}

// locateLoose looks for search in a view that sets indentation and Unicode
// punctuation aside, and for the looser views blank lines or comments too.
// What was in fact set aside decides the strategy's name.
//
// The three views that it is called with see ever fewer lines: all of them,
// all but the blank ones, and all but blank lines and comments.
func locateLoose(d *document.Document, k document.ViewKind, search, replace []string) (Finding, bool) {
	v := d.View(k)
	hits, kept := v.Find(search, document.Most)
	var found []Place
	var lines []int
	for _, h := range hits {
		at := v.Window(h, len(kept))
		d.Work.Add(document.WorkPair * (len(search) + int(at[len(at)-1]-at[0])))
		groups, ok := pair(d, search, kept, at)
		if ok || len(hits) == document.Most { // of so many places nobody knows whether there are more
			lines = append(lines, v.Line(h))
		}
		if ok {
			found = append(found, Place{Lo: groups[0].f0, Hi: groups[len(groups)-1].f1, Search: search, Replace: replace, groups: groups})
		}
	}
	if len(lines) != 1 {
		return one(lines, Place{}), len(lines) > 0
	}
	found[0].Strategy = looseName(d, found[0])
	return Finding{Places: found}, true
}

// pair makes the groups of a loose match: line kept[i] of search stands at
// at[i]. Any other line of search must be blank, or a comment that the file
// has in the same gap: a comment that is not there is a different text. So is
// a comment after code that is another than the file's.
//
// Comments that the file has and SEARCH leaves out are passed over, and so
// survive: a model that drops a comment from SEARCH rarely means to delete
// it.
func pair(d *document.Document, search []string, kept []int, at []int32) ([]group, bool) {
	groups, ok := pairHead(d, search[:kept[0]], int(at[0]))
	s, f, code := kept[0], int(at[0]), d.Lang.Code(search)
	for i, k := range kept {
		for ; s < k && ok; s++ {
			groups, f, ok = pairGap(d, search[s], s, f, int(at[i]), groups)
		}
		f = int(at[i])
		if !ok || !sameComment(d, search[k], code[k], f) {
			return nil, false
		}
		groups = append(groups, group{k, k + 1, f, f + 1})
		s, f = k+1, f+1
	}
	end := f
	for s < len(search) && end < d.Len() && lex.Blank(d.Bare()[end]) {
		end++
	}
	for ; s < len(search) && ok; s++ {
		groups, f, ok = pairGap(d, search[s], s, f, end, groups)
	}
	return groups, ok && wholeComments(d, groups)
}

// wholeComments reports whether each comment of several lines is either passed
// over whole or paired whole: with a line more or less it is another comment.
func wholeComments(d *document.Document, groups []group) bool {
	lo, hi := groups[0].f0, groups[len(groups)-1].f1
	paired := make([]bool, hi-lo)
	for _, g := range groups {
		for f := g.f0; f < g.f1; f++ {
			paired[f-lo] = true
		}
	}
	for f := lo + 1; f < hi; f++ {
		if paired[f-lo] != paired[f-lo-1] && d.Scanned().Within[f] == lex.InComment {
			return false
		}
	}
	return true
}

// sameComment reports whether a line of SEARCH, of which code is the part that
// is no comment, has no comment or that of line f of the file.
func sameComment(d *document.Document, s, code string, f int) bool {
	return lex.TrimSpace(code) == lex.TrimSpace(s) || document.Loose.Key(s) == document.Loose.Key(d.Line(f))
}

// pairGap pairs line s of SEARCH, a blank or a comment, with one of the lines
// [f, end) of the file, and returns where the rest of them begins. A blank
// line may be one that the file does not have.
func pairGap(d *document.Document, line string, s, f, end int, groups []group) ([]group, int, bool) {
	if lex.Blank(line) {
		g := group{s, s + 1, f, f}
		if f < end && lex.Blank(d.Line(f)) {
			g.f1, f = f+1, f+1
		}
		return append(groups, g), f, true
	}
	for f < end && document.Loose.Key(d.Line(f)) != document.Loose.Key(line) {
		f++
	}
	if f == end {
		return nil, f, false
	}
	return append(groups, group{s, s + 1, f, f + 1}), f + 1, true
}

// pairHead pairs the blank lines and comments that SEARCH begins with, from
// the last of them upwards, with those of the file above line f.
func pairHead(d *document.Document, head []string, f int) ([]group, bool) {
	groups := make([]group, len(head))
	for s := len(head) - 1; s >= 0; s-- {
		if lex.Blank(head[s]) {
			groups[s] = group{s, s + 1, f, f}
			if f > 0 && lex.Blank(d.Line(f-1)) {
				groups[s].f0, f = f-1, f-1
			}
			continue
		}
		for f--; f >= 0 && document.Loose.Key(d.Line(f)) != document.Loose.Key(head[s]); f-- {
			if !lex.Blank(d.Bare()[f]) {
				return nil, false
			}
		}
		if f < 0 || !lex.Blank(d.Bare()[f]) {
			return nil, false
		}
		groups[s] = group{s, s + 1, f, f + 1}
	}
	return groups, true
}

// looseName names the strategy by what had to be set aside: indentation
// alone, or anything else with the indentation equal, or both.
func looseName(d *document.Document, p Place) Strategy {
	same, text := true, true
	for _, g := range p.groups {
		if g.f0 == g.f1 || lex.Blank(p.Search[g.s0]) {
			continue
		}
		f, s := d.Line(g.f0), p.Search[g.s0]
		same = same && lex.Indent(f) == lex.Indent(s)
		text = text && lex.TrimSpace(f) == lex.TrimSpace(s)
	}
	text = text && p.Hi-p.Lo == len(p.Search)
	switch {
	case same:
		return Normalised
	case text:
		return Indentation
	}
	return Robust
}
