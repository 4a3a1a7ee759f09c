// Package keylock has one at a time do what several want the result of, by a key: the others find it made.
package keylock

import (
	"context"
	"sync"
)

// Locks are as many locks as there are keys. The zero value is ready, and a nil one locks nothing.
type Locks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when it is given back
}

// Lock takes the lock of a key, and waits while somebody else has it or until ctx ends. The caller calls unlock in any case.
func (l *Locks) Lock(ctx context.Context, key string) (unlock func()) {
	if l == nil {
		return func() {}
	}
	for {
		l.mu.Lock()
		other, taken := l.held[key]
		if !taken {
			mine := make(chan struct{})
			if l.held == nil {
				l.held = map[string]chan struct{}{}
			}
			l.held[key] = mine
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.held, key)
				l.mu.Unlock()
				close(mine)
			}
		}
		l.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return func() {}
		}
	}
}
