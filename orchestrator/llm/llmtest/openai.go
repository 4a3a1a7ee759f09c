package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"agent/orchestrator/llm"
)

// OpenAI starts a server that speaks the Responses API below /v1: /responses as
// server-sent events, and /models.
func OpenAI(steps ...Step) *Server { return newServer(openai{}, steps) }

type openai struct{}

func (openai) header() (name, prefix string) { return "Authorization", "Bearer " }

func (openai) frame(q Request, s Step) (contentType, open, between, end string) {
	begun := map[string]any{"id": "resp_1", "object": "response", "status": "in_progress", "model": echoed(q, s)}
	return "text/event-stream; charset=utf-8", namedSSE("response.created", map[string]any{"response": begun}) + namedSSE("response.in_progress", map[string]any{"response": begun}), "", ""
}

// read reads /v1/responses and /v1/models. It refuses a question that is to be kept at the vendor.
func (openai) read(r *http.Request, body map[string]any) (Request, string) {
	what := map[string]string{"responses": "answer", "models": "models"}[after(r, "/v1/")]
	if what == "answer" && (body["stream"] != true || body["store"] != false) {
		what = ""
	}
	q := Request{}
	q.Model, _ = body["model"].(string)
	q.System, _ = body["instructions"].(string)
	q.Messages = itemTurns(body["input"])
	tools, _ := body["tools"].([]any)
	for _, t := range tools {
		t := object(t)
		if t["strict"] != false { // the schemas of the tests do not satisfy strict
			what = ""
		}
		q.Tools = append(q.Tools, llm.Tool{Name: word(t["name"]), About: word(t["description"]), Schema: json.RawMessage(encode(t["parameters"]))})
	}
	q.TopP = number64(body["top_p"])
	q.Choice = choice(body["tool_choice"])
	q.Schema = schema(object(object(body["text"])["format"])["schema"])
	q.Temperature, q.MaxTokens = number64(body["temperature"]), int(number64(body["max_output_tokens"]))
	return q, what
}

func (o openai) info(what string, _ Request) (int, string) {
	switch what {
	case "answer":
		return 0, ""
	case "models":
		return list(map[string]any{"id": "model-1", "object": "model", "owned_by": "openai"}, map[string]any{"id": "model-2", "object": "model"})
	}
	return http.StatusNotFound, o.fault(http.StatusNotFound, "no such path, or a response that is kept")
}

func (openai) fault(_ int, message string) string {
	return encode(map[string]any{"error": map[string]any{"message": message, "type": "some_error", "param": nil, "code": nil}})
}

func (openai) event(_ Request, _ Step, text, _ string, thought bool) string {
	if thought {
		return namedSSE("response.reasoning_summary_text.delta", map[string]any{"item_id": "rs_1", "output_index": 0, "summary_index": 0, "delta": text})
	}
	return namedSSE("response.output_text.delta", map[string]any{"item_id": "msg_1", "output_index": 1, "content_index": 0, "delta": text})
}

// calls returns the fragments of each call and then the complete call, and before them the other parts of the answer, complete.
func (openai) calls(_ Request, s Step) (events []string) {
	index := 1
	done := func(item map[string]any) {
		events = append(events, namedSSE("response.output_item.done", map[string]any{"output_index": index, "item": item}))
		index++
	}
	message := func(text string) {
		done(map[string]any{
			"type": "message", "id": fmt.Sprint("msg_", index), "status": "completed", "role": "assistant",
			"content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}},
		})
	}
	if s.Thought != "" {
		done(map[string]any{"type": "reasoning", "id": "rs_1", "summary": []any{map[string]any{"type": "summary_text", "text": s.Thought}}, "encrypted_content": "c2VjcmV0"})
	}
	if s.Text != "" {
		message(s.Text)
	}
	for _, call := range s.Calls {
		if call.Before != "" {
			events = append(events, namedSSE("response.output_text.delta", map[string]any{"output_index": index, "content_index": 0, "delta": call.Before}))
			message(call.Before)
		}
		id := fmt.Sprint("fc_", index)
		item := map[string]any{"type": "function_call", "id": id, "status": "in_progress", "call_id": call.ID, "name": call.Name, "arguments": ""}
		events = append(events, namedSSE("response.output_item.added", map[string]any{"output_index": index, "item": item}))
		for _, half := range call.halves() {
			events = append(events, namedSSE("response.function_call_arguments.delta", map[string]any{"item_id": id, "output_index": index, "delta": half}))
		}
		if !call.Half {
			item["status"], item["arguments"] = "completed", call.Arguments
			done(item)
		}
	}
	return events
}

// last ends an answer in one of three ways. A reason to stop early has a separate event.
func (openai) last(q Request, s Step) string {
	name, response := "response.completed", map[string]any{"id": "resp_1", "object": "response", "status": "completed", "model": echoed(q, s), "incomplete_details": nil, "error": nil}
	if s.Finish != "" {
		name, response["status"], response["incomplete_details"] = "response.incomplete", "incomplete", map[string]any{"reason": s.Finish}
	}
	if u := s.Usage; u != nil {
		response["usage"] = map[string]any{
			"input_tokens": u.In, "input_tokens_details": map[string]any{"cached_tokens": u.Cached},
			"output_tokens": u.Out + u.Thoughts, "output_tokens_details": map[string]any{"reasoning_tokens": u.Thoughts}, "total_tokens": u.In + u.Out + u.Thoughts,
		}
	}
	return namedSSE(name, map[string]any{"response": response})
}
