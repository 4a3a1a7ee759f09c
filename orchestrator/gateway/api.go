package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/anthropic"
	"agent/orchestrator/llm/compatible"
	"agent/orchestrator/llm/gemini"
	"agent/orchestrator/llm/openai"
	"agent/orchestrator/llm/wire"
	"agent/sandbox/workspace/lazyregexp"
)

// An api describes how programs ask the models of one vendor; a new vendor is a new row of apis.
type api struct {
	vendor, title string
	// The default address, "" for none.
	base string
	// The part of a path that the base already has: the vendors' own settings end with it.
	prefix string
	// The paths of questions. A first group is the name of the model, if the path has it.
	asks *lazyregexp.Regexp
	// authorize puts a key into a request.
	authorize func(h http.Header, key string)
}

// apis are the vendors whose own clients may pass, by the formats that coding agents use.
var apis = []api{
	{
		vendor: anthropic.Vendor, title: "Anthropic", base: anthropic.BaseURL, asks: lazyregexp.New(`^/v1/messages(?:/count_tokens)?$`),
		authorize: func(h http.Header, key string) { h.Set("X-Api-Key", key) },
	},
	{
		vendor: openai.Vendor, title: "OpenAI", base: openai.BaseURL, prefix: "/v1", asks: lazyregexp.New(`^/v1/(?:responses|chat/completions)$`),
		authorize: func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) },
	},
	{
		vendor: gemini.Vendor, title: "Gemini", base: gemini.BaseURL,
		asks:      lazyregexp.New(`^/v1(?:beta|alpha)?/models/([A-Za-z0-9._-]+):(?:generateContent|streamGenerateContent|countTokens)$`),
		authorize: func(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) },
	},
	{
		vendor: compatible.Vendor, title: "the Chat Completions server", prefix: "/v1", asks: lazyregexp.New(`^/v1/chat/completions$`),
		authorize: func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) },
	},
}

// Vendors lists the vendors for which a gateway can stand in.
func Vendors() (names []string) {
	for _, a := range apis {
		names = append(names, a.vendor)
	}
	return names
}

// find returns the row of a vendor.
func find(vendor string) (api, bool) {
	for _, a := range apis {
		if a.vendor == vendor {
			return a, true
		}
	}
	return api{}, false
}

// upstream returns the URL with which a vendor's questions begin. address is the configured one, or "".
func (a api) upstream(address string) (*url.URL, error) {
	if address == "" {
		address = a.base
	}
	base, err := wire.BaseURL(a.title, address)
	if err != nil {
		return nil, err
	}
	return url.Parse(base)
}

// A question is the part of a request's body that the gateway reads.
type question struct {
	Model           string `json:"model"`
	MaxTokens       int    `json:"max_tokens"`
	MaxOutput       int    `json:"max_output_tokens"`
	MaxCompletion   int    `json:"max_completion_tokens"`
	GenerationLimit struct {
		MaxOutput int `json:"maxOutputTokens"`
	} `json:"generationConfig"`
}

// Bounds on what comes from the box: the length of a model's name, and the tokens that an answer may have, which keeps
// their sum with others from overflowing.
const (
	maxModel = 200
	maxBound = 1<<31 - 1
)

// asked returns which model a question is for, and how many tokens its answer may have; 0 if it does not say.
func (a api) asked(path string, body []byte) (model string, bound int) {
	var q question
	_ = json.Unmarshal(body, &q) // the vendor reports what is wrong with it
	model, bound = q.Model, max(q.MaxTokens, q.MaxOutput, q.MaxCompletion, q.GenerationLimit.MaxOutput)
	if m := a.asks.FindStringSubmatch(path); len(m) > 1 {
		model = m[1]
	}
	if model == "" || len(model) > maxModel {
		model = "unknown"
	}
	return strings.ToValidUTF8(model, "?"), min(max(bound, 0), maxBound)
}

// sample returns what the record has in place of a question's text: a program sends the whole conversation again with
// every question.
func sample(model, path string, body []byte, bound int) ([]byte, error) {
	return json.Marshal(llm.Request{
		Model: model, MaxTokens: bound,
		Messages: []llm.Message{{Role: llm.User, Text: fmt.Sprintf("POST %s, %d bytes from a program in a box; their text is not kept", path, len(body))}},
	})
}

// refusal writes an error in the format of all vendors' APIs at once. Programs repeat a 429 for minutes, and end on a 400.
func refusal(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]any{
		"type": kind, "code": status, "status": "INVALID_ARGUMENT", "message": "agent: " + message,
	}}) // a client that has gone does not notice
}
