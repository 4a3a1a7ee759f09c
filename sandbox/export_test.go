package sandbox

import (
	"net"

	"github.com/docker/docker/client"
)

// Raw returns the Docker client, for tests that look at containers behind the engine's back.
func (e *Engine) Raw() *client.Client { return e.api }

// Socket returns the connection of the box's stream, for tests that break it.
func (b *Box) Socket() net.Conn { return b.stream.conn.Conn }
