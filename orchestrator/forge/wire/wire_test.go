package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/forge"
	"agent/orchestrator/forge/wire"
)

// A script answers requests one after the other, and keeps them.
type script struct {
	answers []func(w http.ResponseWriter, r *http.Request)
	asked   []*http.Request
	bodies  []string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.asked, s.bodies = append(s.asked, r), append(s.bodies, string(body))
	s.answers[min(len(s.asked), len(s.answers))-1](w, r)
}

func says(status int, body string, header ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// client returns a client that records its waits instead of waiting.
func client(t *testing.T, answers ...func(http.ResponseWriter, *http.Request)) (*http.Client, *script, string, *[]time.Duration) {
	t.Helper()
	s := &script{answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := wire.New(server.URL, "t0ken")
	if err != nil {
		t.Fatal(err)
	}
	var waited []time.Duration
	tr := c.Transport.(*wire.Transport)
	tr.Sleep = func(_ *http.Request, d time.Duration) error { waited = append(waited, d); return nil }
	tr.Now = func() time.Time { return time.Unix(1_000_000, 0) }
	return c, s, server.URL, &waited
}

func send(t *testing.T, c *http.Client, method, url, body string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method string
		answers      []func(http.ResponseWriter, *http.Request)
		status, sent int
		waits        []time.Duration
	}{
		{"a read that met trouble", "GET", []func(http.ResponseWriter, *http.Request){says(502, ""), says(200, "x")}, 200, 2, []time.Duration{time.Second}},
		{"a read for ever", "GET", []func(http.ResponseWriter, *http.Request){says(500, "")}, 500, 4, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{"a write that met trouble", "POST", []func(http.ResponseWriter, *http.Request){says(502, ""), says(201, "x")}, 502, 1, nil},
		{"a write that came too soon", "POST", []func(http.ResponseWriter, *http.Request){says(429, "", "Retry-After", "7"), says(201, "x")}, 201, 2, []time.Duration{7 * time.Second}},
		{"a secondary limit", "POST", []func(http.ResponseWriter, *http.Request){says(403, "", "Retry-After", "60"), says(201, "x")}, 201, 2, []time.Duration{time.Minute}},
		{"the limit of an hour is near its end", "GET", []func(http.ResponseWriter, *http.Request){says(403, "", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1000030"), says(200, "x")}, 200, 2, []time.Duration{30 * time.Second}},
		{"a date", "GET", []func(http.ResponseWriter, *http.Request){says(503, "", "Retry-After", time.Unix(1_000_009, 0).UTC().Format(http.TimeFormat)), says(200, "x")}, 200, 2, []time.Duration{9 * time.Second}},
		{"what is not allowed", "POST", []func(http.ResponseWriter, *http.Request){says(403, "")}, 403, 1, nil},
		{"what is not there", "GET", []func(http.ResponseWriter, *http.Request){says(404, "")}, 404, 1, nil},
	} {
		cl, s, url, waited := client(t, c.answers...)
		status, _, err := send(t, cl, c.method, url+"/x", "body")
		if err != nil || status != c.status || len(s.asked) != c.sent || fmt.Sprint(*waited) != fmt.Sprint(c.waits) {
			t.Errorf("%s: %d after %d requests, waited %v, %v", c.name, status, len(s.asked), *waited, err)
		}
		for _, body := range s.bodies {
			if body != "body" {
				t.Errorf("%s: sent %q", c.name, body)
			}
		}
	}
}

func TestALimitThatTakesLongIsTold(t *testing.T) {
	t.Parallel()
	for _, answer := range []func(http.ResponseWriter, *http.Request){
		says(429, "", "Retry-After", "3600"), says(429, "", "Retry-After", "1"), says(403, "", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1003600"),
	} {
		c, s, url, _ := client(t, answer)
		_, _, err := send(t, c, "GET", url, "")
		var limit *forge.LimitError
		if !errors.As(err, &limit) || !errors.Is(err, forge.ErrTransient) || limit.Until.Before(time.Unix(1_000_100, 0)) || len(s.asked) > 4 {
			t.Errorf("%v after %d requests", err, len(s.asked))
		}
	}
}

func TestAnAnswerThatDidNotChangeIsNotSentAgain(t *testing.T) {
	t.Parallel()
	c, s, url, _ := client(t, says(200, `{"a":1}`, "Etag", `"v1"`), says(304, ""), says(200, `{"a":2}`, "Etag", `"v2"`))
	for _, want := range []string{`{"a":1}`, `{"a":1}`, `{"a":2}`} {
		if status, text, err := send(t, c, "GET", url+"/x", ""); err != nil || status != 200 || text != want {
			t.Errorf("%d %q %v", status, text, err)
		}
	}
	if got := s.asked[1].Header.Get("If-None-Match"); got != `"v1"` {
		t.Errorf("asked with %q", got)
	}
	if s.asked[0].Header.Get("If-None-Match") != "" {
		t.Error("the first question has a tag")
	}
}

func TestTheTokenIsShownToOneHost(t *testing.T) {
	t.Parallel()
	var shown []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = append(shown, r.Header.Get("Authorization"))
		io.WriteString(w, "log")
	}))
	defer other.Close()
	c, s, url, _ := client(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/log", http.StatusFound) })
	if _, text, err := send(t, c, "GET", url+"/log", ""); err != nil || text != "log" {
		t.Errorf("%q %v", text, err)
	}
	if s.asked[0].Header.Get("Authorization") != "Bearer t0ken" || len(shown) != 1 || shown[0] != "" {
		t.Errorf("shown %q and %q", s.asked[0].Header.Get("Authorization"), shown)
	}
	// A request that writes does not follow redirects.
	if status, _, err := send(t, c, "POST", url+"/log", "b"); err != nil || status != http.StatusFound || len(shown) != 1 {
		t.Errorf("%d %v, shown to %d", status, err, len(shown))
	}
}

func TestAnAnswerIsBoundedAndALogIsNot(t *testing.T) {
	t.Parallel()
	c, _, url, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", strings.TrimPrefix(r.URL.Path, "/"))
		for range 33 {
			w.Write(make([]byte, 1<<20))
		}
	})
	if _, _, err := send(t, c, "GET", url+"/application/json", ""); err == nil || !strings.Contains(err.Error(), "exceeds 32 MiB") {
		t.Errorf("%v", err)
	}
	if _, text, err := send(t, c, "GET", url+"/text/plain", ""); err != nil || len(text) != 33<<20 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c, _, url, _ := client(t, says(500, ""))
	c.Transport.(*wire.Transport).Sleep = nil
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Transport.(*wire.Transport).Next = roundTrip(func(r *http.Request) (*http.Response, error) {
		cancel()
		return nil, errors.New("reset")
	})
	if _, err := c.Do(req); err == nil {
		t.Error("no error")
	}
	if _, err := wire.New("forge", ""); err == nil {
		t.Error("an address without a host is taken")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOpenNamesItsAct(t *testing.T) {
	t.Parallel()
	c, _, url, _ := client(t, says(http.StatusOK, "one\ntwo\n"), says(http.StatusNotFound, "gone"))
	body, err := wire.Open(t.Context(), c, url, "read it")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(body)
	if body.Close(); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("%q, %v", text, err)
	}
	for _, at := range []string{url, "http://127.0.0.1:0/", ":"} {
		if body, err := wire.Open(t.Context(), c, at, "read it"); err == nil || body != nil || !strings.HasPrefix(err.Error(), "read it: ") {
			t.Errorf("%s: %v, %v", at, body, err)
		}
	}
}

func TestFaultsHaveAKind(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]error{404: forge.ErrNotFound, 405: forge.ErrNotFound, 410: forge.ErrNotFound, 401: forge.ErrDenied, 403: forge.ErrDenied, 409: forge.ErrExists, 502: forge.ErrTransient} {
		err := wire.Fault("open it", status, errors.New("what the host said\n"+strings.Repeat("x", 1000)))
		if !errors.Is(err, kind) || !strings.HasPrefix(err.Error(), "open it: ") || len(err.Error()) > 400 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d: %v", status, err)
		}
	}
	limit := wire.Fault("open it", 0, fmt.Errorf("get: %w", &forge.LimitError{}))
	var asLimit *forge.LimitError
	if !errors.As(limit, &asLimit) {
		t.Errorf("%v", limit)
	}
	// A caller that stops waiting is not a failure of the forge; a forge that does not answer in time is.
	for cause, transient := range map[error]bool{context.Canceled: false, context.DeadlineExceeded: true} {
		if err := wire.Fault("x", 0, &url.Error{Op: "Get", URL: "http://h", Err: cause}); errors.Is(err, forge.ErrTransient) != transient || errors.Is(err, cause) == transient {
			t.Errorf("%v: %v", cause, err)
		}
	}
	if wire.Fault("x", 200, nil) != nil {
		t.Error("an error of nothing")
	}
	if err := wire.Fault("x", 422, errors.New("y")); errors.Is(err, forge.ErrTransient) || err.Error() != "x: y" {
		t.Errorf("%v", err)
	}
}
