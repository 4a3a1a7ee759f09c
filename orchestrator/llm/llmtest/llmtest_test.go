package llmtest

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/llm"
)

// exchange sends one request and returns the status and body of the response.
func exchange(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestGeminiSpeaksItsProtocol(t *testing.T) {
	s := Gemini(Step{Text: "a", Second: "b", Usage: &Usage{In: 1, Out: 2}}, Step{Status: 429, Message: "slow"})
	defer s.Close()
	const question = `{"contents":[{"role":"user","parts":[{"text":"x"},{"text":"y"}]}],"generationConfig":{"temperature":0.5}}`
	const stream = "/v1beta/models/m:streamGenerateContent"
	for i, want := range []struct {
		status int
		body   string
	}{
		{200, `[{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"},"index":0},{"content":{"parts":[{"text":"b"}],"role":"model"},"index":1}],"modelVersion":"m","responseId":"r","usageMetadata":{"cachedContentTokenCount":0,"candidatesTokenCount":2,"promptTokenCount":1,"thoughtsTokenCount":0,"totalTokenCount":3}}` +
			"\n,\r\n" + `{"candidates":[{"content":{"parts":[{"thoughtSignature":"c2lnbmF0dXJl"}],"role":"model"},"finishReason":1,"index":0}],"modelVersion":"m","responseId":"r","usageMetadata":{"cachedContentTokenCount":0,"candidatesTokenCount":2,"promptTokenCount":1,"thoughtsTokenCount":0,"totalTokenCount":3}}` + "\n]"},
		{429, `[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]`},
		{400, `[{"error":{"code":400,"message":"the script has no more steps","status":"INVALID_ARGUMENT"}}]`},
	} {
		if status, body := exchange(t, "POST", s.URL()+stream, question); status != want.status || body != want.body {
			t.Errorf("answer %d: got %d\n%s\nwant %d\n%s", i, status, body, want.status, want.body)
		}
	}
	if status, body := exchange(t, "POST", s.URL()+"/v1beta/models/m:countTokens", `{"contents":[{"parts":[{"text":"x y z"}]}]}`); status != 400 {
		t.Errorf("a count after the end of the script: got %d %s", status, body)
	}
	if status, body := exchange(t, "GET", s.URL()+"/v1beta/models/m", ""); status != 200 || !strings.Contains(body, `"models/m"`) {
		t.Errorf("a model: got %d %s", status, body)
	}
	if status, _ := exchange(t, "POST", s.URL()+"/v1beta/models/m:dance", "{}"); status != 404 {
		t.Errorf("an unknown method: got %d", status)
	}
	if got := s.Requests(); len(got) != 4 || got[0].Temperature != 0.5 || !reflect.DeepEqual(got[0].Messages[0], Turn{Role: "user", Text: "xy"}) {
		t.Errorf("recorded %+v", got)
	}
}

func TestOllamaSpeaksItsProtocol(t *testing.T) {
	s := Ollama(Step{Thought: "h", Text: "a", Usage: &Usage{In: 1, Out: 2}}, Step{Status: 404, Message: "model 'm' not found"})
	defer s.Close()
	const when = `"created_at":"2026-01-02T03:04:05.678901234Z"`
	for i, want := range []struct {
		status int
		body   string
	}{
		{200, `{"model":"m",` + when + `,"message":{"content":"","role":"assistant","thinking":"h"},"done":false}` + "\n" +
			`{"model":"m",` + when + `,"message":{"content":"a","role":"assistant"},"done":false}` + "\n" +
			`{"model":"m",` + when + `,"message":{"content":"","role":"assistant"},"done":true,"done_reason":"stop","total_duration":5,"prompt_eval_count":1,"eval_count":2}` + "\n"},
		{404, `{"error":"model 'm' not found"}`},
	} {
		status, body := exchange(t, "POST", s.URL()+"/api/chat", `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}],"options":{"num_ctx":5}}`)
		if status != want.status || body != want.body {
			t.Errorf("answer %d: got %d\n%s\nwant %d\n%s", i, status, body, want.status, want.body)
		}
	}
	for path, want := range map[string]int{"/api/version": 200, "/api/tags": 200, "/api/show": 200, "/api/dance": 404} {
		if status, body := exchange(t, "GET", s.URL()+path, ""); status != want {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
	if got := s.Requests(); len(got) != 3 || got[0].System != "s" || got[0].Context != 5 || len(got[0].Messages) != 1 {
		t.Errorf("recorded %+v", got)
	}
}

func TestAServerRecordsWhereTheKeyWasAndNotTheKey(t *testing.T) {
	const secret = "0123456789"
	s := Gemini()
	defer s.Close()
	const stream = "/v1beta/models/m:streamGenerateContent"
	exchange(t, "POST", s.URL()+stream, "{}", "X-Goog-Api-Key", secret)
	exchange(t, "POST", s.URL()+stream+"?key=other", "{}")
	exchange(t, "POST", s.URL()+stream+"?x="+secret, "{}", "X-Goog-Api-Key", secret)
	got := s.Requests()
	id := llm.NewKey(secret).ID
	if got[0].KeyID != id || got[0].KeyInURL || got[1].KeyID != "" || !got[1].KeyInURL || got[2].KeyID != id || !got[2].KeyInURL {
		t.Errorf("recorded %+v", got)
	}
	if got[0].Header.Get("X-Goog-Api-Key") != "" {
		t.Error("the key itself is recorded")
	}
}

func TestAScriptIsReadFromAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "script.json")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`[{"text": "a", "delay": 1000000}, {"status": 429, "headers": {"Retry-After": "2"}}]`)
	steps, err := ReadScript(name)
	if err != nil || len(steps) != 2 || steps[0].Delay != time.Millisecond || steps[1].Headers["Retry-After"] != "2" {
		t.Errorf("got %+v, %v", steps, err)
	}
	write(`[{"txet": "a"}]`)
	if _, err := ReadScript(name); err == nil || !strings.Contains(err.Error(), "txet") {
		t.Errorf("a step with a field that is none: got %v", err)
	}
	if _, err := ReadScript(name + ".none"); err == nil {
		t.Error("read a file that is not there")
	}
}
