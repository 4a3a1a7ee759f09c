package llmtest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/llm"
)

// A FuzzedProvider is what AnyAnswer asks, for text and for the list of models.
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

// goesOn asks the next question of a conversation that contains the answer.
func goesOn(t *testing.T, p FuzzedProvider, key llm.Key, request llm.Request, answer llm.Answer) {
	t.Helper()
	next := llm.Message{Role: llm.User, Text: "go on"}
	for _, c := range answer.Calls {
		next.Results = append(next.Results, llm.ToolResult{ID: c.ID})
	}
	request.Messages = append(slices.Clone(request.Messages), answer.Message(), next)
	if err := request.CheckTurns(); err != nil {
		t.Fatalf("%v: %+v", err, answer)
	}
	var e *llm.Error
	if _, err := p.Generate(t.Context(), key, request, func(string) error { return nil }); errors.As(err, &e) && e.Kind == llm.Invalid && strings.Contains(e.Detail, "valid UTF-8") {
		t.Errorf("%v: %+v", err, answer)
	}
}

// AnyAnswer gives a client any answer of a server. The result must be an answer or an error of a known kind, and no token count may
// be below 0. With tools the conversation can continue from the answer, whatever it calls. open returns the client on a transport;
// the status of an answer is 200 to 599.
func AnyAnswer(f *testing.F, open func(http.RoundTripper) (FuzzedProvider, error), key llm.Key, request llm.Request) {
	f.Helper()
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		p, err := open(constantAnswer{200 + int(status)%400, body})
		if err != nil {
			t.Fatal(err)
		}
		var e *llm.Error
		for _, tools := range [][]llm.Tool{nil, tools()} {
			request.Tools = tools
			said := ""
			answer, err := p.Generate(t.Context(), key, request, func(piece string) error { said += piece; return nil })
			if u := answer.Usage; u.In.N < 0 || u.Out.N < 0 || u.Cached < 0 || u.Cached > u.In.N || u.Reason < 0 || u.Reason > u.Out.N {
				t.Errorf("%+v", u)
			}
			empty := answer.Text == "" && len(answer.Calls) == 0
			switch {
			case err == nil && (empty || answer.Text != said || len(answer.Calls) > 0 && tools == nil):
				t.Errorf("%+v is an answer of the pieces %q: %q", answer, said, body)
			case err != nil && (!errors.As(err, &e) || !empty || answer.State != nil):
				t.Errorf("%+v, %T: %v", answer, err, err)
			case err == nil:
				goesOn(t, p, key, request, answer)
			}
		}
		if _, err := p.Models(t.Context(), key); err != nil && !errors.As(err, &e) {
			t.Errorf("%T: %v", err, err)
		}
	})
}
