package gemini

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
)

// An errorBody is how Google's APIs explain an error. Source: google.rpc.Status and google/rpc/error_details.proto, in their JSON
// form.
type errorBody struct {
	Error *struct {
		Code    int      `json:"code"`
		Message string   `json:"message"`
		Details []detail `json:"details"`
	} `json:"error"`
}

// A detail is one of ErrorInfo, RetryInfo and QuotaFailure, distinguished by the fields that are set.
type detail struct {
	Reason     string `json:"reason"`     // ErrorInfo: "API_KEY_INVALID"
	RetryDelay string `json:"retryDelay"` // RetryInfo: "13.5s"
	Violations []struct {
		ID          string `json:"quotaId"` // "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
		Description string `json:"description"`
	} `json:"violations"` // QuotaFailure
}

// fault reads the body of an error with a status, or with the body's own code if it has one. A call that asks for a stream has the
// body in an array of one. fault returns false for anything else, such as the page of a proxy, which is not the vendor's.
func fault(status int, body []byte) (wire.Fault, bool) {
	var list []errorBody
	body = bytes.TrimSpace(body)
	if !bytes.HasPrefix(body, []byte("[")) {
		body = append(append([]byte("["), body...), ']')
	}
	if json.Unmarshal(body, &list) != nil || len(list) == 0 || list[0].Error == nil {
		return wire.Fault{}, false
	}
	e := list[0].Error
	if e.Code != 0 {
		status = e.Code
	}
	f := wire.Fault{Kind: wire.KindOf(status), Text: e.Message}
	// The details say more than the message, if a gateway has kept them.
	perDay, others := false, false
	for _, d := range e.Details {
		// An invalid delay counts as not given.
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil {
			f.After = max(f.After, wire.Wait(wait.Seconds()))
		}
		if d.Reason == "API_KEY_INVALID" {
			f.Kind = llm.Auth
		}
		for _, v := range d.Violations {
			day := strings.Contains(v.ID, "PerDay") || strings.Contains(v.Description, "per day")
			perDay, others = perDay || day, others || !day
		}
	}
	// Every 429 of Google mentions a quota in its message. A quota per minute is only a rate: the key works again before its
	// quarantine ends.
	if status == http.StatusTooManyRequests && (perDay || !others && strings.Contains(strings.ToLower(e.Message), "quota")) {
		f.Kind = llm.Quota
	}
	// Here a wrong key is a 400; a 403 only means that it lacks a permission.
	if status == http.StatusBadRequest && strings.Contains(e.Message, "API key not valid") {
		f.Kind = llm.Auth
	}
	return f, true
}

// interrupted returns the error that came as an event of a stream, after a status that promised success. Without a code it counts
// as an internal fault of the vendor.
func (q *question) interrupted(raw []byte) error {
	f, ok := fault(http.StatusInternalServerError, raw)
	if !ok {
		return q.call.Error(llm.Malformed, "an error without a reason: "+string(raw), nil)
	}
	err := q.call.Error(f.Kind, "in mid-answer: "+f.Text, nil)
	err.After = f.After
	return err
}
