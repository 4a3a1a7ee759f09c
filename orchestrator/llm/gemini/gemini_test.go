package gemini_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/gemini"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/llm/wire"
)

var (
	key     = llm.NewKey("a-key-for-tests")
	request = llm.Request{Model: "gemini-2.5-flash", Messages: []llm.Message{{Role: llm.User, Text: "what is one and one?"}}}
)

// ask asks a fake server with these steps.
func ask(t *testing.T, steps ...llmtest.Step) (llm.Answer, error) {
	t.Helper()
	p := provider(t, "", llmtest.Gemini(steps...))
	return p.Generate(t.Context(), key, request, func(string) error { return nil })
}

// provider returns a provider for a path of a fake server.
func provider(t *testing.T, path string, s *llmtest.Server) *gemini.Provider {
	t.Helper()
	t.Cleanup(s.Close)
	p, err := gemini.New(gemini.Options{BaseURL: s.URL() + path})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func kind(err error) llm.Kind {
	var e *llm.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func TestWhatGoogleSaysDecidesTheKind(t *testing.T) {
	const (
		info     = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"%s","domain":"googleapis.com"}`
		quota    = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_requests","quotaId":"GenerateRequestsPer%sPerProjectPerModel-FreeTier","quotaValue":"20"}]}`
		exceeded = "You exceeded your current quota, please check your plan and billing details."
	)
	for name, c := range map[string]struct {
		code    int
		message string
		details []string
		kind    llm.Kind
		after   time.Duration
	}{
		"a key that is none":           {400, "API key not valid. Please pass a valid API key.", []string{fmt.Sprintf(info, "API_KEY_INVALID")}, llm.Auth, 0},
		"the same in words alone":      {400, "API key not valid. Please pass a valid API key.", nil, llm.Auth, 0},
		"a country that is not served": {400, "User location is not supported for the API use.", nil, llm.Invalid, 0},
		"a quota per day":              {429, exceeded, []string{fmt.Sprintf(quota, "Day")}, llm.Quota, 0},
		"a quota per minute":           {429, exceeded, []string{fmt.Sprintf(quota, "Minute")}, llm.RateLimit, 0},
		"a quota per minute and day":   {429, exceeded, []string{fmt.Sprintf(quota, "Minute"), fmt.Sprintf(quota, "Day")}, llm.Quota, 0},
		"a quota in words alone":       {429, exceeded, nil, llm.Quota, 0},
		"a rate":                       {429, "Resource has been exhausted.", []string{`{"@type":"t/google.rpc.RetryInfo","retryDelay":"13.5s"}`}, llm.RateLimit, 13500 * time.Millisecond},
		"a delay that is none":         {429, "slow down", []string{`{"@type":"t/google.rpc.RetryInfo","retryDelay":"soon"}`}, llm.RateLimit, 0},
		"a delay in the past":          {429, "slow down", []string{`{"@type":"t/google.rpc.RetryInfo","retryDelay":"-9s"}`}, llm.RateLimit, 0},
		"a model that is overloaded":   {503, "The model is overloaded. Please try again later.", nil, llm.Overloaded, 0},
		"a model that is none":         {404, "models/x is not found for API version v1beta", nil, llm.Missing, 0},
	} {
		object := fmt.Sprintf(`{"error":{"code":%d,"message":%q,"details":[%s]}}`, c.code, c.message, strings.Join(c.details, ","))
		for form, body := range map[string]string{"object": object, "array": "[" + object + "\n]"} {
			t.Run(name+", "+form, func(t *testing.T) {
				_, err := ask(t, llmtest.Step{Status: c.code, Body: body})
				var e *llm.Error
				if !errors.As(err, &e) || e.Kind != c.kind || e.After != c.after || !strings.Contains(e.Detail, c.message) {
					t.Errorf("got %v, to wait %s, want %s and %s", err, e.After, c.kind, c.after)
				}
			})
		}
	}
}

func TestTheLongerOfTwoWaitsCounts(t *testing.T) {
	_, err := ask(t, llmtest.Step{
		Status: 429, Headers: map[string]string{"Retry-After": "7"},
		Body: `{"error":{"code":429,"message":"slow","details":[{"retryDelay":"13s"}]}}`,
	})
	var e *llm.Error
	if !errors.As(err, &e) || e.After != 13*time.Second {
		t.Errorf("got %v", err)
	}
}

func TestEveryReasonToFinishHasAKind(t *testing.T) {
	for _, c := range []struct {
		reason string // in JSON
		kind   llm.Kind
	}{
		{`"STOP"`, ""},
		{`1`, ""},
		{`"MAX_TOKENS"`, llm.Truncated},
		{`2`, llm.Truncated},
		{`"SAFETY"`, llm.Refused},
		{`3`, llm.Refused},
		{`"RECITATION"`, llm.Refused},
		{`4`, llm.Refused},
		{`"OTHER"`, llm.Unknown},
		{`5`, llm.Unknown},
		{`"LANGUAGE"`, llm.Refused},
		{`6`, llm.Refused},
		{`"BLOCKLIST"`, llm.Refused},
		{`7`, llm.Refused},
		{`"PROHIBITED_CONTENT"`, llm.Refused},
		{`8`, llm.Refused},
		{`"SPII"`, llm.Refused},
		{`9`, llm.Refused},
		{`"MALFORMED_FUNCTION_CALL"`, llm.Malformed},
		{`10`, llm.Malformed},
		{`12`, llm.Malformed},
		{`99`, llm.Unknown},
		{`-1`, llm.Unknown},
		{`"FINISH_REASON_UNSPECIFIED"`, llm.Network},
		{`0`, llm.Network},
		{`null`, llm.Network},
		{`{}`, llm.Malformed},
	} {
		t.Run(c.reason, func(t *testing.T) {
			a, err := ask(t, llmtest.Step{Text: "half of", Open: true, Events: []string{
				`{"candidates":[{"finishReason":` + c.reason + `,"finishMessage":"so there"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3}}`,
			}})
			if kind(err) != c.kind || (a.Text == "half of") != (c.kind == "") {
				t.Errorf("got %+v, %v, want %q", a, err, c.kind)
			}
			if c.kind == llm.Truncated && a.Usage.Out.N != 3 {
				t.Errorf("the tokens that were spent are lost: %+v", a.Usage)
			}
		})
	}
}

func TestABlockedQuestionIsRefused(t *testing.T) {
	for why, name := range map[string]string{
		`"SAFETY"`: "SAFETY", `1`: "SAFETY", `2`: "OTHER", `5`: "IMAGE_SAFETY", `9`: "reason 9", `"PROHIBITED_CONTENT"`: "PROHIBITED_CONTENT", `"SOMETHING_NEW"`: "SOMETHING_NEW",
	} {
		a, err := ask(t, llmtest.Step{Open: true, Events: []string{
			`{"promptFeedback":{"blockReason":` + why + `},"usageMetadata":{"promptTokenCount":9}}`,
		}})
		if kind(err) != llm.Refused || !strings.HasSuffix(err.Error(), "blocked: "+name) || a.Usage.In != (llm.Tokens{N: 9}) {
			t.Errorf("%s: got %+v, %v", why, a, err)
		}
	}
}

func TestUsageCountsThoughtsAndWhatWasCached(t *testing.T) {
	a, err := ask(t, llmtest.Step{Thought: "hm", Text: "two", Usage: &llmtest.Usage{In: 100, Out: 7, Cached: 60, Thoughts: 30}})
	want := llm.Usage{In: llm.Tokens{N: 100}, Out: llm.Tokens{N: 37}, Cached: 60, Reason: 30}
	if err != nil || a.Usage != want {
		t.Errorf("got %+v, %v, want %+v", a.Usage, err, want)
	}
	a, err = ask(t, llmtest.Step{Text: "two", Usage: &llmtest.Usage{In: 100, Out: 50, Cached: 101, Thoughts: -30}})
	want = llm.Usage{In: llm.Tokens{N: 100}, Out: llm.Tokens{N: 1, Estimated: true}}
	if err != nil || a.Usage != want {
		t.Errorf("of counts that make no sense: got %+v, %v, want %+v", a.Usage, err, want)
	}
}

func TestWhatTheLibraryDoesNotKnowIsTolerated(t *testing.T) {
	a, err := ask(t, llmtest.Step{Open: true, Events: []string{
		`{}`,
		`{"candidates":[]}`,
		`{"candidates":[{"index":0,"safetyRatings":[{"category":99,"probability":"NEW"}],"groundingMetadata":{"a":1}}],"newField":{"x":[1]}}`,
		`{"candidates":[{"content":{"parts":[{"thoughtSignature":"c2ln"},{},{"executableCode":{"code":"x"}},{"text":"two"}]}}]}`,
		`{"candidates":[{"index":1,"finishReason":"SAFETY","content":{"parts":[{"text":"no"}]}},{"content":null,"finishReason":"STOP"}],"usageMetadata":null}`,
	}})
	if err != nil || a.Text != "two" {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestTextThatIsNoUnicodeIsNoAnswer(t *testing.T) {
	event := func(text string) string { return `{"candidates":[{"content":{"parts":[{"text":"` + text + `"}]}}]}` }
	for text, valid := range map[string]bool{
		`smile \ud83d\ude00`: true, "\ufffd": true, `\ufffd`: true, `\uFFFD`: true,
		`half \ud83d`: false, `\ude00 half`: false, "\xf0\x9f": false, "caf\xe9": false,
	} {
		a, err := ask(t, llmtest.Step{Events: []string{event(text)}})
		if valid && err != nil || !valid && kind(err) != llm.Malformed {
			t.Errorf("%q: got %q, %v", text, a.Text, err)
		}
	}
}

func TestAnErrorInMidAnswerHasTheKindOfItsCode(t *testing.T) {
	for event, want := range map[string]llm.Kind{
		`{"error":{"code":503,"message":"The model is overloaded."}}`: llm.Overloaded,
		`{"error":{"code":429,"message":"slow down"}}`:                llm.RateLimit,
		`{"error":{"message":"something"}}`:                           llm.Overloaded,
		`{"error":"something"}`:                                       llm.Malformed,
	} {
		a, err := ask(t, llmtest.Step{Text: "half", Events: []string{event}})
		if kind(err) != want || a.Text != "" {
			t.Errorf("%s: got %+v, %v", event, a, err)
		}
	}
}

func TestWhatIsNoArrayOfEventsIsMalformed(t *testing.T) {
	for _, body := range []string{`{"candidates":[]}`, `"x"`, `[1]`, `[{"candidates":7}]`, `[{} {}]`, `[{}}`, `[{},]`, `data: {}`} {
		if _, err := ask(t, llmtest.Step{Body: body}); kind(err) != llm.Malformed {
			t.Errorf("%s: got %v", body, err)
		}
	}
	for _, body := range []string{`[`, `[{}`, `[{},`, `[{"candidates":[{"con`} {
		if _, err := ask(t, llmtest.Step{Body: body}); kind(err) != llm.Network {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

func TestAKeyThatCannotBeSentAsksNobody(t *testing.T) {
	s := llmtest.Gemini()
	p := provider(t, "", s)
	for _, secret := range []string{"", "two\r\nX-Lines: 1", "a b", "schlüssel"} {
		_, err := p.Generate(t.Context(), llm.NewKey(secret), request, nil)
		if _, counted := p.CountTokens(t.Context(), llm.NewKey(secret), request); kind(err) != llm.Auth || kind(counted) != llm.Auth {
			t.Errorf("%q: got %v and %v", secret, err, counted)
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestACountIsEstimatedWhereThereIsNoSuchCall(t *testing.T) {
	want := llm.Estimate(request.Messages[0].Text)
	for name, step := range map[string]llmtest.Step{
		"404": {Status: 404, Message: "not found"}, "404 of a gateway": {Status: 404, Body: "no such page"},
		"405": {Status: 405}, "501": {Status: 501, Message: "not implemented"},
	} {
		got, err := provider(t, "", llmtest.Gemini(step)).CountTokens(t.Context(), key, request)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
	if _, err := provider(t, "", llmtest.Gemini(llmtest.Step{Status: 403, Message: "no"})).CountTokens(t.Context(), key, request); kind(err) != llm.Auth {
		t.Errorf("403: got %v", err)
	}
}

func TestABaseURLMayHaveAPathButNoPassword(t *testing.T) {
	s := llmtest.Gemini(llmtest.Step{Text: "two"})
	p := provider(t, "/google/", s)
	if _, err := p.Generate(t.Context(), key, request, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Requests()[0].Path, "/google/v1beta/models/gemini-2.5-flash:streamGenerateContent"; got != want {
		t.Errorf("asked at %s, want %s", got, want)
	}
	for _, bad := range []string{"localhost:80", "ftp://host", "http://", "https://user:secret@host", "https://host?key=secret", "https://host#secret", "http://%secret"} {
		if _, err := gemini.New(gemini.Options{BaseURL: bad}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}

// The vendor's library would open a second connection, over gRPC, and look for credentials in the environment.
func TestACallIsOneConnectionAndReadsNoCredentials(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/credentials.json")
	t.Setenv("GOOGLE_API_KEY", "of-the-environment")
	t.Setenv("GEMINI_API_KEY", "of-the-environment")
	fake := llmtest.Gemini(llmtest.Step{Text: "two"})
	defer fake.Close()
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(fake)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	p, err := gemini.New(gemini.Options{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Generate(t.Context(), key, request, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections were opened for one call", n)
	}
	if got := fake.Requests()[0].KeyID; got != key.ID {
		t.Errorf("the key was %q, want %q", got, key.ID)
	}
}

func TestAnEventCostsMoreThanItsBytes(t *testing.T) {
	_, err := ask(t, llmtest.Step{Keep: strings.Repeat("{},", 10_000)})
	if kind(err) != llm.Malformed || !strings.Contains(err.Error(), wire.ErrEvents.Error()) {
		t.Errorf("got %v", err)
	}
}
