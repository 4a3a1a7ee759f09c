package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/watch"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/run"
	"agent/verify"
)

// An editor is a client of a session that uses another implementation of the protocol.
type editor struct {
	*jrpc2.Client
	heard chan *jrpc2.Request
	ended chan error
}

// newEditor begins a session with follow in place of a watched workspace.
func newEditor(t *testing.T, follow func(ctx context.Context, root string, tell func(string, watch.State) error) error) *editor {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	e := &editor{heard: make(chan *jrpc2.Request, 100), ended: make(chan error, 1)}
	s := &session{version: "1", follow: follow, pause: func(context.Context, time.Duration) error { return nil }}
	go func() {
		err := s.serve(t.Context(), in, out)
		out.Close()
		e.ended <- err
	}()
	e.Client = jrpc2.NewClient(channel.LSP(fromServer, toServer), &jrpc2.ClientOptions{OnNotify: func(r *jrpc2.Request) { e.heard <- r }})
	t.Cleanup(func() { e.Close() })
	return e
}

// hears waits for the next notification and returns it as a line.
func (e *editor) hears(t *testing.T) string {
	t.Helper()
	r := <-e.heard
	var params any
	if err := r.UnmarshalParams(&params); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimPrefix(r.Method(), "textDocument/"), "window/") + " " + string(text)
}

// call calls a method, and returns its answer or the code of its error.
func (e *editor) call(t *testing.T, method string, params any) string {
	t.Helper()
	r, err := e.Call(t.Context(), method, params)
	if err != nil {
		return fmt.Sprint(int(jrpc2.ErrorCode(err)))
	}
	return r.ResultString()
}

// notify sends a notification.
func (e *editor) notify(t *testing.T, method string, params any) {
	t.Helper()
	if err := e.Notify(t.Context(), method, params); err != nil {
		t.Fatal(err)
	}
}

func found(gate, file string, line int, message string) watch.Finding {
	return watch.Finding{Gate: gate, Finding: verify.Finding{File: file, Line: line, Message: message, Rule: "F821", Help: "https://a.example/F821"}}
}

func TestFindingsComeAndGo(t *testing.T) {
	t.Parallel()
	states := make(chan watch.State)
	e := newEditor(t, func(ctx context.Context, at string, tell func(string, watch.State) error) error {
		for {
			select {
			case s := <-states:
				if err := tell(at, s); err != nil {
					return err
				}
			case <-ctx.Done():
				return nil
			}
		}
	})
	got := e.call(t, "initialize", map[string]any{"processId": 1, "rootUri": "file:///w/my%20shop", "capabilities": map[string]any{}})
	if got != `{"capabilities":{"textDocumentSync":0},"serverInfo":{"name":"agent","version":"1"}}` {
		t.Errorf("initialize: %s", got)
	}
	e.notify(t, "initialized", struct{}{})
	const line = `{"end":{"character":2147483647,"line":%[1]d},"start":{"character":0,"line":%[1]d}}`
	diagnosed := func(file, gate, message string, n int) string {
		return `publishDiagnostics {"diagnostics":[{"code":"F821","codeDescription":{"href":"https://a.example/F821"},"message":"` + message + `","range":` +
			fmt.Sprintf(line, n) + `,"severity":1,"source":"agent ` + gate + `"}],"uri":"file:///w/my%20shop/` + file + `"}`
	}
	for _, c := range []struct {
		state watch.State
		want  []string // in any order
	}{
		{watch.State{State: "proving"}, []string{`logMessage {"message":"agent: proving","type":4}`}},
		{
			watch.State{State: "failed", Findings: []watch.Finding{found("lint", "b.py", 7, "un\x1b[2Jdefined"), found("types", "a.py", 0, "wrong"), found("lint", "../etc/passwd", 1, "elsewhere")}},
			[]string{diagnosed("a.py", "types", "wrong", 0), diagnosed("b.py", "lint", "un␛[2Jdefined", 6), `logMessage {"message":"agent: fails  3 findings  lint b.py:7 un␛[2Jdefined","type":1}`},
		},
		{watch.State{State: "unjudged", Error: &run.Problem{Message: "no engine answers"}}, []string{`logMessage {"message":"agent: not judged  no engine answers","type":2}`}},
		{
			watch.State{State: "failed", Findings: []watch.Finding{found("lint", "b.py", 8, "undefined")}},
			[]string{`publishDiagnostics {"diagnostics":[],"uri":"file:///w/my%20shop/a.py"}`, diagnosed("b.py", "lint", "undefined", 7), `logMessage {"message":"agent: fails  1 finding  lint b.py:8 undefined","type":1}`},
		},
		{watch.State{State: "passed"}, []string{`publishDiagnostics {"diagnostics":[],"uri":"file:///w/my%20shop/b.py"}`, `logMessage {"message":"agent: passes","type":3}`}},
		{watch.State{State: "failed", Error: &run.Problem{Message: "a test failed"}}, []string{`showMessage {"message":"agent: fails  a test failed","type":1}`}},
	} {
		states <- c.state
		var heard []string
		for range c.want {
			heard = append(heard, e.hears(t))
		}
		slices.Sort(heard)
		slices.Sort(c.want)
		if !slices.Equal(heard, c.want) {
			t.Errorf("%s\nwant\n%s", strings.Join(heard, "\n"), strings.Join(c.want, "\n"))
		}
	}
	if got := e.call(t, "shutdown", nil); got != "null" {
		t.Errorf("shutdown: %s", got)
	}
	e.notify(t, "exit", nil)
	if err := <-e.ended; err != nil {
		t.Error(err)
	}
}

// A workspace that cannot be opened is tried again, and the reason is reported once.
func TestAWorkspaceThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	tries := 0
	e := newEditor(t, func(ctx context.Context, root string, tell func(string, watch.State) error) error {
		if tries++; tries < 4 {
			return fault.Usage("start it", "no engine answers, %s", root)
		}
		return tell(root, watch.State{State: "unchanged"})
	})
	e.call(t, "initialize", map[string]any{"workspaceFolders": []any{map[string]string{"uri": "untitled:x"}, map[string]string{"uri": "file:///w"}}})
	e.notify(t, "initialized", nil)
	heard := []string{e.hears(t), e.hears(t)}
	slices.Sort(heard) // the client passes them on in any order
	if want := []string{`logMessage {"message":"agent: as committed","type":3}`, `showMessage {"message":"agent: no engine answers, /w; next: start it","type":1}`}; !slices.Equal(heard, want) {
		t.Errorf("%q", heard)
	}
}

func idle(ctx context.Context, _ string, _ func(string, watch.State) error) error {
	<-ctx.Done()
	return nil
}

func TestTheProtocolHasAnOrder(t *testing.T) {
	t.Parallel()
	e := newEditor(t, idle)
	for _, c := range []struct{ method, want string }{
		{"shutdown", "-32002"},
		{"textDocument/hover", "-32601"},
		{"initialize", `{"capabilities":{"textDocumentSync":0},"serverInfo":{"name":"agent","version":"1"}}`},
		{"initialize", "-32600"},
		{"rpc.serverInfo", "-32601"},
		{"shutdown", "null"},
		{"shutdown", "-32600"},
		{"initialize", "-32600"},
	} {
		if got := e.call(t, c.method, nil); got != c.want {
			t.Errorf("%s: %s, want %s", c.method, got, c.want)
		}
	}
	e.notify(t, "exit", nil)
	if err := <-e.ended; err != nil {
		t.Error(err)
	}
	e = newEditor(t, idle)
	e.notify(t, "textDocument/didOpen", nil)
	e.notify(t, "exit", nil)
	if reported, ok := errors.AsType[fault.Reported](<-e.ended); !ok || reported.Exit != 1 {
		t.Error("exit without shutdown is no error")
	}
}

func frame(text string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text) }

// Whatever arrives on standard input, the session ends with it, and stays within its bounds.
func TestGarbage(t *testing.T) {
	t.Parallel()
	for in, says := range map[string]string{
		"":                              "",
		frame("{}")[:10]:                "",
		frame(`{"jsonrpc":"2.0"}`)[:25]: "",
		"hello\n\n":                     "no colon",
		"\r\n{}":                        "no Content-Length",
		"Content-Length: 99999999999999999999\r\n\r\n{}": "Content-Length is not a number up to 16777216",
		"Content-Length: 4611686018427387905\r\n\r\n{}":  "Content-Length is not a number up to 16777216",
		"Content-Length: -1\r\n\r\n{}":                   "Content-Length is not a number up to 16777216",
		strings.Repeat("x", maxHeader+1):                 "too long",
		strings.Repeat("A: b\r\n", maxFields+1):          "too long",
	} {
		s := &session{follow: idle, pause: cmdline.Pause}
		err := s.serve(t.Context(), strings.NewReader(in), io.Discard)
		if (says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%.60q: %v", in, err)
		}
	}
	// Invalid JSON is reported, and the session continues.
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- (&session{follow: idle, pause: cmdline.Pause}).serve(t.Context(), in, out) }()
	go io.WriteString(toServer, frame("{")+frame("[]")+frame("7")+frame(`{"jsonrpc":"2.0","id":"a","result":1}`)+"x: y\r\n"+frame(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":[1]}`))
	answers := channel.LSP(fromServer, toServer)
	for n := 0; ; n++ {
		answer, err := answers.Recv()
		if err != nil || !strings.Contains(string(answer), `"error"`) {
			t.Fatalf("%v: %s", err, answer)
		}
		if strings.Contains(string(answer), `"id":1,`) {
			if n < 2 {
				t.Errorf("%d answers before the last", n)
			}
			break
		}
	}
	go io.Copy(io.Discard, fromServer)
	toServer.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A client that does not read ends the session when too much is waiting for it. A cancelled session ends at once.
func TestAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	unread, out := io.Pipe()
	in, typed := io.Pipe()
	go func() {
		_, _ = io.WriteString(typed, frame(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`))
		_, _ = unread.Read(make([]byte, 1)) // the answer arrives, and nothing more is read
		_, _ = io.WriteString(typed, frame(`{"jsonrpc":"2.0","method":"initialized","params":{}}`))
	}()
	s := &session{pause: cmdline.Pause, follow: func(ctx context.Context, root string, tell func(string, watch.State) error) error {
		for {
			if err := tell(root, watch.State{State: "passed"}); err != nil {
				return err
			}
		}
	}}
	if err := s.serve(t.Context(), in, out); err != nil {
		t.Error(err)
	}
	unread.Close()
	typed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, typed = io.Pipe()
	if err := (&session{follow: idle, pause: cmdline.Pause}).serve(ctx, in, io.Discard); err != nil {
		t.Error(err)
	}
	typed.Close()
}
