// Package workbench is the host's half of a box in which somebody works: what a command there writes and what
// is typed at it, while it runs, and what changed, taken out when it has ended.
//
// It speaks over the stream to the guest and believes nothing that comes from there: every frame is bounded,
// and an extract is what untrusted code says. What may be made of it is for others to say.
package workbench

import (
	"context"
	"fmt"
	"io"
	"sync"

	"agent/sandbox/guest"
	"agent/sandbox/guest/wire"
)

// A Console is where somebody watches a command, and types. The zero value is for nobody.
type Console struct {
	// Stdout and Stderr are given what the command writes, while it runs. Without Stdout nothing is
	// streamed. An error of either is nobody's: who has gone sees nothing.
	Stdout, Stderr io.Writer
	// Typed is what is typed on the terminal of a command that has one, Sizes what its size
	// becomes. Both may be nil.
	Typed <-chan []byte
	Sizes <-chan guest.Size
}

// Show passes on one frame of output. Any other frame is an error.
func (c Console) Show(kind wire.Kind, payload []byte) error {
	if kind != wire.KindOutput || c.Stdout == nil || len(payload) < 2 || payload[0] != 1 && payload[0] != 2 {
		return fmt.Errorf("frame %q where %q belongs", byte(kind), byte(wire.KindEnded))
	}
	to := c.Stdout
	if payload[0] == 2 && c.Stderr != nil {
		to = c.Stderr
	}
	_, _ = to.Write(payload[1:])
	return nil
}

// Typing sends what is typed until the function that it returns is called. A stream that is broken
// is told by whoever reads it.
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
