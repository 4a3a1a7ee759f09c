package anthropic_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/anthropic"
	"agent/orchestrator/llm/llmtest"
)

var (
	key     = llm.NewKey("a-key-for-tests")
	request = llm.Request{Model: "claude-sonnet-4-6", Temperature: 0.5, Messages: []llm.Message{{Role: llm.User, Text: "what is one and one?"}}}
)

// ask asks a fake server.
func ask(t *testing.T, s *llmtest.Server, req llm.Request) (llm.Answer, error) {
	t.Helper()
	t.Cleanup(s.Close)
	p, err := anthropic.New(anthropic.Options{BaseURL: s.URL()})
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

// breakpoints counts the marks for the vendor's cache in a request.
func breakpoints(body any) int { return strings.Count(fmt.Sprint(body), "cache_control") }

func TestTheQuestionIsInAnthropicsForm(t *testing.T) {
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "of-the-environment")
	t.Setenv("ANTHROPIC_API_KEY", "of-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	s := llmtest.Anthropic(llmtest.Step{Text: "two"})
	req := request
	req.System = "be brief"
	if _, err := ask(t, s, req); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"model": "claude-sonnet-4-6", "max_tokens": 32000.0, "stream": true, "temperature": 0.5,
		"system":   []any{map[string]any{"type": "text", "text": "be brief", "cache_control": map[string]any{"type": "ephemeral"}}},
		"messages": []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "what is one and one?"}}}},
	}
	got := s.Requests()[0]
	if d := cmp.Diff(want, got.Body); d != "" || got.Path != "/v1/messages" || got.KeyID != key.ID || got.Header.Get("Authorization") != "" {
		t.Errorf("asked at %s with the key %q (-want +got):\n%s", got.Path, got.KeyID, d)
	}
}

func TestAConversationIsCachedBehindItsLastTurns(t *testing.T) {
	user, model := llm.Message{Role: llm.User, Text: "and one?"}, llm.Message{Role: llm.Assistant, Text: "two"}
	tools := []llm.Tool{{Name: "read", Schema: []byte(`{"type":"object"}`)}, {Name: "list", Schema: []byte(`{"type":"object"}`)}}
	for name, c := range map[string]struct {
		system   string
		tools    []llm.Tool
		messages []llm.Message
		want     string
	}{
		"a question alone":           {"be brief", nil, []llm.Message{user}, "s"},
		"with tools it will go on":   {"be brief", tools, []llm.Message{user}, "s 0"},
		"a conversation":             {"", nil, []llm.Message{user, model, user}, "0 2"},
		"a long one":                 {"be brief", tools, []llm.Message{user, model, user, model, user, model, user}, "s 4 6"},
		"tools without instructions": {"", tools, []llm.Message{user, model, user}, "t1 0 2"},
	} {
		s := llmtest.Anthropic(llmtest.Step{Text: "three"})
		req := request
		req.System, req.Tools, req.Messages = c.system, c.tools, c.messages
		if _, err := ask(t, s, req); err != nil {
			t.Fatal(err)
		}
		body, got := s.Requests()[0].Body, ""
		for i := range c.tools {
			if breakpoints(body["tools"].([]any)[i]) > 0 {
				got += fmt.Sprintf(" t%d", i)
			}
		}
		if breakpoints(body["system"]) > 0 {
			got += " s"
		}
		for i, m := range body["messages"].([]any) {
			if breakpoints(m) > 0 {
				got += fmt.Sprintf(" %d", i)
			}
		}
		if strings.TrimSpace(got) != c.want || breakpoints(body) > 4 {
			t.Errorf("%s: breakpoints at%s, want %s", name, got, c.want)
		}
	}
}

func TestAModelIsAskedWithinItsBounds(t *testing.T) {
	for model, want := range map[string]struct {
		most    int
		sampled bool
	}{
		"claude-3-haiku-20240307": {4096, true}, "claude-3-5-haiku-20241022": {8192, true}, "claude-3-7-sonnet-20250219": {32000, true},
		"claude-opus-4-1-20250805": {32000, true}, "claude-haiku-4-5": {32000, true}, "claude-opus-4-7": {32000, false},
		"claude-sonnet-5-5": {32000, false}, "of-a-gateway": {32000, true},
	} {
		s := llmtest.Anthropic(llmtest.Step{Text: "two"})
		req := request
		req.Model = model
		if _, err := ask(t, s, req); err != nil {
			t.Fatal(err)
		}
		_, sampled := s.Requests()[0].Body["temperature"]
		if got := s.Requests()[0].MaxTokens; got != want.most || sampled != want.sampled {
			t.Errorf("%s: at most %d tokens, a temperature: %v", model, got, sampled)
		}
	}
}

func TestUsageCountsTheCacheAndThinking(t *testing.T) {
	a, err := ask(t, llmtest.Anthropic(llmtest.Step{Thought: "hm", Text: "two", Usage: &llmtest.Usage{In: 100, Out: 7, Cached: 60, Written: 30, Thoughts: 20}}), request)
	want := llm.Usage{In: llm.Tokens{N: 100}, Out: llm.Tokens{N: 27}, Cached: 60, Written: 30, Reason: 20}
	if err != nil || a.Usage != want {
		t.Errorf("got %+v, %v, want %+v", a.Usage, err, want)
	}
	// Writing to the cache costs a quarter more, reading from it a tenth.
	price := llm.Price{In: 10, Out: 0, Cached: 1, Written: 12.5}
	if got := price.Cost(want).String(); got != "0.000535" {
		t.Errorf("it costs %s", got)
	}
}

func TestWhatAnthropicSaysDecidesTheKind(t *testing.T) {
	body := func(kind, message string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q}}`, kind, message)
	}
	for _, c := range []struct {
		status int
		body   string
		kind   llm.Kind
	}{
		{400, body("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), llm.Balance},
		{400, body("invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2026-12-01"), llm.Quota},
		{400, body("invalid_request_error", "prompt is too long: 213123 tokens > 200000 maximum"), llm.Invalid},
		{529, body("overloaded_error", "Overloaded"), llm.Overloaded},
		{404, body("not_found_error", "model: claude-none"), llm.Missing},
	} {
		if _, err := ask(t, llmtest.Anthropic(llmtest.Step{Status: c.status, Body: c.body}), request); kind(err) != c.kind {
			t.Errorf("%s: got %v", c.body, err)
		}
	}
	// The same error may arrive as an event, after a status that promised success.
	for said, want := range map[string]llm.Kind{
		body("overloaded_error", "Overloaded"): llm.Overloaded, body("rate_limit_error", "slow"): llm.RateLimit, body("something_new", "x"): llm.Overloaded,
		body("invalid_request_error", "no"): llm.Invalid, `{"type":"error"}`: llm.Malformed, `{"type":"error","error":7}`: llm.Malformed,
	} {
		a, err := ask(t, llmtest.Anthropic(llmtest.Step{Text: "half", Events: []string{"event: error\ndata: " + said + "\n\n"}}), request)
		if kind(err) != want || a.Text != "" {
			t.Errorf("%s: got %+v, %v", said, a, err)
		}
	}
}

func TestEveryReasonToStopHasAKind(t *testing.T) {
	for reason, want := range map[string]llm.Kind{
		"end_turn": "", "stop_sequence": "", "max_tokens": llm.Truncated, "model_context_window_exceeded": llm.Truncated, "refusal": llm.Refused,
		"tool_use": llm.Malformed, "pause_turn": llm.Unknown,
	} {
		a, err := ask(t, llmtest.Anthropic(llmtest.Step{Text: "half", Finish: reason, Usage: &llmtest.Usage{In: 9, Out: 3}}), request)
		if kind(err) != want || (a.Text == "half") != (want == "") || a.Usage.Out.N != 3 {
			t.Errorf("%s: got %+v, %v", reason, a, err)
		}
	}
}

// A client library would accept these as answers, with invalid text or none.
func TestAnEventOfAnotherFormIsNoAnswer(t *testing.T) {
	for _, e := range []string{
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}`, `{"type":"message_delta","delta":{"stop_reason":{}}}`,
		`{"type":"content_block_delta","delta":{"type":"text_delta","text":"half \ud83d"}}`, `{}`, `[]`, `{"type":`,
	} {
		if a, err := ask(t, llmtest.Anthropic(llmtest.Step{Text: "half", Events: []string{"data: " + e + "\n\n"}}), request); kind(err) != llm.Malformed {
			t.Errorf("%s: got %+v, %v", e, a, err)
		}
	}
}

func TestAPingIsASignOfLifeAndAnUnknownEventNoHarm(t *testing.T) {
	s := llmtest.Anthropic(llmtest.Step{Text: "two", Events: []string{"event: ping\ndata: {\"type\": \"ping\"}\n\n", "event: new\ndata: {\"type\":\"new\"}\n\n"}})
	if a, err := ask(t, s, request); err != nil || a.Text != "two" {
		t.Errorf("got %+v, %v", a, err)
	}
	s = llmtest.Anthropic(llmtest.Step{Hang: true})
	defer s.Close()
	p, err := anthropic.New(anthropic.Options{BaseURL: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	alive, stop := 0, errors.New("enough")
	if _, err := p.Generate(t.Context(), key, request, func(string) error {
		if alive++; alive == 2 { // the start of the message, and the ping after it
			return stop
		}
		return nil
	}); err != stop {
		t.Errorf("got %v", err)
	}
}

func TestACountIsEstimatedWhereThereIsNoSuchCall(t *testing.T) {
	for _, status := range []int{404, 405, 501} {
		s := llmtest.Anthropic(llmtest.Step{Status: status, Message: "no"})
		p, err := anthropic.New(anthropic.Options{BaseURL: s.URL()})
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.CountTokens(t.Context(), key, request)
		if err != nil || got != llm.Estimate(request.Messages[0].Text) {
			t.Errorf("%d: got %+v, %v", status, got, err)
		}
		s.Close()
	}
}
