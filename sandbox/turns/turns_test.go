package turns

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// B22.
func TestTurnsBoundHowManyWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// There are two of them, as in two processes.
	all := []*Turns{In(dir, 3), In(dir, 3)}
	var working, most, done atomic.Int32
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			give, err := all[i%2].Take(t.Context(), i%3)
			if err != nil {
				t.Error(err)
				return
			}
			defer give()
			most.Store(max(most.Load(), working.Add(1)))
			done.Add(1)
			working.Add(-1)
		})
	}
	wg.Wait()
	if done.Load() != 40 || most.Load() > 3 {
		t.Errorf("%d worked, %d at the same time", done.Load(), most.Load())
	}
}

func TestATurnIsWaitedForAndGivenBack(t *testing.T) {
	t.Parallel()
	turns := In(t.TempDir(), 1)
	give, err := turns.Take(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone home")
	waiting := make(chan error)
	for range 2 { // one waits at the head of the queue, and one behind it
		go func() {
			_, err := turns.Take(ctx, 0)
			waiting <- err
		}()
	}
	cancel(gone)
	for range 2 {
		if err := <-waiting; !errors.Is(err, gone) {
			t.Errorf("who waits in vain is told %v", err)
		}
	}
	give()
	if give, err = turns.Take(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	give()
	if give, err = (*Turns)(nil).Take(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	give()
	if err := os.WriteFile(filepath.Join(turns.dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := In(filepath.Join(turns.dir, "file"), 1).Take(t.Context(), 0); err == nil {
		t.Error("turns in a file were given")
	}
	if made := New(); made.n < turnsPerCore || !filepath.IsAbs(made.dir) {
		t.Errorf("the machine's turns: %d in %s", made.n, made.dir)
	}
}

func TestATurnOfADeadProcessIsFree(t *testing.T) {
	t.Parallel()
	turns := In(t.TempDir(), 1)
	// flock holds the lock as another process of the agent would; it runs as a single process.
	file := filepath.Join(turns.dir, "0")
	other := exec.Command("flock", "--no-fork", file, "sh", "-c", "echo held; exec sleep 1000")
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if f, err := turns.lock("0"); f != nil || err != nil {
		t.Errorf("a turn was given that another process has: %v", err)
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	give, err := turns.Take(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	give()
}

// queued waits until the queue holds n callers.
func queued(t *Turns, n int) {
	for {
		t.mu.Lock()
		m := len(t.queue)
		t.mu.Unlock()
		if m == n {
			return
		}
		runtime.Gosched()
	}
}

func TestTurnsGoByRankThenByWhoAskedFirst(t *testing.T) {
	t.Parallel()
	turns := In(t.TempDir(), 1)
	give, err := turns.Take(t.Context(), 9)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var served []string // guarded by the turn
	tired, leave := context.WithCancel(t.Context())
	for i, name := range []string{"3a", "1a", "0 tired", "2a", "1b", "3b", "1c"} {
		ctx := t.Context()
		if name == "0 tired" {
			ctx = tired
		}
		wg.Go(func() {
			give, err := turns.Take(ctx, int(name[0]-'0'))
			if err == nil {
				served = append(served, name)
				give()
			}
		})
		queued(turns, i+1)
	}
	leave() // a caller that was first and gave up holds up no one
	queued(turns, 6)
	give()
	wg.Wait()
	if got := strings.Join(served, " "); got != "1a 1b 1c 2a 3a 3b" {
		t.Errorf("served in the order %s", got)
	}
}

// TestTurnsAreSharedFairly has two runs with more to do than there are turns. Neither keeps more than half while the
// other waits too, whichever of them returns a turn.
func TestTurnsAreSharedFairly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	both := []*Turns{In(dir, 4), In(dir, 4)}
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	var wg sync.WaitGroup
	given := [2]chan func(){make(chan func(), 10), make(chan func(), 10)}
	ask := func(i int) {
		for range 10 {
			wg.Go(func() {
				if give, err := both[i].Take(ctx, 1); err == nil {
					given[i] <- give
				}
			})
		}
	}
	var held [2][]func()
	take := func() (i int) {
		select {
		case give := <-given[0]:
			held[0] = append(held[0], give)
			return 0
		case give := <-given[1]:
			held[1] = append(held[1], give)
			return 1
		}
	}
	back := func(i int) { held[i][0](); held[i] = held[i][1:] }
	ask(0)
	for range 4 {
		take() // it gets all of them while it is alone
	}
	ask(1)
	queued(both[1], 10)
	for signed := false; !signed; runtime.Gosched() { // until the other can see that it waits
		both[1].mu.Lock()
		signed = both[1].sign != nil
		both[1].mu.Unlock()
	}
	// Each step is who returns a turn, and who gets it.
	for _, step := range [][2]int{{0, 1}, {0, 1}, {0, 0}, {1, 1}, {1, 1}, {0, 0}} {
		if back(step[0]); take() != step[1] {
			t.Fatalf("of what %d gave back, %d has nothing", step[0], step[1])
		}
	}
	if len(given[0])+len(given[1]) > 0 {
		t.Error("a turn is had that is not free")
	}
	enough()
	wg.Wait()
	// Once it is alone again, it also gets the turns that the other has returned.
	for len(held[1]) > 0 {
		back(1)
	}
	for range 2 {
		give, err := both[0].Take(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		give()
	}
}
