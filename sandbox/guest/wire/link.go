package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// The bounds of a link, which both ends observe.
const (
	// MaxChannels is how many connections a link carries at once.
	MaxChannels = 16
	// window is how many bytes of a channel one end may have sent that the other has not passed on yet.
	window = 64 << 10
	// maxPiece is how many bytes go into one frame, so that an answer or another channel never waits long for its turn.
	maxPiece = 16 << 10
)

// OfLink reports whether both ends of a link may send frames of this kind.
func OfLink(kind Kind) bool { return kind == KindPiece || kind == KindCredit || kind == KindClose }

// A Link carries connections over the stream, alongside the command in progress. Each is a channel with a number, which
// the guest opens. What one end reads from its connection, the other writes to its own. When a connection ends at one
// end, the other end closes its own after passing on everything that was sent before. A connection never ends in one
// direction alone.
//
// Take never waits for a connection: what arrives for a slow one is kept, up to a window, and its sender waits for
// credit. So no channel holds up another, or the command's answer.
type Link struct {
	out io.Writer
	// opens says whether this end opens the channels: the guest's does.
	opens bool
	// work counts every goroutine that carries something.
	work sync.WaitGroup
	// writing is held while a frame is written.
	writing sync.Mutex

	// mu guards the fields below and those of the channels; changed is signalled when any of them changes.
	mu       sync.Mutex
	changed  *sync.Cond
	channels map[uint32]*channel
	closed   bool
}

// A channel is one connection on its way through a link.
type channel struct {
	number uint32
	conn   io.ReadWriteCloser
	// came has arrived and is still to be written to conn; held counts it until the other end has got credit for it.
	came []byte
	held int
	// credit is how many bytes the other end accepts now.
	credit int
	// ended says that this end no longer reads conn, theirs that the other end sends no more.
	ended, theirs bool
}

// NewLink returns the host's end of a link whose frames go to out.
func NewLink(out io.Writer) *Link {
	l := &Link{out: out, channels: map[uint32]*channel{}}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// Originate makes this the end that opens channels, the guest's. It must be called before Carry.
func (l *Link) Originate() { l.opens = true }

// Carry begins to carry conn as a channel and returns. It closes conn in the end, even after an error: too many
// channels, or a number in use. If done is not nil, Carry calls it when both ends are done with the channel.
func (l *Link) Carry(number uint32, conn io.ReadWriteCloser, done func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.channels[number] != nil || len(l.channels) >= MaxChannels {
		conn.Close()
		return fmt.Errorf("channel %d after %d others: the link takes %d, each with its own number, until it is closed", number, len(l.channels), MaxChannels)
	}
	c := &channel{number: number, conn: conn, credit: window}
	l.channels[number] = c
	l.work.Go(func() {
		if done != nil {
			defer done()
		}
		l.pump(c)
		if !l.opens {
			// This comes before the other end is told, which may reuse the number at once.
			l.forget(c)
		}
		_ = l.write(KindClose, number, nil) // the reader of the stream reports a broken one
		if l.opens {
			l.await(func() bool { return c.theirs })
			l.forget(c)
		}
	})
	return nil
}

// pump moves bytes both ways until the connection has ended.
func (l *Link) pump(c *channel) {
	if l.opens && l.write(KindOpen, c.number, nil) != nil {
		c.conn.Close()
		return
	}
	var sending sync.WaitGroup
	sending.Go(func() { l.send(c) })
	for {
		p := l.next(c)
		if len(p) == 0 {
			break
		}
		if _, err := c.conn.Write(p); err != nil {
			break
		}
		l.await(func() bool { c.held -= len(p); return true })
		if l.write(KindCredit, c.number, binary.BigEndian.AppendUint32(nil, uint32(len(p)))) != nil {
			break
		}
	}
	c.conn.Close()
	sending.Wait()
}

// send passes on what comes from the connection, as far as there is credit.
func (l *Link) send(c *channel) {
	buf := make([]byte, maxPiece)
	for {
		room := 0
		l.await(func() bool { room = c.credit; return room > 0 || c.ended || c.theirs })
		if room == 0 {
			break
		}
		n, err := c.conn.Read(buf[:min(room, maxPiece)])
		l.await(func() bool { c.credit -= n; return true })
		if n > 0 && l.write(KindPiece, c.number, buf[:n]) != nil || err != nil {
			break
		}
	}
	c.conn.Close() // otherwise the other direction would wait for a reader that has gone
	l.await(func() bool { c.ended = true; return true })
}

// next waits for bytes to write to the connection; it returns none when there will be no more.
func (l *Link) next(c *channel) (p []byte) {
	l.await(func() bool {
		p, c.came = c.came, nil
		return len(p) > 0 || c.ended || c.theirs
	})
	return p
}

// await waits until ok, which may change what mu guards, or the link is closed.
func (l *Link) await(ok func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !ok() && !l.closed {
		l.changed.Wait()
	}
	l.changed.Broadcast()
}

// forget frees the channel's number.
func (l *Link) forget(c *channel) {
	l.await(func() bool {
		delete(l.channels, c.number)
		return true
	})
}

// write writes one frame of a channel.
func (l *Link) write(kind Kind, number uint32, rest []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return WriteFrame(l.out, kind, append(binary.BigEndian.AppendUint32(nil, number), rest...))
}

// Take accepts one frame of the other end. An error means that the frame violates the protocol. A frame for a channel
// that has ended is dropped.
func (l *Link) Take(kind Kind, payload []byte) error {
	number, rest, err := ChannelOf(payload)
	if err != nil || !OfLink(kind) {
		return fmt.Errorf("frame %q of %d bytes does not belong to a channel", byte(kind), len(payload))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.channels[number]
	if c == nil {
		return nil
	}
	switch kind {
	case KindPiece:
		c.came, c.held = append(c.came, rest...), c.held+len(rest)
	case KindCredit:
		if len(rest) != 4 {
			return fmt.Errorf("credit of %d bytes, not 4", len(rest))
		}
		c.credit += int(binary.BigEndian.Uint32(rest))
	case KindClose:
		c.theirs = true
	}
	if c.held > window || c.credit > window {
		return fmt.Errorf("channel %d: more than its window of %d bytes", number, window)
	}
	l.changed.Broadcast()
	return nil
}

// ChannelOf splits the payload of a channel's frame into the channel's number, in four bytes, and the rest.
func ChannelOf(payload []byte) (number uint32, rest []byte, err error) {
	if len(payload) < 4 || len(payload) > 4+maxPiece {
		return 0, nil, fmt.Errorf("channel frame of %d bytes", len(payload))
	}
	return binary.BigEndian.Uint32(payload), payload[4:], nil
}

// Close closes every connection and returns when nothing more is written.
func (l *Link) Close() {
	l.mu.Lock()
	l.closed = true
	for _, c := range l.channels {
		c.conn.Close()
	}
	l.changed.Broadcast()
	l.mu.Unlock()
	l.work.Wait()
}
