package term

import "sync"

// Interrupts holds the function that takes Ctrl-C in place of the process. The zero Interrupts has none. It is safe for concurrent use.
type Interrupts struct {
	mu   sync.Mutex
	take func() bool
}

// Handle makes each Ctrl-C call take, until undo is called. take reports whether it used the Ctrl-C; if it did not, the
// command is cancelled as without it.
func (i *Interrupts) Handle(take func() bool) (undo func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	before := i.take
	i.take = take
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.take = before
	}
}

// Take reports whether a handler has taken a Ctrl-C.
func (i *Interrupts) Take() bool {
	i.mu.Lock()
	take := i.take
	i.mu.Unlock()
	return take != nil && take()
}
