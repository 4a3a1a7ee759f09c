package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"agent/orchestrator/llm"
)

// object returns a value of a question as an object, empty for any other value.
func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// word returns a value of a question as a text, "" for any other value.
func word(v any) string {
	s, _ := v.(string)
	return s
}

// result returns the result of a call for a vendor without a mark for errors.
func result(id, text string) llm.ToolResult {
	said, wrong := strings.CutPrefix(text, "Error: ")
	return llm.ToolResult{ID: id, Text: said, Error: wrong}
}

// chatTurns reads messages of the Chat Completions API. A result is a separate message there, and part of the user's turn here.
func chatTurns(list any) (system string, all []Turn) {
	messages, _ := list.([]any)
	for _, m := range messages {
		m := object(m)
		content := word(m["content"])
		last := len(all) - 1
		switch role := word(m["role"]); {
		case role == "system":
			system = content
		case role == "tool" && last >= 0 && len(all[last].Results) > 0:
			all[last].Results = append(all[last].Results, result(word(m["tool_call_id"]), content))
		case role == "tool":
			all = append(all, Turn{Role: "user", Results: []llm.ToolResult{result(word(m["tool_call_id"]), content)}})
		case role == "user" && last >= 0 && len(all[last].Results) > 0 && all[last].Text == "":
			all[last].Text = content
		default:
			turn := Turn{Role: role, Text: content, Kept: word(m["reasoning_content"]) + word(m["thinking"])} // the latter: Ollama's
			calls, _ := m["tool_calls"].([]any)
			for _, c := range calls {
				f := object(object(c)["function"])
				turn.Calls = append(turn.Calls, llm.ToolCall{ID: word(object(c)["id"]), Name: word(f["name"]), Arguments: arguments(f["arguments"])})
			}
			all = append(all, turn)
		}
	}
	return system, all
}

// arguments reads the arguments of a call: a string or, with Ollama, an object.
func arguments(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return encode(v)
}

// functions reads the tools of a question that has each in a separate object.
func functions(list any) (all []llm.Tool) {
	tools, _ := list.([]any)
	for _, t := range tools {
		f := object(object(t)["function"])
		all = append(all, llm.Tool{Name: word(f["name"]), About: word(f["description"]), Schema: json.RawMessage(encode(f["parameters"]))})
	}
	return all
}

// choice reads a question's choice of calls, one word that differs among vendors.
func choice(v any) llm.ToolChoice {
	switch s := strings.ToLower(word(v)); s {
	case "auto":
		return llm.MayCall
	case "any":
		return llm.MustCall
	default:
		return llm.ToolChoice(s)
	}
}

// schema reads the schema of an answer, "" for none.
func schema(v any) string {
	if v == nil {
		return ""
	}
	return encode(v)
}

// blockTurns reads messages of the Messages API. Results come first there.
func blockTurns(list any) (all []Turn) {
	messages, _ := list.([]any)
	for _, m := range messages {
		m := object(m)
		turn := Turn{Role: word(m["role"])}
		blocks, _ := m["content"].([]any)
		for _, b := range blocks {
			switch b := object(b); b["type"] {
			case "text":
				turn.Text += word(b["text"])
			case "thinking":
				turn.Kept += word(b["signature"])
			case "image":
				source := object(b["source"])
				turn.Pictures = append(turn.Pictures, picture(word(source["media_type"]), word(source["data"])))
			case "tool_use":
				turn.Calls = append(turn.Calls, llm.ToolCall{ID: word(b["id"]), Name: word(b["name"]), Arguments: encode(b["input"])})
			case "tool_result":
				turn.Results = append(turn.Results, llm.ToolResult{ID: word(b["tool_use_id"]), Text: text(map[string]any{"parts": b["content"]}), Error: b["is_error"] == true})
			}
		}
		all = append(all, turn)
	}
	return all
}

// partTurns reads contents of the Generative Language API.
func partTurns(list any) (all []Turn) {
	contents, _ := list.([]any)
	for _, c := range contents {
		turn := Turn{Role: word(object(c)["role"]), Text: text(c)}
		parts, _ := object(c)["parts"].([]any)
		for _, p := range parts {
			p := object(p)
			if s := word(p["thoughtSignature"]); s != "skip_thought_signature_validator" {
				turn.Kept += s
			}
			if f := object(p["inlineData"]); len(f) > 0 {
				turn.Pictures = append(turn.Pictures, picture(word(f["mimeType"]), word(f["data"])))
			}
			if f := object(p["functionCall"]); len(f) > 0 {
				turn.Calls = append(turn.Calls, llm.ToolCall{ID: word(f["id"]), Name: word(f["name"]), Arguments: encode(f["args"])})
			}
			if f := object(p["functionResponse"]); len(f) > 0 {
				said := object(f["response"])
				r := llm.ToolResult{ID: word(f["id"]), Text: word(said["output"])}
				if wrong, ok := said["error"].(string); ok {
					r.Text, r.Error = wrong, true
				}
				turn.Results = append(turn.Results, r)
			}
		}
		all = append(all, turn)
	}
	return all
}

// picture reads a picture in base64, which is empty if it is invalid.
func picture(kind, data string) llm.Picture {
	bytes, _ := base64.StdEncoding.DecodeString(data)
	return llm.Picture{Type: kind, Data: bytes}
}

// itemTurns reads the input of the Responses API, in which calls, results and reasoning are items next to the messages.
func itemTurns(list any) (all []Turn) {
	items, _ := list.([]any)
	turn := func(role string) *Turn {
		if n := len(all); n == 0 || all[n-1].Role != role {
			all = append(all, Turn{Role: role})
		}
		return &all[len(all)-1]
	}
	for _, item := range items {
		switch item := object(item); item["type"] {
		case "function_call":
			t := turn("assistant")
			t.Calls = append(t.Calls, llm.ToolCall{ID: word(item["call_id"]), Name: word(item["name"]), Arguments: word(item["arguments"])})
		case "function_call_output":
			t := turn("user")
			t.Results = append(t.Results, result(word(item["call_id"]), word(item["output"])))
		case "reasoning":
			turn("assistant").Kept += word(item["encrypted_content"])
		default:
			content, plain := item["content"].(string)
			if !plain {
				content = text(map[string]any{"parts": item["content"]})
			}
			t := turn(word(item["role"]))
			t.Text += content
			parts, _ := item["content"].([]any)
			for _, p := range parts {
				if kind, data, ok := strings.Cut(strings.TrimPrefix(word(object(p)["image_url"]), "data:"), ";base64,"); ok {
					t.Pictures = append(t.Pictures, picture(kind, data))
				}
			}
		}
	}
	return all
}
