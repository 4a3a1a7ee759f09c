package sandbox_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/sandbox"
	"agent/sandbox/boxtest"
	"agent/sandbox/egress"
	"agent/sandbox/guest"
	"agent/sandbox/guest/wire"
)

// A gateway is a real proxy that lets requests through to one server on this machine. The server answers /here and
// never ends /endless. The gateway counts the connections that it serves at the same time, and keeps the record.
type gateway struct {
	egress.Proxy
	place string

	mu       sync.Mutex
	now, max int
	record   []egress.Request
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "you are here\n")
		for r.URL.Path == "/endless" && r.Context().Err() == nil {
			_, _ = w.Write(make([]byte, 64<<10))
		}
	}))
	t.Cleanup(server.Close)
	g := &gateway{place: server.Listener.Addr().String()}
	allow, err := egress.Parse([]string{g.place})
	if err != nil {
		t.Fatal(err)
	}
	g.Proxy = egress.Proxy{Allow: allow, Record: func(r egress.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.record = append(g.record, r)
	}}
	return g
}

func (g *gateway) Serve(ctx context.Context, conn net.Conn) {
	count := func(n int) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.now += n
		g.max = max(g.max, g.now)
	}
	count(1)
	defer count(-1)
	g.Proxy.Serve(ctx, conn)
	time.Sleep(5 * time.Millisecond) // returning takes a while, and the connection's place is taken until then
}

// recorded returns and clears the record of the last command. It fails the test if a connection of it is still open.
func (g *gateway) recorded(t *testing.T) (list []egress.Request) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.now != 0 {
		t.Errorf("%d connections outlived their command", g.now)
	}
	list, g.record = g.record, nil
	return list
}

// get returns a request in the form that the probe takes.
func (g *gateway) get(path string) string {
	return strconv.Quote("GET http://" + g.place + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
}

// A box reaches what is on the list, through the proxy variables in its environment, and nothing else. Whatever a program
// does with its way out, its command ends as usual and closes its connections, and the box answers the next command.
func TestABoxReachesWhatItMayAndNoMore(t *testing.T) {
	t.Parallel()
	box, g := boxtest.Start(t, boxtest.Engine(t), boxtest.Spec(t)), newGateway(t)
	here := g.get("/here")
	if r := boxtest.Run(t, box, "env"); strings.Contains(strings.ToLower(string(r.Stdout.Head)), "proxy") {
		t.Errorf("without a way out the environment names one: %s", r.Stdout.Head)
	}
	if r := boxtest.Run(t, box, "ask", here); !strings.Contains(string(r.Stderr.Head), "connection refused") {
		t.Errorf("without a way out somebody listens: %s%s", r.Stdout.Head, r.Stderr.Head)
	}
	box.AllowEgress(g)
	env := strings.Split(string(boxtest.Run(t, box, "env").Stdout.Head), "\n")
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		if !slices.Contains(env, name+"=http://127.0.0.1:19128") {
			t.Errorf("%s is not in the environment: %q", name, env)
		}
	}
	if !slices.Contains(env, "NO_PROXY=localhost,127.0.0.1,::1") {
		t.Errorf("NO_PROXY is not in the environment: %q", env)
	}
	const frames = "\x00\x00\x00\x02E{}\x00\x00\x00\x05p\x00\x00\x00\x01x\x00\x00\x00\x04x\x00\x00\x00\x01\r\n\r\n"
	for _, test := range []struct {
		name string
		args []string
		want string // the prefix of its output
		ends []string
	}{
		{"asks", []string{"ask", here}, "HTTP/1.1 200", []string{"ended by the server"}},
		{"tunnels", []string{"ask", strconv.Quote("CONNECT " + g.place + " HTTP/1.1\r\n\r\nGET /here HTTP/1.0\r\n\r\n")}, "HTTP/1.1 200 Connection established", []string{"ended by the server"}},
		{"asks for what is not on the list", []string{"ask", strconv.Quote("CONNECT other.example:443 HTTP/1.1\r\n\r\n")}, "HTTP/1.1 403", []string{"may not reach"}},
		{"asks for this machine", []string{"ask", strconv.Quote("GET http://127.0.0.1:22/ HTTP/1.1\r\n\r\n")}, "HTTP/1.1 403", []string{"may not reach"}},
		{"speaks as the guest", []string{"ask", strconv.Quote(frames)}, "HTTP/1.1 400", []string{"a proxy takes only"}},
		{"never reads", []string{"deaf", g.get("/endless"), here}, "HTTP/1.1 200", []string{"ended by the server", ""}},
		{"leaves a process with a connection", []string{"linger", g.get("/endless")}, "", []string{""}},
	} {
		r := boxtest.Run(t, box, test.args...)
		if r.Exit != 0 || r.TimedOut || len(r.Reached) != 0 || !strings.HasPrefix(string(r.Stdout.Head), test.want) {
			t.Errorf("%s: exit %d, reached %q, wrote %.200q %q", test.name, r.Exit, r.Reached, r.Stdout.Head, r.Stderr.Head)
		}
		record := g.recorded(t)
		if len(record) != len(test.ends) {
			t.Errorf("%s: recorded %v", test.name, record)
			continue
		}
		for i, end := range test.ends {
			if !strings.Contains(record[i].End, end) {
				t.Errorf("%s: recorded %s, want %q", test.name, record[i], end)
			}
		}
	}
	// The deadline holds even while bytes keep arriving.
	r := boxtest.RunCommand(t, box, guest.Command{Args: []string{boxtest.Probe, "ask", g.get("/endless")}, Timeout: 300 * time.Millisecond})
	if record := g.recorded(t); !r.TimedOut || len(record) != 1 || !record[0].Allowed || record[0].Received == 0 {
		t.Errorf("an endless answer: timed out %v, recorded %v", r.TimedOut, record)
	}
	// The guest's own port does not count as a port of the program.
	r = boxtest.RunCommand(t, box, guest.Command{Args: []string{boxtest.Probe, "sleep", "700"}, Watch: &guest.Watch{Settle: 1}})
	if r.Settled || len(r.Ports) != 0 || len(g.recorded(t)) != 0 {
		t.Errorf("a program that listens nowhere: settled %v, ports %v", r.Settled, r.Ports)
	}
	// Connections beyond the limit wait; all that are served are recorded.
	r = boxtest.Run(t, box, "crowd", "300", strconv.Quote(""), here)
	if record := g.recorded(t); r.Exit != 0 || !strings.HasPrefix(string(r.Stdout.Head), "HTTP/1.1 200") || len(record) != 301 || g.max > wire.MaxChannels {
		t.Errorf("a crowd: exit %d, %d connections, %d at once: %.100q %q", r.Exit, len(record), g.max, r.Stdout.Head, r.Stderr.Head)
	}
}

// The traffic of a box is bounded, and the result names the bound. Only the host's count matters.
func TestABoxIsToldThatItsWayOutIsSpent(t *testing.T) {
	t.Parallel()
	engine, g := boxtest.Engine(t), newGateway(t)
	box := boxtest.Start(t, engine, boxtest.Spec(t))
	box.AllowEgress(g)
	box.SpendEgress(sandbox.MaxConnections-1, 0)
	for _, want := range []string{"HTTP/1.1 200", ""} {
		r := boxtest.Run(t, box, "ask", g.get("/here"))
		if !strings.HasPrefix(string(r.Stdout.Head), want) || (len(r.Stdout.Head) == 0) != slices.Equal(r.Reached, []string{sandbox.ReachedEgress}) {
			t.Errorf("want %q: wrote %q, reached %q", want, r.Stdout.Head, r.Reached)
		}
	}
	box.AllowEgress(g)
	box.SpendEgress(0, sandbox.MaxEgress-(3<<20))
	r := boxtest.Run(t, box, "ask", g.get("/endless"))
	if n := r.Stdout.Dropped; r.Exit != 0 || n < 1<<20 || n > 3<<20 || !slices.Equal(r.Reached, []string{sandbox.ReachedEgress}) {
		t.Errorf("of 3 MiB %d bytes came, exit %d, reached %q", n, r.Exit, r.Reached)
	}
	box.AllowEgress(nil)
	if r := boxtest.Run(t, box, "ask", g.get("/here")); !strings.Contains(string(r.Stderr.Head), "connection refused") || len(r.Reached) != 0 {
		t.Errorf("what was taken away is there: %+v", r)
	}
}
