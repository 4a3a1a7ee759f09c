package openai

import (
	"encoding/json"
	"net/http"
	"strings"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
)

// An event is one event of the stream, as far as it matters here. Source:
// "Streaming events" of OpenAI's API reference.
type event struct {
	Type      string          `json:"type"`
	Delta     json.RawMessage `json:"delta"`
	Item      json.RawMessage `json:"item"` // for output_item.done: a complete part of the answer
	Response  *response       `json:"response"`
	errorBody                 // for type error
	Error     json.RawMessage `json:"error"` // the same in newer versions
}

// A response is what the last event says about the answer as a whole.
type response struct {
	Model      string `json:"model"`
	Usage      *usage `json:"usage"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Error *errorBody `json:"error"`
}

// A usage counts tokens. The counts are read as any number, since they may be nonsense.
type usage struct {
	In        float64 `json:"input_tokens"` // including cached ones
	InDetails struct {
		Cached float64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Out        float64 `json:"output_tokens"` // including reasoning
	OutDetails struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// A stream is an answer while it arrives.
type stream struct {
	call    *wire.Call
	key     llm.Key
	output  output
	events  *wire.Events
	text    strings.Builder
	refused strings.Builder // the model's refusal in place of an answer
	last    *event          // the event that ended the answer, nil before
}

// next reads one event. alive says that it is a sign of life, with or without text.
func (s *stream) next() (piece string, alive bool, err error) {
	raw, err := s.events.Next()
	if err != nil || len(raw.Data) == 0 { // a comment keeps the connection open
		return "", err == nil, err
	}
	var e event
	if err := json.Unmarshal(raw.Data, &e); err != nil {
		return "", false, err
	}
	switch e.Type {
	case "response.output_text.delta":
		err = json.Unmarshal(e.Delta, &piece)
	case "response.refusal.delta":
		var said string
		err = json.Unmarshal(e.Delta, &said)
		s.refused.WriteString(said)
	case "response.output_item.done":
		err = s.output.add(e.Item, raw.Data)
	case "response.completed", "response.incomplete", "response.failed":
		s.last = &e
		return "", false, nil
	case "error":
		return "", false, s.interrupted(e, raw.Data)
	}
	if err == nil && wire.Torn(raw.Data, piece) {
		err = wire.ErrTorn
	}
	return piece, true, err
}

// interrupted returns the error that came as an event, after a status that promised success. Without a code it counts as an
// internal fault of the vendor.
func (s *stream) interrupted(e event, raw []byte) error {
	f, ok := Fault(http.StatusInternalServerError, raw)
	if !ok {
		f = e.fault(http.StatusInternalServerError)
	}
	return s.call.Error(f.Kind, "in mid-answer: "+f.Text, nil)
}

// answer judges the answer after the last event has come. An answer without text or calls is an error: the caller asked for an edit
// and has none.
func (s *stream) answer(req llm.Request) (llm.Answer, error) {
	r := s.last.Response
	if r == nil {
		return llm.Answer{}, s.call.Error(llm.Malformed, "the last event holds no response", nil)
	}
	a := llm.Answer{Text: s.text.String(), Model: req.Model, Calls: s.output.calls.Whole(req)}
	u := usage{}
	if r.Usage != nil {
		u = *r.Usage
	}
	a.Usage.In = wire.Count(u.In, req.Texts()...)
	a.Usage.Out = wire.Count(u.Out, a.Texts()...)
	a.Usage.Cached = wire.Part(u.InDetails.Cached, a.Usage.In)
	a.Usage.Reason = wire.Part(u.OutDetails.Reasoning, a.Usage.Out)
	// The name is the vendor's text and goes where errors go: to terminals.
	if name := llm.Line(r.Model); name != "" {
		a.Model = name
	}
	kind, detail := s.ending(*r)
	if kind == "" && len(a.Calls) > 0 && len(req.Tools) == 0 {
		kind, detail = llm.Malformed, "the answer calls tools, but there are none"
	}
	if kind != "" {
		a.Text, a.Calls = "", nil
		return a, s.call.Error(kind, detail, nil)
	}
	if len(req.Tools) > 0 && s.output.hidden && s.output.calls.Given(a.Calls) {
		a.State = s.output.state(req.Model, s.key)
	}
	return a, nil
}

// ending returns the kind of error that the last event means, with a detail, or "" for the model's own end. An unknown reason does
// not count as the model's own end.
func (s *stream) ending(r response) (llm.Kind, string) {
	switch {
	case s.last.Type == "response.failed" && r.Error != nil:
		f := r.Error.fault(http.StatusInternalServerError)
		return f.Kind, "in mid-answer: " + f.Text
	case s.last.Type == "response.failed":
		return llm.Overloaded, "the answer failed without a reason"
	case s.last.Type == "response.incomplete":
		detail := "the answer ended with " + r.Incomplete.Reason
		switch r.Incomplete.Reason {
		case "max_output_tokens":
			return llm.Truncated, detail
		case "content_filter":
			return llm.Refused, detail
		}
		return llm.Unknown, detail
	case s.refused.Len() > 0:
		return llm.Refused, "the model refused: " + s.refused.String()
	case s.text.Len() > 0 || s.output.calls.Len() > 0:
		return "", ""
	}
	return llm.Malformed, "the answer holds no text"
}
