package ollama_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/llm/ollama"
	"agent/orchestrator/llm/wire"
)

var request = llm.Request{
	Model: "qwen3-coder:30b", System: "be brief", Temperature: 0.1, Context: 32000, MaxTokens: 8192,
	Messages: []llm.Message{{Role: llm.User, Text: "what is one and one?"}},
}

// ask asks a fake server with these steps and options.
func ask(t *testing.T, o ollama.Options, s *llmtest.Server) (llm.Answer, error) {
	t.Helper()
	t.Cleanup(s.Close)
	o.Host = s.URL()
	p, err := ollama.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p.Generate(t.Context(), llm.Key{}, request, func(string) error { return nil })
}

// fails expects an error of a kind and returns its detail.
func fails(t *testing.T, kind llm.Kind, steps ...llmtest.Step) string {
	t.Helper()
	_, err := ask(t, ollama.Options{}, llmtest.Ollama(steps...))
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("got %v, want an error of kind %s", err, kind)
	}
	return e.Detail
}

func TestTheQuestionIsInOllamasForm(t *testing.T) {
	s := llmtest.Ollama(llmtest.Step{Text: "two"})
	if _, err := ask(t, ollama.Options{KeepAlive: 10 * time.Minute}, s); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"model": "qwen3-coder:30b", "keep_alive": "10m0s", "truncate": false, "shift": false,
		"messages": []any{
			map[string]any{"role": "system", "content": "be brief"},
			map[string]any{"role": "user", "content": "what is one and one?"},
		},
		"options": map[string]any{"temperature": 0.1, "num_ctx": 32000.0, "num_predict": 8192.0},
	}
	got := s.Requests()[0]
	if d := cmp.Diff(want, got.Body); d != "" || got.Path != "/api/chat" {
		t.Errorf("asked at %s (-want +got):\n%s", got.Path, d)
	}
	if got.KeyID != "" || got.Header.Get("Authorization") != "" {
		t.Errorf("a key was sent where none was given: %+v", got)
	}
}

func TestWhatIsNotSaidIsLeftToTheServer(t *testing.T) {
	s := llmtest.Ollama(llmtest.Step{Text: "two"})
	defer s.Close()
	p, err := ollama.New(ollama.Options{Host: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	req := llm.Request{Model: "m", Messages: request.Messages}
	if _, err := p.Generate(t.Context(), llm.Key{}, req, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	body := s.Requests()[0].Body
	if _, ok := body["keep_alive"]; ok || len(body["options"].(map[string]any)) != 1 || len(body["messages"].([]any)) != 1 {
		t.Errorf("got %v", body)
	}
}

func TestAHintWhereTheUserCanHelp(t *testing.T) {
	got := fails(t, llm.Missing, llmtest.Step{Status: 404, Message: "model 'qwen3-coder:30b' not found"})
	if !strings.Contains(got, "ollama pull qwen3-coder:30b") || !strings.Contains(got, "not found") {
		t.Errorf("of a missing model: %q", got)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := ollama.New(ollama.Options{Host: l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Generate(t.Context(), llm.Key{}, request, nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.Network || !strings.Contains(e.Detail, "ollama serve") {
		t.Errorf("of a server that does not run: %v", err)
	}
}

func TestAnErrorInMidAnswerIsTheServersOwn(t *testing.T) {
	const said = "model runner has unexpectedly stopped"
	for name, step := range map[string]llmtest.Step{
		"after text":  {Text: "half", Events: []string{`{"error":"` + said + `"}` + "\n"}, Open: true},
		"at once":     {Events: []string{`{"error":"` + said + `"}` + "\n"}, Open: true},
		"without end": {Text: "half", Events: []string{`{"error":"` + said + `"}`}, Open: true},
		"after much":  {Text: strings.Repeat("x", 100_000), Events: []string{`{"error":"` + said + `"}` + "\n"}, Open: true},
	} {
		if got := fails(t, llm.Overloaded, step); !strings.Contains(got, said) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestALineThatIsNoneIsMalformed(t *testing.T) {
	for _, line := range []string{"oops\n", "{\"mess\n", "\n", `{"message":7}` + "\n", `{"created_at":"yesterday"}` + "\n", "[]\n", `data: {"done":true}` + "\n"} {
		fails(t, llm.Malformed, llmtest.Step{Text: "half", Events: []string{line}})
	}
}

func TestALineLongerThanTheClientsBufferIsMalformed(t *testing.T) {
	if got := fails(t, llm.Malformed, llmtest.Step{Text: "half", Huge: 9 << 20}); !strings.Contains(got, "too long") {
		t.Errorf("got %q", got)
	}
}

func TestEveryReasonToBeDoneHasAKind(t *testing.T) {
	line := func(reason string) llmtest.Step {
		return llmtest.Step{Text: "half", Open: true, Events: []string{`{"message":{"content":""},"done":true` + reason + "}\n"}}
	}
	fails(t, llm.Truncated, line(`,"done_reason":"length"`))
	fails(t, llm.Unknown, line(`,"done_reason":"load"`))
	for _, reason := range []string{"", `,"done_reason":"stop"`, `,"done_reason":"stop","new_field":[1]`} {
		if a, err := ask(t, ollama.Options{}, llmtest.Ollama(line(reason))); err != nil || a.Text != "half" {
			t.Errorf("%s: got %+v, %v", reason, a, err)
		}
	}
}

func TestATruncatedAnswerTellsWhatItSpent(t *testing.T) {
	a, err := ask(t, ollama.Options{}, llmtest.Ollama(llmtest.Step{Text: "half", Finish: "length", Usage: &llmtest.Usage{In: 90, Out: 30}}))
	if err == nil || a.Text != "" || a.Usage.In.N != 90 || a.Usage.Out.N != 30 {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestNothingIsAddedToAnAnswerThatIsDone(t *testing.T) {
	a, err := ask(t, ollama.Options{}, llmtest.Ollama(llmtest.Step{Text: "two", Open: true, Events: []string{
		`{"message":{"content":"!"},"done":true,"done_reason":"stop"}` + "\n" + `{"message":{"content":"more"}}` + "\n",
	}}))
	if err != nil || a.Text != "two!" {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestTheHostIsReadAsOllamaReadsIt(t *testing.T) {
	for value, want := range map[string]string{
		"":                             "http://127.0.0.1:11434",
		"  \"example.com\" ":           "http://example.com:11434",
		"example.com":                  "http://example.com:11434",
		"example.com:80":               "http://example.com:80",
		"1.2.3.4":                      "http://1.2.3.4:11434",
		":8080":                        "http://127.0.0.1:8080",
		"ollama.com":                   "https://ollama.com:443",
		"0.0.0.0":                      "http://127.0.0.1:11434",
		"0.0.0.0:8080":                 "http://127.0.0.1:8080",
		"[::]:8080":                    "http://127.0.0.1:8080",
		"::1":                          "http://[::1]:11434",
		"[::1]":                        "http://[::1]:11434",
		"[fe80::1]:80":                 "http://[fe80::1]:80",
		"http://example.com":           "http://example.com:80",
		"https://example.com":          "https://example.com:443",
		"https://example.com:8443/":    "https://example.com:8443",
		"https://example.com/ollama/x": "https://example.com:443/ollama/x",
		"example.com/ollama":           "http://example.com:11434/ollama",
	} {
		got, err := ollama.Host(value)
		if err != nil || got.String() != want {
			t.Errorf("%q: got %v, %v, want %s", value, got, err, want)
		}
	}
	for _, bad := range []string{"ftp://host", "host:port", "host:0", "host:65536", "host:-1", "user:secret@host", "https://user@host", "a b", "host?key=secret", "1::2::3"} {
		if got, err := ollama.Host(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, %v", bad, got, err)
		}
	}
}

func TestALineCostsMoreThanItsBytes(t *testing.T) {
	detail := fails(t, llm.Malformed, llmtest.Step{Keep: strings.Repeat("{}\n", 10_000)})
	if !strings.Contains(detail, wire.ErrEvents.Error()) {
		t.Errorf("got %q", detail)
	}
}
