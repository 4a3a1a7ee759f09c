package lsp

import (
	"context"
	"errors"
	"io"
	"net/url"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/handler"

	"agent/cmd/agent/internal/command/watch"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
)

// retryTime is how long to wait before trying again to open a workspace.
const retryTime = 30 * time.Second

// notInitialized is the protocol's code for requests that come too early.
const notInitialized jrpc2.Code = -32002

// A phase is the state of the conversation with a client.
type phase int

const (
	fresh   phase = iota // before initialize
	ready                // initialize is answered
	started              // initialized came: the workspace is watched
	ending               // shutdown is answered
)

// A session is the conversation with one client.
type session struct {
	version string
	// follow reports the states of the workspace at root, or the configured one for "", until ctx ends. With each state
	// it passes the root that files are relative to.
	follow func(ctx context.Context, root string, tell func(root string, s watch.State) error) error
	pause  func(ctx context.Context, d time.Duration) error

	rpc   *jrpc2.Server
	push  func(method string, params any) error // sends a notification
	exit  chan struct{}                         // closed by exit
	lost  chan struct{}                         // closed when the client accepts nothing any more
	begin chan string                           // the root, once

	mu    sync.Mutex
	phase phase
	root  string

	// Used only by the watcher: the files that have diagnostics.
	published map[string]bool
}

// serve talks to a client until it sends exit or goes away, or ctx ends.
func (s *session) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s.exit, s.lost, s.begin, s.published = make(chan struct{}), make(chan struct{}), make(chan string, 1), map[string]bool{}
	ctx, cancel := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	defer watcher.Wait()
	defer cancel()
	conn := newStream(in, out)
	defer conn.flush()
	defer conn.Close()
	late := context.WithoutCancel(ctx) // events are reported to the end
	s.push = func(method string, params any) error { return s.rpc.Notify(late, method, params) }
	s.rpc = jrpc2.NewServer(s.methods(), &jrpc2.ServerOptions{AllowPush: true, DisableBuiltin: true, Concurrency: 1}).Start(conn)
	watcher.Go(func() {
		select {
		case root := <-s.begin:
			s.watch(ctx, root)
		case <-ctx.Done():
		}
	})
	// A read of standard input that nothing ends may outlast this.
	gone := make(chan error, 1)
	go func() { gone <- s.rpc.WaitStatus().Err }()
	select {
	case <-ctx.Done():
		return nil
	case <-s.lost:
		return nil
	case err := <-gone:
		if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || s.left() {
			return s.farewell()
		}
		return fault.Usage("have an editor start it: see `agent help editors`", "standard input is not the Language Server Protocol: %w", err)
	case <-s.exit:
		return s.farewell()
	}
}

// left reports whether the client sent exit.
func (s *session) left() bool {
	select {
	case <-s.exit:
		return true
	default:
		return false
	}
}

// farewell returns the result of the session after exit, as the protocol requires, or after the client went away silently.
func (s *session) farewell() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left() && s.phase != ending {
		return fault.Reported{Exit: 1}
	}
	return nil
}

// methods returns the supported methods.
func (s *session) methods() handler.Map {
	return handler.Map{
		"initialize":  s.step(fresh, ready, s.initialize),
		"initialized": s.step(ready, started, s.initialized),
		"shutdown":    s.shutdown(),
		"exit": func(context.Context, *jrpc2.Request) (any, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !s.left() {
				close(s.exit)
			}
			return nil, nil
		},
	}
}

// step returns a method that leads from one phase to the next, and is refused in any other.
func (s *session) step(from, to phase, act func(*jrpc2.Request) (any, error)) jrpc2.Handler {
	return func(_ context.Context, req *jrpc2.Request) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.phase == fresh && from != fresh:
			return nil, jrpc2.Errorf(notInitialized, "%s before initialize", req.Method())
		case s.phase != from:
			return nil, jrpc2.Errorf(jrpc2.InvalidRequest, "%s is not possible now", req.Method())
		}
		answer, err := act(req)
		if err == nil {
			s.phase = to
		}
		return answer, err
	}
}

// initialize answers with the server's capabilities, and keeps the client's root.
func (s *session) initialize(req *jrpc2.Request) (any, error) {
	var in struct {
		RootURI          string `json:"rootUri"`
		RootPath         string `json:"rootPath"`
		WorkspaceFolders []struct {
			URI string `json:"uri"`
		} `json:"workspaceFolders"`
	}
	if err := req.UnmarshalParams(&in); err != nil {
		return nil, err
	}
	uris := []string{in.RootURI}
	for _, f := range in.WorkspaceFolders {
		uris = append(uris, f.URI)
	}
	s.root = in.RootPath
	for _, uri := range uris {
		if u, err := url.Parse(uri); err == nil && u.Scheme == "file" && u.Path != "" {
			s.root = u.Path
			break
		}
	}
	type info struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	return struct {
		Capabilities struct {
			TextDocumentSync int `json:"textDocumentSync"` // 0: only what is saved counts
		} `json:"capabilities"`
		ServerInfo info `json:"serverInfo"`
	}{ServerInfo: info{"agent", s.version}}, nil
}

// initialized starts watching the workspace.
func (s *session) initialized(*jrpc2.Request) (any, error) {
	s.begin <- s.root
	return nil, nil
}

// shutdown ends the conversation, whether or not the workspace is watched by then.
func (s *session) shutdown() jrpc2.Handler {
	return func(ctx context.Context, req *jrpc2.Request) (any, error) {
		s.mu.Lock()
		at := s.phase
		s.mu.Unlock()
		if at == fresh || at == ending {
			at = ready // refused
		}
		return s.step(at, ending, func(*jrpc2.Request) (any, error) { return nil, nil })(ctx, req)
	}
}

// watch publishes findings until ctx ends. If the workspace cannot be opened, for instance without an engine, it says so once.
func (s *session) watch(ctx context.Context, root string) {
	said := ""
	for ctx.Err() == nil {
		err := s.follow(ctx, root, s.publish)
		if err == nil || ctx.Err() != nil {
			return
		}
		if problem, _ := fault.Classify(ctx, err); problem.Message != said {
			said = problem.Message
			if s.say("window/showMessage", isError, "agent: "+term.CleanLine(problem.Message+"; next: "+problem.Next)) != nil {
				return
			}
		}
		if s.pause(ctx, retryTime) != nil {
			return
		}
	}
}

// publish shows a state in the editor. Findings stay until there is another verdict.
func (s *session) publish(root string, st watch.State) error {
	switch st.State {
	case "proving", "unjudged":
	default:
		for _, p := range publications(root, st, s.published) {
			if err := s.notify("textDocument/publishDiagnostics", p); err != nil {
				return err
			}
			s.published[p.URI] = true
			if len(p.Diagnostics) == 0 {
				delete(s.published, p.URI)
			}
		}
	}
	kind, show := urgent(st)
	method := "window/logMessage"
	if show {
		method = "window/showMessage"
	}
	return s.say(method, kind, "agent: "+st.Line())
}

// say sends text for the user.
func (s *session) say(method string, kind int, text string) error {
	return s.notify(method, message{kind, text})
}

// notify sends a notification. A client that accepts none ends the session.
func (s *session) notify(method string, params any) error {
	err := s.push(method, params)
	if err != nil {
		select {
		case <-s.lost:
		default:
			close(s.lost)
		}
	}
	return err
}
