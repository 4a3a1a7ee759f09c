package compatible_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/compatible"
	"agent/orchestrator/llm/llmtest"
)

var (
	key     = llm.NewKey("a-key-for-tests")
	request = llm.Request{Model: "deepseek/r1", Temperature: 0.5, Messages: []llm.Message{{Role: llm.User, Text: "what is one and one?"}}}
)

// ask asks a fake server.
func ask(t *testing.T, s *llmtest.Server, req llm.Request) (llm.Answer, error) {
	t.Helper()
	t.Cleanup(s.Close)
	p, err := compatible.New(compatible.Options{BaseURL: s.URL() + "/v1/"})
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

func TestTheQuestionIsInTheCommonForm(t *testing.T) {
	s := llmtest.Compatible(llmtest.Step{Text: "two"})
	req := request
	req.System = "be brief"
	if _, err := ask(t, s, req); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"model": "deepseek/r1", "stream": true, "stream_options": map[string]any{"include_usage": true}, "temperature": 0.5,
		"messages": []any{map[string]any{"role": "system", "content": "be brief"}, map[string]any{"role": "user", "content": "what is one and one?"}},
	}
	got := s.Requests()[0]
	if d := cmp.Diff(want, got.Body); d != "" || got.Path != "/v1/chat/completions" {
		t.Errorf("asked at %s (-want +got):\n%s", got.Path, d)
	}
}

func TestAServerWithoutKeysIsAskedWithoutOne(t *testing.T) {
	s := llmtest.Compatible(llmtest.Step{Text: "two"})
	defer s.Close()
	p, err := compatible.New(compatible.Options{BaseURL: s.URL() + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Generate(t.Context(), llm.Key{}, request, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := s.Requests()[0]; got.KeyID != "" || got.Header.Get("Authorization") != "" {
		t.Errorf("a key was sent where none was given: %+v", got)
	}
	if _, err := p.Generate(t.Context(), llm.NewKey("two\r\nX: 1"), request, nil); kind(err) != llm.Auth || len(s.Requests()) != 1 {
		t.Errorf("a key that cannot be sent: %v", err)
	}
}

func TestUsageIsReadInBothForms(t *testing.T) {
	a, err := ask(t, llmtest.Compatible(llmtest.Step{Thought: "hm", Text: "two", Usage: &llmtest.Usage{In: 100, Out: 7, Cached: 60, Thoughts: 30}}), request)
	want := llm.Usage{In: llm.Tokens{N: 100}, Out: llm.Tokens{N: 37}, Cached: 60, Reason: 30}
	if err != nil || a.Usage != want {
		t.Errorf("got %+v, %v, want %+v", a.Usage, err, want)
	}
	a, err = ask(t, llmtest.Compatible(llmtest.Step{Text: "two", Open: true, Events: []string{
		`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_cache_hit_tokens":50}}` + "\n\n",
	}}), request)
	if err != nil || a.Usage.Cached != 50 {
		t.Errorf("got %+v, %v", a.Usage, err)
	}
}

func TestEveryReasonToFinishHasAKind(t *testing.T) {
	for reason, want := range map[string]llm.Kind{
		"stop": "", "eos": "", "length": llm.Truncated, "content_filter": llm.Refused, "tool_calls": llm.Malformed, "function_call": llm.Malformed,
		"insufficient_system_resource": llm.Overloaded, "error": llm.Unknown,
	} {
		a, err := ask(t, llmtest.Compatible(llmtest.Step{Text: "half", Finish: reason, Usage: &llmtest.Usage{In: 9, Out: 3}}), request)
		if kind(err) != want || (a.Text == "half") != (want == "") || a.Usage.Out.N != 3 {
			t.Errorf("%s: got %+v, %v", reason, a, err)
		}
	}
}

// The end mark alone does not finish an answer: some servers always send it.
func TestTheMarkOfTheEndAloneIsNoEnd(t *testing.T) {
	a, err := ask(t, llmtest.Compatible(llmtest.Step{Text: "half", Open: true, Events: []string{"data: [DONE]\n\n"}}), request)
	if kind(err) != llm.Network || a.Text != "" {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestAnErrorInMidAnswerIsReadInEveryForm(t *testing.T) {
	for event, want := range map[string]llm.Kind{
		`data: {"id":"x","error":{"code":502,"message":"Provider disconnected"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`: llm.Overloaded, // OpenRouter
		`data: {"error":{"message":"slow","code":429}}`:                              llm.RateLimit,
		`data: {"object":"error","message":"x","type":"BadRequestError","code":400}`: llm.Network,    // no stream event, so no end
		`data: {"error":"model crashed"}`:                                            llm.Overloaded, // LM Studio
		`error: {"code":500,"message":"slot unavailable","type":"server_error"}`:     llm.Overloaded, // llama.cpp
		`data: {"choices":7}`: llm.Malformed,
		`data: {"choices":[{"delta":{"content":"half \ud83d"}}]}`: llm.Malformed,
		`event: error` + "\n" + `data: {}`:                        llm.Overloaded,
	} {
		a, err := ask(t, llmtest.Compatible(llmtest.Step{Text: "half", Open: true, Events: []string{event + "\n\n"}}), request)
		if kind(err) != want || a.Text != "" {
			t.Errorf("%s: got %+v, %v, want %s", event, a, err, want)
		}
	}
}

func TestWhatServersSayDecidesTheKind(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		kind   llm.Kind
	}{
		{403, `{"error":{"message":"flagged","code":403,"metadata":{"reasons":["violence"]}}}`, llm.Refused}, // OpenRouter
		{402, `{"error":{"message":"Insufficient credits","code":402}}`, llm.Balance},
		{400, `{"object":"error","message":"maximum context length is 4096","type":"BadRequestError","code":400}`, llm.Invalid}, // vLLM
		{404, `{"error":"model not found"}`, llm.Missing},                                                                       // LM Studio
		{404, `{"detail":"Not Found"}`, llm.Malformed},
	} {
		if _, err := ask(t, llmtest.Compatible(llmtest.Step{Status: c.status, Body: c.body}), request); kind(err) != c.kind {
			t.Errorf("%s: got %v, want %s", c.body, err, c.kind)
		}
	}
}

// Servers differ in how they mark which fragments belong to one call.
func TestFragmentsBelongToTheirCall(t *testing.T) {
	for name, fragments := range map[string][]string{
		"by index":                      {`{"index":0,"id":"a","function":{"name":"x","arguments":""}}`, `{"index":1,"id":"b","function":{"name":"y","arguments":"{}"}}`, `{"index":0,"function":{"arguments":"{}"}}`},
		"whole, all with one index":     {`{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}`, `{"index":0,"id":"b","function":{"name":"y","arguments":"{}"}}`},
		"whole, without an index":       {`{"id":"a","function":{"name":"x","arguments":"{}"}}`, `{"id":"b","function":{"name":"y","arguments":"{}"}}`},
		"an ID for each fragment":       {`{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}`, `{"index":0,"id":"z","function":{"arguments":"}"}}`, `{"index":1,"id":"b","function":{"name":"y","arguments":"{}"}}`},
		"the ID late":                   {`{"index":0,"function":{"name":"x"}}`, `{"index":0,"id":"a","function":{"arguments":"{}"}}`, `{"index":1,"id":"b","function":{"name":"y","arguments":null}}`},
		"arguments that are the object": {`{"index":0,"id":"a","function":{"name":"x","arguments":{}}}`, `{"index":1,"id":"b","function":{"name":"y","arguments":{}}}`},
	} {
		step := llmtest.Step{Finish: "tool_calls"}
		for _, f := range fragments {
			step.Events = append(step.Events, `data: {"choices":[{"index":0,"delta":{"tool_calls":[`+f+`]}}]}`+"\n\n")
		}
		req := request
		req.Tools = []llm.Tool{{Name: "x", Schema: []byte(`{"type":"object"}`)}}
		a, err := ask(t, llmtest.Compatible(step), req)
		want := []llm.ToolCall{{ID: "a", Name: "x", Arguments: "{}"}, {ID: "b", Name: "y", Arguments: "{}"}}
		if d := cmp.Diff(want, a.Calls); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
		}
	}
}

func TestAnEndWithCallsHasManyNames(t *testing.T) {
	for reason, want := range map[string]llm.Kind{"stop": "", "tool_calls": "", "function_call": "", "eos": "", "length": llm.Truncated, "content_filter": llm.Refused} {
		req := request
		req.Tools = []llm.Tool{{Name: "x", Schema: []byte(`{"type":"object"}`)}}
		a, err := ask(t, llmtest.Compatible(llmtest.Step{Calls: []llmtest.Call{{ID: "a", Name: "x"}}, Finish: reason}), req)
		if kind(err) != want || (len(a.Calls) == 1) != (want == "") {
			t.Errorf("%s: got %+v, %v", reason, a, err)
		}
	}
}
