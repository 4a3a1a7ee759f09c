package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
)

// An errorBody is how the API explains an error, in a body and in an event alike.
type errorBody struct {
	Error *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// kinds maps the types of errors. An invalid_request_error is left to the status. Source: "Errors" of Anthropic's API documentation
// (2026).
var kinds = map[string]llm.Kind{
	"authentication_error": llm.Auth,
	"permission_error":     llm.Auth,
	"billing_error":        llm.Balance,
	"not_found_error":      llm.Missing,
	"request_too_large":    llm.Invalid,
	"rate_limit_error":     llm.RateLimit,
	"timeout_error":        llm.Overloaded,
	"api_error":            llm.Overloaded,
	"overloaded_error":     llm.Overloaded,
}

// fault reads the body of an error with a status. It returns false for anything else, such as the page of a proxy, which is not the
// vendor's.
func fault(status int, body []byte) (wire.Fault, bool) {
	var e errorBody
	if json.Unmarshal(body, &e) != nil || e.Error == nil {
		return wire.Fault{}, false
	}
	f := wire.Fault{Kind: wire.KindOf(status), Text: e.Error.Message}
	// The type says more than the status where the two can differ: in an event, after a status that promised success.
	if kind, ok := kinds[e.Error.Type]; ok && (status == http.StatusOK || f.Kind == llm.Unknown) {
		f.Kind = kind
	} else if e.Error.Type == "invalid_request_error" && status == http.StatusOK {
		f.Kind = llm.Invalid
	}
	// Two cases of exhausted money are a 400 here, recognizable only by their text.
	if f.Kind == llm.Invalid {
		switch message := strings.ToLower(e.Error.Message); {
		case strings.Contains(message, "credit balance is too low"):
			f.Kind = llm.Balance
		case strings.Contains(message, "reached your specified api usage limits"):
			f.Kind = llm.Quota
		}
	}
	return f, true
}
