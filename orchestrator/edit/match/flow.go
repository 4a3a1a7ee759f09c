package match

import (
	"slices"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/indent"
	"agent/orchestrator/edit/lex"
	"agent/sandbox/workspace/lang"
)

// flows reports whether every group whose lines differ from those of SEARCH means the same in both layouts: nothing differs within
// a string or a comment, and lines are joined or broken only where a line break has no meaning in the language.
//
// Equal tokens alone do not prove it. "return" and "x" on two lines are two statements in some languages, "- a" and "- b" joined
// are one item in YAML, and a docstring with other breaks is another string.
func flows(d *document.Document, search []string, groups []group) bool {
	code := d.Lang.Code(search)
	for _, g := range groups {
		file := make([]string, 0, g.f1-g.f0)
		for i := g.f0; i < g.f1; i++ {
			file = append(file, d.Line(i))
		}
		if len(file) == 0 || g.s1-g.s0 == len(file) && slices.EqualFunc(search[g.s0:g.s1], file, sameLoosely) {
			continue
		}
		for i, s := range file {
			if !d.Outside(g.f0+i) || d.CodeLines()[g.f0+i] != s || spaceMatters(d.Lang, s) {
				return false
			}
		}
		if !slices.Equal(code[g.s0:g.s1], search[g.s0:g.s1]) || !breaksMeanNothing(d.Lang.Flow, search[g.s0:g.s1], file) {
			return false
		}
	}
	return true
}

// sameLoosely reports whether two lines differ at most in indentation, trailing space and Unicode punctuation.
func sameLoosely(a, b string) bool { return document.Loose.Key(a) == document.Loose.Key(b) }

// spaceMatters reports whether space has a meaning in the line s although it has none in the language as a whole: a directive of
// the C preprocessor, or a line of JavaScript that may hold a regular expression.
func spaceMatters(l *lex.Language, s string) bool {
	switch l {
	case lex.CLanguage:
		return strings.HasPrefix(lex.TrimSpace(s), "#") || lex.LastByte(s) == `\`
	case lex.ScriptLanguage:
		return strings.Contains(s, "/")
	}
	return false
}

// breaksMeanNothing reports whether two layouts of the same tokens have the same line breaks, except where f gives a break no
// meaning.
func breaksMeanNothing(f lang.Flow, a, b []string) bool {
	tokens, breaks := cutTokens(a)
	_, others := cutTokens(b)
	var open []byte
	for i, t := range tokens {
		switch t {
		case "(", "[", "{":
			open = append(open, t[0])
		case ")", "]", "}":
			open = open[:max(0, len(open)-1)]
		}
		if breaks[i+1] != others[i+1] && !bends(f, open) {
			return false
		}
	}
	return true
}

// bends reports whether a line may be broken within these open brackets. The innermost decides: in "f(func() {" a line end ends a
// statement again.
func bends(f lang.Flow, open []byte) bool {
	if f == lang.Free || len(open) == 0 {
		return f == lang.Free
	}
	last := open[len(open)-1]
	return f != lang.Fixed && last != '{' || f == lang.Braces
}

// cutTokens returns the tokens of lines, and the token counts after which a line ends.
func cutTokens(lines []string) (tokens []string, breaks map[int]bool) {
	breaks = map[int]bool{}
	for _, s := range lines {
		lex.EachToken(s, func(t string) { tokens = append(tokens, t) })
		breaks[len(tokens)] = true
	}
	return tokens, breaks
}

// sameSteps reports whether, in a language where depth has a meaning, the paired lines go deeper and back together from each to the
// next. "if a:", "  b", "c" is another program than "if a:", "  b", "  c".
func sameSteps(d *document.Document, search []string, groups []group) bool {
	if !d.Lang.Offside {
		return true
	}
	matched := pairs(d, search, groups)
	for i := 1; i < len(matched); i++ {
		a, b := matched[i-1], matched[i]
		if indent.Step(indent.Width(a.Search), indent.Width(b.Search)) != indent.Step(indent.Width(a.File), indent.Width(b.File)) {
			return false
		}
	}
	return true
}

// pairs returns the indentations that groups pair. It leaves out blank lines: those show nothing, since editors and models strip
// them.
func pairs(d *document.Document, search []string, groups []group) (list []indent.Pair) {
	for _, g := range groups {
		if g.f0 < g.f1 && !lex.Blank(search[g.s0]) {
			list = append(list, indent.Pair{Search: lex.Indent(search[g.s0]), File: lex.Indent(d.Line(g.f0))})
		}
	}
	return list
}
