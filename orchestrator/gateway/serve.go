package gateway

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Address is where programs in the box find the API: the start of their way out.
const Address = "http://127.0.0.1:19128"

// endTime is how long a request may take to end after its connection has.
const endTime = 15 * time.Second

// maxLine bounds how much of a first line is read, in bytes.
const maxLine = 16 << 10

// A Proxy serves connections to hosts that the user allows. *egress.Proxy implements it.
type Proxy interface {
	Serve(ctx context.Context, conn net.Conn)
}

// A Way is the way out of one box: the model's API, and a proxy on the same port.
type Way struct {
	API   http.Handler // nil for none
	Proxy Proxy
}

// Serve serves one connection until it or ctx ends. The first line decides: a request to a proxy has CONNECT or an
// absolute address, a request to an API has a path.
func (y *Way) Serve(ctx context.Context, conn net.Conn) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	in := bufio.NewReaderSize(conn, maxLine)
	line := firstLine(in)
	if _, target, _ := strings.Cut(line, " "); y.API == nil || !strings.HasPrefix(target, "/") {
		y.Proxy.Serve(ctx, &peeked{conn, in})
		return
	}
	serveHTTP(ctx, &peeked{conn, in}, y.API)
}

// firstLine returns the first line as far as it has arrived, without consuming it.
func firstLine(in *bufio.Reader) string {
	for n := 1; ; {
		if _, err := in.Peek(n); err != nil {
			n = in.Buffered()
		}
		seen, _ := in.Peek(max(n, in.Buffered()))
		if line, _, whole := strings.Cut(string(seen), "\n"); whole {
			return line
		}
		if n = len(seen) + 1; n > maxLine || len(seen) == 0 {
			return ""
		}
		if _, err := in.Peek(n); err != nil {
			return ""
		}
	}
}

// A peeked connection begins with the bytes that were read ahead.
type peeked struct {
	net.Conn
	in io.Reader
}

// Read returns the bytes read ahead first.
func (p *peeked) Read(b []byte) (int, error) { return p.in.Read(b) }

// serveHTTP serves the requests of one connection until it ends. It abandons requests when ctx ends.
func serveHTTP(ctx context.Context, conn net.Conn, h http.Handler) {
	over := make(chan struct{})
	var once sync.Once
	one := &single{conn: &told{Conn: conn, closed: func() { once.Do(func() { close(over) }) }}, over: over}
	server := &http.Server{
		Handler: h, ErrorLog: silent, ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 256 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	_ = server.Serve(one) // always an error: its one connection has ended
	// When this returns, the outcome of the last request is recorded, since its context or its connection has ended.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	_ = server.Shutdown(ending)
	server.Close()
}

// A single is a listener that has one connection and ends with it.
type single struct {
	mu   sync.Mutex
	conn net.Conn
	over <-chan struct{}
}

// Accept returns the connection, and then waits for its end.
func (s *single) Accept() (net.Conn, error) {
	s.mu.Lock()
	conn := s.conn
	s.conn = nil
	s.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	<-s.over
	return nil, net.ErrClosed
}

// Close leaves the connection to its server.
func (s *single) Close() error { return nil }

// Addr returns a placeholder: the connection has no meaningful address.
func (s *single) Addr() net.Addr { return &net.UnixAddr{Name: "box", Net: "unix"} }

// A told connection reports when it is closed.
type told struct {
	net.Conn
	closed func()
}

// Close closes it and reports that.
func (t *told) Close() error {
	defer t.closed()
	return t.Conn.Close()
}
