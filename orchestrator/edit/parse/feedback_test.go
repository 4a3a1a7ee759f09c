package parse

import (
	"testing"

	"agent/orchestrator/edit/problem"
)

func TestThoughtIsFoundWhereverItStands(t *testing.T) {
	t.Parallel()
	for response, want := range map[string]string{
		tagBlock + "<THOUGHT>\nafter\n</THOUGHT>":           "after",
		"<THINK>one</THINK><THOUGHT>two</THOUGHT>":          "two",
		"<THOUGHT>one</THOUGHT><THOUGHT>two</THOUGHT>":      "one",
		"<THOUGHT> </THOUGHT>" + tagBlock:                   "",
		"</THOUGHT>stray" + tagBlock:                        "",
		"<THINK>only</THINK>":                               "",
		"<THOUGHT>a\n<CREATE_FILE x>b</CREATE_FILE>":        "a",
		"<THOUGHT>one\r\ntwo\r\n</THOUGHT>":                 "one\r\ntwo",
		"<THOUGHT n=\"1\">why</THOUGHT>":                    "why",
		"<THOUGHT>" + fill('x', maxThought) + "</THOUGHT>":  fill('x', maxThought),
		"<THOUGHT>" + fill('x', maxThought) + "y</THOUGHT>": fill('x', maxThought),
	} {
		if got := Thought([]byte(response)); got != want {
			t.Errorf("%.60q: %.60q, want %.60q", response, got, want)
		}
	}
	for n, want := range map[int]string{0: "", 1: "a", 2: "a", 3: "aé", 4: "aéb", 9: "aéb"} {
		if got := problem.Clip("aéb", n); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
}
