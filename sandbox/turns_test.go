package sandbox

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// B22.
func TestTurnsBoundHowManyWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Two of them, as two processes have.
	all := []*Turns{TurnsIn(dir, 3), TurnsIn(dir, 3)}
	var working, most, done atomic.Int32
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			give, err := all[i%2].Take(t.Context())
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
	turns := TurnsIn(t.TempDir(), 1)
	give, err := turns.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone home")
	waiting := make(chan error)
	for range 2 { // one at the door, and one behind it
		go func() {
			_, err := turns.Take(ctx)
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
	if give, err = turns.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	give()
	if give, err = (*Turns)(nil).Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	give()
	if err := os.WriteFile(filepath.Join(turns.dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := TurnsIn(filepath.Join(turns.dir, "file"), 1).Take(t.Context()); err == nil {
		t.Error("turns in a file were given")
	}
	if made := NewTurns(); made.n < turnsPerCore || !filepath.IsAbs(made.dir) {
		t.Errorf("the machine's turns: %d in %s", made.n, made.dir)
	}
}

func TestATurnOfADeadProcessIsFree(t *testing.T) {
	t.Parallel()
	turns := TurnsIn(t.TempDir(), 1)
	// flock holds the lock as another process of the agent would, and is that process alone.
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
	if give, err := turns.try(0); give != nil || err != nil {
		t.Errorf("a turn was given that another process has: %v", err)
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	give, err := turns.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	give()
}
