package anthropic_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/anthropic"
	"agent/orchestrator/llm/llmtest"
)

// withTools returns a question that calls may answer.
func withTools() llm.Request {
	req := request
	req.Tools = []llm.Tool{{Name: "read", Schema: []byte(`{"type":"object"}`)}}
	return req
}

// stream returns a step with these wire events, followed by the end of an answer with calls.
func stream(events ...string) llmtest.Step {
	s := llmtest.Step{Finish: "tool_use"}
	for _, e := range events {
		s.Events = append(s.Events, "data: "+e+"\n\n")
	}
	return s
}

// Thoughts are sent back unchanged and in their place; otherwise the API refuses the conversation.
func TestThoughtsAreSentBackInTheirPlace(t *testing.T) {
	a, err := ask(t, llmtest.Anthropic(stream(
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"hidden"}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"look"}}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
		`{"type":"content_block_start","index":4,"content_block":{"type":"thinking","thinking":"unsigned"}}`,
		`{"type":"content_block_delta","index":9,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
	)), withTools())
	if err != nil || a.Text != "look" || len(a.Calls) != 1 || a.Calls[0] != (llm.ToolCall{ID: "toolu_1", Name: "read", Arguments: `{"a":`}) || a.State == nil {
		t.Fatalf("got %+v, %v", a, err)
	}
	s := llmtest.Anthropic(llmtest.Step{Text: "two"})
	req := withTools()
	req.Messages = append(req.Messages, a.Message(), llm.Message{Role: llm.User, Results: []llm.ToolResult{{ID: "toolu_1", Error: true}}})
	if _, err := ask(t, s, req); err != nil {
		t.Fatal(err)
	}
	want := []any{
		map[string]any{"type": "thinking", "thinking": "hm", "signature": "sig"},
		map[string]any{"type": "redacted_thinking", "data": "hidden"},
		map[string]any{"type": "text", "text": "look"},
		map[string]any{"type": "tool_use", "id": "toolu_1", "name": "read", "input": map[string]any{"malformed_arguments": `{"a":`}},
	}
	messages := s.Requests()[0].Body["messages"].([]any)
	if d := cmp.Diff(want, messages[1].(map[string]any)["content"]); d != "" {
		t.Errorf("sent back (-want +got):\n%s", d)
	}
	result := []any{map[string]any{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "cache_control": map[string]any{"type": "ephemeral"}}}
	if d := cmp.Diff(result, messages[2].(map[string]any)["content"]); d != "" {
		t.Errorf("the result (-want +got):\n%s", d)
	}
}

// Some replacements for Anthropic send the arguments with the start of a block.
func TestArgumentsMayComeAtOnce(t *testing.T) {
	a, err := ask(t, llmtest.Anthropic(stream(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"x","name":"read","input":{"a":1}}}`)), withTools())
	if err != nil || len(a.Calls) != 1 || a.Calls[0].Arguments != `{"a":1}` || a.State != nil {
		t.Errorf("got %+v, %v", a, err)
	}
	a, err = ask(t, llmtest.Anthropic(llmtest.Step{Text: "a", Finish: "tool_use"}), withTools())
	if kind(err) != llm.Malformed || a.Text != "" {
		t.Errorf("a call that did not come: %+v, %v", a, err)
	}
	for _, e := range []string{
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"\ud83d","name":"read"}}`,
		`{"type":"content_block_start","index":1,"content_block":7}`, `{"type":"content_block_start","index":"1"}`,
	} {
		if a, err := ask(t, llmtest.Anthropic(stream(e)), withTools()); kind(err) != llm.Malformed {
			t.Errorf("%s: %+v, %v", e, a, err)
		}
	}
}

func TestAConversationWithToolsIsCounted(t *testing.T) {
	s := llmtest.Anthropic()
	req := withTools()
	req.Choice = llm.NoCall
	s.Choose(func(llmtest.Request) llmtest.Step { return llmtest.Step{} })
	defer s.Close()
	p, err := anthropic.New(anthropic.Options{BaseURL: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.CountTokens(t.Context(), key, req); err != nil {
		t.Fatal(err)
	}
	if got := s.Requests()[0]; got.Path != "/v1/messages/count_tokens" || len(got.Tools) != 1 || got.Choice != llm.NoCall || !json.Valid(got.Tools[0].Schema) {
		t.Errorf("counted %+v", got)
	}
}
