package openai_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/llm/openai"
)

// withTools returns a question to a reasoning model that calls may answer.
func withTools() llm.Request {
	req := request
	req.Model, req.Tools = "gpt-5", []llm.Tool{{Name: "read", About: "reads", Schema: []byte(`{"type":"object"}`)}}
	return req
}

func TestToolsAreInOpenAIsForm(t *testing.T) {
	s := llmtest.OpenAI(llmtest.Step{Text: "two"})
	req := withTools()
	req.Messages = append(
		req.Messages,
		llm.Message{Role: llm.Assistant, Text: "a", Calls: []llm.ToolCall{{ID: "functions.read:0", Name: "read", Arguments: "["}}},
		llm.Message{Role: llm.User, Text: "b", Results: []llm.ToolResult{{ID: "functions.read:0", Text: "c", Error: true}}},
	)
	if _, err := ask(t, s, req); err != nil {
		t.Fatal(err)
	}
	const id = "call_c216cab2de2e56d547b4e634" // an ID that OpenAI accepts
	want := map[string]any{
		"model": "gpt-5", "stream": true, "store": false, "include": []any{"reasoning.encrypted_content"},
		"tools": []any{map[string]any{"type": "function", "name": "read", "description": "reads", "parameters": map[string]any{"type": "object"}, "strict": false}},
		"input": []any{
			map[string]any{"role": "user", "content": "what is one and one?"},
			map[string]any{"role": "assistant", "content": "a"},
			map[string]any{"type": "function_call", "call_id": id, "name": "read", "arguments": `{"malformed_arguments":"["}`},
			map[string]any{"type": "function_call_output", "call_id": id, "output": "Error: c"},
			map[string]any{"role": "user", "content": "b"},
		},
	}
	if d := cmp.Diff(want, s.Requests()[0].Body); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Reasoning is sent back with everything that followed it, without the IDs of items that are not stored, and only for the key that it was
// made for: the organization of another key cannot read it.
func TestReasoningIsSentBackForItsKey(t *testing.T) {
	a, err := ask(t, llmtest.OpenAI(llmtest.Step{Thought: "hm", Text: "look", Calls: []llmtest.Call{{ID: "call_1", Name: "read", Arguments: "{}"}}}), withTools())
	if err != nil || a.State == nil {
		t.Fatalf("got %+v, %v", a, err)
	}
	req := withTools()
	req.Messages = append(req.Messages, a.Message(), llm.Message{Role: llm.User, Results: []llm.ToolResult{{ID: "call_1"}}})
	call := map[string]any{"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"}
	for _, c := range []struct {
		key  llm.Key
		want []any
	}{
		{key, []any{
			map[string]any{"type": "reasoning", "summary": []any{map[string]any{"type": "summary_text", "text": "hm"}}, "encrypted_content": "c2VjcmV0"},
			map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": "look", "annotations": []any{}}}},
			call,
		}},
		{llm.NewKey("of-another-organization"), []any{map[string]any{"role": "assistant", "content": "look"}, call}},
	} {
		s := llmtest.OpenAI(llmtest.Step{Text: "two"})
		defer s.Close()
		p, err := openai.New(openai.Options{BaseURL: s.URL() + "/v1"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Generate(t.Context(), c.key, req, func(string) error { return nil }); err != nil {
			t.Fatal(err)
		}
		input := s.Requests()[0].Body["input"].([]any)
		if d := cmp.Diff(c.want, input[1:len(input)-1]); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

func TestAnItemOfAnotherFormIsNoCall(t *testing.T) {
	for item, want := range map[string]llm.Kind{
		`{"type":"function_call","call_id":"a","name":"read","arguments":7}`:        llm.Malformed,
		`{"type":"function_call","call_id":"a","name":"read","arguments":"\ud83d"}`: llm.Malformed,
		`7`:                                   llm.Malformed,
		`{"type":"web_search_call","id":"x"}`: "",
		`{"type":"reasoning","summary":[]}`:   "",
	} {
		a, err := ask(t, llmtest.OpenAI(llmtest.Step{Text: "a", Events: []string{`data: {"type":"response.output_item.done","item":` + item + "}\n\n"}}), withTools())
		if kind(err) != want || a.State != nil || a.Calls != nil {
			t.Errorf("%s: %+v, %v", item, a, err)
		}
	}
	// The repeated ID gets replaced, so the items would not match the results.
	req := withTools()
	req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Calls: []llm.ToolCall{{ID: "call_1", Name: "read", Arguments: "{}"}}}, llm.Message{Role: llm.User, Results: []llm.ToolResult{{ID: "call_1"}}})
	a, err := ask(t, llmtest.OpenAI(llmtest.Step{Thought: "hm", Calls: []llmtest.Call{{ID: "call_1", Name: "read"}}}), req)
	if err != nil || a.State != nil || a.Calls[0].ID == "call_1" {
		t.Errorf("an ID twice: %+v, %v", a, err)
	}
}
