package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"agent/orchestrator/llm"
)

// Gemini starts a server that speaks the Generative Language API (v1beta) over
// REST: streamGenerateContent as a JSON array, countTokens, a model's entry, and cached contents.
func Gemini(steps ...Step) *Server { return newServer(gemini{&keptContents{}}, steps) }

type gemini struct{ kept *keptContents }

func (gemini) header() (name, prefix string) { return "X-Goog-Api-Key", "" }

func (gemini) frame(Request, Step) (contentType, open, between, end string) {
	return "application/json; charset=UTF-8", "[", "\n,\r\n", "\n]"
}

// read reads /v1beta/models/NAME:METHOD.
func (g gemini) read(r *http.Request, body map[string]any) (Request, string) {
	_, rest, _ := strings.Cut(r.URL.Path, "/v1beta/models/")
	model, method, _ := strings.Cut(rest, ":")
	what := map[string]string{"streamGenerateContent": "answer", "countTokens": "count", "": "show"}[method]
	if r.URL.Path == "/v1beta/models" {
		what = "models"
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/v1beta/cachedContents"); ok {
		return Request{}, g.kept.handle(r.Method, name, body)
	}
	if name := word(body["cachedContent"]); name != "" {
		var trouble string
		if body, trouble = g.kept.whole(name, model, body); trouble != "" {
			return Request{Model: model}, trouble
		}
	}
	// The API takes the question for a count whole, in a separate field.
	if inner, ok := body["generateContentRequest"].(map[string]any); ok {
		body = inner
	}
	q := Request{Model: model, System: text(body["systemInstruction"])}
	q.Messages = partTurns(body["contents"])
	if tools, _ := body["tools"].([]any); len(tools) == 1 {
		list, _ := object(tools[0])["functionDeclarations"].([]any)
		for _, f := range list {
			f := object(f)
			q.Tools = append(q.Tools, llm.Tool{Name: word(f["name"]), About: word(f["description"]), Schema: json.RawMessage(encode(f["parametersJsonSchema"]))})
		}
	}
	q.Choice = choice(object(object(body["toolConfig"])["functionCallingConfig"])["mode"])
	config := object(body["generationConfig"])
	q.TopP, q.TopK = number64(config["topP"]), int(number64(config["topK"]))
	q.Schema = schema(config["responseJsonSchema"])
	q.Temperature, _ = config["temperature"].(float64)
	n, _ := config["maxOutputTokens"].(float64)
	q.MaxTokens = int(n)
	return q, what
}

// text joins the texts of the parts of a content.
func text(content any) string {
	var b strings.Builder
	m, _ := content.(map[string]any)
	parts, _ := m["parts"].([]any)
	for _, p := range parts {
		m, _ := p.(map[string]any)
		s, _ := m["text"].(string)
		b.WriteString(s)
	}
	return b.String()
}

// info counts one token per word.
func (gemini) info(what string, q Request) (int, string) {
	if status, text := keptAnswer(what); text != "" {
		return status, text
	}
	switch what {
	case "answer":
		return 0, ""
	case "count":
		n := len(strings.Fields(q.System))
		for _, m := range q.Messages {
			n += len(strings.Fields(m.Text))
		}
		return http.StatusOK, fmt.Sprintf(`{"totalTokens": %d}`, n)
	case "models":
		return http.StatusOK, `{"models": [{"name": "models/model-1", "inputTokenLimit": 1048576, "supportedGenerationMethods": ["generateContent", "countTokens"]},
			{"name": "models/embed", "supportedGenerationMethods": ["embedContent"]}, {"name": "models/model-2", "supportedGenerationMethods": ["generateContent"]}]}`
	case "show":
		return http.StatusOK, fmt.Sprintf(`{"name": "models/%s", "inputTokenLimit": 1048576, "outputTokenLimit": 65536}`, q.Model)
	}
	return http.StatusNotFound, `{"error": {"code": 404, "message": "no such method", "status": "NOT_FOUND"}}`
}

// fault returns an error in an array, as the API answers a call that asked for a stream.
func (gemini) fault(status int, message string) string {
	names := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
	return encode([]any{map[string]any{"error": map[string]any{"code": status, "message": message, "status": names[status]}}})
}

func (g gemini) event(q Request, s Step, text, second string, thought bool) string {
	part := map[string]any{"text": text}
	if thought {
		part["thought"] = true
	}
	list := []any{candidate(0, part)}
	if second != "" {
		list = append(list, candidate(1, map[string]any{"text": second}))
	}
	return g.envelope(q, s, list)
}

// calls returns each call in a separate event, complete. After thoughts the first one has their signature. An incomplete call never
// comes.
func (g gemini) calls(q Request, s Step) (events []string) {
	for i, call := range s.Calls {
		if call.Before != "" {
			events = append(events, g.event(q, s, call.Before, "", false))
		}
		f := map[string]any{"name": call.Name}
		if call.ID != "" {
			f["id"] = call.ID
		}
		if strings.TrimSpace(call.Arguments) != "" {
			f["args"] = json.RawMessage(call.Arguments)
		}
		if call.Half || !json.Valid([]byte("["+call.Arguments+"]")) {
			continue
		}
		part := map[string]any{"functionCall": f}
		if i == 0 && s.Thought != "" {
			part["thoughtSignature"] = "c2ln"
		}
		events = append(events, g.envelope(q, s, []any{candidate(0, part)}))
	}
	return events
}

// last has a part without text, which is how the signature of thoughts comes.
func (g gemini) last(q Request, s Step) string {
	c := candidate(0, map[string]any{"thoughtSignature": "c2lnbmF0dXJl"})
	c["finishReason"] = number(s.Finish)
	return g.envelope(q, s, []any{c})
}

func (gemini) envelope(q Request, s Step, candidates []any) string {
	m := map[string]any{"candidates": candidates, "modelVersion": q.Model, "responseId": "r"}
	if s.Model != "" {
		m["modelVersion"] = s.Model
	}
	if u := s.Usage; u != nil {
		m["usageMetadata"] = map[string]any{
			"promptTokenCount": u.In, "candidatesTokenCount": u.Out, "cachedContentTokenCount": u.Cached,
			"thoughtsTokenCount": u.Thoughts, "totalTokenCount": u.In + u.Out + u.Thoughts,
		}
	}
	return encode(m)
}

func candidate(index int, part map[string]any) map[string]any {
	return map[string]any{"index": index, "content": map[string]any{"role": "model", "parts": []any{part}}}
}

// number returns a reason in the form of enum-encoding=int, which the library requests, or its name if it is newer than this table.
func number(name string) any {
	names := []string{"FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL"}
	if name == "" {
		name = "STOP"
	}
	if n := slices.Index(names, name); n >= 0 {
		return n
	}
	return name
}

// encode encodes a value that can always be encoded.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
