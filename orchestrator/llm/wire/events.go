package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// An Event is one server-sent event.
type Event struct {
	Name string // "" where the vendor names none
	Data []byte // empty for a comment, by which a vendor says that it is at work
}

// Events reads server-sent events (WHATWG HTML, 9.2.6), one at a time. It is
// stricter than that text: a line that is no field is no part of a vendor's
// stream but something in its place, and an event that was begun must be ended.
type Events struct {
	in *bufio.Reader
	n  int
}

// NewEvents returns the events of a body, which is bounded by its Call.
func NewEvents(body io.Reader) *Events { return &Events{in: bufio.NewReader(body)} }

// errNoEvents is what a body is that is not written in events.
var errNoEvents = errors.New("the answer is no stream of events")

// Next returns the next event, or io.EOF when the stream ended between two of them.
func (e *Events) Next() (Event, error) {
	if e.n++; e.n > MaxEvents {
		return Event{}, ErrEvents
	}
	var (
		event Event
		begun bool
	)
	for {
		line, err := e.in.ReadBytes('\n')
		if err != nil && (err != io.EOF || len(line) == 0) {
			if err == io.EOF && begun {
				err = io.ErrUnexpectedEOF
			}
			return Event{}, err
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(line) == 0 {
			if begun {
				return event, nil
			}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "": // a comment
			if !begun {
				return Event{}, nil
			}
		case "event":
			event.Name, begun = string(value), true
		case "data":
			if len(event.Data) > 0 {
				event.Data = append(event.Data, '\n')
			}
			event.Data, begun = append(event.Data, value...), true
		case "error": // no field of the format: llama.cpp's server writes its errors so
			event.Name, event.Data, begun = "error", value, true
		case "id", "retry":
		default:
			return Event{}, errNoEvents
		}
	}
}

// Torn says whether decoding raw to text put a replacement character where raw has
// none: bytes that are no UTF-8, or half of a surrogate pair. Code with a character
// exchanged would be worse than no answer.
func Torn(raw []byte, text string) bool {
	const replacement = "\uFFFD"
	return strings.Contains(text, replacement) && !bytes.Contains(raw, []byte(replacement)) && !bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`))
}

// ErrTorn is what a text is that Torn says of.
var ErrTorn = errors.New("the answer is not valid Unicode")
