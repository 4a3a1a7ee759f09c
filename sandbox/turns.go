package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// turnsPerCore is how many boxes work at the same time for each core of the
// machine. Most of a program's start is spent waiting, and so is all of a server's
// watch; with more of them the deadlines would be those of another machine.
const turnsPerCore = 4

// turnPoll is how often one of those that wait looks for a turn: the kernel's own
// waiting for a lock could not be cancelled.
const turnPoll = 10 * time.Millisecond

// Turns bounds how many boxes work at the same time on this machine, whichever
// processes of this user they belong to, so that twenty runs at once take longer
// and come to the same verdicts. It is safe for concurrent use. Within a process
// turns are given in the order in which they are asked for.
//
// A turn is an flock on one of a few empty files: the kernel gives it back when
// the process dies.
type Turns struct {
	dir string
	n   int
	// Held by the one that looks for a turn.
	door chan struct{}
}

// NewTurns gives the turns of this machine: four for each core. The files lie in the
// user's cache directory, or with the temporary files of a user without a home.
func NewTurns() *Turns {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = filepath.Join(os.TempDir(), "agent-"+strconv.Itoa(os.Getuid()))
	}
	return TurnsIn(filepath.Join(dir, "agent", "turns"), turnsPerCore*runtime.NumCPU())
}

// TurnsIn gives n turns, of which the files lie in dir. All that name the same
// directory share them; each must say the same n.
func TurnsIn(dir string, n int) *Turns {
	return &Turns{dir: dir, n: n, door: make(chan struct{}, 1)}
}

// Take waits for a turn and returns what gives it back. The error is that of a ctx
// that ended, or of the directory: then there is no turn and nothing to give back.
// Of no Turns at all there is always one.
//
// Whoever waits for another to end must have its own turn first, or both wait
// for ever.
func (t *Turns) Take(ctx context.Context) (give func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	select {
	case t.door <- struct{}{}:
		defer func() { <-t.door }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a turn: %w", context.Cause(ctx))
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the turns: %w", err)
	}
	tick := time.NewTicker(turnPoll)
	defer tick.Stop()
	for {
		for i := range t.n {
			if give, err := t.try(i); give != nil || err != nil {
				return give, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for a turn: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// try takes turn i; both results are nil when somebody has it.
func (t *Turns) try(i int) (give func(), err error) {
	f, err := os.OpenFile(filepath.Join(t.dir, strconv.Itoa(i)), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a turn: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return func() { f.Close() }, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return nil, nil
	}
	return nil, fmt.Errorf("take a turn: %w", err)
}
