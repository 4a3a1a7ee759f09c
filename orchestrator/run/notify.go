package run

import (
	"sync"

	"agent/sandbox/workspace/secret/disguise"
	"agent/verify"
)

// A Notifier tells a watcher what happens in one run, one event at a time and without
// secrets. It may be called from any goroutine.
type Notifier struct {
	Run string
	// Emit is the watcher, nil for none.
	Emit func(Event)
	// Hide removes the configured secrets from a text; nil hides nothing.
	Hide func(string) string

	mu sync.Mutex // candidates are judged at the same time
}

// Notify tells the watcher about e.
func (n *Notifier) Notify(e Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Emit == nil {
		return
	}
	e.Run, e.Note = n.Run, n.Hidden(e.Note)
	if e.Gate != nil {
		gate := e.Gate.Hidden(n.Hidden)
		e.Gate = &gate
	}
	n.Emit(e)
}

// Request returns the note to record for a request that left a box. It also tells the watcher about a refused request, since that
// explains why a test fails.
func (n *Notifier) Request(e verify.Event) (note string) {
	note, _ = disguise.Hide(n.Hidden(e.Gate + ": " + e.Request.String()))
	if !e.Request.Allowed {
		n.Notify(Event{Note: note})
	}
	return note
}

// Hidden removes the configured secrets from a text.
func (n *Notifier) Hidden(text string) string {
	if n.Hide == nil {
		return text
	}
	return n.Hide(text)
}
