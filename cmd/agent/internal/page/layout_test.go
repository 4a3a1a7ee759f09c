package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"agent/cmd/agent/internal/term"
)

// page lays blocks out for this many columns, without colours.
func page(width int, blocks ...Block) string {
	var b strings.Builder
	Text(&b, blocks, width, term.Palette{})
	return b.String()
}

// manual returns the part of a manual page after its name.
func manual(blocks ...Block) string {
	var b strings.Builder
	Roff(&b, Manual{"x", 1, "2026-01-02", "y"}, blocks)
	_, body, _ := strings.Cut(b.String(), "x \\- y\n")
	return body
}

func TestMarkdownIsReadIntoBlocks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]Block{
		"":                    nil,
		"\n \n\t\n":           nil,
		"<!-- a -->\nb":       {{Kind: Paragraph, Text: "b"}},
		"# A\n#### B `c`\n":   {{Kind: Heading, Level: 1, Text: "A"}, {Kind: Heading, Level: 4, Text: "B `c`"}},
		"##### a\n#b\n":       {{Kind: Paragraph, Text: "##### a #b"}},
		"a\n  b  \n\nc":       {{Kind: Paragraph, Text: "a b"}, {Kind: Paragraph, Text: "c"}},
		"a\n## B\nc":          {{Kind: Paragraph, Text: "a"}, {Kind: Heading, Level: 2, Text: "B"}, {Kind: Paragraph, Text: "c"}},
		"a:\n- b\n  c\n* d":   {{Kind: Paragraph, Text: "a:"}, {Kind: Item, Mark: "-", Text: "b c"}, {Kind: Item, Mark: "*", Text: "d"}},
		"- a\n    - b\n10. c": {{Kind: Item, Mark: "-", Text: "a"}, {Kind: Item, Level: 2, Mark: "-", Text: "b"}, {Kind: Item, Mark: "10.", Text: "c"}},
		"-a\n1.b\n-\n":        {{Kind: Paragraph, Text: "-a 1.b -"}},
		"```sh\n# a\n\n  b\n```\nc\n": {
			{Kind: Verbatim, Text: "# a\n\n  b"}, {Kind: Paragraph, Text: "c"},
		},
		"a\n```\nb":             {{Kind: Paragraph, Text: "a"}, {Kind: Verbatim, Text: "b"}},
		"```":                   {{Kind: Verbatim}},
		"```\n```\n```":         {{Kind: Verbatim}, {Kind: Verbatim}},
		"    - a\n\n    b\n\nc": {{Kind: Verbatim, Text: "- a\n\nb"}, {Kind: Paragraph, Text: "c"}},
		"| a | b |\n| :-- | --: |\n| c\\|d | |\n": {{Kind: Table, Rows: [][]string{{"a", "b"}, {"c|d", ""}}}},
		"|---|\n|---|\n": {{Kind: Table, Rows: [][]string{{"---"}}}},
		"a | b\n|c\n":    {{Kind: Paragraph, Text: "a | b |c"}},
		"é — 日本\r\n":     {{Kind: Paragraph, Text: "é — 日本"}},
	} {
		if diff := cmp.Diff(want, Markdown(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestMarkupBecomesStyles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "[]",
		"a `b **c**` d":                  "[{a  false false} {b **c** false true} { d false false}]",
		"**a**b":                         "[{a true false} {b false false}]",
		"`a":                             "[{`a false false}]",
		"** a ``[]()":                    "[{** a ``[]() false false}]",
		"[a](b.md)":                      "[{agent help b false true}]",
		"[a](b.md#c)":                    "[{agent help b false true}]",
		"[a](../b.md)":                   "[{a false false}]",
		"[a `b`](#c)":                    "[{a  false false} {b false true}]",
		"[a](LICENSE)":                   "[{a false false}]",
		"[a](https://h/x.md)":            "[{a false false} { <https://h/x.md> false false}]",
		"[a](b c)":                       "[{[a](b c) false false}]",
		"[[a](b.md)":                     "[{agent help b false true}]",
		strings.Repeat("[a](", 3) + "b)": "[{a false false}]",
	} {
		if got := fmt.Sprint(spans(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestTermsStandInAColumnWhereTheyFit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("l", termColumn+1)
	blocks := []Block{{Kind: Entry, Term: "-a", Text: "one two"}, {Kind: Entry, Term: "--日本", Text: "three"}, {Kind: Entry, Term: long, Text: "four"}, {Kind: Entry, Term: "-e"}}
	want := "   -a      one two\n   --日本  three\n   " + long + "\n           four\n   -e      \n"
	if got := page(80, blocks...); got != want {
		t.Errorf("wide:\n%s\nwant\n%s", got, want)
	}
	want = "   -a\n       one two\n   --日本\n       three\n   " + long + "\n       four\n   -e\n       \n"
	if got := page(narrowest+10, blocks...); got != want {
		t.Errorf("narrow:\n%s\nwant\n%s", got, want)
	}
}

func TestExamplesStandBesideWhatTheyDoWhereAllFit(t *testing.T) {
	t.Parallel()
	blocks := []Block{{Kind: Example, Term: "agent run", Text: "it runs"}, {Kind: Example, Term: "agent"}, {Kind: Paragraph, Text: "end"}, {Kind: Example, Term: "`a`", Text: "**b**"}}
	if got, want := page(25, blocks...), "     agent run  # it runs\n     agent\n\n   end\n\n     `a`  # **b**\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := page(24, blocks...), "     # it runs\n     agent run\n     agent\n\n   end\n\n     `a`  # **b**\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestATableThatDoesNotFitBecomesAList(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"key", "", "meaning"}, {"`a`", "x", "what it is"}, {"b", "", ""}, {"c", "1", "2", "more"}, {"d"}}
	want := "   key        meaning\n   `a`  x     what it is\n   b\n   c    1     2           more\n   d\n"
	got := page(80, Block{Kind: Table, Rows: rows})
	if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") || strings.Contains(got, "*") {
		t.Errorf("got\n%s", got)
	}
	rows[1][2] = strings.Repeat("w", 40)
	want = "   `a`\n       x\n       meaning:\n         " + rows[1][2] + "\n   b\n   c\n       1\n       meaning: 2\n       more\n   d\n"
	if got := page(30, Block{Kind: Table, Rows: rows}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// The head of two columns adds nothing to the page.
	if got := page(30, Block{Kind: Table, Rows: [][]string{{"", ""}, {"a", rows[1][2]}}}); got != "   a\n       "+rows[1][2]+"\n" {
		t.Errorf("got\n%s", got)
	}
	if got := page(80, Block{Kind: Table, Rows: [][]string{{"", ""}, {"a", "b"}}}); got != "   a  b\n" {
		t.Errorf("without a head:\n%s", got)
	}
}

// A terminal may report any number of columns, even none.
func TestAPageOfFewColumnsHasThoseThatATextNeeds(t *testing.T) {
	t.Parallel()
	blocks := append(Markdown(sample), Block{Kind: Entry, Term: "--long", Text: "`code` and **bold**"}, Block{Kind: Example, Term: "a", Text: "b"})
	for _, width := range []int{-1, 0, 23, 40, 200} {
		var b strings.Builder
		Text(&b, blocks, width, term.Palette{})
		for line := range strings.Lines(b.String()) {
			if n := ansi.StringWidth(strings.TrimRight(line, "\n")); n > max(width, narrowest+margin) {
				t.Errorf("%d columns: a line of %d: %q", width, n, line)
			}
		}
	}
}

func TestAManualPageHoldsEveryBlock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		block Block
		want  string
	}{
		{Block{Kind: Heading, Level: 3, Text: "What's `a\\b` of **it**: [x](gates.md)"}, ".SS WHAT\\(aqS A\\eB OF IT: AGENT HELP GATES\n"},
		{Block{Kind: Heading, Level: 1, Text: "é"}, ".SH É\n"},
		{Block{Kind: Item, Mark: "2.", Text: "'a"}, ".IP 2. 4\n\\(aqa\n"},
		{Block{Kind: Entry, Term: "`-x`"}, ".TP\n\\fB\\-x\\fP\n\\&\n"},
		{Block{Kind: Verbatim, Text: ".a\n"}, ".PP\n.RS 4\n.nf\n\\&.a\n\\&\n.fi\n.RE\n"},
		{Block{Kind: Example, Term: "a ~/x", Text: "b^c"}, ".PP\n.RS 4\n.nf\n# b\\(hac\na \\(ti/x\n.fi\n.RE\n"},
		{Block{Kind: Table, Rows: [][]string{{"k", "v"}, {"`a`", "b"}}}, ".TP\n\\fBa\\fP\nb\n"},
		{Block{Kind: Table, Rows: [][]string{{"k", "", "w"}, {"a", "b", "c"}, {"d", "", ""}, {"e", "1", "2", "3"}, {"f"}}}, ".TP\n\\fBa\\fP\nb; w: c\n.TP\n\\fBd\\fP\n\\&\n.TP\n\\fBe\\fP\n1; w: 2; 3\n.TP\n\\fBf\\fP\n\\&\n"},
		{Block{Kind: Table, Rows: [][]string{{"k", "v"}}}, ""},
	} {
		if got, want := manual(Block{Kind: Paragraph, Text: "p"}, c.block), ".PP\np\n"+c.want; strings.TrimPrefix(got, ".PP\n") != strings.TrimPrefix(want, ".PP\n") {
			t.Errorf("%+v:\n%s\nwant\n%s", c.block, got, want)
		}
	}
	got := manual(Block{Kind: Heading, Level: 2, Text: "A"}, Block{Kind: Example, Term: "a"}, Block{Kind: Example, Term: "b", Text: "c"}, Block{Kind: Paragraph, Text: "d"})
	if want := ".SH A\n.RS 4\n.nf\na\n# c\nb\n.fi\n.RE\n.PP\nd\n"; got != want {
		t.Errorf("examples:\n%s\nwant\n%s", got, want)
	}
}
