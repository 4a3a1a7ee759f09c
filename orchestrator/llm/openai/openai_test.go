package openai_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/llm/openai"
)

var (
	key     = llm.NewKey("a-key-for-tests")
	request = llm.Request{Model: "gpt-4.1", Temperature: 0.5, Messages: []llm.Message{{Role: llm.User, Text: "what is one and one?"}}}
)

// ask asks a fake server.
func ask(t *testing.T, s *llmtest.Server, req llm.Request) (llm.Answer, error) {
	t.Helper()
	t.Cleanup(s.Close)
	p, err := openai.New(openai.Options{BaseURL: s.URL() + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	return p.Generate(t.Context(), key, req, func(string) error { return nil })
}

func kind(err error) llm.Kind {
	var e *llm.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func TestTheQuestionIsInOpenAIsForm(t *testing.T) {
	for model, sampled := range map[string]bool{
		"gpt-4.1": true, "gpt-4o": true, "of-a-gateway": true, "gpt-5-mini": false, "gpt-5.3-codex": false, "gpt-6": false, "gpt-10": false,
		"o3": false, "o4-mini": false, "codex-mini-latest": false,
	} {
		s := llmtest.OpenAI(llmtest.Step{Text: "two"})
		req := request
		req.Model, req.System, req.MaxTokens = model, "be brief", 500
		if _, err := ask(t, s, req); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"model": model, "instructions": "be brief", "stream": true, "store": false, "max_output_tokens": 500.0,
			"input": []any{map[string]any{"role": "user", "content": "what is one and one?"}},
		}
		if sampled {
			want["temperature"] = 0.5
		}
		got := s.Requests()[0]
		if d := cmp.Diff(want, got.Body); d != "" || got.Path != "/v1/responses" {
			t.Errorf("asked at %s (-want +got):\n%s", got.Path, d)
		}
	}
}

func TestUsageCountsReasoningAndWhatWasCached(t *testing.T) {
	a, err := ask(t, llmtest.OpenAI(llmtest.Step{Thought: "hm", Text: "two", Usage: &llmtest.Usage{In: 100, Out: 7, Cached: 60, Thoughts: 30}}), request)
	want := llm.Usage{In: llm.Tokens{N: 100}, Out: llm.Tokens{N: 37}, Cached: 60, Reason: 30}
	if err != nil || a.Usage != want {
		t.Errorf("got %+v, %v, want %+v", a.Usage, err, want)
	}
}

func TestWhatOpenAISaysDecidesTheKind(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		kind   llm.Kind
	}{
		{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.Quota},
		{429, `{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}`, llm.RateLimit},
		{401, `{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}`, llm.Auth},
		{403, `{"error":{"message":"Project has no access to the model","type":"invalid_request_error","code":"model_not_found"}}`, llm.Missing},
		{403, `{"error":{"message":"Country not supported","code":"unsupported_country_region_territory"}}`, llm.Invalid},
		{400, `{"error":{"message":"Your input exceeds the context window","code":"context_length_exceeded"}}`, llm.Invalid},
		{400, `{"error":{"message":"flagged","code":"invalid_prompt"}}`, llm.Refused},
		{429, `{"error":{"message":"no money","type":"insufficient_quota","code":null}}`, llm.Quota},
		{503, `{"error":{"message":"busy","code":503}}`, llm.Overloaded},
		{500, `{"error":null}`, llm.Overloaded},
	} {
		if _, err := ask(t, llmtest.OpenAI(llmtest.Step{Status: c.status, Body: c.body}), request); kind(err) != c.kind {
			t.Errorf("%s: got %v, want %s", c.body, err, c.kind)
		}
	}
}

func TestEveryEndOfAStreamHasAKind(t *testing.T) {
	const usage = `"usage":{"input_tokens":9,"output_tokens":3}`
	for event, want := range map[string]llm.Kind{
		`{"type":"response.completed","response":{` + usage + `}}`:                                                      llm.Kind(""),
		`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"},` + usage + `}}`: llm.Truncated,
		`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"},` + usage + `}}`:    llm.Refused,
		`{"type":"response.incomplete","response":{` + usage + `}}`:                                                     llm.Unknown,
		`{"type":"response.failed","response":{"error":{"code":"server_error","message":"x"},` + usage + `}}`:           llm.Overloaded,
		`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"x"},` + usage + `}}`:    llm.RateLimit,
		`{"type":"response.failed","response":{` + usage + `}}`:                                                         llm.Overloaded,
		`{"type":"response.completed"}`:                                                                            llm.Malformed,
		`{"type":"error","code":"rate_limit_exceeded","message":"x","param":null}`:                                 llm.RateLimit,
		`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"x"}}`: llm.Invalid,
		`{"type":"error","message":"x"}`:                                                                           llm.Overloaded,
		`{"type":"response.output_text.delta","delta":7}`:                                                          llm.Malformed,
		`{"type":"response.output_text.delta","delta":"half \ud83d"}`:                                              llm.Malformed,
		`{"type":"response.output_text.done","text":"half"}`:                                                       llm.Network,
	} {
		a, err := ask(t, llmtest.OpenAI(llmtest.Step{Text: "half", Open: true, Events: []string{"data: " + event + "\n\n"}}), request)
		if kind(err) != want || (a.Text == "half") != (want == "") {
			t.Errorf("%s: got %+v, %v, want %q", event, a, err, want)
		}
		if want == llm.Truncated && a.Usage.Out.N != 3 {
			t.Errorf("the tokens that were spent are lost: %+v", a.Usage)
		}
	}
	a, err := ask(t, llmtest.OpenAI(llmtest.Step{Events: []string{"data: {\"type\":\"response.refusal.delta\",\"delta\":\"I will not\"}\n\n"}}), request)
	if kind(err) != llm.Refused || a.Text != "" {
		t.Errorf("got %+v, %v", a, err)
	}
}
