package llmtest

import (
	"net/http"
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

// read reads /v1/responses and /v1/models. What is to be kept at the vendor is refused.
func (openai) read(r *http.Request, body map[string]any) (Request, string) {
	what := map[string]string{"responses": "answer", "models": "models"}[after(r, "/v1/")]
	if what == "answer" && (body["stream"] != true || body["store"] != false) {
		what = ""
	}
	q := Request{}
	q.Model, _ = body["model"].(string)
	q.System, _ = body["instructions"].(string)
	_, q.Messages = turns(body["input"])
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

// last ends an answer in one of three ways. A reason to stop early has an event of its own.
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
