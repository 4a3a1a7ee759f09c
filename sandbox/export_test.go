package sandbox

import (
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/docker/docker/client"
)

// Raw returns the Docker client, for tests that look at containers behind the engine's back.
func (e *Engine) Raw() *client.Client { return e.api }

// Patience sets how long the engine may take to send the head of an answer.
func (e *Engine) Patience(d time.Duration) error {
	traffic := e.api.HTTPClient()
	way, ok := traffic.Transport.(watching)
	if !ok {
		return fmt.Errorf("requests go by a %T", traffic.Transport)
	}
	traffic.Transport = watching{way.RoundTripper, d}
	return client.WithHTTPClient(traffic)(e.api)
}

// Socket returns the connection of the box's stream, for tests that break it.
func (b *Box) Socket() net.Conn { return b.stream.conn.Conn }

// Waiting returns the IDs of the waiting boxes, once each has started or failed to.
func (p *Pool) Waiting() []string {
	p.mu.Lock()
	waiting := slices.Clone(p.waiting)
	p.mu.Unlock()
	ids := []string{}
	for _, w := range waiting {
		if <-w.ready; w.box != nil {
			ids = append(ids, w.box.id)
		}
	}
	return ids
}

// Used returns the IDs of the boxes that were released and are still to be removed.
func (p *Pool) Used() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := []string{}
	for _, b := range p.used {
		ids = append(ids, b.id)
	}
	return ids
}

// BoxCost is the least that a waiting box counts for.
const BoxCost = boxCost

// SpendEgress counts connections and bytes as if they had gone through the box's way out.
func (b *Box) SpendEgress(connections, bytes int64) {
	b.way.opened.Add(connections)
	b.way.bytes.Add(bytes)
}

// These are the bounds on what SpendEgress counts.
const (
	MaxConnections = maxConnections
	MaxEgress      = maxEgress
)

// Pending counts the boxes that wait or are being started.
func (p *Pool) Pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}
