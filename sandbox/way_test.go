package sandbox

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docker/docker/api/types"

	"agent/sandbox/guest"
	"agent/sandbox/guest/wire"
	"agent/sandbox/workbench"
)

// An echo serves a connection by sending back everything that arrives until the connection ends, then takes a while to
// return. It counts the connections that it serves.
type echo struct{ now *atomic.Int64 }

func (e echo) Serve(ctx context.Context, conn net.Conn) {
	e.now.Add(1)
	defer e.now.Add(-1)
	defer time.Sleep(10 * time.Millisecond)
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	_, _ = io.Copy(conn, conn)
}

// No guest in a box can be made to break the protocol, so this one is a fake. It is cut off at once, even if it
// announces more to come. A guest that answers while connections are open has those connections closed.
func TestAGuestThatBreaksTheProtocolIsCutOff(t *testing.T) {
	t.Parallel()
	frame := func(kind wire.Kind, payload string) string {
		var b strings.Builder
		if err := wire.WriteFrame(&b, kind, []byte(payload)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	number := func(n int) string { return string(binary.BigEndian.AppendUint32(nil, uint32(n))) }
	crowd := ""
	for n := range wire.MaxChannels + 1 {
		crowd += frame(wire.KindOpen, number(n))
	}
	open := frame(wire.KindOpen, number(1))
	ended := frame(wire.KindEnded, `{"problem":"none"}`)
	for _, test := range []struct {
		name, frames, want string
		without            bool // without a way out
	}{
		{"more channels than there may be", crowd, "the link takes 16", false},
		{"one number twice", open + open, "channel 1 after 1 others", false},
		{"no number", frame(wire.KindOpen, "x"), "of 1 bytes", false},
		{"credit that it has not", open + frame(wire.KindCredit, number(1)+number(1<<30)), "window", false},
		{"a frame that it never sends", frame(wire.KindRun, "{}"), "does not belong to a channel", false},
		{"an endless frame", "\xff\xff\xff\xffp", "the limit is", false},
		{"a channel that nobody allowed", open, "frame 'o' instead of 'E'", true},
		{"an answer beside open channels", open + frame(wire.KindPiece, number(1)+"echo this") + ended, "", false},
		{"a frame for a channel that never was", frame(wire.KindPiece, number(7)+"x") + ended, "", false},
	} {
		ours, theirs := net.Pipe()
		b := &Box{stream: &stream{conn: types.HijackedResponse{Conn: ours, Reader: bufio.NewReader(ours)}}}
		var now atomic.Int64
		if b.AllowEgress(echo{&now}); test.without {
			b.AllowEgress(nil)
		}
		go func() {
			// The frames have the form that the engine writes. What comes back is read only in the cases that end with an answer.
			head := append([]byte{1, 0, 0, 0}, number(len(test.frames))...)
			_, _ = theirs.Write(append(head, test.frames...))
			if test.want == "" {
				_, _ = io.Copy(io.Discard, theirs)
			}
		}()
		var a guest.Answer
		err := b.answer(t.Context(), 1<<20, &a, workbench.Console{})
		if test.want == "" && (err != nil || a.Problem != "none") || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if n := now.Load(); n != 0 {
			t.Errorf("%s: %d connections are served after the command", test.name, n)
		}
		ours.Close()
		theirs.Close()
	}
}
