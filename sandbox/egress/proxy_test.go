package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// site starts a server on the loopback and returns its place. The server answers with what it was asked.
func site(t *testing.T, tls bool) (Place, *httptest.Server) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s %q", r.Method, r.RequestURI, r.Host, r.Header.Get("Proxy-Authorization"), body)
	}))
	if s.Start(); tls {
		s.Close()
		s = httptest.NewTLSServer(s.Config.Handler)
	}
	t.Cleanup(s.Close)
	at := netip.MustParseAddrPort(s.Listener.Addr().String())
	return Place{at.Addr().String(), at.Port()}, s
}

// asked sends a text to a proxy over a connection of its own, and returns everything that comes back and the record.
func asked(t *testing.T, allow List, text string) (string, Request) {
	t.Helper()
	ours, theirs := net.Pipe()
	_ = ours.SetDeadline(time.Now().Add(time.Minute)) // a tunnel that should not exist would stay open
	recorded := make(chan Request, 1)
	p := &Proxy{Allow: allow, Record: func(r Request) { recorded <- r }}
	go p.Serve(t.Context(), theirs)
	go func() { _, _ = io.WriteString(ours, text) }()
	answer, err := io.ReadAll(ours)
	if err != nil {
		t.Errorf("%.60q: %v", text, err)
	}
	return string(answer), <-recorded
}

func TestWhatIsOnTheListIsReachedAndRecorded(t *testing.T) {
	t.Parallel()
	at, _ := site(t, false)
	list := List{at}
	for _, test := range []struct {
		text, want string
		record     Request
	}{
		{
			"POST http://AT/a?token=hush HTTP/1.1\r\nHost: elsewhere\r\nProxy-Authorization: Basic aHVzaA==\r\nContent-Length: 4\r\n\r\nbodyGET http://AT/second HTTP/1.1\r\n\r\n",
			`POST /a?token=hush AT  "body"`,
			Request{Method: "POST", End: "ended by the server"},
		},
		{"GET http://hush:hush@AT HTTP/1.0\r\n\r\n", `GET / AT  ""`, Request{Method: "GET", End: "ended by the server"}},
		{"CONNECT AT HTTP/1.1\r\nHost: AT\r\n\r\nGET /in HTTP/1.1\r\nHost: in\r\nConnection: close\r\n\r\n", `GET /in in  ""`, Request{Method: "CONNECT", End: "ended by the server"}},
	} {
		answer, r := asked(t, list, strings.ReplaceAll(test.text, "AT", at.String()))
		if want := strings.ReplaceAll(test.want, "AT", at.String()); !strings.HasSuffix(answer, want) || strings.Count(answer, "HTTP/1.") > 2 {
			t.Errorf("%s: %q, want %q", test.record.Method, answer, want)
		}
		test.record.Host, test.record.Port, test.record.Allowed = at.Host, at.Port, true
		if diff := cmp.Diff(test.record, r, cmpopts.IgnoreFields(Request{}, "Began", "Took", "Sent", "Received")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if r.Began.IsZero() || r.Sent < 40 || r.Received < 100 || strings.Contains(r.String(), "hush") {
			t.Errorf("recorded %s", r)
		}
	}
}

// A real HTTP client reaches a TLS server.
func TestAClientReachesAServerThroughATunnel(t *testing.T) {
	t.Parallel()
	at, server := site(t, true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Allow: List{at}, Record: func(Request) {}}
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			go p.Serve(t.Context(), conn)
		}
	}()
	t.Cleanup(func() { l.Close() })
	transport := server.Client().Transport.(*http.Transport)
	transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()})
	for range 2 { // the second request uses the same tunnel
		answer, err := server.Client().Get(server.URL + "/a")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if answer.Body.Close(); err != nil || !strings.HasPrefix(string(body), "GET /a ") {
			t.Errorf("%q, %v", body, err)
		}
	}
}

func TestWhatIsNotOnTheListIsRefusedWithASentence(t *testing.T) {
	t.Parallel()
	at, _ := site(t, false)
	port := fmt.Sprint(at.Port)
	const private, unlisted, garbage = "is on this machine or a private network", "this box may not reach", "a proxy takes only"
	for _, test := range []struct {
		name, allow, text, want string
		status                  int
	}{
		{"another host", "a.example", "CONNECT b.example:443 HTTP/1.1\r\n\r\n", unlisted, 403},
		{"another port", "a.example", "CONNECT a.example:22 HTTP/1.1\r\n\r\n", unlisted, 403},
		{"its parent", "*.a.example", "GET http://a.example/ HTTP/1.1\r\n\r\n", unlisted, 403},
		{"its end", "a.example", "GET http://xa.example/ HTTP/1.1\r\n\r\n", unlisted, 403},
		{"the Host of another", "a.example", "GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", unlisted, 403},
		{"an address", "*.a.example", "CONNECT 127.0.0.1:" + port + " HTTP/1.1\r\n\r\n", unlisted, 403},
		// The name is on the list, but resolves to an address that no name may reach.
		{"a name of this machine", "localhost:" + port, "CONNECT localhost:" + port + " HTTP/1.1\r\n\r\n", private, 403},
		{"the same by http", "localhost:" + port, "GET http://LOCALHOST.:" + port + "/ HTTP/1.1\r\n\r\n", private, 403},
		{"another port of an address", "localhost:" + port + ",127.0.0.1:1", "CONNECT localhost:" + port + " HTTP/1.1\r\n\r\n", private, 403},
		{"nobody there", "127.0.0.1:1", "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n", "connection refused", 502},
		{"no proxy's request", "a.example", "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", garbage, 400},
		{"another scheme", "a.example", "GET https://a.example/ HTTP/1.1\r\n\r\n", garbage, 400},
		{"no port", "a.example", "CONNECT a.example HTTP/1.1\r\n\r\n", garbage, 400},
		{"a zone", "*.a.example", "CONNECT [2600::1%25.a.example]:443 HTTP/1.1\r\n\r\n", garbage, 400},
		{"no HTTP", "a.example", "\x00\x00\x00\x02E{}\x00\x00\x00\x00p\r\n", garbage, 400},
		{"a secret in garbage", "a.example", "GET http://a.example/%zz?hush HTTP/1.1\r\n\r\n", garbage, 400},
		{"a head without end", "a.example", "GET http://a.example/ HTTP/1.1\r\nA: " + strings.Repeat("x", 2*maxHead), garbage, 400},
	} {
		// The proxy must answer even if it leaves part of the request unread.
		answer, r := asked(t, parsed(t, strings.Split(test.allow, ",")...), test.text)
		if !strings.HasPrefix(answer, fmt.Sprintf("HTTP/1.1 %d ", test.status)) || !strings.Contains(answer, test.want) || r.Allowed != (test.status == 502) || !strings.Contains(answer, r.End) {
			t.Errorf("%s: %q, want %d and %q; recorded %s", test.name, answer, test.status, test.want, r)
		}
		if strings.Contains(r.String(), "hush") || strings.Contains(answer, "hush") {
			t.Errorf("%s: the path was told: %s", test.name, r)
		}
	}
	// An address on the list is the user's explicit permission.
	answer, r := asked(t, parsed(t, "localhost:"+port, at.String()), "GET http://localhost:"+port+"/ HTTP/1.0\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.0 200 ") && !strings.HasPrefix(answer, "HTTP/1.1 200 ") || !r.Allowed || r.Host != "localhost" {
		t.Errorf("%q, recorded %s", answer, r)
	}
}

// An address of this machine is refused even if it is a public one.
func TestThisMachineIsNotTheInternet(t *testing.T) {
	t.Parallel()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if !ownAddress(netip.MustParsePrefix(a.String()).Addr().Unmap()) {
			t.Errorf("%s is not known as its own", a)
		}
	}
	if ownAddress(netip.MustParseAddr("1.1.1.1")) {
		t.Error("1.1.1.1 is taken for its own")
	}
}

// A hasty connection cancels its command as soon as it is closed.
type hasty struct {
	net.Conn
	cancel func()
}

// Close closes the connection, then cancels the command.
func (h hasty) Close() error {
	defer h.cancel()
	return h.Conn.Close()
}

// Whichever side ends first, everything is closed and the record names that side.
func TestTheEndOfAConnectionIsTold(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for want, end := range map[string]func(cancel func(), program, server net.Conn){
		"cut off with its command": func(cancel func(), _, _ net.Conn) { cancel() },
		"ended by the program":     func(_ func(), program, _ net.Conn) { program.Close() },
		"ended by the server":      func(_ func(), _, server net.Conn) { server.Close() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		program, theirs := net.Pipe()
		recorded := make(chan Request, 1)
		p := &Proxy{Allow: parsed(t, l.Addr().String()), Record: func(r Request) { recorded <- r }}
		go p.Serve(ctx, hasty{theirs, cancel})
		fmt.Fprintf(program, "CONNECT %s HTTP/1.1\r\n\r\n", l.Addr())
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		answer := bufio.NewReader(program)
		for range 2 { // the status line and the empty line
			if _, err := answer.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		end(cancel, program, server)
		if r := <-recorded; r.End != want || !r.Allowed {
			t.Errorf("%s: recorded %s", want, r)
		}
		for name, conn := range map[string]net.Conn{"program": program, "server": server} {
			if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err == nil {
				if _, err := conn.Read(make([]byte, 1)); err == nil || isTimeout(err) {
					t.Errorf("%s: the connection of the %s is still open: %v", want, name, err)
				}
			}
		}
		server.Close()
		cancel()
	}
}

// isTimeout recognises a connection that is still open.
func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}
