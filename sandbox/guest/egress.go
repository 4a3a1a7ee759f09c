package guest

import (
	"fmt"
	"net"

	"agent/sandbox/guest/wire"
)

// egressAddress is where the way out of the box begins. Its port is below those that the kernel assigns to connections.
// It is the same in every box, so that what programs say of it is the same on both sides of a comparison.
const (
	egressAddress = "127.0.0.1:19128"
	egressPort    = 19128
)

// egressEnv announces the way out in the variables that programs read. Node heeds the others only with the last.
var egressEnv = map[string]string{
	"HTTP_PROXY": egressURL, "HTTPS_PROXY": egressURL, "http_proxy": egressURL, "https_proxy": egressURL,
	"NO_PROXY": egressLocal, "no_proxy": egressLocal, "NODE_USE_ENV_PROXY": "1",
}

// offlineEnv makes programs that look for a registry fail at once if none answers. npm would otherwise retry for a
// minute, and tests install with it, often several times.
var offlineEnv = map[string]string{"npm_config_fetch_retries": "0", "PIP_RETRIES": "0"}

const (
	egressURL   = "http://" + egressAddress
	egressLocal = "localhost,127.0.0.1,::1"
)

// An exit is the guest's side of the way out while one command runs.
type exit struct {
	link      *wire.Link
	listener  net.Listener
	accepting chan struct{} // closed when it no longer accepts
}

// openExit begins to listen and returns.
func openExit(link *wire.Link) (*exit, error) {
	listener, err := net.Listen("tcp4", egressAddress)
	if err != nil {
		return nil, fmt.Errorf("open the connection to the host: %w", err)
	}
	link.Originate()
	e := &exit{link: link, listener: listener, accepting: make(chan struct{})}
	go e.accept()
	return e, nil
}

// accept gives each connection to the link. Connections for which the link has no room wait in the kernel's queue.
func (e *exit) accept() {
	defer close(e.accepting)
	places := make(chan struct{}, wire.MaxChannels)
	for number := uint32(1); ; number++ {
		places <- struct{}{} // closing the link frees every place
		conn, err := e.listener.Accept()
		if err != nil {
			return
		}
		if e.link.Carry(number, conn, func() { <-places }) != nil {
			return
		}
	}
}

// close ends every connection. When it returns, nothing more is written for any of them.
func (e *exit) close() {
	e.listener.Close()
	e.link.Close()
	<-e.accepting
}
