package tools

import (
	"context"
	"slices"
	"strings"
)

// The bounds on a model's notes.
const (
	maxNotes = 50
	maxNote  = 1000 // bytes
)

// noteTool keeps a remark for later.
var noteTool = Tool{
	Name: "note", Alone: true,
	About:  "Note something that you found out or decided, so that it is at hand if the change has to be repaired.",
	Fields: []Field{{Name: "text", Kind: "string", About: "one or two sentences", Needed: true}},
	run: func(_ context.Context, b *Bench, args []byte) (Answer, error) {
		text := strings.TrimSpace(arguments[struct{ Text string }](args).Text)
		b.mu.Lock()
		defer b.mu.Unlock()
		switch {
		case text == "":
			return failed("the note is empty"), nil
		case len(b.notes) == maxNotes:
			return failed("there are %d notes, and room for no more", maxNotes), nil
		}
		b.notes = append(b.notes, clip(text, maxNote))
		return Answer{Head: "noted"}, nil
	},
}

// Notes lists what was noted, in order.
func (b *Bench) Notes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.notes)
}
