package analyze

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/orchestrator/ledger"
	"agent/orchestrator/survey"
)

// A person gets text, a program JSON or Markdown.
func TestATerminalIsGivenText(t *testing.T) {
	t.Parallel()
	found := survey.Survey{Ledger: ledger.New([]ledger.File{{
		Path: "shop/st\x1b[2Jock.py", Language: "python", Lines: 3, Summary: "What is on the shelf.",
		Definitions: []ledger.Definition{{Name: "Stock", Kind: ledger.Class, Line: 1}},
		Imports:     []ledger.Import{{Module: strings.Repeat("very.long.", 20), Line: 1}},
	}})}
	p := cmdlinetest.NewPerson(t, map[string]string{"PAGER": "cat"})
	c := command{p.Line}
	if err := c.printAnalysis(t.Context(), t.TempDir(), found, false, false); err != nil {
		t.Fatal(err)
	}
	p.Sees(t, "imports", 1)
	p.Sees(t, "…", 1)
	shown := ansi.Strip(p.Screen())
	for _, want := range []string{"1 file with 1 definition", "shop/st␛[2Jock.py", "  What is on the shelf.", "  classes    Stock"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "<details>") || strings.Contains(shown, "#") {
		t.Errorf("it is Markdown:\n%s", shown)
	}
	for _, line := range strings.Split(shown, "\n") {
		if ansi.StringWidth(strings.TrimRight(line, "\r")) > 80 {
			t.Errorf("%q is wider than the terminal", line)
		}
	}
	for asJSON, want := range map[bool]string{false: "# Analysis\n", true: `{"project":`} {
		line := cmdlinetest.Unattended("")
		var out bytes.Buffer
		line.Stdout = &out
		if err := (command{line}).printAnalysis(t.Context(), t.TempDir(), found, false, asJSON); err != nil || !strings.HasPrefix(out.String(), want) {
			t.Errorf("--json %v, into a pipe: %v, %.40q", asJSON, err, out.String())
		}
	}
}
