package compatible

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/openai"
	"agent/orchestrator/llm/wire"
)

// A chunk is one event of the stream, as far as it matters here.
type chunk struct {
	Model   string `json:"model"`
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			// Reasoning has a field of its own, reasoning or reasoning_content, and is
			// not looked at: that there was an event is the sign of life.
			Content string `json:"content"`
			Refusal string `json:"refusal"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// A usage counts tokens, in the last events of a stream. The counts are read as any
// number, for what is written there may be nonsense.
type usage struct {
	Prompt        float64 `json:"prompt_tokens"` // cached ones included
	PromptDetails struct {
		Cached float64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Hit               float64 `json:"prompt_cache_hit_tokens"` // DeepSeek's name for them
	Completion        float64 `json:"completion_tokens"`       // reasoning included
	CompletionDetails struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// A stream is an answer while it arrives, and what was seen of it besides its text.
type stream struct {
	call    *wire.Call
	events  *wire.Events
	text    strings.Builder
	refused strings.Builder // what the model said in place of an answer
	usage   usage
	model   string // that answered
	finish  string // why the model stopped, "" before it did
}

// next returns the text of one event, "" for one that is a sign of life alone, and
// io.EOF at the end of the stream.
func (s *stream) next() (string, error) {
	raw, err := s.events.Next()
	switch {
	case err != nil:
		return "", err
	case len(raw.Data) == 0: // a comment keeps the connection open
		return "", nil
	case string(raw.Data) == "[DONE]":
		return "", io.EOF
	}
	if raw.Name == "error" {
		return "", s.interrupted(raw.Data)
	}
	var c chunk
	if err := json.Unmarshal(raw.Data, &c); err != nil {
		return "", err
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return "", s.interrupted(raw.Data)
	}
	piece := s.note(c)
	if wire.Torn(raw.Data, piece) {
		return "", wire.ErrTorn
	}
	return piece, nil
}

// note keeps what c says besides text, and returns the text of the first choice.
func (s *stream) note(c chunk) string {
	if c.Usage != nil {
		s.usage = *c.Usage
	}
	if c.Model != "" {
		s.model = c.Model
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if choice.Finish != "" {
			s.finish = choice.Finish
		}
		s.refused.WriteString(choice.Delta.Refusal)
		return choice.Delta.Content
	}
	return ""
}

// interrupted returns the error that came as an event, after the status that promised
// success. Without a code it is the server's own trouble.
func (s *stream) interrupted(raw []byte) error {
	f, ok := openai.Fault(http.StatusInternalServerError, raw)
	if !ok { // llama.cpp has the error itself there
		f, ok = openai.Fault(http.StatusInternalServerError, []byte(`{"error":`+string(raw)+`}`))
	}
	if !ok {
		return s.call.Error(llm.Malformed, "an error without a reason: "+string(raw), nil)
	}
	return s.call.Error(f.Kind, "in mid-answer: "+f.Text, nil)
}

// answer judges what was said when the stream has ended. An answer without text is an
// error: whoever asked for an edit has none.
func (s *stream) answer(req llm.Request) (llm.Answer, error) {
	a := llm.Answer{Text: s.text.String(), Model: req.Model}
	a.Usage.In = wire.Count(s.usage.Prompt, wire.Texts(req)...)
	a.Usage.Out = wire.Count(s.usage.Completion, a.Text)
	a.Usage.Cached = wire.Part(max(s.usage.PromptDetails.Cached, s.usage.Hit), a.Usage.In)
	a.Usage.Reason = wire.Part(s.usage.CompletionDetails.Reasoning, a.Usage.Out)
	// The name is the server's text and goes where errors go: to terminals.
	if name := llm.Line(s.model); name != "" {
		a.Model = name
	}
	if kind, detail := s.ending(); kind != "" {
		a.Text = ""
		return a, s.call.Error(kind, detail, nil)
	}
	return a, nil
}

// ending returns the kind of error that the end is, with a detail, or "" for the
// model's own end. A reason that is not known here is not taken for that.
func (s *stream) ending() (llm.Kind, string) {
	detail := "the answer ended with " + s.finish
	switch s.finish {
	case "":
		return llm.Network, "the stream ended without a reason to finish"
	case "stop", "eos": // eos: Together
		switch {
		case s.refused.Len() > 0:
			return llm.Refused, "the model refused: " + s.refused.String()
		case s.text.Len() == 0:
			return llm.Malformed, "the answer holds no text"
		}
		return "", ""
	case "length":
		return llm.Truncated, detail
	case "content_filter":
		return llm.Refused, detail
	case "tool_calls", "function_call":
		return llm.Malformed, detail
	case "insufficient_system_resource": // DeepSeek
		return llm.Overloaded, detail
	}
	return llm.Unknown, detail
}
