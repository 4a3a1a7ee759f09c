package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/journaltest"
	"agent/sandbox/egress"
)

// secretKey is the real key, which only the vendor may see.
const secretKey = "sk-real-0123456789abcdef"

// A vendor answers as a test wants and keeps the questions.
type vendor struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	heads []http.Header
}

// serve starts a vendor.
func serve(t *testing.T, answer http.HandlerFunc) *vendor {
	t.Helper()
	v := &vendor{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		v.mu.Lock()
		v.asked, v.heads = append(v.asked, r.Method+" "+r.URL.String()+" "+string(body)), append(v.heads, r.Header)
		v.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(v.Close)
	return v
}

// opened returns a gateway to a vendor, its journal, and a client in the box.
func opened(t *testing.T, c Config, limits llm.Limits, address string, keys ...string) (*Gateway, *journaltest.Memory, *http.Client) {
	t.Helper()
	journal := &journaltest.Memory{}
	c.Address, c.Run, c.Meter = address, "r1", &llm.Meter{Limits: limits, Journal: journal}
	for _, k := range keys {
		c.Keys = append(c.Keys, llm.NewKey(k))
	}
	if c.Price == nil {
		c.Price = func(string) *llm.Price { return nil }
	}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	way := &Way{API: g, Proxy: &egress.Proxy{Record: func(egress.Request) {}}}
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		inner, outer := net.Pipe()
		go way.Serve(t.Context(), outer)
		return inner, nil
	}}}
	t.Cleanup(client.CloseIdleConnections)
	return g, journal, client
}

// post sends a question, and returns status and body.
func post(t *testing.T, client *http.Client, path, body string, heads ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, Address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(heads); i += 2 {
		req.Header.Set(heads[i], heads[i+1])
	}
	r, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range r.Header {
		if strings.Contains(strings.Join(v, ""), secretKey) {
			t.Errorf("the key is in %s", name)
		}
	}
	if strings.Contains(string(text), secretKey) {
		t.Errorf("the key is in %q", text)
	}
	return r.StatusCode, string(text)
}

// settled returns the usage once n requests have ended: a program has its answer a moment earlier.
func settled(t *testing.T, g *Gateway, n int) (llm.Spent, error) {
	t.Helper()
	for {
		if spent, err := g.Spent(); spent.Requests >= n || t.Context().Err() != nil {
			return spent, err
		}
		runtime.Gosched()
	}
}

// Each vendor is asked in its own way, with the user's key and without the box's own headers.
func TestAQuestionGoesOutWithTheRealKey(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		vendor, base, path, body, header, key, want string
		usage                                       string
		in, out, cached                             int
	}{
		{
			"anthropic", "", "/v1/messages?beta=true", `{"model":"claude-x","max_tokens":100}`, "X-Api-Key", secretKey, "POST /v1/messages?beta=true",
			`{"usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":7}}`, 17, 7, 5,
		},
		{"openai", "/v1", "/v1/responses", `{"model":"gpt-x"}`, "Authorization", "Bearer " + secretKey, "POST /v1/responses", `{"usage":{"input_tokens":11,"output_tokens":3,"input_tokens_details":{"cached_tokens":4}}}`, 11, 3, 4},
		{"openai", "/v1", "/v1/chat/completions", `{"model":"gpt-x"}`, "Authorization", "Bearer " + secretKey, "POST /v1/chat/completions", `{"usage":{"prompt_tokens":12,"completion_tokens":4}}`, 12, 4, 0},
		{
			"gemini", "", "/v1beta/models/gem-x:streamGenerateContent?alt=sse&key=dummy", `{"contents":[]}`, "X-Goog-Api-Key", secretKey, "POST /v1beta/models/gem-x:streamGenerateContent?alt=sse",
			`{"usageMetadata":{"promptTokenCount":13,"candidatesTokenCount":5,"thoughtsTokenCount":2}}`, 13, 7, 0,
		},
		{"compatible", "/api/v1", "/v1/chat/completions", `{"model":"m"}`, "Authorization", "Bearer " + secretKey, "POST /api/v1/chat/completions", `{"usage":{"prompt_tokens":14,"completion_tokens":6}}`, 14, 6, 0},
	} {
		v := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Set-Cookie", "session=1")
			io.WriteString(w, test.usage)
		})
		g, journal, client := opened(t, Config{Vendor: test.vendor}, llm.Limits{}, v.URL+test.base, secretKey)
		status, text := post(t, client, test.path, test.body, "Authorization", "Bearer "+Key, "X-Api-Key", Key, "Cookie", "a=b", "X-Kept", "yes")
		if status != 200 || text != test.usage || len(v.asked) != 1 || v.asked[0] != test.want+" "+test.body {
			t.Errorf("%s: %d %q, asked %q", test.vendor, status, text, v.asked)
			continue
		}
		h := v.heads[0]
		if h.Get(test.header) != test.key || h.Get("Cookie") != "" || h.Get("X-Kept") != "yes" || strings.Contains(fmt.Sprint(h), Key) {
			t.Errorf("%s: the vendor got %v", test.vendor, h)
		}
		spent, err := settled(t, g, 1)
		if err != nil || spent.Requests != 1 || spent.Tokens != int64(test.in+test.out) {
			t.Errorf("%s: spent %+v, %v", test.vendor, spent, err)
		}
		ofRun, _, err := journal.Spent(t.Context(), "r1", time.Time{})
		if err != nil || ofRun.Requests != 1 || ofRun.Tokens != spent.Tokens || ofRun.Unpriced != 1 {
			t.Errorf("%s: recorded %+v, %v", test.vendor, ofRun, err)
		}
	}
}

// Only questions get through, whatever other requests are called.
func TestOnlyQuestionsPass(t *testing.T) {
	t.Parallel()
	v := serve(t, func(http.ResponseWriter, *http.Request) {})
	g, _, client := opened(t, Config{Vendor: "anthropic"}, llm.Limits{}, v.URL, secretKey)
	for _, path := range []string{"/v1/files", "/v1/messages/batches", "/v1/messages/", "/v1/responses", "/v1/organizations/me", "//v1/messages", "/v1/messages/../files", "/v1/messages%2f..%2ffiles", "/"} {
		if status, text := post(t, client, path, "{}"); status != 404 || !strings.Contains(text, "only requests") {
			t.Errorf("%s: %d %q", path, status, text)
		}
	}
	for _, method := range []string{"GET", "PUT", "DELETE", "OPTIONS"} {
		req, err := http.NewRequestWithContext(t.Context(), method, Address+"/v1/messages", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := client.Do(req); err != nil || r.StatusCode != 404 {
			t.Errorf("%s: %v, %v", method, r, err)
		} else {
			r.Body.Close()
		}
	}
	if r, err := client.Head(Address + "/"); err != nil || r.StatusCode != 200 {
		t.Errorf("HEAD /: %v, %v", r, err)
	} else {
		r.Body.Close()
	}
	if spent, err := g.Spent(); len(v.asked) > 0 || spent.Requests > 0 || err != nil {
		t.Errorf("asked %q, spent %+v, %v", v.asked, spent, err)
	}
	// The other half of the port is a proxy that lets nothing through.
	inner, outer := net.Pipe()
	go (&Way{API: g, Proxy: &egress.Proxy{Record: func(egress.Request) {}}}).Serve(t.Context(), outer)
	go io.WriteString(inner, "CONNECT api.anthropic.com:443 HTTP/1.1\r\n\r\n")
	answer, err := io.ReadAll(inner)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 403") {
		t.Errorf("the proxy answers %q, %v", answer, err)
	}
}

// At a cap, a program gets a 400, which ends coding agents, and the vendor is asked no more.
func TestACapIsTheEnd(t *testing.T) {
	t.Parallel()
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"usage":{"input_tokens":2,"output_tokens":600}}`)
	})
	for name, test := range map[string]struct {
		limits llm.Limits
		price  *llm.Price
		passes int
		says   string
	}{
		"requests": {llm.Limits{Requests: 2}, nil, 2, "requests of a run"},
		"tokens":   {llm.Limits{Tokens: 1500}, nil, 2, "tokens of a run"},
		"cost":     {llm.Limits{RunCost: 1500}, &llm.Price{Out: 1}, 2, "cost of a run"},
		"no price": {llm.Limits{RunCost: 1500}, nil, 0, "its price is not known"},
	} {
		g, _, client := opened(t, Config{Vendor: "anthropic", Price: func(string) *llm.Price { return test.price }}, test.limits, v.URL, secretKey)
		passed := 0
		for range 4 {
			status, text := post(t, client, "/v1/messages", `{"model":"m","max_tokens":600}`)
			if status == 200 {
				passed++
			} else if status != 400 || !strings.Contains(text, test.says) || !strings.Contains(text, "invalid_request_error") {
				t.Errorf("%s: %d %q", name, status, text)
			}
		}
		if _, err := settled(t, g, passed); passed != test.passes || err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %d passed, %v", name, passed, err)
		}
	}
}

// A stream reaches the program event by event, and is counted once it has ended.
func TestAStreamPassesAsItComes(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"message":{"usage":{"input_tokens":25,"output_tokens":1}}}`+"\n\n")
		w.(http.Flusher).Flush()
		<-more
		// A model's own text is not counted, because its quotation marks are escaped.
		io.WriteString(w, `data: {"delta":{"text":"\"input_tokens\": 999999999"}}`+"\n\n")
		io.WriteString(w, `data: {"usage":{"output_tok`)
		w.(http.Flusher).Flush()
		io.WriteString(w, `ens":40}}`+"\n\n")
	})
	g, _, client := opened(t, Config{Vendor: "anthropic"}, llm.Limits{}, v.URL, secretKey)
	r, err := client.Post(Address+"/v1/messages", "application/json", strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 20)
	if _, err := io.ReadFull(r.Body, first); err != nil || !bytes.HasPrefix(first, []byte("data: ")) {
		t.Errorf("%q, %v", first, err)
	}
	close(more)
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if spent, err := settled(t, g, 1); spent.Tokens != 65 || err != nil {
		t.Errorf("spent %+v, %v", spent, err)
	}
}

// A refused key is not shown to the box, and the next one is used.
func TestARefusedKeyStaysOutside(t *testing.T) {
	t.Parallel()
	v := serve(t, func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Api-Key")
		switch {
		case key == secretKey:
			w.Header().Set("X-Request-Id", "for "+key)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":"the key %s is wrong"}`, key)
		case r.Header.Get("X-Busy") != "":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprintf(w, `{"error":"slow down, %s"}`, key)
		default:
			io.WriteString(w, `{}`)
		}
	})
	g, _, client := opened(t, Config{Vendor: "anthropic"}, llm.Limits{}, v.URL, secretKey, "sk-second-0123456789")
	if status, text := post(t, client, "/v1/messages", `{}`); status != 401 || !strings.Contains(text, "authentication_error") {
		t.Errorf("the first: %d %q", status, text)
	}
	if status, text := post(t, client, "/v1/messages", `{}`, "X-Busy", "1"); status != 429 || !strings.Contains(text, "slow down, [key ") {
		t.Errorf("the second: %d %q", status, text)
	}
	if _, err := g.Spent(); err != nil {
		t.Error(err)
	}
	v.Close()
	if status, text := post(t, client, "/v1/messages", `{}`); status != 502 || !strings.Contains(text, "cannot be reached") {
		t.Errorf("nobody there: %d %q", status, text)
	}
}

func TestAGatewayThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Config{
		`vendor "ollama": use anthropic, openai, gemini, compatible`: {Vendor: "ollama"},
		"is not http://HOST": {Vendor: "compatible"},
		"contains more than": {Vendor: "openai", Address: "https://user:hush@host/v1"},
		"cannot be sent":     {Vendor: "openai", Keys: []llm.Key{llm.NewKey("a\nb")}},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%+v: %v, want %q", c.Vendor, err, want)
		}
	}
}

// Input that is not a request ends its connection, and the end of the command ends all connections.
func TestConnectionsEnd(t *testing.T) {
	t.Parallel()
	g, _, _ := opened(t, Config{Vendor: "anthropic"}, llm.Limits{}, "")
	way := &Way{API: g, Proxy: &egress.Proxy{Record: func(egress.Request) {}}}
	for _, text := range []string{"", "x", "\x16\x03\x01\r\n", strings.Repeat("y", 2*maxLine), "GET / HTTP/9.9\r\n\r\n"} {
		inner, outer := net.Pipe()
		done := make(chan struct{})
		go func() { way.Serve(t.Context(), outer); close(done) }()
		go func() { io.WriteString(inner, text); inner.Close() }()
		io.Copy(io.Discard, inner)
		<-done
	}
	ctx, cancel := context.WithCancel(t.Context())
	inner, outer := net.Pipe()
	defer inner.Close()
	done := make(chan struct{})
	go func() { way.Serve(ctx, outer); close(done) }()
	io.WriteString(inner, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := inner.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-done
}
