package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveText serves a client that sends this text and nothing else, and returns how the session ended.
func serveText(t *testing.T, r Program, text io.Reader) error {
	t.Helper()
	return New(r, Always, "v0").Run(t.Context(), &sdk.IOTransport{Reader: io.NopCloser(text), Writer: discard{}})
}

type discard struct{ io.Writer }

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

// An endless reader repeats itself, up to a limit that no server should reach.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.read > 1<<30 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = 'a'
	}
	e.read += int64(len(p))
	return len(p), nil
}

// A session with a client that sends garbage or floods ends at once, and runs nothing.
func TestGarbageEndsASession(t *testing.T) {
	t.Parallel()
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"0"}}}` + "\n"
	for _, text := range []string{
		"", "garbage\n", "\x00\xff\xfe\n", "{\n", "[]\n", `{"jsonrpc":"1.0","id":1,"method":"tools/call"}` + "\n", `{"jsonrpc":"2.0","id":{},"method":"x"}` + "\n",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"prove_patch","arguments":{"patch":"x"}}}` + "\n", // before it has said hello
		hello + "garbage\n", hello + strings.Repeat("[", 100_000) + "\n",
		hello + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"prove_patch","arguments":{"patch":1}}}` + "\n",
		hello + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"rm","arguments":{}}}` + "\n",
	} {
		r := &recorder{}
		_ = serveText(t, r, strings.NewReader(text))
		if len(r.calls) > 0 {
			t.Errorf("%.60q runs %q", text, r.calls)
		}
	}
	flood := &endless{}
	if err := serveText(t, &recorder{}, io.MultiReader(strings.NewReader(hello+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"`), flood)); err == nil || flood.read > 256<<20 {
		t.Errorf("a message without end: %d bytes were read, %v", flood.read, err)
	}
}

// An endless message over HTTP is refused too.
func TestAFloodOverHTTPIsRefused(t *testing.T) {
	t.Parallel()
	flood := &endless{}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`), flood))
	for name, value := range map[string]string{"Authorization": "Bearer right", "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
		req.Header.Set(name, value)
	}
	got := httptest.NewRecorder()
	Handler(New(&recorder{}, Never, "v0"), "right").ServeHTTP(got, req)
	if got.Code < 400 || flood.read > 256<<20 {
		t.Errorf("%d after %d bytes", got.Code, flood.read)
	}
}

// A waiting program signals when it starts and when it is told to end.
type waiting struct{ started, ended chan struct{} }

func (w waiting) Run(ctx context.Context, _ []string, _ string, _ func(string)) (Ended, error) {
	close(w.started)
	<-ctx.Done()
	close(w.ended)
	return Ended{}, ctx.Err()
}

// If a client disconnects during a call, the call ends.
func TestAClientThatIsGoneEndsItsCall(t *testing.T) {
	t.Parallel()
	w := waiting{make(chan struct{}), make(chan struct{})}
	here, there := sdk.NewInMemoryTransports()
	if _, err := New(w, Always, "v0").Connect(t.Context(), here, nil); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	client, err := sdk.NewClient(&sdk.Implementation{Name: "probe", Version: "v0"}, nil).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = client.CallTool(ctx, &sdk.CallToolParams{Name: "history"}) }()
	<-w.started
	leave()
	<-w.ended
	client.Close()
}

// Two concurrent clients each get the answer to their own question.
func TestTwoClientsAtOnceHaveTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	answers := map[string]Ended{}
	for i := range 2 {
		answers[fmt.Sprintf("runs show --json run%d", i)] = Ended{Stdout: docOf(t, "pass", "verified", 0, fmt.Sprintf("diff --git a/%d.py b/%d.py\n", i, i))}
	}
	server := httptest.NewServer(Handler(New(&recorder{answers: answers}, Never, "v0"), "right"))
	defer server.Close()
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() {
			client, err := sdk.NewClient(&sdk.Implementation{Name: "probe", Version: "v0"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL + Path, HTTPClient: &http.Client{Transport: token("right")}}, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer client.Close()
			for range 20 {
				r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_status", Arguments: map[string]any{"run": fmt.Sprintf("run%d", i)}})
				if err != nil || r.IsError || !strings.Contains(fmt.Sprint(r.StructuredContent), fmt.Sprintf("%d.py", i)) || strings.Contains(fmt.Sprint(r.StructuredContent), fmt.Sprintf("%d.py", 1-i)) {
					t.Errorf("client %d: %+v, %v", i, r, err)
					return
				}
			}
		})
	}
	both.Wait()
}

// A token is sent with each request.
type token string

func (b token) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
