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

// However a model formats its answer, the existing files that it names are read, and no others.
func TestChoicesAreFilesThatAreThere(t *testing.T) {
	listed := []string{"a.py", "shop/stock.py", "shop/tax.py", "web/tax.py", "docs/my notes.md"}
	known := func(p string) bool { return p == "lib/unlisted.go" }
	for text, want := range map[string]string{
		"shop/stock.py":                  "shop/stock.py",
		"I choose:\n- `shop/stock.py`\n": "shop/stock.py",
		"1. **shop/tax.py**\n2) a.py":    "shop/tax.py a.py",
		"./a.py\na.py":                   "a.py",
		"```\na.py\nshop/stock.py\n```":  "a.py shop/stock.py",
		"`stock.py`":                     "shop/stock.py",
		"tax.py":                         "", // the end of two paths
		"shop/tax.py: holds the rates\na.py - calls them": "shop/tax.py a.py",
		"shop/tax.py — holds the rates":                   "shop/tax.py",
		"a.py, shop/stock.py and shop/tax.py":             "a.py shop/stock.py shop/tax.py",
		"docs/my notes.md":                                "docs/my notes.md",
		"lib/unlisted.go":                                 "lib/unlisted.go",
		"/etc/passwd":                                     "",
		"../a.py":                                         "",
		"c.py":                                            "",
		"the file a.py looks worst to me":                 "a.py",
		"You must edit `shop/tax.py`.\nDo not touch a.py.":        "shop/tax.py",
		"<THOUGHT>a.py is tempting</THOUGHT>\nshop/stock.py":      "shop/stock.py",
		"a.py is fine, but shop/stock.py needs it\nshop/stock.py": "shop/stock.py",
		"": "",
	} {
		got := strings.Join(agent.Reply{Text: text}.Choices(listed, known), " ")
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := (agent.Reply{Text: "c.py\na.py"}).Choices([]string{"a.py"}, nil); len(got) != 1 {
		t.Errorf("%q", got)
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
