package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"agent/orchestrator/llm"
)

// Anthropic starts a server that speaks the Messages API (2023-06-01): /v1/messages as
// server-sent events, /v1/messages/count_tokens and /v1/models.
func Anthropic(steps ...Step) *Server { return newServer(anthropic{}, steps) }

type anthropic struct{}

func (anthropic) header() (name, prefix string) { return "X-Api-Key", "" }

// frame opens with the message and the ping that follows it.
func (a anthropic) frame(q Request, s Step) (contentType, open, between, end string) {
	message := map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "model": echoed(q, s), "content": []any{}, "stop_reason": nil, "stop_sequence": nil}
	if u := s.Usage; u != nil {
		message["usage"] = map[string]any{
			"input_tokens": u.In - u.Cached - u.Written, "cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": u.Written, "output_tokens": 1,
		}
	}
	return "text/event-stream; charset=utf-8", namedSSE("message_start", map[string]any{"message": message}) + namedSSE("ping", map[string]any{}), "", ""
}

// read reads /v1/messages, /v1/messages/count_tokens and /v1/models. Without the API version these paths do not exist.
func (anthropic) read(r *http.Request, body map[string]any) (Request, string) {
	what := map[string]string{"messages": "answer", "messages/count_tokens": "count", "models": "models"}[after(r, "/v1/")]
	if r.Header.Get("Anthropic-Version") != "2023-06-01" || what == "answer" && body["stream"] != true || what == "answer" && body["max_tokens"] == nil {
		what = ""
	}
	q := Request{System: text(map[string]any{"parts": body["system"]})}
	q.Model, _ = body["model"].(string)
	q.TopP, q.TopK = number64(body["top_p"]), int(number64(body["top_k"]))
	q.Messages = blockTurns(body["messages"])
	tools, _ := body["tools"].([]any)
	for _, t := range tools {
		t := object(t)
		q.Tools = append(q.Tools, llm.Tool{Name: word(t["name"]), About: word(t["description"]), Schema: json.RawMessage(encode(t["input_schema"]))})
	}
	q.Choice = choice(object(body["tool_choice"])["type"])
	q.Schema = schema(object(object(body["output_config"])["format"])["schema"])
	q.Temperature, q.MaxTokens = number64(body["temperature"]), int(number64(body["max_tokens"]))
	return q, what
}

// info counts one token per word.
func (a anthropic) info(what string, q Request) (int, string) {
	switch what {
	case "answer":
		return 0, ""
	case "count":
		n := len(strings.Fields(q.System))
		for _, m := range q.Messages {
			n += len(strings.Fields(m.Text))
		}
		return http.StatusOK, fmt.Sprintf(`{"input_tokens": %d}`, n)
	case "models":
		return list(map[string]any{"type": "model", "id": "model-1", "display_name": "Model 1", "max_input_tokens": 200000}, map[string]any{"type": "model", "id": "model-2"})
	}
	return http.StatusNotFound, a.fault(http.StatusNotFound, "no such path, or no version")
}

func (anthropic) fault(status int, message string) string {
	names := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 504: "timeout_error", 529: "overloaded_error",
	}
	return encode(map[string]any{"type": "error", "error": map[string]any{"type": cmp.Or(names[status], "some_error"), "message": message}, "request_id": "req_1"})
}

// event begins and ends a block of thoughts or text around each piece.
func (anthropic) event(_ Request, _ Step, text, _ string, thought bool) string {
	block, delta := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": text}
	if thought {
		block, delta = map[string]any{"type": "thinking", "thinking": "", "signature": ""}, map[string]any{"type": "thinking_delta", "thinking": text}
	}
	if text == "" || thought {
		return namedSSE("content_block_start", map[string]any{"index": 0, "content_block": block}) + namedSSE("content_block_delta", map[string]any{"index": 0, "delta": delta}) +
			namedSSE("content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "signature_delta", "signature": "c2ln"}}) + namedSSE("content_block_stop", map[string]any{"index": 0})
	}
	return namedSSE("content_block_delta", map[string]any{"index": 1, "delta": delta})
}

// calls returns one block after the other, as the API sends them.
func (anthropic) calls(_ Request, s Step) (events []string) {
	index := 1
	begin := func(block map[string]any) {
		index++
		events = append(events, namedSSE("content_block_start", map[string]any{"index": index, "content_block": block}))
	}
	delta := func(d map[string]any) {
		events = append(events, namedSSE("content_block_delta", map[string]any{"index": index, "delta": d}))
	}
	end := func() { events = append(events, namedSSE("content_block_stop", map[string]any{"index": index})) }
	for _, call := range s.Calls {
		if call.Before != "" {
			begin(map[string]any{"type": "text", "text": ""})
			delta(map[string]any{"type": "text_delta", "text": call.Before})
			end()
		}
		begin(map[string]any{"type": "tool_use", "id": call.ID, "name": call.Name, "input": map[string]any{}})
		delta(map[string]any{"type": "input_json_delta", "partial_json": ""})
		for _, half := range call.halves() {
			delta(map[string]any{"type": "input_json_delta", "partial_json": half})
		}
		if !call.Half {
			end()
		}
	}
	return events
}

func (anthropic) last(_ Request, s Step) string {
	own := "end_turn"
	if len(s.Calls) > 0 {
		own = "tool_use"
	}
	delta := map[string]any{"delta": map[string]any{"stop_reason": cmp.Or(s.Finish, own), "stop_sequence": nil}}
	if u := s.Usage; u != nil {
		delta["usage"] = map[string]any{"output_tokens": u.Out + u.Thoughts, "output_tokens_details": map[string]any{"thinking_tokens": u.Thoughts}}
	}
	return namedSSE("content_block_stop", map[string]any{"index": 1}) + namedSSE("message_delta", delta) + namedSSE("message_stop", map[string]any{})
}
