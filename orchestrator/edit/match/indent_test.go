package match

import (
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/indent"
	"agent/orchestrator/edit/lex"
)

// indents shows where each line of a replacement lands. search and file are the matched lines; lines are separated by "|", and a tab is
// ">".
func indents(file, search, replace string) string {
	lines := func(s string) []string { return strings.Split(strings.ReplaceAll(s, ">", "\t"), "|") }
	f, s, r := lines(file), lines(search), lines(replace)
	d := document.New("a.py", []byte(strings.Join(f, "\n")+"\n"))
	groups := make([]group, len(s))
	for i := range groups {
		groups[i] = group{i, i + 1, i, i + 1}
	}
	p, err := restoreFirst(d, Place{Hi: len(s), Search: s, Replace: r}, groups)
	if err != nil {
		return "refused"
	}
	s, r = p.Search, p.Replace
	in := indent.Learn(d, pairs(d, s, groups), r)
	if in.Identity && lex.SameLines(s, lines(search)) {
		return "identity"
	}
	var out []string
	for j, l := range r {
		to, ok := lex.Indent(l), true
		if !in.Identity {
			to, ok = in.For(j, l)
		}
		if !ok {
			return "refused at " + lex.TrimSpace(l)
		}
		out = append(out, to+lex.TrimSpace(l))
	}
	return strings.ReplaceAll(strings.Join(out, "|"), "\t", ">")
}

func TestIndentationFollowsTheMatchedLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, search, replace, want string }{
		{"equal", "  a|    b", "  a|    b", "  a|  c", "identity"},
		{"blank lines teach nothing", "  a||  b", "  a|      |  b", "  a", "identity"},
		{"dedented", "    a|        b", "a|    b", "a|    b|        c|d", "    a|        b|            c|    d"},
		{"over-indented", "a|    b", "    a|        b", "    a|        b|            c", "a|    b|        c"},
		{"over-indented, a line at the margin", "a|    b", "    a|        b", "    a|c", "refused at c"},
		{"tabs for spaces", "  a|    b", ">a|>>b", ">a|>>>c", "  a|      c"},
		{"tabs for spaces of four", "    a|        b", ">a|>>b", ">a|>>>c|d", "    a|            c|d"},
		{"spaces for tabs", ">a|>>b", "    a|        b", "    a|            c", ">a|>>>c"},
		{"spaces for tabs, aligned", ">a|>>b", "    a|        b", "          c", ">>  c"},
		{"one depth, spaces for tabs", ">>a", "        a", "        a|            c", ">>a|>>>c"},
		{"one depth at the margin, tabs in the file", ">a|>b", "a|b", "a|    c|        d", ">a|>>c|>>>d"},
		{"two for four", "    a|        b", "  a|    b", "  a|    b|      c", "    a|        b|            c"},
		{"four for two", "  a|    b", "    a|        b", "    a|            c", "  a|      c"},
		{"four for two, half a level", "  a|    b", "    a|        b", "    a|     c", "refused at c"},
		{"a prefix before tabs", "a|>b", "  a|  >b", "  a|  >>c", "a|>>c"},
		{"a comment's one space", ">/*|> * a|> */", "    /*|     * a|     */", "     * b|    c", "> * b|>c"},
		{"first line swallowed", "    a:|        b", "a:|        b", "a:|        c|    d", "    a:|        c|    d"},
		{"one line, nested below", "    a", "a", "if a:|    b", "    if a:|        b"},
		{"one line, siblings", "    a", "a", "a|b", "    a|    b"},
		{"one line, as it stands", "    a", "a", "a|    b", "    a|    b"},
		{"one line that opens, as it stands", "    a", "a", "if a:|        b|    c", "    if a:|        b|    c"},
		{"depths mixed up", "a|    b|  c", "a|a|a", "a|b", "refused at a"},
		{"depths mixed up but known", "a|    b|      c", "a|  b|    c", "a|  x|    y", "a|    x|      y"},
		{"a ratio that no style has", "a|                    b", "a| b", "a|  c", "refused at c"},
	} {
		if got := indents(c.file, c.search, c.replace); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
