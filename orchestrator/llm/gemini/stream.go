package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
)

// An event is one element of the stream, as far as it matters here. It has only the fields that are read, of about a hundred, so
// that additions to the others change nothing. Source: GenerateContentResponse of generativelanguage v1beta.
type event struct {
	Candidates []struct {
		Index   int `json:"index"`
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		FinishReason  reason `json:"finishReason"`
		FinishMessage string `json:"finishMessage"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason blockReason `json:"blockReason"`
	} `json:"promptFeedback"`
	UsageMetadata *usage          `json:"usageMetadata"`
	ModelVersion  string          `json:"modelVersion"`
	Error         json.RawMessage `json:"error"`
}

// A usage counts tokens, cumulated over the stream. The counts are read as any number, since they may be nonsense.
type usage struct {
	Prompt     float64 `json:"promptTokenCount"`        // including cached ones
	Candidates float64 `json:"candidatesTokenCount"`    // without thoughts
	Thoughts   float64 `json:"thoughtsTokenCount"`      // reasoning that is billed as answer
	Cached     float64 `json:"cachedContentTokenCount"` // of Prompt
}

// of returns the usage of an answer of texts to req. It estimates a count that makes no sense.
func (u usage) of(req llm.Request, texts ...string) llm.Usage {
	in := wire.Count(u.Prompt, req.Texts()...)
	out := llm.Estimate(texts...)
	// A negative part may hide in a sum that looks plausible.
	if u.Candidates >= 0 && u.Thoughts >= 0 {
		out = wire.Count(u.Candidates+u.Thoughts, texts...)
	}
	return llm.Usage{In: in, Out: out, Cached: wire.Part(u.Cached, in), Reason: wire.Part(u.Thoughts, out)}
}

// seen holds everything in an answer besides its text, as of the last event.
type seen struct {
	usage   usage
	model   string      // the version that answered
	finish  reason      // why the model stopped
	because string      // the vendor's explanation of it
	blocked blockReason // why the question was refused
	parts   parts
}

// ending returns the kind of error that the end of the stream means, with a detail, or "" for the model's own end. A reason that is
// not in the list, such as one that Google adds later, does not count as the model's own end.
func (s seen) ending() (llm.Kind, string) {
	switch {
	case s.blocked != "":
		return llm.Refused, "the question was blocked: " + string(s.blocked)
	case s.finish == "":
		return llm.Network, "the stream ended without a finish reason"
	}
	detail := strings.TrimSpace("the answer ended with " + string(s.finish) + " " + s.because)
	switch s.finish {
	case "STOP":
		return "", ""
	case "MAX_TOKENS":
		return llm.Truncated, detail
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY":
		return llm.Refused, detail
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL":
		return llm.Malformed, detail
	}
	return llm.Unknown, detail
}

// A reason is an enumerated value by its name, "" for none.
type reason string

// reasons are the names of the numbers of Candidate.FinishReason (v1beta). Enumerations come as numbers if enum-encoding=int is
// requested, as the library does.
var reasons = []reason{
	"", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST",
	"PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL",
}

// UnmarshalJSON reads a name or a number. A number without a name stays a number: it is not the model's own end.
func (r *reason) UnmarshalJSON(text []byte) (err error) {
	*r, err = enumerated(text, reasons)
	return err
}

// A blockReason is why a question was refused, by its name, "" for none.
type blockReason string

// blockReasons are the names of the numbers of PromptFeedback.BlockReason
// (v1beta), which are not those of a candidate's end.
var blockReasons = []blockReason{"", "SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY"}

// UnmarshalJSON reads a name or a number, like that of reason.
func (r *blockReason) UnmarshalJSON(text []byte) (err error) {
	*r, err = enumerated(text, blockReasons)
	return err
}

// enumerated reads a value of an enumeration whose names are in the order of their numbers.
func enumerated[T ~string](text []byte, names []T) (T, error) {
	// The real service sends numbers if asked for them; gateways send names.
	var name string
	if json.Unmarshal(text, &name) == nil { // null too, as ""
		if strings.HasSuffix(name, "_UNSPECIFIED") {
			name = ""
		}
		return T(name), nil
	}
	var n int
	if err := json.Unmarshal(text, &n); err != nil {
		return "", fmt.Errorf("a reason is neither name nor number: %w", err)
	}
	if n >= 0 && n < len(names) {
		return names[n], nil
	}
	return T(fmt.Sprint("reason ", n)), nil
}

// A stream reads the events of an answer, keeps what the library would lose, and passes only the text to the library, in events
// that it knows. It holds one event at a time; package wire bounds what it reads in total.
type stream struct {
	body io.ReadCloser // of the response
	in   *json.Decoder // reads body
	out  bytes.Buffer  // the library's form of the last event
	q    *question     // records what is seen, and makes errors
	open bool          // the array has begun
	n    int           // events so far
	err  error         // how the stream ended
}

// newStream returns a stream that reads body for q.
func newStream(body io.ReadCloser, q *question) *stream {
	return &stream{body: body, in: json.NewDecoder(body), q: q}
}

// Close closes the response body.
func (s *stream) Close() error { return s.body.Close() }

// Read returns the library's form of the next event once the last one has been read.
func (s *stream) Read(p []byte) (int, error) {
	for s.out.Len() == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.err = s.next()
	}
	return s.out.Read(p)
}

// next rewrites one event. It returns io.EOF after the end of the array.
func (s *stream) next() error {
	if !s.open {
		if err := s.bracket('['); err != nil {
			return err
		}
		s.open = true
		// The library appends each event to the candidates of the first, copying all text every time. A first event without
		// candidates avoids that.
		s.out.WriteString("[{}")
		return nil
	}
	if !s.in.More() {
		if err := s.bracket(']'); err != nil {
			return err
		}
		s.out.WriteString("]")
		return io.EOF
	}
	piece, err := s.event()
	if err != nil {
		return err
	}
	quoted, err := json.Marshal(piece)
	if err != nil {
		return err
	}
	fmt.Fprintf(&s.out, `,{"candidates":[{"content":{"role":"model","parts":[{"text":%s}]}}]}`, quoted)
	return nil
}

// event reads one event and returns its text.
func (s *stream) event() (string, error) {
	if s.n++; s.n > wire.MaxEvents {
		return "", s.q.call.Error(llm.Malformed, wire.ErrEvents.Error(), nil)
	}
	// Raw first: an event that is cut off is the network's fault, a complete one that makes no sense is the vendor's.
	var raw json.RawMessage
	if err := s.in.Decode(&raw); err != nil {
		return "", broken(err)
	}
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return "", err
	}
	if e.Error != nil {
		return "", s.q.interrupted(raw)
	}
	piece, err := s.q.seen.note(e)
	if err == nil && wire.Torn(raw, piece) {
		err = wire.ErrTorn
	}
	return piece, err
}

// each reads the events of an array, and passes the text of each to yield. It returns nil after the end of the array.
func (s *stream) each(ctx context.Context, yield func(text string) error) error {
	if err := s.bracket('['); err != nil {
		return s.q.call.Err(ctx, err)
	}
	for s.in.More() {
		piece, err := s.event()
		if err != nil {
			return s.q.call.Err(ctx, err)
		}
		if err := yield(piece); err != nil {
			return err
		}
	}
	if err := s.bracket(']'); err != nil {
		return s.q.call.Err(ctx, err)
	}
	return nil
}

// bracket reads the bracket that opens or closes the array of events.
func (s *stream) bracket(want json.Delim) error {
	t, err := s.in.Token()
	if err != nil {
		return broken(err)
	}
	if t != want {
		return fmt.Errorf("the answer has %v where its array of events has %v", t, want)
	}
	return nil
}

// broken turns the end of a body inside its array into io.ErrUnexpectedEOF.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// note records everything in e besides text, and returns the text of the first candidate. Thoughts are not part of the answer.
func (s *seen) note(e event) (string, error) {
	// The vendor cumulates counts and names: the last one counts.
	if e.UsageMetadata != nil {
		s.usage = *e.UsageMetadata
	}
	if e.ModelVersion != "" {
		s.model = e.ModelVersion
	}
	if e.PromptFeedback.BlockReason != "" {
		s.blocked = e.PromptFeedback.BlockReason
	}
	for _, c := range e.Candidates {
		if c.Index != 0 {
			continue
		}
		if c.FinishReason != "" {
			s.finish, s.because = c.FinishReason, c.FinishMessage
		}
		return s.parts.add(c.Content.Parts) // a second candidate with the same index no longer counts as the first
	}
	return "", nil
}
