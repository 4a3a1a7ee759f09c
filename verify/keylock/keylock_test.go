package keylock_test

import (
	"context"
	"sync"
	"testing"

	"agent/verify/keylock"
)

// If several callers want the same key, one does the work and the others find it done. Other keys are unaffected.
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

// A cancelled caller stops waiting, and takes nothing from the caller that holds the key.
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
