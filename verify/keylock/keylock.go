// Package keylock serializes work by key: one caller at a time does work whose result several need, and the others find it done.
package keylock

import (
	"context"
	"sync"
)

// Locks is a set of locks, one for each key. The zero value is ready to use, and a nil *Locks locks nothing.
type Locks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when the lock is released
}

// Lock acquires the lock of a key, waiting while another caller holds it, but no longer than ctx. The caller must always call unlock.
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
