package match

import (
	"errors"
	"strings"

	"agent/orchestrator/edit/align"
	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/indent"
	"agent/orchestrator/edit/lex"
)

// A Splice replaces the lines [Lo, Hi) of the file with Text, which is whole lines with their ends, or empty.
type Splice struct {
	Lo, Hi int
	Text   string
}

// The reasons why a place that was found cannot be rewritten.
var (
	errIndent  = errors.New("the indentation of the replacement does not follow from that of SEARCH, which differs from the file's line by line")
	errScope   = errors.New("the lines that SEARCH leaves out reach beyond the block in which they begin, so that what follows them is part of another")
	errComment = errors.New("SEARCH leaves out a comment that stands among the lines to change")
)

// Rewrite returns the splices that turn SEARCH at p into REPLACE: only the lines that change. A line that the block repeats
// unchanged keeps the file's own bytes; a changed one takes the file's indentation and line end.
//
// Rewrite does not replace the whole range of SEARCH, but only the parts that REPLACE changes. That keeps the trailing space, the
// typographic quotes and the line ends of the context, lets two blocks share context, and makes the diff that a person reviews as
// small as the change.
func Rewrite(d *document.Document, p Place) ([]Splice, error) {
	if p.crossing {
		return nil, errScope
	}
	groups := p.groups
	if groups == nil {
		groups = make([]group, len(p.Search))
		for i := range groups {
			groups[i] = group{i, i + 1, p.Lo + i, p.Lo + i + 1}
		}
	}
	p, err := restoreFirst(d, p, groups)
	if err != nil {
		return nil, err
	}
	r := rewriter{d: d, p: p, groups: groups, from: align.Lines(p.Search, p.Replace)}
	r.to = make([]int, len(p.Search))
	for s := range r.to {
		r.to[s] = -1
	}
	for j, s := range r.from {
		if s >= 0 {
			r.to[s] = j
		}
	}
	r.in = indent.Learn(d, pairs(d, p.Search, groups), p.Replace)
	if !r.in.Identity && !sameSteps(d, p.Search, groups) {
		return nil, errIndent
	}
	return r.splices()
}

// A rewriter walks the groups of one place.
type rewriter struct {
	d      *document.Document
	p      Place
	groups []group
	from   []int // line of REPLACE → the line of SEARCH that it repeats, or -1
	to     []int // line of SEARCH → the line of REPLACE that repeats it, or -1
	in     *indent.Rule
	out    []Splice
}

// splices divides REPLACE at the groups that it keeps; the lines between two kept groups are one splice.
//
// A group is kept whole or not at all. If SEARCH joined two lines of the file and REPLACE repeats the joined line, the file's two
// lines stay. If REPLACE changes it, the changed line replaces both.
func (r *rewriter) splices() ([]Splice, error) {
	lo, j, dropped := r.p.Lo, 0, []group(nil)
	for _, g := range r.groups {
		if g.f0 == g.f1 {
			continue // a blank line that the file lacks goes with its neighbours
		}
		if !r.kept(g) {
			dropped = append(dropped, g)
			continue
		}
		at := r.to[g.s0]
		if err := r.change(lo, g.f0, j, at, dropped); err != nil {
			return nil, err
		}
		lo, j, dropped = g.f1, at+g.s1-g.s0, nil
	}
	if err := r.change(lo, r.p.Hi, j, len(r.p.Replace), dropped); err != nil {
		return nil, err
	}
	return r.out, nil
}

// kept reports whether REPLACE repeats all lines of g, one directly after the other.
func (r *rewriter) kept(g group) bool {
	for s := g.s0; s < g.s1; s++ {
		if r.to[s] < 0 || r.to[s] != r.to[g.s0]+s-g.s0 {
			return false
		}
	}
	return true
}

// change adds the splice that puts lines [j0, j1) of REPLACE in place of lines [lo, hi) of the file; the dropped groups are the
// lines of SEARCH among them.
//
// It removes blank lines of the file among them: REPLACE says how the changed lines are spaced. It keeps comments unless SEARCH
// names them. If such a comment would have to go, it is unclear whether it still applies, and the block is refused.
func (r *rewriter) change(lo, hi, j0, j1 int, dropped []group) error {
	changed := len(dropped) > 0
	for j := j0; j < j1; j++ {
		changed = changed || r.from[j] < 0
	}
	if !changed {
		return nil // at most blank lines that the file does not have
	}
	if len(dropped) != j1-j0 && r.severed(lo, hi) {
		return errComment
	}
	at := lo
	for _, g := range dropped {
		if err := r.gap(at, g.f0); err != nil {
			return err
		}
		at = g.f1
	}
	if err := r.gap(at, hi); err != nil {
		return err
	}
	tails, err := r.tails(j0, j1, dropped)
	if err != nil {
		return err
	}
	text, err := r.text(lo, hi, j0, j1, dropped, tails)
	if err != nil {
		return err
	}
	r.out = append(r.out, Splice{Lo: lo, Hi: hi, Text: text})
	return nil
}

// severed reports whether lines that are added or removed in place of lines [lo, hi) would be between a comment and the blank line
// that SEARCH has there. SEARCH leaves the comment out, so it is unclear on which side of it they belong.
func (r *rewriter) severed(lo, hi int) bool {
	remark := func(i int) bool {
		return i >= 0 && i < r.d.Len() && (r.d.IsComment(i) || r.d.Lang.Comment(r.d.Line(i)))
	}
	return r.p.Headless && lo == r.p.Lo && remark(lo-1) || r.p.Tailless && hi == r.p.Hi && remark(hi)
}

// gap returns an error if there is a comment in lines [lo, hi), which no group covers.
func (r *rewriter) gap(lo, hi int) error {
	for i := lo; i < hi; i++ {
		if r.d.IsComment(i) {
			return errComment
		}
	}
	return nil
}

// tails returns the comments after code that are in the dropped lines and that SEARCH leaves out, for the lines [j0, j1) of REPLACE
// that replace them. Each new line keeps the comment of the line that it replaces, unless it has one of its own. If the lines do
// not replace one another one for one, it is unclear where the comment belongs.
func (r *rewriter) tails(j0, j1 int, dropped []group) ([]string, error) {
	var out []string
	for i, g := range dropped {
		if r.p.groups == nil || g.s1 != g.s0+1 || g.f1 != g.f0+1 {
			continue // found to the letter, or by its tokens, which include comments
		}
		tail, search := r.d.TrailingComment(g.f0), r.p.Search[g.s0]
		if tail == "" || sameLoosely(search, r.d.Line(g.f0)) || r.d.Lang.Code([]string{search})[0] != search {
			continue
		}
		if len(dropped) != j1-j0 || !r.d.Lang.Closed(r.p.Replace[j0+i]) {
			return nil, errComment
		}
		if out == nil {
			out = make([]string, j1-j0)
		}
		if s := r.p.Replace[j0+i]; r.d.Lang.Code([]string{s})[0] == s {
			out[i] = tail
		}
	}
	return out, nil
}

// text returns lines [j0, j1) of REPLACE as they appear in the file in place of its lines [lo, hi). If as many lines are added as
// removed, each takes the place of one; a line with equal indentation in the block then takes that of the file.
func (r *rewriter) text(lo, hi, j0, j1 int, dropped []group, tails []string) (string, error) {
	var b strings.Builder
	end := r.d.EndNear(lo, hi)
	for j := j0; j < j1; j++ {
		s := r.p.Replace[j]
		if !r.in.Identity && !lex.Blank(s) {
			to, ok := "", false
			if len(dropped) == j1-j0 {
				to, ok = r.inPlace(s, dropped[j-j0])
			}
			if !ok {
				to, ok = r.in.For(j, s)
			}
			if !ok {
				return "", errIndent
			}
			s = to + s[len(lex.Indent(s)):]
		}
		if tails != nil && tails[j-j0] != "" {
			s = strings.TrimRight(s, " \t") + tails[j-j0]
		}
		b.WriteString(s)
		b.WriteString(end)
	}
	return b.String(), nil
}

// inPlace returns the file's indentation of the line that g pairs, for a line that replaces it and is indented as SEARCH is.
//
// This works even if SEARCH's depths are mixed up and no rule can be learnt: the line is the same line, with other words.
func (r *rewriter) inPlace(s string, g group) (string, bool) {
	if g.s1 != g.s0+1 || g.f1 != g.f0+1 || lex.Indent(r.p.Search[g.s0]) != lex.Indent(s) || lex.Blank(r.p.Search[g.s0]) {
		return "", false
	}
	return lex.Indent(r.d.Line(g.f0)), true
}
