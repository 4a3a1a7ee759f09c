package llmtest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"agent/orchestrator/llm"
)

// A FuzzedProvider is what AnyAnswer asks: for text, and for the models that there are.
type FuzzedProvider interface {
	llm.Provider
	llm.Lister
}

// constantAnswer answers every request with the same bytes.
type constantAnswer struct {
	status int
	body   []byte
}

func (a constantAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r,
	}, nil
}

// AnyAnswer gives a client any answer of a server: it ends as an answer, or as an error of a known kind, and no count of
// tokens is below 0. open returns the client on a transport; the status of an answer is 200 to 599.
func AnyAnswer(f *testing.F, open func(http.RoundTripper) (FuzzedProvider, error), key llm.Key, request llm.Request) {
	f.Helper()
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		p, err := open(constantAnswer{200 + int(status)%400, body})
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
