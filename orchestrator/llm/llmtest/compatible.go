package llmtest

import (
	"cmp"
	"net/http"
)

// Compatible starts a server that speaks the Chat Completions API below /v1, as vLLM and
// OpenRouter do: /chat/completions as server-sent events, and /models.
func Compatible(steps ...Step) *Server { return newServer(compatible{}, steps) }

type compatible struct{}

func (compatible) header() (name, prefix string) { return "Authorization", "Bearer " }

// frame opens with the comment with which OpenRouter keeps a connection open.
func (compatible) frame(Request, Step) (contentType, open, between, end string) {
	return "text/event-stream", ": OPENROUTER PROCESSING\n\n", "", ""
}

// read reads /v1/chat/completions and /v1/models.
func (compatible) read(r *http.Request, body map[string]any) (Request, string) {
	what := map[string]string{"chat/completions": "answer", "models": "models"}[after(r, "/v1/")]
	if what == "answer" && body["stream"] != true {
		what = ""
	}
	q := Request{}
	q.Model, _ = body["model"].(string)
	q.TopP, q.TopK = number64(body["top_p"]), int(number64(body["top_k"]))
	q.System, q.Messages = chatTurns(body["messages"])
	q.Tools, q.Choice = functions(body["tools"]), choice(body["tool_choice"])
	q.Schema = schema(object(object(body["response_format"])["json_schema"])["schema"])
	q.Temperature, q.MaxTokens = number64(body["temperature"]), int(number64(body["max_tokens"]))
	return q, what
}

func (c compatible) info(what string, _ Request) (int, string) {
	switch what {
	case "answer":
		return 0, ""
	case "models":
		return list(map[string]any{"id": "model-1", "context_length": 131072}, map[string]any{"id": "model-2", "max_model_len": 32768})
	}
	return http.StatusNotFound, c.fault(http.StatusNotFound, "no such path")
}

func (compatible) fault(status int, message string) string {
	return encode(map[string]any{"error": map[string]any{"message": message, "code": status}})
}

func (c compatible) event(q Request, s Step, text, second string, thought bool) string {
	delta := map[string]any{"role": "assistant", "content": text}
	if thought {
		delta = map[string]any{"role": "assistant", "content": nil, "reasoning_content": text}
	}
	choices := []any{map[string]any{"index": 0, "delta": delta, "finish_reason": nil}}
	if second != "" {
		choices = append(choices, map[string]any{"index": 1, "delta": map[string]any{"content": second}, "finish_reason": nil})
	}
	return c.chunk(q, s, choices, nil)
}

// calls returns the heads of all calls, and then their arguments in turn, like a model that writes them side by side. A call
// without an ID comes from a server that gives none.
func (c compatible) calls(q Request, s Step) (events []string) {
	delta := func(d map[string]any) {
		events = append(events, c.chunk(q, s, []any{map[string]any{"index": 0, "delta": d, "finish_reason": nil}}, nil))
	}
	for i, call := range s.Calls {
		if call.Before != "" {
			delta(map[string]any{"content": call.Before})
		}
		head := map[string]any{"index": i, "type": "function", "function": map[string]any{"name": call.Name, "arguments": ""}}
		if call.ID != "" {
			head["id"] = call.ID
		}
		delta(map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{head}})
	}
	for part := range 2 {
		for i, call := range s.Calls {
			if halves := call.halves(); part < len(halves) {
				delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": halves[part]}}}})
			}
		}
	}
	return events
}

// last returns the finish reason, then the counts in a chunk without choices, then the end mark.
func (c compatible) last(q Request, s Step) string {
	own := "stop"
	if len(s.Calls) > 0 {
		own = "tool_calls"
	}
	end := c.chunk(q, s, []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": cmp.Or(s.Finish, own)}}, nil)
	if s.Usage != nil {
		end += c.chunk(q, s, []any{}, s.Usage)
	}
	return end + "data: [DONE]\n\n"
}

func (compatible) chunk(q Request, s Step, choices []any, u *Usage) string {
	m := map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": echoed(q, s), "choices": choices, "usage": nil}
	if u != nil {
		m["usage"] = map[string]any{
			"prompt_tokens": u.In, "prompt_tokens_details": map[string]any{"cached_tokens": u.Cached},
			"completion_tokens": u.Out + u.Thoughts, "completion_tokens_details": map[string]any{"reasoning_tokens": u.Thoughts}, "total_tokens": u.In + u.Out + u.Thoughts,
		}
	}
	return sse(m)
}
