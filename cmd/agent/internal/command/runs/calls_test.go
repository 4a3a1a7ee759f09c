package runs

import (
	"strings"
	"testing"
	"time"

	"agent/cmd/agent/internal/term"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/llm"
)

// Each answer has the calls that were carried out for it, one a line.
func TestCallsThatWereMadeAreListed(t *testing.T) {
	t.Parallel()
	list := []conversation.Call{
		{Step: "propose/1", Round: 1, Number: 1, Tool: "read", Arguments: `{"path":"a"}`, Shown: 40, Took: 1500 * time.Millisecond},
		{Step: "propose/1", Round: 2, Number: 2, Tool: "edit", Arguments: `{"path":"` + strings.Repeat("x", 200) + `\u001b"}`, Failed: true},
		{Step: "propose/11", Round: 1, Number: 1, Tool: "list"},
	}
	ended := time.Now()
	var out strings.Builder
	for _, step := range []string{"propose/1/r1", "propose/1/r2", "propose/1"} {
		row := CallRow{Step: step, Vendor: "v", Model: "m", Ended: &ended, Made: made(list, step)}
		row.print(&out, false, term.Palette{})
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 6 || lines[1] != `  1 read {"path":"a"} (40 bytes, 1.5 s)` || !strings.HasPrefix(lines[3], `  2 edit {"path":"xxx`) || !strings.HasSuffix(lines[3], "xxx… (0 bytes, 0.0 s, failed)") {
		t.Errorf("printed\n%s", out.String())
	}
}

// Output of a model and its tools is shown as text, whatever it contains.
func TestCallsOfToolsAreShown(t *testing.T) {
	t.Parallel()
	ended := time.Now()
	row := CallRow{Step: "propose/1", Vendor: "v", Model: "m", Ended: &ended, Question: llm.Request{System: "be brief", Messages: []llm.Message{
		{Role: llm.User, Text: "the goal"},
		{Role: llm.Assistant, Calls: []llm.ToolCall{{ID: "c1", Name: "read", Arguments: `{"path":"a"}`}, {ID: "c2", Name: "r\x1b[2Jm"}}},
		{Role: llm.User, Results: []llm.ToolResult{{ID: "c1", Text: "two\nlines\n"}, {ID: "c2", Text: "no such tool", Error: true}}},
	}}, Calls: []llm.ToolCall{{ID: "c3", Name: "finish", Arguments: "{}"}}}
	var out strings.Builder
	row.print(&out, true, term.Palette{})
	const want = `── instructions
be brief
── user
the goal
── assistant
─ call c1: read {"path":"a"}
─ call c2: r␛[2Jm 
── user
─ result of c1
two
lines
─ error of c2
no such tool
── answer
─ call c3: finish {}
`
	if _, said, _ := strings.Cut(out.String(), "\n"); strings.TrimSuffix(said, "\n") != want {
		t.Errorf("printed\n%s", said)
	}
}
