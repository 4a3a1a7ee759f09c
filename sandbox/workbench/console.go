// Package workbench is the host's half of a box that a person works in. While a command runs there, it shows what the
// command writes and passes on what is typed; when the command has ended, it takes out what changed.
//
// It speaks over the stream to the guest and trusts nothing that comes from there: every frame is bounded, and an
// extract is what untrusted code says. Its callers decide what may be done with it.
package workbench

import (
	"context"
	"fmt"
	"io"
	"sync"

	"agent/sandbox/guest"
	"agent/sandbox/guest/wire"
)

// A Console is where a person watches a command, and types. The zero value shows and sends nothing.
type Console struct {
	// Stdout and Stderr receive what the command writes, while it runs. Without Stdout nothing is streamed. Errors of
	// either are ignored: a viewer who has gone sees nothing.
	Stdout, Stderr io.Writer
	// Typed is what is typed on the terminal of a command that has one; Sizes are the terminal's new sizes. Both may be
	// nil.
	Typed <-chan []byte
	Sizes <-chan guest.Size
}

// Show passes on one frame of output. Any other frame is an error.
func (c Console) Show(kind wire.Kind, payload []byte) error {
	if kind != wire.KindOutput || c.Stdout == nil || len(payload) < 2 || payload[0] != 1 && payload[0] != 2 {
		return fmt.Errorf("frame %q instead of %q", byte(kind), byte(wire.KindEnded))
	}
	to := c.Stdout
	if payload[0] == 2 && c.Stderr != nil {
		to = c.Stderr
	}
	_, _ = to.Write(payload[1:])
	return nil
}

// Typing sends what is typed until the function that it returns is called. It stops silently on a broken stream,
// because the reader of the stream reports it.
func (c Console) Typing(ctx context.Context, to io.Writer) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var sending sync.WaitGroup
	sending.Go(func() {
		for {
			var err error
			select {
			case <-ctx.Done():
				return
			case p := <-c.Typed:
				err = wire.WriteFrame(to, wire.KindInput, p)
			case size := <-c.Sizes:
				err = wire.WriteJSON(to, wire.KindResize, size)
			}
			if err != nil {
				return
			}
		}
	})
	return func() {
		cancel()
		sending.Wait()
	}
}
