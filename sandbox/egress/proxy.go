package egress

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// dialTime bounds the time to resolve a name and to connect.
	dialTime = 20 * time.Second
	// maxHead is the longest head of a request, in bytes.
	maxHead = 64 << 10
	// maxMethod is how many bytes of a method are recorded.
	maxMethod = 20
)

// A Request is the record of one request of a box.
type Request struct {
	Began time.Time
	Took  time.Duration
	// Method, Host and Port are empty if what came is not a request.
	Method string
	Host   string
	Port   uint16
	// Allowed says that it was let through, not that a host answered.
	Allowed bool
	// Sent and Received count the bytes between this machine and the host.
	Sent, Received int64
	// End is a sentence that says why it was refused, or how it ended.
	End string
}

// String describes the request on one line.
func (r Request) String() string {
	what := "no request"
	if r.Method != "" {
		what = r.Method + " " + Place{r.Host, r.Port}.String()
	}
	if !r.Allowed {
		return fmt.Sprintf("%s refused: %s", what, r.End)
	}
	return fmt.Sprintf("%s allowed, %d bytes sent, %d received in %.1f s, %s", what, r.Sent, r.Received, r.Took.Seconds(), r.End)
}

// A Proxy serves the connections of boxes. It is safe for concurrent use.
type Proxy struct {
	Allow List
	// Setting names the setting where the user can extend the list; "" means that of the gates.
	Setting string
	// Record is called with each request once it has ended, from several goroutines.
	Record func(Request)
}

// Serve serves one connection, which carries one request. It closes the connection when the request or ctx ends.
func (p *Proxy) Serve(ctx context.Context, conn net.Conn) {
	r := Request{Began: time.Now()}
	defer func() {
		r.Took = time.Since(r.Began)
		p.Record(r)
	}()
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	// The limit applies only to the head: it is lifted for what follows.
	limited := &io.LimitedReader{R: conn, N: maxHead}
	in := bufio.NewReader(limited)
	req, err := http.ReadRequest(in)
	if err != nil || !r.read(req) {
		// The text is fixed, because what was sent may hold anything.
		r.End = "a proxy takes only CONNECT with host and port, or an http address"
		refuse(conn, http.StatusBadRequest, r)
		return
	}
	limited.N = math.MaxInt64
	up, status, err := p.dial(ctx, r)
	if err != nil {
		r.End, r.Allowed = err.Error(), status == http.StatusBadGateway
		refuse(conn, status, r)
		return
	}
	r.Allowed = true
	if req.Method == http.MethodConnect {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n") // a client that has gone is noticed later
	}
	r.End = r.carry(ctx, conn, in, up, req)
}

// read takes host and port from a request, and reports whether the request is meant for a proxy.
func (r *Request) read(req *http.Request) bool {
	host, port := canonical(req.URL.Hostname()), req.URL.Port()
	if port == "" && req.URL.Scheme == "http" {
		port = "80"
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || !validHost(host) || req.Method != http.MethodConnect && req.URL.Scheme != "http" {
		return false
	}
	r.Method, r.Host, r.Port = req.Method[:min(len(req.Method), maxMethod)], host, uint16(number)
	return true
}

// dial connects to the target of a request, if that is allowed. Otherwise it returns a status and an error to report.
func (p *Proxy) dial(ctx context.Context, r Request) (net.Conn, int, error) {
	place := Place{r.Host, r.Port}
	if !p.Allow.Covers(place) {
		return nil, http.StatusForbidden, fmt.Errorf("this box may not reach %s: the user may add it under %s", place, cmp.Or(p.Setting, "[egress] allow"))
	}
	dialer := net.Dialer{Timeout: dialTime, Control: p.Allow.control}
	up, err := dialer.DialContext(ctx, "tcp", place.String())
	var refused *addressError
	switch {
	case errors.As(err, &refused):
		return nil, http.StatusForbidden, refused
	case err != nil:
		return nil, http.StatusBadGateway, err
	}
	return up, 0, nil
}

// carry carries one request and its answer, or a tunnel, until either side ends, and says which one did.
func (r *Request) carry(ctx context.Context, conn net.Conn, in *bufio.Reader, up net.Conn, req *http.Request) string {
	defer context.AfterFunc(ctx, func() { up.Close() })()
	ask := func() error {
		_, err := io.Copy(counter{up, &r.Sent}, in)
		return cmp.Or(err, io.EOF)
	}
	if req.Method != http.MethodConnect {
		ask = func() error {
			for _, name := range []string{"Connection", "Proxy-Connection", "Proxy-Authorization", "Keep-Alive", "Te", "Upgrade"} {
				req.Header.Del(name)
			}
			req.Close = true
			if err := req.Write(counter{up, &r.Sent}); err != nil {
				return err
			}
			_, err := in.ReadByte() // what follows is not carried; the end of input is the program's end
			return err
		}
	}
	var asking sync.WaitGroup
	asking.Go(func() {
		if ask() != nil {
			up.Close()
		}
	})
	n, err := io.Copy(conn, up)
	r.Received = n
	cut := ctx.Err() != nil // read before the program learns of the end, which may end its command too
	up.Close()
	conn.Close()
	asking.Wait()
	switch {
	case cut:
		return "cut off with its command"
	case err == nil:
		return "ended by the server"
	case errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return "ended by the program"
	}
	return "broken: " + err.Error()
}

// A counter counts what is written to w.
type counter struct {
	w io.Writer
	n *int64
}

func (c counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	*c.n += int64(n)
	return n, err
}

// refuse answers a request that is not forwarded.
func refuse(conn net.Conn, status int, r Request) {
	text := "agent: " + r.End + "\n"
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), len(text), text) // the client may have gone
}
