package ollama_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/llm/ollama"
)

func TestToolsAreInOllamasForm(t *testing.T) {
	req := request
	req.Tools = []llm.Tool{{Name: "read", About: "reads", Schema: []byte(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)}}
	req.Messages = append(
		req.Messages,
		llm.Message{Role: llm.Assistant, Text: "a", Calls: []llm.ToolCall{{ID: "1", Name: "read", Arguments: `{"a":"b"}`}, {ID: "2", Name: "no such"}}, State: &llm.State{Vendor: "ollama", Model: req.Model, Data: []byte(`"hm"`)}},
		llm.Message{Role: llm.User, Text: "b", Results: []llm.ToolResult{{ID: "1", Text: "c"}, {ID: "2", Text: "d", Error: true}}},
	)
	tools := []any{map[string]any{"type": "function", "function": map[string]any{
		"name": "read", "description": "reads", "parameters": map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}, "required": []any{"a"}},
	}}}
	for choice, want := range map[llm.ToolChoice]any{llm.MayCall: tools, llm.MustCall: tools, llm.NoCall: nil} {
		s := llmtest.Ollama(llmtest.Step{Text: "two"})
		p, err := ollama.New(ollama.Options{Host: s.URL()})
		if err != nil {
			t.Fatal(err)
		}
		req.Choice = choice
		if _, err := p.Generate(t.Context(), llm.Key{}, req, func(string) error { return nil }); err != nil {
			t.Fatal(err)
		}
		s.Close()
		got := s.Requests()[0].Body
		if d := cmp.Diff(want, got["tools"]); d != "" {
			t.Errorf("%q (-want +got):\n%s", choice, d)
		}
		messages := got["messages"].([]any)
		wanted := []any{
			map[string]any{"role": "assistant", "content": "a", "thinking": "hm", "tool_calls": []any{
				map[string]any{"id": "1", "function": map[string]any{"index": 0.0, "name": "read", "arguments": map[string]any{"a": "b"}}},
				map[string]any{"id": "2", "function": map[string]any{"index": 1.0, "name": "no_such", "arguments": map[string]any{"malformed_arguments": ""}}},
			}},
			map[string]any{"role": "tool", "content": "c", "tool_name": "read", "tool_call_id": "1"},
			map[string]any{"role": "tool", "content": "Error: d", "tool_name": "no_such", "tool_call_id": "2"},
			map[string]any{"role": "user", "content": "b"},
		}
		if d := cmp.Diff(wanted, messages[len(messages)-4:]); d != "" {
			t.Errorf("%q (-want +got):\n%s", choice, d)
		}
	}
}

func TestASchemaThatTheClientCannotReadIsInvalid(t *testing.T) {
	p, err := ollama.New(ollama.Options{Host: "127.0.0.1:9"})
	if err != nil {
		t.Fatal(err)
	}
	req := request
	req.Tools = []llm.Tool{{Name: "read", Schema: []byte(`{"type":"object","properties":{"a":true}}`)}}
	var e *llm.Error
	if _, err := p.Generate(t.Context(), llm.Key{}, req, nil); !errors.As(err, &e) || e.Kind != llm.Invalid {
		t.Errorf("got %v", err)
	}
}
