package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Ollama starts a server that speaks Ollama's API: /api/chat as lines of JSON, /api/tags, /api/show and /api/version. It has every
// model that is asked for.
func Ollama(steps ...Step) *Server { return newServer(ollama{}, steps) }

type ollama struct{}

func (ollama) header() (name, prefix string) { return "Authorization", "Bearer " }

func (ollama) frame(Request, Step) (contentType, open, between, end string) {
	return "application/x-ndjson", "", "", ""
}

// read reads /api/METHOD.
func (ollama) read(r *http.Request, body map[string]any) (Request, string) {
	what := strings.TrimPrefix(r.URL.Path, "/api/")
	switch what {
	case "chat":
		what = "answer"
	case "tags":
		what = "models"
	}
	q := Request{}
	q.Model, _ = body["model"].(string)
	q.System, q.Messages = chatTurns(body["messages"])
	q.Tools, q.Schema = functions(body["tools"]), schema(body["format"])
	options, _ := body["options"].(map[string]any)
	q.TopP, q.TopK = number64(options["top_p"]), int(number64(options["top_k"]))
	q.Temperature, _ = options["temperature"].(float64)
	predict, _ := options["num_predict"].(float64)
	context, _ := options["num_ctx"].(float64)
	q.MaxTokens, q.Context = int(predict), int(context)
	return q, what
}

func (ollama) info(what string, q Request) (int, string) {
	switch what {
	case "answer":
		return 0, ""
	case "version":
		return http.StatusOK, `{"version": "0.17.4"}`
	case "models":
		return http.StatusOK, `{"models": [{"name": "model-1", "size": 5}, {"name": "model-2:30b"}]}`
	case "show":
		return http.StatusOK, `{"capabilities": ["completion"], "model_info": {}}`
	}
	return http.StatusNotFound, "404 page not found"
}

func (ollama) fault(_ int, message string) string {
	return encode(map[string]any{"error": message})
}

func (o ollama) event(q Request, s Step, text, _ string, thought bool) string {
	message := map[string]any{"role": "assistant", "content": text}
	if thought {
		message = map[string]any{"role": "assistant", "content": "", "thinking": text}
	}
	return o.line(q, s, message, "")
}

// calls returns one line per call, in the form of the server's parsers: complete, with an object for arguments. An incomplete call
// never comes.
func (o ollama) calls(q Request, s Step) (lines []string) {
	for i, call := range s.Calls {
		if call.Before != "" {
			lines = append(lines, o.event(q, s, call.Before, "", false))
		}
		arguments := json.RawMessage(call.Arguments)
		if strings.TrimSpace(call.Arguments) == "" {
			arguments = json.RawMessage("{}")
		}
		if call.Half || !json.Valid(arguments) {
			continue
		}
		c := map[string]any{"function": map[string]any{"index": i, "name": call.Name, "arguments": arguments}}
		if call.ID != "" { // since 0.12
			c["id"] = call.ID
		}
		lines = append(lines, o.line(q, s, map[string]any{"role": "assistant", "content": "", "tool_calls": []any{c}}, ""))
	}
	return lines
}

func (o ollama) last(q Request, s Step) string {
	more := `,"done":true,"done_reason":"stop"`
	if s.Finish != "" {
		more = fmt.Sprintf(`,"done":true,"done_reason":%q`, s.Finish)
	}
	if u := s.Usage; u != nil {
		more += fmt.Sprintf(`,"total_duration":5,"prompt_eval_count":%d,"eval_count":%d`, u.In, u.Out)
	}
	return o.line(q, s, map[string]any{"role": "assistant", "content": ""}, more)
}

// line returns a line of the stream. A server writes done as false in all but the last.
func (ollama) line(q Request, s Step, message map[string]any, more string) string {
	model := s.Model
	if model == "" {
		model = q.Model
	}
	if more == "" {
		more = `,"done":false`
	}
	return fmt.Sprintf(`{"model":%s,"created_at":"2026-01-02T03:04:05.678901234Z","message":%s%s}`, encode(model), encode(message), more) + "\n"
}
