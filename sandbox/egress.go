package sandbox

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"agent/sandbox/guest"
	"agent/sandbox/guest/wire"
	"agent/sandbox/workbench"
)

// The bounds of one box's way out: its connections, and the bytes of all of them in both directions.
const (
	maxConnections = 1000
	maxEgress      = 256 << 20
)

// ReachedEgress is in Result.Reached when a command exceeded these bounds. Only the host counts, so no guest can claim it.
const ReachedEgress = "network traffic (1000 connections, 256 MiB)"

// errSpent ends the connections of a box that has used up its share.
var errSpent = errors.New("the box has reached its limit of network traffic")

// An Egress serves the connections that leave a box. *egress.Proxy is one.
type Egress interface {
	// Serve serves one connection to its end, and returns soon after ctx ends. It need not close conn.
	Serve(ctx context.Context, conn net.Conn)
}

// A way is the host's side of the way out of one box.
type way struct {
	to     Egress
	opened atomic.Int64
	bytes  atomic.Int64
	spent  atomic.Bool
}

// AllowEgress gives the commands that follow a way out of the box, to whatever e serves. The commands learn of it from HTTP_PROXY
// and the like. Nil takes the way out away; a box has none by default. The bounds apply to the box as a whole.
func (b *Box) AllowEgress(e Egress) {
	b.way = nil
	if e != nil {
		b.way = &way{to: e}
	}
}

// answer reads the answer to a command and serves the connections that come before it. None of them is left when it returns.
func (b *Box) answer(ctx context.Context, limit int, a *guest.Answer, at workbench.Console) error {
	if b.way == nil {
		return wire.ReadJSONAfter(b.stream, wire.KindEnded, limit, a, at.Show)
	}
	link := wire.NewLink(b.stream)
	var serving sync.WaitGroup
	// The link frees a channel once its bytes are through, but the goroutine that served them may not have returned yet.
	places := make(chan struct{}, wire.MaxChannels)
	ctx, cancel := context.WithCancel(ctx)
	err := wire.ReadJSONAfter(b.stream, wire.KindEnded, limit, a, func(kind wire.Kind, payload []byte) error {
		if kind == wire.KindOutput {
			return at.Show(kind, payload)
		}
		if kind != wire.KindOpen {
			return link.Take(kind, payload)
		}
		number, _, err := wire.ChannelOf(payload)
		if err != nil {
			return err
		}
		inner, outer := net.Pipe()
		serving.Go(func() {
			defer outer.Close()
			if !b.way.admit() {
				return
			}
			places <- struct{}{}
			defer func() { <-places }()
			b.way.to.Serve(ctx, outer)
		})
		return link.Carry(number, metered{inner, b.way}, nil)
	})
	if err != nil {
		b.stream.interrupt() // it is no longer usable, and a channel may wait for it
	}
	cancel()
	link.Close()
	serving.Wait()
	return err
}

// admit counts a connection and reports whether it may be made.
func (w *way) admit() bool {
	if w.opened.Add(1) > maxConnections {
		w.spent.Store(true)
	}
	return !w.spent.Load()
}

// A metered connection ends when its box has used up its share of bytes.
type metered struct {
	net.Conn
	way *way
}

// Read counts what comes into the box.
func (m metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	return n, errors.Join(err, m.count(n))
}

// Write counts what leaves the box.
func (m metered) Write(p []byte) (int, error) {
	if err := m.count(len(p)); err != nil {
		return 0, err
	}
	return m.Conn.Write(p)
}

// count adds n bytes to the box's total.
func (m metered) count(n int) error {
	if m.way.bytes.Add(int64(n)) > maxEgress {
		m.way.spent.Store(true)
		return errSpent
	}
	return nil
}
