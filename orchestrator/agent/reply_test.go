package agent_test

import (
	"strings"
	"testing"

	"agent/orchestrator/agent"
)

func TestNothingIsAWordOnALineOfItsOwn(t *testing.T) {
	for text, want := range map[string]bool{
		"<THOUGHT>fine</THOUGHT>\nNOTHING\n": true,
		"**NOTHING**":                        true,
		"NOTHING.":                           true,
		"There is NOTHING to do.":            false,
		"nothing":                            false,
		"":                                   false,
		"NOTHING\n<EDIT><search>\na\n</search><replace>\nb\n</replace></EDIT>": false,
	} {
		if got := (agent.Reply{Text: text}).Nothing(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestAProposalHasBothParts(t *testing.T) {
	why, code, ok := agent.Reply{Text: "<Thought>\nBecause.\n</thought>\ntalk\n<SNIPPET>\n  x = 1\ny\n</SNIPPET>"}.Proposal()
	if !ok || why != "Because." || code != "x = 1\ny" {
		t.Errorf("%q, %q, %v", why, code, ok)
	}
	for _, text := range []string{"", "<THOUGHT>a</THOUGHT>", "<SNIPPET>x</SNIPPET>", "<THOUGHT></THOUGHT><SNIPPET>x</SNIPPET>", "<THOUGHT>a</THOUGHT><SNIPPET>x"} {
		if _, _, ok := (agent.Reply{Text: text}).Proposal(); ok {
			t.Errorf("%q is taken for a proposal", text)
		}
	}
}

func TestAChoiceIsOneFileOfTheList(t *testing.T) {
	files := []string{"a.py", "shop/stock.py"}
	for text, want := range map[string]string{
		"shop/stock.py":                   "shop/stock.py",
		"I choose:\n- `shop/stock.py`\n":  "shop/stock.py",
		"./a.py\na.py":                    "a.py",
		"a.py\nshop/stock.py":             "",
		"/etc/passwd":                     "",
		"../a.py":                         "",
		"the file a.py looks worst to me": "",
		"":                                "",
	} {
		if got, ok := (agent.Reply{Text: text}).Choice(files); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
}

func TestSummariesAreOfListedFilesAndShort(t *testing.T) {
	text := "PROJECT: A shop\x1b[31m. It sells.\nPROJECT: twice\n- `a.py`: Counts " + strings.Repeat("very ", 100) + "much.\nb.py: not listed\na.py: again\nnonsense\n"
	project, lines := agent.Reply{Text: text}.Summaries([]string{"a.py", "c.py"})
	if project != "A shop [31m. It sells." {
		t.Errorf("project %q", project)
	}
	if len(lines) != 1 || len(lines["a.py"]) > 250 || !strings.HasPrefix(lines["a.py"], "Counts very") || !strings.HasSuffix(lines["a.py"], "…") {
		t.Errorf("%q", lines)
	}
}
