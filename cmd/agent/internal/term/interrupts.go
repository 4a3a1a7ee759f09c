package term

import "sync"

// Interrupts is who takes Ctrl-C in place of the process. The zero Interrupts has nobody. It is safe for concurrent use.
type Interrupts struct {
	mu   sync.Mutex
	take func() bool
}

// Handle has take called for each Ctrl-C, until undo. take reports whether that was what it was for: else the command is
// cancelled, as without it.
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

// Take reports whether somebody has taken a Ctrl-C.
func (i *Interrupts) Take() bool {
	i.mu.Lock()
	take := i.take
	i.mu.Unlock()
	return take != nil && take()
}
