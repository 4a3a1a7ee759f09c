package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/run"
)

// outage is how long the database is away: longer than a write may take once no one waits for it.
const outage = 12 * time.Second

// A barrier stands in front of a database or an engine. While it is shut, nothing listens, as during a restart of the
// machine.
type barrier struct {
	network, server, address string

	mu       sync.Mutex
	listener net.Listener
	shutting bool // new connections are closed at once
	open     map[net.Conn]bool
	carrying sync.WaitGroup
}

// newGate returns a barrier in front of the database at dsn, and the address through it.
func newGate(t *testing.T, dsn string) (*barrier, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	g := &barrier{network: "tcp", server: u.Host, address: "127.0.0.1:0", open: map[net.Conn]bool{}}
	g.lift(t)
	t.Cleanup(g.shut)
	u.Host = g.address
	return g, u.String()
}

// lift starts to listen.
func (g *barrier) lift(t *testing.T) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	l, err := net.Listen(g.network, g.address)
	if err != nil {
		t.Errorf("listen again: %v", err)
		return
	}
	g.listener, g.address, g.shutting = l, l.Addr().String(), false
	g.carrying.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			g.carrying.Go(func() { g.carry(conn) })
		}
	})
}

// shut ends every connection and stops listening.
func (g *barrier) shut() {
	g.mu.Lock()
	g.shutting = true
	g.listener.Close()
	for conn := range g.open {
		conn.Close()
	}
	g.mu.Unlock()
	g.carrying.Wait()
}

// away shuts the barrier for the duration of an outage.
func (g *barrier) away(t *testing.T) {
	g.shut()
	time.Sleep(outage)
	g.lift(t)
}

// carry copies both ways until one side closes.
func (g *barrier) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial(g.network, g.server)
	if err != nil {
		return
	}
	defer server.Close()
	g.mu.Lock()
	if g.shutting {
		g.mu.Unlock()
		return
	}
	g.open[client], g.open[server] = true, true
	g.mu.Unlock()
	var up sync.WaitGroup
	up.Go(func() {
		_, _ = io.Copy(server, client) // ends with either side
		endOf(server)
	})
	_, _ = io.Copy(client, server)
	endOf(client)
	up.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, client)
	delete(g.open, server)
}

// endOf tells the other end that nothing more comes; an answer may still be on its way.
func endOf(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		conn.Close()
	}
}

// The database goes away before the question, while the model answers, and while the candidate is judged. The run waits
// each time, pays for the answer once, and ends as if nothing had happened.
func TestARunWaitsForItsDatabase(t *testing.T) {
	t.Parallel()
	x := newTrial(t, ailment{})
	g, through := newGate(t, x.url)
	var once sync.Once
	x.model.Choose(func(llmtest.Request) llmtest.Step {
		// If it were back before the answer is complete, the answer would not be recorded late.
		once.Do(func() { go g.away(t) })
		return llmtest.Step{Text: "<EDIT file=\"main.py\">\n<SEARCH>\nprint(a, b)\n</SEARCH>\n<REPLACE>\nprint(b, a)\n</REPLACE>\n</EDIT>\n", Delay: time.Second}
	})
	cmd := exec.Command(agentProgram, "sandbox", "run", "--workspace", x.dir, "--goal", "turn them", "--file", "main.py", "--yes", "--json")
	var stdout strings.Builder
	cmd.Env, cmd.Stdout = append(x.env, "AGENT_DATABASE_URL="+through), &stdout
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		told.WriteString(lines.Text() + "\n")
		if lines.Text() == "planning" || strings.HasPrefix(lines.Text(), "verifying:") {
			g.away(t)
		}
	}
	err = cmd.Wait()
	var doc run.Document
	if json.Unmarshal([]byte(stdout.String()), &doc) != nil || doc.State != run.Promoted || len(doc.Candidates) != 1 {
		t.Errorf("%v: %s\n%s", err, &stdout, &told)
	}
	if text := readFile(t, filepath.Join(x.dir, "main.py")); !strings.HasSuffix(text, "print(b, a)\n") {
		t.Errorf("the workspace holds\n%s", text)
	}
	if got := x.text(t, `select (select count(*) from v_model_calls where`+forTheChange+`and error_kind is null and ended is not null) || ' ' ||
		(select count(*) from v_model_calls where`+forTheChange+`) || ' ' || (select count(*) from candidate) || ' ' || (select string_agg(state, ' ') from v_runs)`); got != "1 1 1 promoted" {
		t.Errorf("answers, requests, candidates and state: %s\n%s", got, &told)
	}
}

// writeFile writes a file of a test.
func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readFile returns what a file holds.
func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
