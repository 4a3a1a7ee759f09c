package store_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// A cutter sits between the store and the server. On request it swallows the answer to the next commit, or to a statement that commits by
// itself, and closes the connection, like a network that fails at the worst moment.
type cutter struct {
	url    string
	server string

	mu     sync.Mutex
	tag    string // of the answer to swallow, or ""
	count  int
	refuse int // connections that are still to be refused
	open   map[net.Conn]bool
}

// newCutter listens in front of the server in dsn.
func newCutter(t *testing.T, dsn string) *cutter {
	t.Helper()
	u, err := url.Parse(dsn)
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	c := &cutter{server: u.Host, open: map[net.Conn]bool{}}
	u.Host = l.Addr().String()
	c.url = u.String()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { c.carry(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return c
}

// next requests a cut at the next commit.
func (c *cutter) next() { c.nextTag("COMMIT") }

// nextTag requests a cut at the next answer with a tag, such as "INSERT 0 1". For a statement outside a transaction, the server sends it
// after the commit.
func (c *cutter) nextTag(tag string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tag = tag
}

// cuts returns how many answers were swallowed.
func (c *cutter) cuts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// outage closes all connections and refuses the next n, like a server that restarts.
func (c *cutter) outage(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = n
	for conn := range c.open {
		conn.Close()
	}
}

// refused reports whether conn falls into the outage; otherwise it counts conn as open.
func (c *cutter) refused(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse > 0 {
		c.refuse--
		return true
	}
	c.open[conn] = true
	return false
}

// closed forgets conn.
func (c *cutter) closed(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

// carry copies in both directions until one side closes.
func (c *cutter) carry(client net.Conn) {
	defer client.Close()
	if c.refused(client) {
		return
	}
	defer c.closed(client)
	server, err := net.Dial("tcp", c.server)
	if err != nil {
		return
	}
	defer server.Close()
	var up sync.WaitGroup
	up.Go(func() {
		_, _ = io.Copy(server, client)
		server.Close()
	})
	defer up.Wait()
	defer client.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if c.cut(buf[:n]) || err != nil {
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cut reports whether an answer is the one to swallow. The server sends the tag, "COMMIT" for a transaction, once the work is in the
// database.
func (c *cutter) cut(answer []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tag == "" || !bytes.Contains(answer, []byte(c.tag+"\x00")) {
		return false
	}
	c.tag = ""
	c.count++
	return true
}
