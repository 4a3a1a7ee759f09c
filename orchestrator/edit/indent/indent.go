// Package indent determines how the lines of a replacement are indented in a file, from how the file indents the lines that a block
// matched.
//
// It only reads indentations; other packages decide which lines match and where text goes.
package indent

import (
	"slices"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
)

// A Rule says how lines of a replacement are indented in the file. SEARCH's own indentation is only the measure; the file's
// decides.
//
// There are four sources, in this order: the line that a new line replaces in place (the caller looks at that), the depth of a
// matched line that has the same indentation in SEARCH, the rule that all matched lines obey, and nothing. Nothing means that the
// block is refused: a guess would be a syntax error at best, and in Python another program at worst.
type Rule struct {
	// Both are indented alike, and there is nothing to do.
	Identity bool

	exact map[string]string // from SEARCH's indentation to the file's, for indentations with a single counterpart
	first *string           // the indentation for the first line of REPLACE if a one-line SEARCH lost its own
	shift *shift            // the rule for an indentation that exact does not hold
}

// A shift maps an indentation in SEARCH to one in the file. Either a prefix is removed or added, whatever it consists of, or a
// depth of n characters becomes n*num/den+add, which covers tabs for spaces and another level width.
//
// Some pairs and their rule:
//
//	SEARCH ""   , "    "    file "    ", "        "   put "    "
//	SEARCH "  ", "    "     file "\t"  , "\t\t"      n/2 tabs
//	SEARCH "\t" , "\t\t"    file "    ", "        "   n*4 spaces
//	SEARCH "  " , "    "    file "    ", "        "   n*2 spaces
type shift struct {
	cut, put string // the removed prefix and the added one, if num is 0
	from, to byte   // the character, ' ' or '\t'
	num, den int
	add      int
}

// A Pair holds the two indentations of a line that matched.
type Pair struct{ Search, File string }

// Learn derives the rule from the lines that matched, without blank ones. If SEARCH and the file indent alike there is nothing to
// do: the usual case, which costs one comparison per line.
func Learn(d *document.Document, pairs []Pair, replace []string) *Rule {
	in := &Rule{Identity: true, exact: map[string]string{}}
	for _, p := range pairs {
		in.Identity = in.Identity && p.Search == p.File
	}
	if in.Identity {
		return in
	}
	if absolute(d.Lang, pairs, replace) {
		in.first, in.shift = &pairs[0].File, &shift{}
		return in
	}
	if mixedUp(pairs) {
		in.exact = nil // only lines in place have a known indentation
		return in
	}
	for _, p := range pairs {
		in.exact[p.Search] = p.File
	}
	in.shift = fit(d, pairs, replace)
	return in
}

// mixedUp reports whether SEARCH's depths contradict the file's: one depth for different depths of the file, different depths for
// one, or the opposite order. Then a depth in REPLACE corresponds to none in the file.
func mixedUp(pairs []Pair) bool {
	to := map[string]string{}
	for _, p := range pairs {
		if file, ok := to[p.Search]; ok && file != p.File {
			return true
		}
		to[p.Search] = p.File
	}
	for a, fa := range to {
		for b, fb := range to {
			if a != b && (fa == fb || Step(Width(a), Width(b))*Step(Width(fa), Width(fb)) < 0) {
				return true
			}
		}
	}
	return false
}

// Swallowed reports whether only the first line lost its indentation, because the body begins right after its tag or was trimmed as
// one text.
//
// The body of <SEARCH>x = 1\n y = 2</SEARCH> is such a case: the author wrote the first line right after the tag and all others as
// they are.
func Swallowed(pairs []Pair) bool {
	if pairs[0].Search != "" || pairs[0].File == "" {
		return false
	}
	for _, p := range pairs[1:] {
		if p.Search != p.File {
			return false
		}
	}
	return true
}

// absolute reports whether a one-line SEARCH lost its indentation but the further lines of REPLACE have theirs: they are at least
// as deep as the file's line, which no line relative to the first could be.
//
// For "total = 0" in SEARCH, the file's " total = 0", and in REPLACE
//
//	total = 1
//	    limit = 9
//
// there are two readings: limit is a sibling of total and already has its final indentation, or it is nested below total. In Python
// only a line that opens a block can have deeper lines after it, which decides between them. After an opening line, a line deeper
// than the file's own depth can only be meant as it is. In other languages continuation lines are deeper too, so nothing is known,
// and the relative reading applies as for all other blocks.
func absolute(lang *lex.Language, pairs []Pair, replace []string) bool {
	if len(pairs) != 1 || pairs[0].Search != "" || len(replace) < 2 || lex.Indent(replace[0]) != "" || lex.Blank(replace[0]) {
		return false
	}
	base, next := pairs[0].File, ""
	for _, s := range replace[1:] {
		if lex.Blank(s) {
			continue
		}
		if !strings.HasPrefix(lex.Indent(s), base) {
			return false
		}
		if next == "" {
			next = lex.Indent(s)
		}
	}
	if next == "" {
		return false
	}
	opens := strings.HasSuffix(lex.TrimSpace(replace[0]), ":") || strings.ContainsAny(lex.LastByte(replace[0]), "{([,\\=")
	if opens {
		return len(next) > len(base)
	}
	return lang == lex.PythonLanguage || lang == lex.YAMLLanguage // in these languages no line is deeper than one that opens nothing
}

// For returns the indentation in the file of line j of REPLACE, s; ok is false if nothing determines it.
func (in *Rule) For(j int, s string) (indent string, ok bool) {
	x := lex.Indent(s)
	if j == 0 && in.first != nil && x == "" {
		return *in.first, true
	}
	if to, ok := in.exact[x]; ok {
		return to, true
	}
	if in.shift == nil {
		return "", false
	}
	return in.shift.apply(x)
}

// apply maps one indentation. Anything after the run of the expected character, such as one space before a "*", stays.
func (t *shift) apply(x string) (string, bool) {
	if t.num == 0 {
		rest, ok := strings.CutPrefix(x, t.cut)
		return t.put + rest, ok
	}
	rest := strings.TrimLeft(x, string(t.from))
	n := (len(x)-len(rest))*t.num + t.add*t.den
	if n < 0 || strings.ContainsRune(rest, '\t') {
		return "", false
	}
	out := strings.Repeat(string(t.to), n/t.den)
	if over := n % t.den; over > 0 {
		if t.to != '\t' {
			return "", false
		}
		out += strings.Repeat(" ", over) // spaces beyond the last full tab
	}
	return out + rest, true
}

// prefixShift returns the prefix that all pairs gain or lose, or nil. If the replacement is indented by another character than the
// file, the prefix is not a rule for deeper lines.
//
// It is the simplest and most frequent rule: a block that was dedented to the margin, or pasted a level deeper.
func prefixShift(d *document.Document, pairs []Pair, replace []string) *shift {
	t := &shift{}
	p := pairs[0]
	if rest, ok := strings.CutSuffix(p.File, p.Search); ok {
		t.put = rest
	} else if rest, ok := strings.CutSuffix(p.Search, p.File); ok {
		t.cut = rest
	} else {
		return nil
	}
	for _, p := range pairs {
		if got, ok := t.apply(p.Search); !ok || got != p.File {
			return nil
		}
	}
	own, foreign := " ", "\t"
	if d.IndentChar() == '\t' {
		own, foreign = foreign, own
	}
	known := ""
	for _, s := range replace {
		got, ok := t.apply(lex.Indent(s))
		if !ok || got == known || lex.Blank(s) || !strings.Contains(got, foreign) || strings.HasSuffix(got, "\t ") {
			continue
		}
		if d.Work.Spent() || !strings.Contains(d.Plain(), "\n"+own) {
			return t // nothing is foreign to a file without indentation
		}
		if !d.Indented(got) {
			return nil
		}
		known = got
	}
	return t
}

// fit returns the shift that all pairs obey, or nil.
//
// Two different depths give the ratio and the offset; every further pair must then agree. With one depth only, the ratio comes from
// the characters: equal ones keep their count, and a tab takes as many spaces as stood for it.
func fit(d *document.Document, pairs []Pair, replace []string) *shift {
	if t := prefixShift(d, pairs, replace); t != nil {
		return t
	}
	t := shift{from: charOf(pairs, func(p Pair) string { return p.Search }), to: charOf(pairs, func(p Pair) string { return p.File })}
	if t.from == 0 {
		t.from = charOfLines(replace)
	}
	if t.to == 0 {
		t.to = d.IndentChar()
	}
	pure := pairs[:0:0]
	for _, p := range pairs {
		if lex.Only(p.Search, t.from) && lex.Only(p.File, t.to) {
			pure = append(pure, p)
		}
	}
	if len(pure) == 0 || !t.slope(pure, replace) {
		return nil
	}
	t.add = len(pure[0].File) - len(pure[0].Search)*t.num/t.den
	for _, p := range pairs {
		if got, ok := t.apply(p.Search); !ok || got != p.File {
			return nil
		}
	}
	if t.from == t.to && t.num != t.den && !t.levelled(d, pairs, replace) {
		return nil
	}
	return &t
}

// levelled reports whether the rule turns a level of the block into a level of the file. Two depths that differ by accident, such
// as one line that is too deep, fit a rule too, but that rule turns one level into two levels or half a level.
func (t *shift) levelled(d *document.Document, pairs []Pair, replace []string) bool {
	block := slices.Clone(replace)
	for _, p := range pairs {
		block = append(block, p.Search+"x")
	}
	n := document.LevelOf(block, t.from) * t.num
	return n%t.den == 0 && slices.Contains(d.Levels(t.to), n/t.den)
}

// slope sets num and den: from two different depths if there are any, else to 1 for equal characters, else from the one depth or
// the step of the replacement.
//
// It refuses ratios beyond 8: no style has levels that wide, so the pairs are mixed up and do not follow another style.
func (t *shift) slope(pure []Pair, replace []string) bool {
	a, b := pure[0], pure[0]
	for _, p := range pure {
		if len(p.Search) != len(a.Search) {
			b = p
			break
		}
	}
	ds, df := len(b.Search)-len(a.Search), len(b.File)-len(a.File)
	switch {
	case ds != 0:
	case t.from == t.to:
		ds, df = 1, 1
	case len(a.Search) > 0 && len(a.File) > 0:
		ds, df = len(a.Search), len(a.File)
	case t.from == ' ':
		ds, df = document.LevelOf(replace, ' '), 1
	default:
		return false // nothing shows how wide a tab is
	}
	if ds < 0 {
		ds, df = -ds, -df
	}
	if ds == 0 || df <= 0 {
		return false
	}
	g := document.GCD(ds, df)
	t.num, t.den = df/g, ds/g
	// A ratio that no pair of styles has means that SEARCH is mixed up.
	return t.num == 1 && t.den <= 8 || t.den == 1 && t.num <= 8
}

// charOf returns the first indentation character of the pairs, or 0 if there is none.
func charOf(pairs []Pair, side func(Pair) string) byte {
	for _, p := range pairs {
		if s := side(p); s != "" {
			return s[0]
		}
	}
	return 0
}

// charOfLines returns the first indentation character of lines, or ' ' if there is none.
func charOfLines(lines []string) byte {
	for _, s := range lines {
		if x := lex.Indent(s); x != "" && !lex.Blank(s) {
			return x[0]
		}
	}
	return ' '
}

// Step returns -1, 0 or 1: shallower, equal or deeper.
func Step(from, to int) int { return max(-1, min(1, to-from)) }

// Width returns the depth of an indentation; a tab counts as eight, as in Python.
func Width(indent string) int { return len(indent) + 7*strings.Count(indent, "\t") }
