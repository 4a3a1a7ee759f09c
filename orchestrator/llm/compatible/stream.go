package compatible

import (
	"cmp"
	"encoding/json"
	"fmt"
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
			Content string     `json:"content"`
			Refusal string     `json:"refusal"`
			Calls   []fragment `json:"tool_calls"`
			// Reasoning is not part of the answer; the event itself is the sign of life.
			Thought   string `json:"reasoning_content"`
			Reasoning string `json:"reasoning"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// A usage counts tokens, in the last events of a stream. The counts are read as any number, since they may be nonsense.
type usage struct {
	Prompt        float64 `json:"prompt_tokens"` // including cached ones
	PromptDetails struct {
		Cached float64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Hit               float64 `json:"prompt_cache_hit_tokens"` // DeepSeek's name for them
	Completion        float64 `json:"completion_tokens"`       // including reasoning
	CompletionDetails struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// A fragment is the next part of a call. Most servers count the calls by index; some send each call whole without one, or all with
// the index 0.
type fragment struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string of JSON; from some servers the JSON itself
	} `json:"function"`
}

// arguments returns the part of the arguments in the fragment.
func (f fragment) arguments() string {
	var text string
	if raw := f.Function.Arguments; json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text // "" for null
}

// A stream is an answer while it arrives, with everything seen of it besides its text.
type stream struct {
	call    *wire.Call
	events  *wire.Events
	text    strings.Builder
	calls   wire.Calls
	under   map[int]begun // the latest call with each index
	last    int           // index of the last fragment
	thought [2]strings.Builder
	refused strings.Builder // the model's refusal in place of an answer
	usage   usage
	model   string // that answered
	finish  string // why the model stopped, "" before it did
}

// next returns the text of one event, "" for one that is only a sign of life, and io.EOF at the end of the stream.
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
	piece, calls, err := s.note(c)
	if err == nil && wire.Torn(raw.Data, piece+calls) {
		err = wire.ErrTorn
	}
	return piece, err
}

// note records everything in c besides text. It returns the text of the first choice, and its parts of calls as one text.
func (s *stream) note(c chunk) (piece, calls string, err error) {
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
		s.thought[0].WriteString(choice.Delta.Thought)
		s.thought[1].WriteString(choice.Delta.Reasoning)
		for _, f := range choice.Delta.Calls {
			calls += f.ID + f.Function.Name + f.arguments()
			if err := s.calls.Add(s.mark(f), f.ID, f.Function.Name, f.arguments()); err != nil {
				return "", "", err
			}
		}
		return choice.Delta.Content, calls, nil
	}
	return "", "", nil
}

// begun is a call that has an index, with the mark that distinguishes it from others.
type begun struct{ mark, id string }

// mark returns the mark that distinguishes the call of f from others. With an index that is in use, another ID and a name begin
// another call.
func (s *stream) mark(f fragment) string {
	if f.Index != nil {
		s.last = *f.Index
	}
	now, ok := s.under[s.last]
	if !ok || f.ID != "" && now.id != "" && f.ID != now.id && f.Function.Name != "" {
		now = begun{mark: fmt.Sprint(s.calls.Len())}
	}
	now.id = cmp.Or(now.id, f.ID)
	if s.under == nil {
		s.under = map[int]begun{}
	}
	s.under[s.last] = now
	return now.mark
}

// interrupted returns the error that came as an event, after a status that promised success. Without a code it counts as an
// internal fault of the server.
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

// answer judges the answer after the stream has ended. An answer without text or calls is an error: the caller asked for an edit
// and has none.
func (s *stream) answer(req llm.Request) (llm.Answer, error) {
	a := llm.Answer{Text: s.text.String(), Model: req.Model}
	a.Calls = s.calls.Whole(req)
	a.Usage.In = wire.Count(s.usage.Prompt, req.Texts()...)
	a.Usage.Out = wire.Count(s.usage.Completion, a.Texts()...)
	a.Usage.Cached = wire.Part(max(s.usage.PromptDetails.Cached, s.usage.Hit), a.Usage.In)
	a.Usage.Reason = wire.Part(s.usage.CompletionDetails.Reasoning, a.Usage.Out)
	// The name is the server's text and goes where errors go: to terminals.
	if name := llm.Line(s.model); name != "" {
		a.Model = name
	}
	if kind, detail := s.ending(len(a.Calls) > 0, len(req.Tools) > 0); kind != "" {
		a.Text, a.Calls = "", nil
		return a, s.call.Error(kind, detail, nil)
	}
	if kept := (thoughts{s.thought[0].String(), s.thought[1].String()}); len(a.Calls) > 0 && kept != (thoughts{}) {
		data, err := json.Marshal(kept)
		if err != nil {
			return llm.Answer{}, s.call.Error(llm.Malformed, err.Error(), nil)
		}
		a.State = &llm.State{Vendor: Vendor, Model: req.Model, Data: data}
	}
	return a, nil
}

// ending returns the kind of error that the end means, with a detail, or "" for the model's own end, with or without calls. An
// unknown reason does not count as the model's own end.
func (s *stream) ending(calls, tools bool) (llm.Kind, string) {
	detail := "the answer ended with " + s.finish
	switch s.finish {
	case "":
		return llm.Network, "the stream ended without a finish reason"
	// eos: Together. Not all servers say tool_calls for calls.
	case "stop", "eos", "tool_calls", "function_call":
		switch {
		case calls && tools:
			return "", ""
		case calls || s.finish == "tool_calls" || s.finish == "function_call":
			return llm.Malformed, detail + ", but called no tool that exists"
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
	case "insufficient_system_resource": // DeepSeek
		return llm.Overloaded, detail
	}
	return llm.Unknown, detail
}
