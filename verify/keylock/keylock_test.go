package keylock_test

import (
	"context"
	"sync"
	"testing"

	"agent/verify/keylock"
)

// Of several who want the same one makes it, and the others find it; another key is nobody's business.
func TestOneMakesWhatAllWant(t *testing.T) {
	t.Parallel()
	var locks keylock.Locks
	defer locks.Lock(t.Context(), "another")()
	made, found := 0, 0
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			defer locks.Lock(t.Context(), "key")()
			if made == 0 {
				made++
			} else {
				found++
			}
		})
	}
	all.Wait()
	if made != 1 || found != 19 {
		t.Errorf("made %d times, found %d times", made, found)
	}
}

// Who is ended waits no more, and takes nothing from who has it.
func TestWhoIsEndedWaitsNoMore(t *testing.T) {
	t.Parallel()
	var locks keylock.Locks
	unlock := locks.Lock(t.Context(), "key")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	locks.Lock(ctx, "key")()
	taken := make(chan struct{})
	go func() {
		defer locks.Lock(t.Context(), "key")()
		close(taken)
	}()
	select {
	case <-taken:
		t.Fatal("two have it")
	default:
	}
	unlock()
	<-taken
	var none *keylock.Locks
	defer none.Lock(t.Context(), "key")()
	none.Lock(t.Context(), "key")()
}
