package lsp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/creachadair/jrpc2/channel"
)

// The bounds on what a client may send, and leave unread.
const (
	maxMessage = 16 << 20 // bytes of one message
	maxHeader  = 4 << 10  // bytes of one line of a header
	maxFields  = 16       // lines of a header
	maxWaiting = 1024     // messages that the client has not read
	flushTime  = 2 * time.Second
)

// errUnread says that a client does not read what it is sent.
var errUnread = errors.New("the client does not read what it is sent")

// A stream is the base protocol of language servers: headers with a length, then a message. It keeps no more of a
// client's data than the bounds, and a client that does not read blocks nothing.
type stream struct {
	in      *bufio.Reader
	waiting chan []byte
	written chan struct{} // closed when nothing is written any more

	mu     sync.Mutex
	closed bool
}

var _ channel.Channel = (*stream)(nil)

// newStream returns the stream of r and w. The caller must close it.
func newStream(r io.Reader, w io.Writer) *stream {
	s := &stream{in: bufio.NewReaderSize(r, maxHeader), waiting: make(chan []byte, maxWaiting), written: make(chan struct{})}
	go s.write(w) // ends with Close, or when a write that nothing can end returns
	return s
}

// write writes the waiting messages.
func (s *stream) write(w io.Writer) {
	defer close(s.written)
	for message := range s.waiting {
		if _, err := w.Write(message); err != nil {
			break
		}
	}
}

// Send implements channel.Channel.
func (s *stream) Send(message []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return channel.ErrClosed
	}
	select {
	case <-s.written:
		return channel.ErrClosed
	case s.waiting <- append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(message)), message...):
		return nil
	default:
		return errUnread
	}
}

// Recv implements channel.Channel.
func (s *stream) Recv() ([]byte, error) {
	size := -1
	for n := 0; ; n++ {
		line, err := s.in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && n == 0 && len(line) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case errors.Is(err, bufio.ErrBufferFull) || n == maxFields:
			return nil, errors.New("the header is too long")
		case err != nil:
			return nil, err
		}
		name, value, ok := strings.Cut(strings.TrimRight(string(line), "\r\n"), ":")
		if !ok && name == "" {
			break
		}
		if !ok {
			return nil, errors.New("a line of the header has no colon")
		}
		if strings.EqualFold(name, "Content-Length") {
			if size, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || size < 0 || size > maxMessage {
				return nil, fmt.Errorf("Content-Length is not a number up to %d: %.40q", maxMessage, value)
			}
		}
	}
	if size < 0 {
		return nil, errors.New("the header has no Content-Length")
	}
	message := make([]byte, size)
	if _, err := io.ReadFull(s.in, message); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return message, nil
}

// Close implements channel.Channel. Waiting messages are still written.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.waiting)
	}
	return nil
}

// flush waits until everything is written, or until a client that does not read has had its time.
func (s *stream) flush() {
	select {
	case <-s.written:
	case <-time.After(flushTime):
	}
}
