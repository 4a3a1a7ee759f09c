package compatible_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/compatible"
)

// An answering answers every question with the same bytes.
type answering struct {
	status int
	body   []byte
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r,
	}, nil
}

// FuzzAnswer gives the client any answer of a server: it ends as an answer, or as an error of a known kind, and no count of
// tokens is below 0.
func FuzzAnswer(f *testing.F) {
	f.Add(uint16(0), []byte(": x\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"two\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"prompt_cache_hit_tokens\":5}}\n\ndata: [DONE]\n\n"))
	f.Add(uint16(0), []byte("error: {\"code\":500,\"message\":\"x\"}\n\n"))
	f.Add(uint16(0), []byte("data: {\"choices\":[{\"index\":1}]}\n\ndata: {\"error\":\"x\"}\n\n"))
	f.Add(uint16(203), []byte("{\"error\":{\"message\":\"x\",\"code\":403,\"metadata\":{\"reasons\":[\"a\"]}}}"))
	f.Add(uint16(0), []byte("data: 1\ndata: 2\n\n"))
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		p, err := compatible.New(compatible.Options{BaseURL: "http://127.0.0.1:9", Transport: answering{200 + int(status)%400, body}})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		answer, err := p.Generate(t.Context(), key, request, func(piece string) error { said += piece; return nil })
		if u := answer.Usage; u.In.N < 0 || u.Out.N < 0 || u.Cached < 0 || u.Cached > u.In.N || u.Reason < 0 || u.Reason > u.Out.N {
			t.Errorf("%+v", u)
		}
		var e *llm.Error
		switch {
		case err == nil && (answer.Text == "" || answer.Text != said):
			t.Errorf("%q is an answer of the pieces %q: %q", answer.Text, said, body)
		case err != nil && (!errors.As(err, &e) || answer.Text != ""):
			t.Errorf("%q, %T: %v", answer.Text, err, err)
		}
		if _, err := p.Models(t.Context(), key); err != nil && !errors.As(err, &e) {
			t.Errorf("%T: %v", err, err)
		}
	})
}
