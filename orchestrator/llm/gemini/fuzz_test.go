package gemini_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/gemini"
)

// An answering answers every question with the same bytes.
type answering struct {
	status int
	body   []byte
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r,
	}, nil
}

// FuzzAnswer gives the client any answer of a server: it ends as an answer, or as an error of a known kind, and no count of
// tokens is below 0.
func FuzzAnswer(f *testing.F) {
	f.Add(uint16(0), []byte(`[{"candidates":[{"content":{"parts":[{"text":"two"}]},"finishReason":1}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":-1}}]`))
	f.Add(uint16(0), []byte(`[{"candidates":[{"content":{"parts":[{"text":"a","thought":true},{"functionCall":{}}]},"finishReason":"SAFETY"}]},`))
	f.Add(uint16(229), []byte(`[{"error":{"code":429,"message":"m","details":[{"retryDelay":"99999999999s"}]}}]`))
	f.Add(uint16(0), []byte(`[{"promptFeedback":{"blockReason":99}}]`))
	f.Add(uint16(0), []byte(`{}`))
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		p, err := gemini.New(gemini.Options{BaseURL: "http://127.0.0.1:9", Transport: answering{200 + int(status)%400, body}})
		if err != nil {
			t.Fatal(err)
		}
		said := 0
		answer, err := p.Generate(t.Context(), key, request, func(piece string) error { said += len(piece); return nil })
		if answer.Usage.In.N < 0 || answer.Usage.Out.N < 0 {
			t.Errorf("%+v", answer.Usage)
		}
		var e *llm.Error
		switch {
		case err == nil && len(answer.Text) == 0:
			t.Errorf("no text is an answer: %q", body)
		case err != nil && !errors.As(err, &e):
			t.Errorf("%T: %v", err, err)
		}
		// What is unknown is a sign that takes the place of a byte.
		if said > 3*len(body) {
			t.Errorf("%d bytes out of %d", said, len(body))
		}
	})
}
