package llmtest

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
)

// statuses checks the meaning of each status, and that the question is sent only once.
func (s Setup) statuses(t *testing.T) {
	for status, kind := range map[int]llm.Kind{
		400: llm.Invalid, 413: llm.Invalid, 401: llm.Auth, 403: llm.Auth, 402: llm.Balance, 404: llm.Missing,
		408: llm.Network, 407: llm.Network, 418: llm.Unknown, 429: llm.RateLimit,
		500: llm.Overloaded, 502: llm.Overloaded, 503: llm.Overloaded, 504: llm.Overloaded, 529: llm.Overloaded,
	} {
		t.Run(fmt.Sprintf("G02 G03 %d is %s, and asked once", status, kind), func(t *testing.T) {
			b := s.bench(t, Step{Status: status, Message: "the vendor's own words\x07\n\x1b[31m"})
			e := b.fails(kind)
			if !strings.Contains(e.Detail, "the vendor's own words") {
				t.Errorf("the vendor's words are lost: %q", e.Detail)
			}
			if n := len(b.server.Requests()); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
	t.Run("G02 a count is asked once, too", func(t *testing.T) {
		if !s.Counts {
			return // and has no request that could be sent twice
		}
		b := s.bench(t, Step{Status: 503, Message: "busy"})
		_, err := b.provider.CountTokens(b.ctx, b.key, question())
		b.wellMade(llm.Answer{}, err, llm.Overloaded)
		if n := len(b.server.Requests()); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// waits checks the time that the vendor asks to wait.
func (s Setup) waits(t *testing.T) {
	sent := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "2": 2 * time.Second, "86400": 24 * time.Hour, "abc": 0, "-5": 0, "NaN": 0,
		"99999999999999999999":                         366 * 24 * time.Hour,
		sent.Add(time.Minute).Format(http.TimeFormat):  time.Minute,
		sent.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		t.Run(fmt.Sprintf("G01 Retry-After %q is %s", header, want), func(t *testing.T) {
			b := s.bench(t, Step{Status: 429, Message: "slow down", Headers: map[string]string{"Retry-After": header, "Date": sent.Format(http.TimeFormat)}})
			if e := b.fails(llm.RateLimit); e.After != want {
				t.Errorf("got %s", e.After)
			}
		})
	}
}

// bodies checks invalid answers, and those without an end.
func (s Setup) bodies(t *testing.T) {
	page := func(status int) Step {
		return Step{Status: status, Body: "<html><h1>a page</h1>", Headers: map[string]string{"Content-Type": "text/html; charset=utf-8"}}
	}
	for name, c := range map[string]struct {
		step Step
		kind llm.Kind
	}{
		"a page for an answer":                {page(200), llm.Malformed},
		"a page with 403 is not the vendor's": {page(403), llm.Malformed},
		"a page with 404 is not the vendor's": {page(404), llm.Malformed},
		"a page with 502 is a busy vendor":    {page(502), llm.Overloaded},
		"a page with 429 is a rate":           {page(429), llm.RateLimit},
		"a 404 that nobody explains":          {Step{Status: 404, Body: "404 page not found"}, llm.Malformed},
		"text for an answer":                  {Step{Body: "hello"}, llm.Malformed},
		"nothing for an answer":               {Step{Body: " "}, ""},
		"half of an event":                    {Step{Events: []string{`{"x":`}, Break: true}, llm.Network},
		"an event that is no object":          {Step{Events: []string{"17"}, Open: true}, llm.Malformed},
		"a redirect to nowhere":               {Step{Status: 302, Body: "gone"}, llm.Malformed},
		"G06 one line of 50 MB":               {Step{Huge: 50 << 20}, llm.Malformed},
		"G06 an answer without end":           {Step{Chunks: []string{strings.Repeat("x", 64<<10)}, Endless: true}, llm.Malformed},
		"G06 a million events":                {Step{Chunks: []string{"x"}, Repeat: 1_000_000}, llm.Malformed},
		"G06 an explanation without end":      {Step{Status: 500, Body: strings.Repeat("x", 10<<20)}, llm.Overloaded},
		"a header without end":                {Step{Raw: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n"}, llm.Network},
	} {
		t.Run(name, func(t *testing.T) {
			b := s.bench(t, c.step)
			if c.kind != "" {
				e := b.fails(c.kind)
				if strings.Contains(c.step.Body, "a page") && !strings.Contains(e.Detail, "a page") {
					t.Errorf("what came is lost: %q", e.Detail)
				}
				return
			}
			// An empty body is a stream that ended before it began.
			if _, _, err := b.ask(); err == nil {
				t.Error("no error")
			}
		})
	}
	t.Run("a redirect is not followed", func(t *testing.T) {
		other := s.Server(Step{Text: "stolen"})
		defer other.Close()
		b := s.bench(t, Step{Status: 307, Body: "there", Headers: map[string]string{"Location": other.URL()}})
		b.fails(llm.Malformed)
		if n := len(other.Requests()); n != 0 {
			t.Errorf("%d requests went to another server", n)
		}
	})
}

// connections checks the cases without a connection, whatever the reason (G12).
func (s Setup) connections(t *testing.T) {
	t.Run("G12 reset before the answer", func(t *testing.T) { s.bench(t, Step{Drop: true}).fails(llm.Network) })
	t.Run("G12 no HTTP", func(t *testing.T) { s.bench(t, Step{Raw: "220 mail.example ESMTP\r\n"}).fails(llm.Network) })
	t.Run("G12 refused", func(t *testing.T) {
		gone := httptest.NewServer(http.NotFoundHandler())
		gone.Close()
		s.at(t, gone.URL, nil).fails(llm.Network)
	})
	t.Run("G12 no such host", func(t *testing.T) {
		// The resolver answers by itself, without asking the network.
		send := wire.NewTransport()
		send.Proxy, send.DialContext = nil, (&net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: nowhere}}).DialContext
		s.at(t, "http://nothing.invalid", send).fails(llm.Network)
	})
	t.Run("G12 a certificate nobody signed", func(t *testing.T) {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs the handshake
		server.StartTLS()
		defer server.Close()
		s.at(t, server.URL, nil).fails(llm.Network)
	})
	t.Run("G12 a proxy that wants a password", func(t *testing.T) {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusProxyAuthRequired)
		}))
		defer proxy.Close()
		address, err := url.Parse(proxy.URL)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{"http://vendor.invalid", "https://vendor.invalid"} {
			send := wire.NewTransport()
			send.Proxy = http.ProxyURL(address)
			s.at(t, target, send).fails(llm.Network)
		}
	})
}

// nowhere is the dialler of a resolver without a network.
func nowhere(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("no network")
}

// at returns a bench whose provider asks target and not its fake.
func (s Setup) at(t *testing.T, target string, send http.RoundTripper) bench {
	t.Helper()
	b := s.bench(t)
	p, err := s.Provider(target, send)
	if err != nil {
		t.Fatal(err)
	}
	b.provider = p
	return b
}

// secrecy checks that no error shows the key, wherever it is echoed.
func (s Setup) secrecy(t *testing.T) {
	for _, form := range written(secret) {
		echo := "your key " + form + " is wrong"
		for name, step := range map[string]Step{
			"in the vendor's words":  {Status: 403, Message: echo},
			"in a page":              {Status: 502, Body: echo, Headers: map[string]string{"Content-Type": "text/html"}},
			"in a body":              {Status: 400, Body: echo},
			"in an answer":           {Body: echo},
			"in a redirect":          {Status: 302, Headers: map[string]string{"Location": "http://localhost/?q=" + form}},
			"in a status line":       {Raw: "HTTP/1.1 " + echo + "\r\n\r\n"},
			"in a header":            {Raw: "HTTP/1.1 200 OK\r\n" + echo + "\r\n\r\n"},
			"in no HTTP":             {Raw: echo + "\r\n"},
			"after a long beginning": {Status: 400, Message: strings.Repeat("x", 276-len(form)*5/6) + echo},
		} {
			t.Run(name, func(t *testing.T) {
				if _, _, err := s.bench(t, step).ask(); err == nil {
					t.Error("no error")
				} else {
					sealed(t, err)
				}
			})
		}
	}
}

// written returns the forms in which a secret may be echoed.
func written(secret string) []string {
	turned := []byte(secret)
	slices.Reverse(turned)
	return []string{
		secret, string(turned), url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte("user:" + secret)), base64.StdEncoding.EncodeToString([]byte("me:" + secret + "\n")),
	}
}

// sealed fails the test if err, or anything it wraps, shows most of the secret in any verb: a secret that is cut at either end is
// no less secret.
func sealed(t *testing.T, err error) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		shown := fmt.Sprintf("%v\n%+v\n%#v\n%q", e, e, e, e)
		for _, form := range written(secret) {
			if middle := form[len(form)/3 : len(form)*2/3]; strings.Contains(shown, middle) {
				t.Errorf("the error %T shows the key as %q", e, form)
			}
		}
	}
}
