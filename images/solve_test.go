package images

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// A restarting engine drops its connections when a certain word appears in a build's output, and refuses the next few.
type restarting struct {
	*testEngine
	mu        sync.Mutex
	open      []net.Conn
	refused   int
	restarted bool
}

func (e *restarting) DialHijack(ctx context.Context, url, proto string, meta map[string][]string) (net.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refused > 0 {
		e.refused--
		return nil, errors.New("connection refused")
	}
	conn, err := e.testEngine.DialHijack(ctx, url, proto, meta)
	e.open = append(e.open, conn)
	return conn, err
}

// restart drops all connections; refused is how many of the next ones fail.
func (e *restarting) restart(refused int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, conn := range e.open {
		conn.Close()
	}
	e.open, e.refused, e.restarted = nil, refused, true
}

func TestABuildOutlivesARestartOfItsEngine(t *testing.T) {
	t.Parallel()
	e := &restarting{testEngine: newEngine(t)}
	r := &recipe{
		name: "test-restarted", base: mustLoad(t, Postgres, nil).base, digest: hash([]byte("test-restarted")),
		Prepare: "echo started; sleep 2; echo " + rand.Text(), // no earlier build has run this step
	}
	t.Cleanup(func() { removeImage(t, e.testEngine, r.ref()) })
	var once sync.Once
	cut := &onText{text: "started", do: func() { once.Do(func() { e.restart(3) }) }}
	if _, err := New(e, nil, cut).ensure(t.Context(), r); err != nil || !e.has(t, r.ref()) {
		t.Errorf("the build of a restarted engine: %v", err)
	}
	if !e.restarted || e.refused > 0 {
		t.Errorf("restarted: %t; nobody asked %d times more", e.restarted, e.refused)
	}
}

// A deaf engine answers everything but builds: it accepts their requests and never answers.
type deaf struct {
	*testEngine
	t *testing.T
}

func (e *deaf) DialHijack(context.Context, string, string, map[string][]string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	e.t.Cleanup(func() { theirs.Close() })
	go io.Copy(io.Discard, theirs) //nolint:errcheck // it ends with the test
	return ours, nil
}

func TestABuildThatDoesNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	b := New(&deaf{e, t}, nil, nil)
	b.idle = 100 * time.Millisecond
	_, err := b.ensure(t.Context(), &recipe{name: "test-deaf", base: mustLoad(t, Postgres, nil).base, digest: hash([]byte("test-deaf")), Prepare: "echo " + rand.Text()})
	if err == nil || !strings.Contains(err.Error(), "restart it") {
		t.Errorf("a build of an engine that does nothing: %v", err)
	}
}
