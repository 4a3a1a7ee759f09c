package wire

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
)

// linked connects a host's end of a link and a guest's end. For each connection that the guest's end carries, the
// host's end sends one to the channel.
func linked(t *testing.T) (guests *Link, hosts <-chan net.Conn) {
	t.Helper()
	toHost, fromGuest := io.Pipe()
	toGuest, fromHost := io.Pipe()
	guest, host := NewLink(fromGuest), NewLink(fromHost)
	guest.Originate()
	opened := make(chan net.Conn, 100)
	var reading sync.WaitGroup
	read := func(from io.Reader, to *Link) {
		for {
			kind, payload, err := ReadFrame(from, 64<<10)
			if err != nil {
				return
			}
			if kind == KindOpen {
				number, _, _ := ChannelOf(payload)
				inner, outer := net.Pipe()
				opened <- outer
				err = to.Carry(number, inner, nil)
			} else {
				err = to.Take(kind, payload)
			}
			if err != nil {
				t.Errorf("frame %q: %v", byte(kind), err)
			}
		}
	}
	reading.Go(func() { read(toHost, host) })
	reading.Go(func() { read(toGuest, guest) })
	t.Cleanup(func() {
		guest.Close()
		host.Close()
		fromGuest.Close()
		fromHost.Close()
		reading.Wait()
	})
	return guest, opened
}

// join makes the guest's end carry a connection, and returns both of its outer ends.
func join(t *testing.T, guest *Link, hosts <-chan net.Conn, number uint32) (program, server net.Conn) {
	t.Helper()
	inner, program := net.Pipe()
	must(t, guest.Carry(number, inner, nil))
	return program, <-hosts
}

// A connection without a reader is full after a window. The others continue in both directions, each with its own
// bytes.
func TestALinkCarriesManyBesideOneThatIsStuck(t *testing.T) {
	guest, hosts := linked(t)
	stuck, _ := join(t, guest, hosts, 1)
	go func() { _, _ = stuck.Write(make([]byte, 10*window)) }() // ends with the link
	var working sync.WaitGroup
	for number := uint32(2); number <= MaxChannels; number++ {
		program, server := join(t, guest, hosts, number)
		random := rand.New(rand.NewPCG(uint64(number), 0))
		content := make([]byte, 3*window+random.IntN(2*window))
		for i := range content {
			content[i] = byte(random.Uint32())
		}
		working.Go(func() {
			_, _ = io.CopyN(server, server, int64(len(content))) // an echo
			server.Close()
		})
		working.Go(func() {
			go func() { _, _ = program.Write(content) }()
			got, err := io.ReadAll(program)
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("channel %d: %d of %d bytes came back as they were, %v", number, len(got), len(content), err)
			}
		})
	}
	working.Wait()
}

func TestTheEndOfAConnectionReachesTheOtherSideBehindItsBytes(t *testing.T) {
	guest, hosts := linked(t)
	for number := uint32(1); number <= 3*MaxChannels; number++ { // enough to notice a place that stays taken
		program, server := join(t, guest, hosts, number)
		first, last := program, server
		if number%2 == 0 {
			first, last = server, program
		}
		all := make([]byte, window) // so that the end arrives before anything is read
		if _, err := first.Write(all); err != nil {
			t.Error(err)
		}
		first.Close()
		if got, err := io.ReadAll(last); len(got) != len(all) || err != nil {
			t.Errorf("channel %d: %d bytes, %v", number, len(got), err)
		}
		// The place is free once both ends have closed the channel.
		guest.await(func() bool { return len(guest.channels) == 0 })
	}
}

func TestALinkThatIsClosedEndsEverything(t *testing.T) {
	guest, hosts := linked(t)
	program, _ := join(t, guest, hosts, 1)
	idle, _ := join(t, guest, hosts, 2)
	written := make(chan error)
	go func() {
		_, err := program.Write(make([]byte, 10*window)) // more than the link buffers
		written <- err
	}()
	guest.Close()
	if err := <-written; err == nil {
		t.Error("what nobody read was written")
	}
	if _, err := idle.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("an idle connection: %v", err)
	}
	inner, outer := net.Pipe()
	if guest.Carry(3, inner, nil) == nil {
		t.Error("a closed link carried on")
	}
	if _, err := outer.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("what it did not carry was left open: %v", err)
	}
}

func TestALinkTakesNoMoreThanItsBounds(t *testing.T) {
	const one = "\x00\x00\x00\x01"
	for _, test := range []struct {
		name, want string
		kind       Kind
		payload    string
	}{
		{"no number", "of 3 bytes", KindPiece, "\x00\x00\x00"},
		{"a piece too large", "does not belong to a channel", KindPiece, one + strings.Repeat("x", maxPiece+1)},
		{"another kind", "frame 'E'", KindEnded, one},
		{"one that only the guest sends", "does not belong to a channel", KindOpen, one},
		{"short credit", "of 1 bytes", KindCredit, one + "\x01"},
		{"credit for nothing", "window", KindCredit, one + "\x00\x00\x00\x01"},
		{"an ocean of credit", "window", KindCredit, one + "\xff\xff\xff\xff"},
		{"an unknown channel", "", KindPiece, "\x00\x00\x00\x02x"},
		{"a piece", "", KindPiece, one + "x"},
	} {
		l := NewLink(io.Discard)
		inner, _ := net.Pipe()
		must(t, l.Carry(1, inner, nil))
		err := l.Take(test.kind, []byte(test.payload))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		l.Close()
	}
	l := NewLink(io.Discard)
	defer l.Close()
	for n := range uint32(MaxChannels) {
		inner, _ := net.Pipe()
		must(t, l.Carry(n, inner, nil))
	}
	for _, n := range []uint32{0, MaxChannels} {
		inner, _ := net.Pipe()
		if err := l.Carry(n, inner, nil); err == nil {
			t.Errorf("channel %d beside %d", n, MaxChannels)
		}
	}
	// The connection has no reader: the link keeps up to a window of its data.
	piece := append([]byte{0, 0, 0, 3}, make([]byte, maxPiece)...)
	for i := range window/maxPiece + 1 {
		if err := l.Take(KindPiece, piece); (err == nil) != (i < window/maxPiece) {
			t.Errorf("piece %d: %v", i, err)
		}
	}
}

func TestAStreamThatBreaksEndsItsConnections(t *testing.T) {
	l := NewLink(brokenWriter{})
	inner, outer := net.Pipe()
	must(t, l.Carry(1, inner, nil))
	go func() { _, _ = outer.Write([]byte("x")) }()
	if _, err := outer.Read(make([]byte, 1)); err == nil {
		t.Error("bytes came over a broken stream")
	}
	l.Close()
}

// A brokenWriter is an output without a reader.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }
