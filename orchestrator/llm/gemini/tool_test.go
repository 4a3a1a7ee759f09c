package gemini_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/llmtest"
)

// withTools returns a question that calls may answer.
func withTools() llm.Request {
	req := request
	req.Tools = []llm.Tool{{Name: "read", About: "reads", Schema: []byte(`{"type":"object","additionalProperties":false}`)}}
	return req
}

func TestToolsAreInGooglesForm(t *testing.T) {
	s := llmtest.Gemini(llmtest.Step{Text: "two"})
	req := withTools()
	req.System, req.MaxTokens, req.Choice = "be brief", 7, llm.MustCall
	req.Messages = append(
		req.Messages,
		llm.Message{Role: llm.Assistant, Text: "a", Calls: []llm.ToolCall{{ID: "1", Name: "read", Arguments: `{"line":12345678901}`}, {ID: "2", Name: "read"}}},
		llm.Message{Role: llm.User, Text: "b", Results: []llm.ToolResult{{ID: "1", Text: "c"}, {ID: "2", Text: "d", Error: true}}},
	)
	if _, err := provider(t, "", s).Generate(t.Context(), key, req, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	part := func(name string, of any) any { return map[string]any{name: of} }
	want := map[string]any{
		"systemInstruction": part("parts", []any{part("text", "be brief")}),
		"generationConfig":  map[string]any{"temperature": 0.0, "maxOutputTokens": 7.0},
		"toolConfig":        part("functionCallingConfig", part("mode", "ANY")),
		"tools": []any{part("functionDeclarations", []any{map[string]any{
			"name": "read", "description": "reads", "parametersJsonSchema": map[string]any{"type": "object", "additionalProperties": false},
		}})},
		"contents": []any{
			map[string]any{"role": "user", "parts": []any{part("text", "what is one and one?")}},
			map[string]any{"role": "model", "parts": []any{
				part("text", "a"), part("functionCall", map[string]any{"id": "1", "name": "read", "args": part("line", 12345678901.0)}),
				part("functionCall", map[string]any{"id": "2", "name": "read", "args": part("malformed_arguments", "")}),
			}},
			map[string]any{"role": "user", "parts": []any{
				part("functionResponse", map[string]any{"id": "1", "name": "read", "response": part("output", "c")}),
				part("functionResponse", map[string]any{"id": "2", "name": "read", "response": part("error", "d")}), part("text", "b"),
			}},
		},
	}
	if d := cmp.Diff(want, s.Requests()[0].Body); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A signature stays with its part, and is valid for one key. Newer models require one on each call, and define a value for calls made by
// others.
func TestSignaturesStayWithTheirParts(t *testing.T) {
	step := llmtest.Step{Open: true, Events: []string{
		`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true,"thoughtSignature":"x"},{"text":"lo"}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"ok"}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":{"a":"<é>"}},"thoughtSignature":"one"},{"functionCall":{"name":"read"}}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"two"}]},"finishReason":"STOP"}]}`,
	}}
	for _, model := range []string{"gemini-2.5-flash", "gemini-3-flash-preview"} {
		req := withTools()
		req.Model = model
		p := provider(t, "", llmtest.Gemini(step))
		a, err := p.Generate(t.Context(), key, req, func(string) error { return nil })
		if err != nil || a.Text != "look" || len(a.Calls) != 2 || a.Calls[0].Arguments != `{"a":"<é>"}` || a.Calls[1].Arguments != "{}" || a.State == nil {
			t.Fatalf("got %+v, %v", a, err)
		}
		next := llm.Message{Role: llm.User}
		for _, c := range a.Calls {
			next.Results = append(next.Results, llm.ToolResult{ID: c.ID})
		}
		req.Messages = append(req.Messages, a.Message(), next)
		for secret, want := range map[string]string{
			"a-key-for-tests": "text:look call:one call: text:two",
			"another-key":     "text:look call: call:",
		} {
			if secret == "another-key" && model != "gemini-2.5-flash" {
				want = "text:look call:skip_thought_signature_validator call:"
			}
			s := llmtest.Gemini(llmtest.Step{Text: "two"})
			if _, err := provider(t, "", s).Generate(t.Context(), llm.NewKey(secret), req, func(string) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if got := sent(s.Requests()[0].Body["contents"].([]any)[1]); got != want {
				t.Errorf("%s, %s: sent back %s, want %s", model, secret, got, want)
			}
		}
	}
}

// sent renders the parts of a content, each with its signature.
func sent(content any) string {
	var list []string
	for _, p := range content.(map[string]any)["parts"].([]any) {
		p := p.(map[string]any)
		signature, _ := p["thoughtSignature"].(string)
		if p["functionCall"] != nil {
			list = append(list, "call:"+signature)
			continue
		}
		said, _ := p["text"].(string)
		list = append(list, "text:"+said+signature)
	}
	return strings.Join(list, " ")
}

func TestWhatIsNoCallIsMalformed(t *testing.T) {
	for _, event := range []string{
		`{"candidates":[{"content":{"parts":[{"functionCall":7}]}}]}`, `{"candidates":[{"content":{"parts":[7]}}]}`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"\ud83d"}}]}}]}`, `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a","args":{"b":"` + "\xff" + `"}}}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"MALFORMED_FUNCTION_CALL"}]}`,
	} {
		p := provider(t, "", llmtest.Gemini(llmtest.Step{Open: true, Events: []string{event}}))
		if a, err := p.Generate(t.Context(), key, withTools(), func(string) error { return nil }); kind(err) != llm.Malformed || a.Calls != nil {
			t.Errorf("%s: %+v, %v", event, a, err)
		}
	}
}

func TestAConversationWithToolsIsCounted(t *testing.T) {
	s := llmtest.Gemini()
	s.Choose(func(llmtest.Request) llmtest.Step { return llmtest.Step{} })
	got, err := provider(t, "", s).CountTokens(t.Context(), key, withTools())
	if asked := s.Requests()[0]; err != nil || got.N <= 0 || got.Estimated || len(asked.Tools) != 1 || asked.Path != "/v1beta/models/gemini-2.5-flash:countTokens" {
		t.Errorf("got %+v, %v of %+v", got, err, asked)
	}
	for _, step := range []llmtest.Step{{Status: 404, Message: "no"}, {Status: 501}} {
		got, err := provider(t, "", llmtest.Gemini(step)).CountTokens(t.Context(), key, withTools())
		if err != nil || got != llm.Estimate(withTools().Texts()...) {
			t.Errorf("%d: got %+v, %v", step.Status, got, err)
		}
	}
	if _, err := provider(t, "", llmtest.Gemini(llmtest.Step{Status: 200, Body: "no"})).CountTokens(t.Context(), key, withTools()); kind(err) != llm.Malformed {
		t.Errorf("a count that is none: %v", err)
	}
	if _, err := provider(t, "", llmtest.Gemini(llmtest.Step{Status: 503, Body: "no"})).CountTokens(t.Context(), key, withTools()); kind(err) != llm.Overloaded {
		t.Errorf("no count: %v", err)
	}
}
