package database

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// The pauses before the first notice, and between two. A server that has refused nothing yet may just be slow: it gets more time before
// anybody is told.
const (
	firstNotice = 500 * time.Millisecond
	slowNotice  = 2 * time.Second
	nextNotice  = time.Second
)

// A Notice says that the server does not answer and that the connection is being retried.
type Notice struct {
	Address  string        // host, port and database
	Attempts int           // so far
	Patience time.Duration // how long after the first trouble it is retried
}

// String returns the notice in words for people.
func (n Notice) String() string {
	return fmt.Sprintf("database %s not reachable, trying again (attempt %d, for %v at most)", n.Address, n.Attempts, n.Patience)
}

// watch gives notices until stop is called; stop waits for a notice that is being given.
func (db *DB) watch(attempts *atomic.Int32, waiting []func(Notice)) (stop func()) {
	done := make(chan struct{})
	var watching sync.WaitGroup
	begun := time.Now()
	watching.Go(func() {
		for timer := time.NewTimer(firstNotice); ; {
			select {
			case <-done:
				timer.Stop()
				return
			case <-timer.C:
			}
			if attempts.Load() < 2 && time.Since(begun) < slowNotice {
				timer.Reset(firstNotice)
				continue
			}
			timer.Reset(nextNotice)
			for _, tell := range waiting {
				tell(Notice{db.address, int(attempts.Load()), startPatience})
			}
		}
	})
	return sync.OnceFunc(func() { close(done); watching.Wait() })
}
