package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
)

// An event is one event of the stream, as far as it matters here. A field in another form is an error to the guard, where the
// client would ignore it. Source: "Streaming messages" of Anthropic's API documentation.
type event struct {
	Type    string `json:"type"`
	Message struct {
		Model string `json:"model"`
		Usage *usage `json:"usage"`
	} `json:"message"` // of message_start
	Index int   `json:"index"`         // of a block of the answer
	Block block `json:"content_block"` // of content_block_start
	Delta struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		Thinking   string `json:"thinking"`
		Signature  string `json:"signature"`
		Arguments  string `json:"partial_json"`
		StopReason string `json:"stop_reason"` // of message_delta
	} `json:"delta"`
	Usage *usage `json:"usage"` // of message_delta, cumulated
}

// A usage counts tokens. The counts are read as any number, since they may be nonsense; nil is a count that is not given, which
// leaves the earlier one.
type usage struct {
	In         *float64 `json:"input_tokens"` // neither read from the cache nor written to it
	Read       *float64 `json:"cache_read_input_tokens"`
	Written    *float64 `json:"cache_creation_input_tokens"`
	Out        *float64 `json:"output_tokens"` // including thinking
	OutDetails struct {
		Thinking *float64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// add replaces the counts that a later event gives.
func (u *usage) add(later usage) {
	for _, count := range []struct{ have, told **float64 }{
		{&u.In, &later.In},
		{&u.Read, &later.Read},
		{&u.Written, &later.Written},
		{&u.Out, &later.Out},
		{&u.OutDetails.Thinking, &later.OutDetails.Thinking},
	} {
		if *count.told != nil {
			*count.have = *count.told
		}
	}
}

// of returns the usage of an answer of texts to req. It estimates a count that makes no sense.
func (u usage) of(req llm.Request, texts ...string) llm.Usage {
	n := func(count *float64) float64 {
		if count == nil {
			return 0
		}
		return *count
	}
	in := llm.Estimate(req.Texts()...)
	// A negative part may hide in a sum that looks plausible.
	if n(u.In) >= 0 && n(u.Read) >= 0 && n(u.Written) >= 0 {
		in = wire.Count(n(u.In)+n(u.Read)+n(u.Written), req.Texts()...)
	}
	out := wire.Count(n(u.Out), texts...)
	return llm.Usage{
		In: in, Out: out, Cached: wire.Part(n(u.Read), in), Written: wire.Part(n(u.Written), in), Reason: wire.Part(n(u.OutDetails.Thinking), out),
	}
}

// seen holds everything in an answer besides its text.
type seen struct {
	usage  usage
	blocks blocks
	model  string // the version that answered
	stop   string // why the model stopped
}

// ending returns the kind of error that the end of the stream means, with a detail, or "" for the model's own end. An unknown
// reason does not count as the model's own end.
func (s seen) ending() (llm.Kind, string) {
	detail := "the answer ended with " + s.stop
	switch s.stop {
	case "end_turn", "stop_sequence", "tool_use":
		return "", ""
	case "max_tokens", "model_context_window_exceeded":
		return llm.Truncated, detail
	case "refusal":
		return llm.Refused, detail
	case "":
		return llm.Malformed, "the answer ended without a reason"
	}
	return llm.Unknown, detail
}

// A guard reads the events of an answer before the client does, checks each, records what it sees, and ends with an error if the
// stream ends before its last event.
type guard struct {
	body   io.ReadCloser
	events *wire.Events
	q      *question
	out    bytes.Buffer // the last event, in the form for the client
	done   bool         // message_stop has come
	err    error        // how the stream ended
}

// newGuard returns a guard that reads body for q.
func newGuard(body io.ReadCloser, q *question) *guard {
	return &guard{body: body, events: wire.NewEvents(body), q: q}
}

// Close closes the response body.
func (g *guard) Close() error { return g.body.Close() }

// Read returns the next event once the last one has been read.
func (g *guard) Read(p []byte) (int, error) {
	for g.out.Len() == 0 {
		if g.err != nil {
			return 0, g.err
		}
		g.err = g.next()
	}
	return g.out.Read(p)
}

// next checks one event and passes it on. It returns io.EOF after the last one.
func (g *guard) next() error {
	if g.done { // anything after it is not part of the answer
		return io.EOF
	}
	raw, err := g.events.Next()
	if errors.Is(err, io.EOF) {
		return g.q.call.Error(llm.Network, "the stream ended before the answer was done", nil)
	}
	if err != nil || len(raw.Data) == 0 {
		return err
	}
	var e event
	if err := json.Unmarshal(raw.Data, &e); err != nil {
		return err
	}
	if wire.Torn(raw.Data, e.Delta.Text+e.Delta.Arguments+e.Block.ID+e.Block.Name+string(e.Block.Input)) {
		return wire.ErrTorn
	}
	name := e.Type
	switch e.Type {
	case "message_start":
		g.q.seen.model = e.Message.Model
		g.note(e.Message.Usage)
	case "content_block_start":
		err = g.q.seen.blocks.begin(e)
	case "content_block_delta":
		err = g.q.seen.blocks.add(e)
	case "message_delta":
		g.note(e.Usage)
		if e.Delta.StopReason != "" {
			g.q.seen.stop = e.Delta.StopReason
		}
	case "message_stop":
		g.done = true
	case "ping":
		name = "alive" // the client drops a ping, which is a sign of life
	case "error":
		return g.interrupted(raw.Data)
	}
	if err != nil {
		return err
	}
	// In one line, as the client reads it. An unknown type is one more sign of life.
	var line bytes.Buffer
	if err := json.Compact(&line, raw.Data); err != nil {
		return err
	}
	if name == "" || bytes.ContainsAny([]byte(name), "\r\n") {
		return errors.New("an event has no type")
	}
	fmt.Fprintf(&g.out, "event: %s\ndata: %s\n\n", name, line.Bytes())
	return nil
}

// note records the counts of an event.
func (g *guard) note(u *usage) {
	if u != nil {
		g.q.seen.usage.add(*u)
	}
}

// interrupted returns the error that came as an event, after a status that promised success.
func (g *guard) interrupted(raw []byte) error {
	f, ok := fault(http.StatusOK, raw)
	if !ok {
		return g.q.call.Error(llm.Malformed, "an error without a reason: "+string(raw), nil)
	}
	if f.Kind == llm.Malformed { // an unknown type
		f.Kind = llm.Overloaded
	}
	return g.q.call.Error(f.Kind, "in mid-answer: "+f.Text, nil)
}
