package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/docker/docker/api/types"
)

// keptStderr is how many bytes of the guest's own standard error are kept, to explain why a guest died.
const keptStderr = 8 << 10

// A stream is the host's end of the attached container: writes reach the guest, and reads come from its standard
// output. One goroutine reads it; several may write, each a whole frame at a time.
type stream struct {
	conn    types.HijackedResponse
	writing sync.Mutex
	// left is how many bytes of standard output precede the next header.
	left uint32
	// stderr holds the first bytes of standard error.
	stderr []byte
}

// Write writes p, a whole frame, to the exclusion of other writers.
func (s *stream) Write(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.conn.Conn.Write(p)
}

// Read demultiplexes the engine's stream. Each piece has a header of eight bytes: the descriptor (1 is standard output,
// 2 standard error), three zeros, and the length, big-endian.
func (s *stream) Read(p []byte) (int, error) {
	for s.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(s.conn.Reader, head[:]); err != nil {
			return 0, err
		}
		size := binary.BigEndian.Uint32(head[4:])
		switch head[0] {
		case 1:
			s.left = size
		case 2:
			if err := s.keepStderr(int64(size)); err != nil {
				return 0, err
			}
		default:
			return 0, fmt.Errorf("the engine's stream has a frame of unknown kind %d", head[0])
		}
	}
	n, err := s.conn.Reader.Read(p[:min(len(p), int(s.left))])
	s.left -= uint32(n)
	return n, err
}

// keepStderr consumes one piece of standard error.
func (s *stream) keepStderr(size int64) error {
	keep := min(size, int64(keptStderr-len(s.stderr)))
	piece := make([]byte, keep)
	if _, err := io.ReadFull(s.conn.Reader, piece); err != nil {
		return err
	}
	s.stderr = append(s.stderr, piece...)
	_, err := io.CopyN(io.Discard, s.conn.Reader, size-keep)
	return err
}

// interrupt makes pending calls return, and all later ones.
func (s *stream) interrupt() {
	_ = s.conn.Conn.SetDeadline(time.Unix(1, 0)) // long past; a closed connection needs no deadline
}

// exchange runs f, which writes and reads the stream, until the deadline or the end of ctx; f's error then wraps
// os.ErrDeadlineExceeded. After an error the stream is no longer usable.
func (s *stream) exchange(ctx context.Context, deadline time.Time, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.conn.Conn.SetDeadline(deadline); err != nil {
		return fmt.Errorf("set the stream's deadline: %w", err)
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		s.interrupt()
	})
	err := f()
	if !stop() {
		<-interrupted
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}
