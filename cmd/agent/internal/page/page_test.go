package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"agent/cmd/agent/internal/term"
)

const sample = "# Title: of it\n\nA paragraph with `code in it`, **bold** words and a [link](gates.md) that is wrapped.\n\n" +
	"- an item that is long enough for two lines\n  and goes on;\n1. one more\n\n    verbatim  text\n\n" +
	"| a | b |\n|---|---|\n| `x\\|y` | what it means, at some length |\n\n<!-- left out -->\n"

func shown(width int) string {
	var b strings.Builder
	Text(&b, Markdown(sample), width, term.Palette{})
	return b.String()
}

func TestPagesFitTheirWidth(t *testing.T) {
	t.Parallel()
	for _, width := range []int{30, 40, 60, 80, 120} {
		for line := range strings.Lines(shown(width)) {
			if n := ansi.StringWidth(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns: a line of %d: %q", width, n, line)
			}
		}
	}
}

func TestNothingOfAPageIsLost(t *testing.T) {
	t.Parallel()
	for _, width := range []int{30, 80} {
		words := strings.Join(strings.Fields(shown(width)), " ")
		for _, want := range []string{"`code in it`", " bold ", "`agent help gates`", "- an item", "1. one more", "verbatim text", "`x|y`"} {
			if !strings.Contains(words, want) {
				t.Errorf("%d columns: there is no %q in\n%s", width, want, shown(width))
			}
		}
		if strings.Contains(words, "left out") {
			t.Errorf("%d columns: a comment is shown", width)
		}
	}
}

func TestManualPagesKeepTextFromBeingMacros(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	Roff(&b, Manual{"agent-x", 7, "2026-01-02", "about it"}, []Block{
		{Kind: Heading, Level: 2, Text: "Head"},
		{Kind: Paragraph, Text: ".agent is a directory"},
		{Kind: Verbatim, Text: "a\\b\n'quoted\n\n--flag"},
		{Kind: Entry, Term: "-x", Text: "what `x` does"},
		{Kind: Item, Mark: "-", Text: "an item"},
	})
	for _, want := range []string{".TH AGENT-X 7 \"2026-01-02\" agent agent\n", "\n\\&.agent is", "\na\\eb\n", "\n\\(aqquoted\n\\&\n", "\\-\\-flag", ".TP\n\\fB\\-x\\fP\nwhat \\fBx\\fP does", ".IP \\(bu 4\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %s in\n%s", fmt.Sprintf("%q", want), &b)
		}
	}
}
