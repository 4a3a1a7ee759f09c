package runs

import (
	"strings"
	"testing"
	"time"

	"agent/cmd/agent/internal/term"
	"agent/orchestrator/llm"
)

// What a model and its tools said is read as text, whatever is in it.
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
