// Package wire is the transport between host and guest over the stream of a box: frames, and the connections that a
// Link carries alongside them.
//
// A frame is a length of four bytes, big-endian, a kind of one byte, then the payload. Neither end trusts the other: a
// reader bounds every frame, memory grows with the bytes that arrive, and any violation of the protocol is an error.
// Package guest defines what the payloads mean.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A Kind says what a frame carries.
type Kind byte

// The kinds of frame, in the order in which a box sees them.
const (
	// KindKey goes from host to guest and carries the key of the snapshot; it is empty if the image has none.
	KindKey Kind = 'K'
	// KindReady goes from guest to host and carries Ready.
	KindReady Kind = 'R'
	// KindApply goes from host to guest and carries a Patch. Data frames follow.
	KindApply Kind = 'A'
	// KindData goes either way and carries a piece of the data of a request or an answer; an empty one ends the data.
	KindData Kind = 'D'
	// KindApplied goes from guest to host and carries Applied.
	KindApplied Kind = 'a'
	// KindRun goes from host to guest and carries a Command.
	KindRun Kind = 'C'
	// KindEnded goes from guest to host and carries an Answer.
	KindEnded Kind = 'E'
	// KindOutput goes from guest to host while a command runs whose output is streamed: the number of the stream in one
	// byte, then the output.
	KindOutput Kind = 'O'
	// KindInput goes from host to guest: what is typed on the command's terminal.
	KindInput Kind = 'i'
	// KindResize goes from host to guest and carries the Size of that terminal.
	KindResize Kind = 's'
	// KindExtract goes from host to guest and carries Rules. Data frames with the files that the host knows follow.
	KindExtract Kind = 'X'
	// KindExtracted goes from guest to host, after Data frames with a tar stream, and carries Extracted.
	KindExtracted Kind = 'e'
	// KindOpen goes from guest to host while a command runs that has a way out: a program has connected. Like the kinds
	// below, it carries the channel's number.
	KindOpen Kind = 'o'
	// KindPiece goes both ways: bytes of the connection.
	KindPiece Kind = 'p'
	// KindCredit goes both ways: how many more bytes the sender accepts.
	KindCredit Kind = 'c'
	// KindClose goes both ways: the sender is done with the channel.
	KindClose Kind = 'x'
)

// frameHeader is the length of a frame's header: the payload's length and the kind.
const frameHeader = 5

// maxData is the largest payload of a Data frame.
const maxData = 1 << 20

// WriteFrame writes one frame with a single call of Write.
func WriteFrame(w io.Writer, kind Kind, payload []byte) error {
	frame := make([]byte, frameHeader, frameHeader+len(payload))
	binary.BigEndian.PutUint32(frame, uint32(len(payload)))
	frame[4] = byte(kind)
	if _, err := w.Write(append(frame, payload...)); err != nil {
		return fmt.Errorf("write frame %c: %w", kind, err)
	}
	return nil
}

// WriteJSON writes one frame that carries v.
func WriteJSON(w io.Writer, kind Kind, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode frame %c: %w", kind, err)
	}
	return WriteFrame(w, kind, payload)
}

// ReadFrame reads one frame with at most limit bytes of payload. Memory grows with the bytes that arrive, never with
// the length that the sender claims. If the stream ends between two frames, the error is io.EOF.
func ReadFrame(r io.Reader, limit int) (Kind, []byte, error) {
	var head [frameHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	size, kind := binary.BigEndian.Uint32(head[:]), Kind(head[4])
	if int64(size) > int64(limit) {
		return 0, nil, fmt.Errorf("frame %q of %d bytes: the limit is %d", byte(kind), size, limit)
	}
	var payload []byte
	for len(payload) < int(size) {
		// Doubled, but not beyond the final size.
		grown := make([]byte, min(int(size), max(2*len(payload), firstRead)))
		n := copy(grown, payload)
		if _, err := io.ReadFull(r, grown[n:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, nil, fmt.Errorf("read frame %q: %w", byte(kind), err)
		}
		payload = grown
	}
	return kind, payload, nil
}

// firstRead is how much of a frame is allocated before any of it has arrived.
const firstRead = 64 << 10

// ReadJSON reads one frame, which must be of this kind, into v.
func ReadJSON(r io.Reader, kind Kind, limit int, v any) error {
	return ReadJSONAfter(r, kind, limit, v, func(got Kind, _ []byte) error {
		return fmt.Errorf("frame %q instead of %q", byte(got), byte(kind))
	})
}

// ReadJSONAfter is like ReadJSON, but passes preceding frames of other kinds to other. An error of other ends it.
func ReadJSONAfter(r io.Reader, kind Kind, limit int, v any, other func(Kind, []byte) error) error {
	got, payload, err := ReadFrame(r, limit)
	for err == nil && got != kind {
		if err = other(got, payload); err == nil {
			got, payload, err = ReadFrame(r, limit)
		}
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(payload, v); err != nil {
		return fmt.Errorf("decode frame %q: %w", byte(kind), err)
	}
	return nil
}

// A DataWriter cuts what is written into full Data frames. Close sends what is left and the empty frame that ends the
// stream.
type DataWriter struct {
	w   io.Writer
	buf []byte
}

// NewDataWriter returns a DataWriter on w.
func NewDataWriter(w io.Writer) *DataWriter { return &DataWriter{w: w} }

// Write keeps p until a frame is full.
func (d *DataWriter) Write(p []byte) (int, error) {
	d.buf = append(d.buf, p...)
	for len(d.buf) >= maxData {
		if err := WriteFrame(d.w, KindData, d.buf[:maxData]); err != nil {
			return 0, err
		}
		d.buf = d.buf[:copy(d.buf, d.buf[maxData:])]
	}
	return len(p), nil
}

// Close ends the stream. It does not close the underlying writer.
func (d *DataWriter) Close() error {
	if len(d.buf) > 0 {
		if err := WriteFrame(d.w, KindData, d.buf); err != nil {
			return err
		}
		d.buf = nil
	}
	return WriteFrame(d.w, KindData, nil)
}

// A DataReader joins Data frames until the empty one, which is io.EOF.
type DataReader struct {
	// Next returns the next frame of the stream, of any kind.
	Next func() (Kind, []byte, error)

	rest []byte
	// err is io.EOF after the empty frame. Any error is final.
	err error
}

// Read reads the bytes of the frames. If the stream ends before the empty frame, the error is io.ErrUnexpectedEOF.
func (d *DataReader) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		d.rest, d.err = d.piece()
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// piece returns the content of the next frame.
func (d *DataReader) piece() ([]byte, error) {
	kind, payload, err := d.Next()
	switch {
	case err == io.EOF:
		return nil, io.ErrUnexpectedEOF // the stream ended before the data did
	case err != nil:
		return nil, err
	case kind != KindData:
		return nil, fmt.Errorf("frame %q instead of %q", byte(kind), byte(KindData))
	case len(payload) == 0:
		return nil, io.EOF
	}
	return payload, nil
}
