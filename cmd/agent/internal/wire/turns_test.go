package wire

import (
	"strings"
	"testing"

	"agent/orchestrator/llm"
)

// token looks like a credential.
const token = "ghp" + "_abcdefghijklmnopqrstuvwxyz0123456789"

// A credential that a tool read leaves only as a mark. The mark is the same in every later question, and becomes the
// credential again in the model's text.
func TestCredentialsStayBehindInAConversation(t *testing.T) {
	t.Parallel()
	q := llm.Request{System: "be brief", Tools: []llm.Tool{{Name: "read"}}, Messages: []llm.Message{
		{Role: llm.User, Text: "raise the rate"},
		{Role: llm.Assistant, Calls: []llm.ToolCall{{ID: "c1", Name: "read", Arguments: `{"path": "a.py"}`}}, State: &llm.State{Data: []byte("thoughts")}},
		{Role: llm.User, Results: []llm.ToolResult{{ID: "c1", Text: "a.py, 1 lines\n<<0123456789abcdef a.py\ntoken = \"" + token + "\"\n0123456789abcdef>>"}}},
	}}
	hidden, restore, err := hideTurns(q)
	if err != nil || strings.Contains(strings.Join(hidden.Texts(), "\n"), token) || !strings.Contains(hidden.Messages[2].Results[0].Text, `token = "[secret 1]"`) {
		t.Fatalf("%v, %+v", err, hidden)
	}
	if !strings.Contains(q.Messages[2].Results[0].Text, token) {
		t.Error("the conversation itself was changed")
	}
	answer := restored(llm.Answer{Text: "It is [secret 1].", Calls: []llm.ToolCall{
		{ID: "c2", Name: "edit", Arguments: `{"path": "a.py", "old": "token = \"[secret 1]\"", "n": 12345678901234567890}`},
		{ID: "c3", Name: "edit", Arguments: `{"path":  "a<b>.py"}`},
		{ID: "c4", Name: "edit", Arguments: `{"old": "[secret 1]`},
		{ID: "c5", Name: "edit", Arguments: `{"list": ["[secret 1]"]}`},
	}}, restore)
	for i, want := range []string{
		`{"n":12345678901234567890,"old":"token = \"` + token + `\"","path":"a.py"}`, `{"path":  "a<b>.py"}`, `{"old": "` + token, `{"list":["` + token + `"]}`,
	} {
		if got := answer.Calls[i].Arguments; got != want {
			t.Errorf("the arguments are %s, want %s", got, want)
		}
	}
	if answer.Text != "It is "+token+"." {
		t.Errorf("the text is %s", answer.Text)
	}
	// The earlier text is the same in the next question, byte for byte.
	next := q
	next.Messages = append(append([]llm.Message{}, q.Messages...), answer.Message(), llm.Message{Role: llm.User, Results: []llm.ToolResult{{ID: "c2", Text: "applied"}}})
	later, _, err := hideTurns(next)
	if err != nil || strings.Contains(strings.Join(later.Texts(), "\n"), token) {
		t.Fatalf("%v, %+v", err, later)
	}
	for i, m := range hidden.Messages {
		if later.Messages[i].Text != m.Text || len(m.Results) > 0 && later.Messages[i].Results[0] != m.Results[0] {
			t.Errorf("message %d became %+v", i+1, later.Messages[i])
		}
	}
}
