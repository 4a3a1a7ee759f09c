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
	Name string // "" if the vendor gives no name
	Data []byte // empty for a comment, by which a vendor says that it is working
}

// Events reads server-sent events (WHATWG HTML, 9.2.6), one at a time. It is stricter than that text: a line that is not a field
// comes from something other than a vendor's stream, and an event that was begun must be ended.
type Events struct {
	in *bufio.Reader
	n  int
}

// NewEvents returns the events of a body, which its Call bounds.
func NewEvents(body io.Reader) *Events { return &Events{in: bufio.NewReader(body)} }

// errNoEvents is the error for a body that does not consist of events.
var errNoEvents = errors.New("the answer is not a stream of events")

// Next returns the next event, or io.EOF if the stream ended between two events.
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
		case "error": // not a field of the format, but how llama.cpp's server writes its errors
			event.Name, event.Data, begun = "error", value, true
		case "id", "retry":
		default:
			return Event{}, errNoEvents
		}
	}
}

// Torn reports whether decoding raw to text put a replacement character where raw has none: for bytes that are not UTF-8, or for
// half of a surrogate pair. Code with one wrong character would be worse than no answer.
func Torn(raw []byte, text string) bool {
	const replacement = "\uFFFD"
	return strings.Contains(text, replacement) && !bytes.Contains(raw, []byte(replacement)) && !bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`))
}

// ErrTorn is the error for a text for which Torn reports true.
var ErrTorn = errors.New("the answer is not valid Unicode")
