package emulated

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"agent/orchestrator/llm/wire"
)

// openings begin a call, alone on their line.
var openings = []string{"```tool", "```tool_call"}

// A reader receives an answer while it arrives, and passes on the text outside of calls.
type reader struct {
	yield func(string) error
	wrong error // why a call is impossible

	line   strings.Builder // the undecided part of the last line
	within bool            // the last line is text, and part of it was passed on
	call   *strings.Builder
	held   string // space after the text, which is dropped before a call and at the end
	apart  string // the separator between that text and the text after a call, "" for no call
	text   strings.Builder
	calls  wire.Calls
}

// read takes the next piece.
func (r *reader) read(piece string) error {
	if piece == "" {
		return r.yield("")
	}
	before := r.text.Len()
	for {
		line, rest, whole := strings.Cut(piece, "\n")
		r.line.WriteString(line)
		if !whole {
			break
		}
		if err := r.decide(true); err != nil {
			return err
		}
		piece = rest
	}
	if err := r.decide(false); err != nil {
		return err
	}
	if r.text.Len() == before { // a sign of life
		return r.yield("")
	}
	return nil
}

// decide passes on the last line, or what there is of it, unless it may be part of a call.
func (r *reader) decide(whole bool) error {
	if !whole && (r.call != nil || !r.within && mayOpen(r.line.String())) {
		return nil
	}
	line := r.line.String()
	r.line.Reset()
	within := r.within
	r.within = !whole
	switch trimmed := strings.TrimSpace(line); {
	case r.call != nil && trimmed == "```":
		return r.close()
	case r.call != nil:
		r.call.WriteString(line + "\n")
		return nil
	case !within && opens(trimmed):
		r.call, r.held = &strings.Builder{}, ""
		if r.text.Len() > 0 {
			r.apart = "\n\n"
		}
		return nil
	}
	if whole {
		line += "\n"
	}
	return r.say(line)
}

// opens reports whether a line, without space around it, begins a call.
func opens(line string) bool {
	for _, o := range openings {
		if line == o {
			return true
		}
	}
	return false
}

// mayOpen reports whether a line with this beginning may turn out to begin a call.
func mayOpen(line string) bool {
	line = strings.TrimSpace(line)
	for _, o := range openings {
		if strings.HasPrefix(o, line) {
			return true
		}
	}
	return false
}

// say passes on text, except for the space at its end.
func (r *reader) say(text string) error {
	text = r.held + text
	if r.text.Len() == 0 || r.apart != "" {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	said := strings.TrimRightFunc(text, unicode.IsSpace)
	r.held = text[len(said):]
	if said == "" {
		return nil
	}
	said, r.apart = r.apart+said, ""
	r.text.WriteString(said)
	return r.yield(said)
}

// close reads the fence that has ended: one object, or several from a model that puts all calls in one. The rest from the point
// where it cannot be read becomes one more call, without a name.
func (r *reader) close() error {
	text := r.call.String()
	r.call = nil
	in := json.NewDecoder(strings.NewReader(text))
	for n := 0; ; n++ {
		at := in.InputOffset()
		var c call
		err := in.Decode(&c)
		if errors.Is(err, io.EOF) && n > 0 {
			return nil
		}
		if err != nil {
			return r.add(c.Name, strings.TrimSpace(text[at:]))
		}
		if err := r.add(c.Name, c.arguments()); err != nil {
			return err
		}
	}
}

// add adds a call, and records what is wrong with it.
func (r *reader) add(name, arguments string) error {
	r.wrong = r.calls.Add(fmt.Sprint(r.calls.Len()), "", name, arguments)
	return r.wrong
}

// end handles the end of the answer, which also ends a fence and a line.
func (r *reader) end() error {
	if r.line.Len() > 0 {
		if err := r.decide(true); err != nil {
			return err
		}
	}
	if r.call != nil {
		return r.close()
	}
	return nil
}
