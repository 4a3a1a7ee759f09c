package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"agent/orchestrator/llm"
)

// broken breaks an answer off midway, after its cost was reported.
func broken(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, `data: {"usage":{"input_tokens":5,"output_tokens":40}}`+"\n\n")
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// Counted usage is charged whether or not the answer was completed.
func TestAnAnswerThatBreaksOffIsCounted(t *testing.T) {
	t.Parallel()
	v := serve(t, broken)
	g, journal, client := opened(t, Config{Vendor: "anthropic"}, llm.Limits{}, v.URL, secretKey)
	r, err := client.Post(Address+"/v1/messages", "application/json", strings.NewReader(`{"model":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r.Body); err == nil {
		t.Errorf("the answer is whole to the program: %q", text)
	}
	r.Body.Close()
	if spent, err := settled(t, g, 1); spent.Tokens != 45 || err != nil {
		t.Errorf("spent %+v, %v", spent, err)
	}
	if ofRun, _, err := journal.Spent(t.Context(), "r1", time.Time{}); err != nil || ofRun.Tokens != 45 {
		t.Errorf("recorded %+v, %v", ofRun, err)
	}
}

// If a program hangs up, its question is still charged, and the vendor connection is closed.
func TestAProgramThatHangsUpIsCounted(t *testing.T) {
	t.Parallel()
	v := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"usage":{"input_tokens":5,"output_tokens":7}}`+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	g, journal, client := opened(t, Config{Vendor: "anthropic"}, llm.Limits{}, v.URL, secretKey)
	r, err := client.Post(Address+"/v1/messages", "application/json", strings.NewReader(`{"model":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r.Body, make([]byte, 40)); err != nil {
		t.Error(err)
	}
	r.Body.Close()
	if spent, err := settled(t, g, 1); spent.Tokens != 12 || err != nil {
		t.Errorf("spent %+v, %v", spent, err)
	}
	if ofRun, _, err := journal.Spent(t.Context(), "r1", time.Time{}); err != nil || ofRun.Tokens != 12 {
		t.Errorf("recorded %+v, %v", ofRun, err)
	}
}

// A cap on tokens holds, whatever bound a program gives for its answer.
func TestABoundThatIsNoneLiftsNoCap(t *testing.T) {
	t.Parallel()
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{}`) })
	for body, passes := range map[string]bool{
		`{"model":"m","max_tokens":9223372036854775807}`: false, `{"model":"m","max_tokens":1,"max_output_tokens":999999999}`: false,
		`{"model":"m","generationConfig":{"maxOutputTokens":999999999}}`: false, `{"model":"m","max_tokens":-5}`: true, `{"model":"m","max_tokens":5}`: true, `{"max_tokens":"5"}`: true, `not JSON`: true, ``: true,
	} {
		g, _, client := opened(t, Config{Vendor: "anthropic"}, llm.Limits{Tokens: 500000}, v.URL, secretKey)
		if status, text := post(t, client, "/v1/messages", body); (status == 200) != passes || !passes && !strings.Contains(text, "tokens of a run") {
			t.Errorf("%s: %d %q", body, status, text)
		}
		if _, err := g.Spent(); (err == nil) != passes {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestTheModelOfAQuestion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ vendor, path, body, model string }{
		{"anthropic", "/v1/messages", `{"model":"claude-x"}`, "claude-x"},
		{"anthropic", "/v1/messages", `{"model":7}`, "unknown"},
		{"anthropic", "/v1/messages", `[]`, "unknown"},
		{"anthropic", "/v1/messages", ``, "unknown"},
		{"anthropic", "/v1/messages", `{"model":"a","model":"b"}`, "b"},
		{"anthropic", "/v1/messages", `{"model":"` + strings.Repeat("x", maxModel+1) + `"}`, "unknown"},
		{"anthropic", "/v1/messages", `{"max_tokens":"x","model":"m"}`, "m"},
		{"anthropic", "/v1/messages", "{\"model\":\"a\xff\"}", "a\ufffd"},
		{"gemini", "/v1beta/models/gem-x:generateContent", `{"model":"dear"}`, "gem-x"},
		{"gemini", "/v1/models/..:countTokens", ``, ".."},
	} {
		a, ok := find(test.vendor)
		if got, bound := a.asked(test.path, []byte(test.body)); !ok || got != test.model || bound != 0 {
			t.Errorf("%s %.60s: %q, %d", test.path, test.body, got, bound)
		}
	}
}

// Tokens are counted however an answer is split, and never beyond a plausible number.
func TestCountsAreReadFromWhatPasses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "0 0 0 0 0", `{"usage":{"input_tokens":3,"output_tokens":4}}`: "3 4 0 0 0", `"input_tokens" : 3`: "0 0 0 0 0", "\"input_tokens\":\n  3": "3 0 0 0 0",
		`"output_tokens":1}` + strings.Repeat(" ", 200) + `"output_tokens":12345678,`: "0 12345678 0 0 0", `"output_tokens":-4`: "0 0 0 0 0", `"output_tokens":4.5`: "0 4 0 0 0",
		`"{\"input_tokens\": 9}"`: "0 0 0 0 0", `"{\\\"input_tokens\\\": 9}"`: "0 0 0 0 0",
		`"prompt_tokens":9,"completion_tokens":5,"reasoning_tokens":2,"cached_tokens":4`: "9 5 4 0 2", `"input_tokens":1,"cache_creation_input_tokens":20,"cache_read_input_tokens":300`: "321 0 300 20 0",
		`"promptTokenCount":7,"candidatesTokenCount":2,"thoughtsTokenCount":3,"cachedContentTokenCount":6`: "7 5 6 0 3", `"ephemeral_5m_input_tokens":50`: "0 0 0 0 0",
	} {
		for name, cut := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "by byte": iotest.OneByteReader, "with its end": iotest.DataErrReader} {
			c := &counter{ReadCloser: io.NopCloser(cut(strings.NewReader(text)))}
			passed, err := io.ReadAll(c)
			u, end := c.usage()
			if got := fmt.Sprint(u.In.N, u.Out.N, u.Cached, u.Written, u.Reason); got != want || string(passed) != text || err != nil || end != io.EOF {
				t.Errorf("%q %s: %s, want %s; %q, %v, %v", text, name, got, want, passed, err, end)
			}
		}
	}
	c := &counter{ReadCloser: io.NopCloser(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("xyz"))))}
	if _, err := io.ReadAll(c); err == nil {
		t.Error("an answer that broke off is whole")
	}
	if _, err := c.usage(); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("it ended with %v", err)
	}
	if _, err := (&counter{}).usage(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an answer that was never read ended with %v", err)
	}
}

// A vendor's answer can neither redirect a program nor open another channel to itself.
func TestAnAnswerLeadsNowhere(t *testing.T) {
	t.Parallel()
	for status, head := range map[int]string{301: "Location", 307: "Location", 101: "Upgrade"} {
		v := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set(head, "http://elsewhere.example/"+secretKey)
			w.WriteHeader(status)
			if status != http.StatusSwitchingProtocols {
				io.WriteString(w, "see "+secretKey)
			}
		})
		g, _, client := opened(t, Config{Vendor: "anthropic"}, llm.Limits{}, v.URL, secretKey)
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		got, text := post(t, client, "/v1/messages", `{}`, "Connection", "Upgrade, X-Api-Key", "Upgrade", "http://elsewhere.example/")
		if want := map[int]int{101: 502}[status]; got != want && (want != 0 || got != status) {
			t.Errorf("%d: %d %q", status, got, text)
		}
		if spent, err := settled(t, g, 1); spent.Requests != 1 || err != nil || len(v.asked) != 1 || v.heads[0].Get("X-Api-Key") != secretKey {
			t.Errorf("%d: %+v, %v, asked %q", status, spent, err, v.asked)
		}
	}
}

// A question that does not arrive completely is not forwarded.
func TestAQuestionThatIsCutOffIsNotAsked(t *testing.T) {
	t.Parallel()
	v := serve(t, func(http.ResponseWriter, *http.Request) {})
	g, _, _ := opened(t, Config{Vendor: "anthropic"}, llm.Limits{}, v.URL)
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/messages", io.MultiReader(strings.NewReader("{"), iotest.ErrReader(errors.New("gone")))))
	if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "exceeds 64 MiB") || len(v.asked) > 0 {
		t.Errorf("%d %q, asked %q", w.Code, w.Body, v.asked)
	}
}

// A vendor that needs no key is asked without one, and never receives the dummy key of the program.
func TestWithoutAKeyNoneIsSent(t *testing.T) {
	t.Parallel()
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	_, _, client := opened(t, Config{Vendor: "compatible"}, llm.Limits{}, v.URL+"/v1")
	for range 2 {
		if status, text := post(t, client, "/v1/chat/completions", `{}`, "Authorization", "Bearer "+Key, "Api-Key", Key); status != 401 || !strings.Contains(text, "authentication_error") {
			t.Errorf("%d %q", status, text)
		}
	}
	for _, h := range v.heads {
		if strings.Contains(fmt.Sprint(h), Key) || h.Get("Authorization") != "" {
			t.Errorf("the vendor got %v", h)
		}
	}
}
