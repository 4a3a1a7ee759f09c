package match

import (
	"slices"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/indent"
	"agent/orchestrator/edit/lex"
)

// restoreFirst handles a place whose SEARCH lost only the indentation of its first line. It returns bodies that are indented alike,
// by one of two readings of REPLACE:
//
//	file            SEARCH        REPLACE, as it stands   REPLACE, dedented
//	    if a:       if a:         if b:                   if b:
//	        run()           run()         run()               run()
//
// As it stands, REPLACE lost the indentation of its first line too, and the other lines are those of the file. Dedented, all its
// lines are relative to the first. The readings differ only in how the first line relates to the others, so that relation decides.
// If both readings are possible, or neither is, the block is refused: in Python the wrong one is another program.
func restoreFirst(d *document.Document, p Place, groups []group) (Place, error) {
	at, base, ok := lostFirst(d, p.Search, groups)
	if !ok {
		return p, nil
	}
	first := nextLine(d.Lang, p.Replace, 0)
	l := lostLine{d: d, base: base, head: p.Search[at], old: p.Search[at+1:], first: first, replace: p.Replace}
	l.next = nextLine(d.Lang, p.Replace, min(first+1, len(p.Replace)))
	relative, err := l.relative()
	if err != nil {
		return p, err
	}
	search := slices.Clone(p.Search)
	if relative {
		for i := at + 1; i < len(search); i++ {
			search[i] = strings.TrimPrefix(search[i], base)
		}
		p.Search = search
		return p, nil
	}
	search[at] = base + search[at]
	p.Search = search
	p.Replace = slices.Clone(p.Replace)
	for j := range min(first+1, len(p.Replace)) { // comments before the first line have its indentation
		if s := p.Replace[j]; !lex.Blank(s) && lex.Indent(s) == "" {
			p.Replace[j] = base + s
		}
	}
	return p, nil
}

// lostFirst returns the line of SEARCH that lost its indentation and the indentation that it has in the file; ok is false unless
// all other lines have theirs.
func lostFirst(d *document.Document, search []string, groups []group) (at int, base string, ok bool) {
	at, _ = lex.Outer(search)
	i := slices.IndexFunc(groups, func(g group) bool { return g.s0 == at && g.f0 < g.f1 })
	if i < 0 || lex.Indent(search[at]) != "" || lex.Indent(d.Line(groups[i].f0)) == "" {
		return 0, "", false // the usual case, decided without looking at the other lines
	}
	matched := pairs(d, search, groups)
	return at, lex.Indent(d.Line(groups[i].f0)), len(matched) > 1 && indent.Swallowed(matched)
}

// nextLine returns the first line from i on that is neither blank nor a comment. If there is none it returns the first comment, or
// len(lines) if there is none either.
func nextLine(l *lex.Language, lines []string, i int) int {
	remark := len(lines)
	for ; i < len(lines); i++ {
		switch {
		case lex.Blank(lines[i]):
		case !l.Comment(lines[i]):
			return i
		default:
			remark = min(remark, i)
		}
	}
	return remark
}

// A lostLine is a block whose SEARCH lost the indentation base of its first line.
type lostLine struct {
	d           *document.Document
	base        string
	head        string   // that line
	old         []string // the lines of SEARCH after it
	replace     []string
	first, next int // the first line of REPLACE that is code, and the one after it
}

// relative reports whether REPLACE is dedented as a whole.
func (l *lostLine) relative() (bool, error) {
	if l.first == len(l.replace) {
		return false, nil
	}
	if x := lex.Indent(l.replace[l.first]); x != "" { // it was written with the indentation of the file
		if indent.Width(x) < min(indent.Width(l.base), l.shallowest()) {
			return false, errIndent
		}
		return false, nil
	}
	if l.next == len(l.replace) {
		return false, nil // one line: both readings agree
	}
	stands := l.follows(indent.Width(l.base))
	dedented := l.follows(0) && l.within()
	same, moved, other := l.repeated()
	out, plain := l.leaves()
	switch {
	case !stands && !dedented:
		if same && !moved {
			return false, nil
		}
		return false, errIndent
	case stands && !dedented:
		if out && (plain || moved || other) {
			return false, errIndent
		}
		return false, nil
	case dedented && !stands:
		if same && !moved && (lex.TrimSpace(l.replace[l.first]) == l.head || lex.Blank(l.replace[l.first+1])) {
			return false, errIndent // the lines below are unchanged, and no new line opens a block around them
		}
		return true, nil
	}
	as, rel := l.steps()
	if s := strings.TrimSpace(l.replace[l.first]); brackets(s) > 0 && brackets(s) < len(s) { // lines are aligned with the text after the bracket
		n := len(lex.Indent(l.replace[l.next]))
		if stands, dedented := n == len(l.base)+brackets(s), n == brackets(s); stands || dedented {
			as, rel = stands, dedented
		}
	}
	as, rel = as || same, rel || moved || out
	if as && rel {
		return false, errIndent
	}
	return rel, nil
}

// follows reports whether the second line of code can follow the first one if that has depth from.
//
// A line that opens a block or a bracket has deeper lines after it, except for the line that closes it. A line that ends a
// statement has not. The sign of an end differs among languages; if there is none, every line can follow.
func (l *lostLine) follows(from int) bool {
	code := l.d.Lang.Code([]string{l.replace[l.first]})[0]
	next := l.replace[l.next]
	n, last := indent.Width(lex.Indent(next)), lex.LastByte(code)
	if last == "" {
		return true
	}
	closes := n == from && strings.IndexByte(")]}", lex.TrimSpace(next)[0]) >= 0
	python := l.d.Lang == lex.PythonLanguage
	switch {
	case l.d.Lang == lex.YAMLLanguage:
		item := strings.HasPrefix(lex.TrimSpace(next), "- ")
		return last != ":" || n > from || n == from && item
	case l.d.Lang.Fenced():
		return true // prose: depth follows no recognizable rule
	case strings.Contains("([{", last) || python && last == ":" || brackets(code) > 0:
		return n > from || closes
	case python:
		return n <= from || strings.Contains(`,\=`, last)
	case last == ";" || last == "}":
		return n <= from
	}
	return true
}

// brackets returns the column after the last bracket that a line opens and does not close, or 0 if there is none. Brackets in
// strings mostly come in pairs.
func brackets(s string) int {
	var open []int
	for i := range len(s) {
		switch s[i] {
		case '(', '[', '{':
			open = append(open, i+1)
		case ')', ']', '}':
			open = open[:max(0, len(open)-1)]
		}
	}
	if len(open) == 0 {
		return 0
	}
	return open[len(open)-1]
}

// shallowest returns the smallest depth of the lines of SEARCH after the first.
func (l *lostLine) shallowest() int {
	least := -1
	for _, s := range l.old {
		if n := indent.Width(lex.Indent(s)); !lex.Blank(s) && (least < 0 || n < least) {
			least = n
		}
	}
	return max(least, 0)
}

// within reports whether all lines of SEARCH are at least as deep as its first: a block that leaves that depth cannot be dedented
// by it.
func (l *lostLine) within() bool {
	return !slices.ContainsFunc(l.old, func(s string) bool { return !lex.Blank(s) && !strings.HasPrefix(s, l.base) })
}

// repeated compares the depth of the lines that occur exactly once in both bodies, ignoring space. It reports whether some have the
// same depth in REPLACE as in SEARCH, some are less deep by the base, and some have another depth.
func (l *lostLine) repeated() (same, moved, other bool) {
	const twice = "twice"
	depth := map[string]string{}
	for _, s := range l.old {
		key, x := lex.TrimSpace(s), lex.Indent(s)
		if _, known := depth[key]; known {
			x = twice
		}
		depth[key] = x
	}
	seen := map[string]bool{}
	for _, s := range l.replace[l.first+1:] {
		key := lex.TrimSpace(s)
		x, known := depth[key]
		if key == "" || !known || x == twice || seen[key] {
			continue
		}
		seen[key] = true
		switch x {
		case lex.Indent(s):
			same = true
		case l.base + lex.Indent(s):
			moved = true
		default:
			other = true
		}
	}
	return same, moved, other
}

// leaves reports whether REPLACE, as it stands, has lines outside the depth of SEARCH. plain reports whether some of them is
// clearly not the end of it: the line closes nothing, and no blank line precedes it.
func (l *lostLine) leaves() (out, plain bool) {
	least := min(indent.Width(l.base), l.shallowest())
	outside := false
	for j := l.first + 1; j < len(l.replace); j++ {
		s := l.replace[j]
		if lex.Blank(s) || indent.Width(lex.Indent(s)) >= least {
			outside = outside && lex.Blank(s)
			continue
		}
		out = true
		ends := strings.IndexByte(")]}", lex.TrimSpace(s)[0]) >= 0 || lex.Blank(l.replace[j-1])
		plain = plain || !ends && !outside
		outside = true
	}
	return out, plain
}

// steps reports which of the readings makes the second line one level of the file deeper than the first, if exactly one does.
func (l *lostLine) steps() (stands, dedented bool) {
	x := lex.Indent(l.replace[l.next])
	by := len(x) - len(l.base)
	if x == "" || by <= 0 || !lex.Only(x, x[0]) || !lex.Only(l.base, x[0]) {
		return false, false
	}
	levels := l.d.Levels(x[0])
	stands, dedented = slices.Contains(levels, by), slices.Contains(levels, len(x))
	return stands && !dedented, dedented && !stands
}
