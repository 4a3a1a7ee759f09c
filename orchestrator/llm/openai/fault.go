package openai

import (
	"encoding/json"
	"strings"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
)

// An errorBody is how the API, and most servers that stand in for it, explain an error. The code is a name, or the status as a
// number.
type errorBody struct {
	Message  string          `json:"message"`
	Type     string          `json:"type"`
	Code     json.RawMessage `json:"code"`
	Metadata struct {
		Reasons json.RawMessage `json:"reasons"` // from OpenRouter: what its moderation flagged
	} `json:"metadata"`
}

// kinds maps the codes, or the types without a code, that say more than the status. Source: "Error codes" of OpenAI's API
// reference, and ResponseErrorCode of its description (2026).
var kinds = map[string]llm.Kind{
	"insufficient_quota":                   llm.Quota,
	"billing_hard_limit_reached":           llm.Balance,
	"billing_not_active":                   llm.Balance,
	"rate_limit_exceeded":                  llm.RateLimit,
	"invalid_api_key":                      llm.Auth,
	"model_not_found":                      llm.Missing, // also with 403: the key is good
	"context_length_exceeded":              llm.Invalid,
	"unsupported_country_region_territory": llm.Invalid, // a 403 for every key
	"invalid_prompt":                       llm.Refused,
	"content_filter":                       llm.Refused,
	"content_policy_violation":             llm.Refused,
	"server_error":                         llm.Overloaded,
	"server_is_overloaded":                 llm.Overloaded,
	"slow_down":                            llm.Overloaded,
}

// Fault reads the body of an error with a status, in the forms that OpenAI and compatible servers write. It returns false for
// anything else, such as the page of a proxy, which is not the vendor's.
func Fault(status int, body []byte) (wire.Fault, bool) {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Object  string          `json:"object"` // "error" if the fields of the error are here
		Message string          `json:"message"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return wire.Fault{}, false
	}
	raw := outer.Error
	var text string
	switch {
	case len(raw) == 0 && outer.Object == "error": // vLLM before 0.10
		raw = body
	case len(raw) == 0 || string(raw) == "null":
		return wire.Fault{}, false
	case json.Unmarshal(raw, &text) == nil: // LM Studio, Ollama
		return wire.Fault{Kind: wire.KindOf(status), Text: text}, text != ""
	}
	var e errorBody
	if json.Unmarshal(raw, &e) != nil {
		return wire.Fault{}, false
	}
	return e.fault(status), true
}

// fault returns the meaning of e with a status, or with the status that is its code.
func (e errorBody) fault(status int) wire.Fault {
	var (
		code   string
		number float64
	)
	if json.Unmarshal(e.Code, &code) != nil && json.Unmarshal(e.Code, &number) == nil && number >= 100 && number < 600 {
		status = int(number)
	}
	f := wire.Fault{Kind: wire.KindOf(status), Text: strings.TrimSpace(e.Message + " " + code)}
	if kind, ok := kinds[code]; ok {
		f.Kind = kind
	} else if kind, ok := kinds[e.Type]; ok && code == "" {
		f.Kind = kind
	}
	if len(e.Metadata.Reasons) > 0 && f.Kind == llm.Auth { // a 403 of OpenRouter's moderation says nothing about the key
		f.Kind = llm.Refused
	}
	return f
}
