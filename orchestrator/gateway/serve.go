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

// Address is where programs in the box find the API: the beginning of their way out.
const Address = "http://127.0.0.1:19128"

// endTime is how long a request may take to end after its connection.
const endTime = 15 * time.Second

// maxLine is how much of a first line is looked at, in bytes.
const maxLine = 16 << 10

// A Proxy serves connections to hosts that the user allows. *egress.Proxy is one.
type Proxy interface {
	Serve(ctx context.Context, conn net.Conn)
}

// A Way is the way out of one box: the model's API, and a proxy on the same port.
type Way struct {
	API   http.Handler // nil for none
	Proxy Proxy
}

// Serve serves one connection to its end, or that of ctx. The first line says what it is: a proxy is asked for CONNECT
// or an absolute address, an API for a path.
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

// firstLine returns what the first line is as far as it has come, without taking it.
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

// A peeked connection begins with what was looked at.
type peeked struct {
	net.Conn
	in io.Reader
}

// Read reads what was looked at first.
func (p *peeked) Read(b []byte) (int, error) { return p.in.Read(b) }

// serveHTTP serves the requests of one connection until it ends. Those of a context that has ended are given up.
func serveHTTP(ctx context.Context, conn net.Conn, h http.Handler) {
	over := make(chan struct{})
	var once sync.Once
	one := &single{conn: &told{Conn: conn, closed: func() { once.Do(func() { close(over) }) }}, over: over}
	server := &http.Server{
		Handler: h, ErrorLog: silent, ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 256 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	_ = server.Serve(one) // always an error: its one connection has ended
	// What its last request came to is recorded when this returns: its context has ended, or its connection.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	_ = server.Shutdown(ending)
	server.Close()
}

// A single listener has one connection, and ends with it.
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

// Addr is nowhere: the connection is no one's that could be told.
func (s *single) Addr() net.Addr { return &net.UnixAddr{Name: "box", Net: "unix"} }

// A told connection tells of its end.
type told struct {
	net.Conn
	closed func()
}

// Close closes it and tells.
func (t *told) Close() error {
	defer t.closed()
	return t.Conn.Close()
}
