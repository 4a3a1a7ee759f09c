// Package turns bounds how many boxes work at the same time on a machine, whichever processes they belong to.
package turns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// turnsPerCore is how many boxes work at the same time for each core of the machine. Programs spend most of their start
// waiting, and servers all of the time that they are watched. With more boxes, deadlines would be those of a slower
// machine.
const turnsPerCore = 4

// turnPoll is how often a waiting asker looks for a turn: waiting for the lock in the kernel could not be cancelled.
const turnPoll = 10 * time.Millisecond

// Turns bounds how many boxes work at the same time on this machine, whichever processes of this user they belong to,
// so that twenty runs at once take longer but come to the same verdicts. It is safe for concurrent use.
//
// Among the askers of one Turns, the lowest rank comes first, and within a rank the one that asked first: a candidate
// close to its verdict does not wait for one that has just begun. Several Turns that wait, of one process or of many,
// have equal shares. One that holds its share or more leaves the free turns to the others that wait, of which at least
// one holds less.
//
// A turn is an flock on one of a few empty files: the kernel releases it when the process dies. A Turns announces in
// the same way that it waits.
type Turns struct {
	dir string
	n   int

	// mu guards what follows.
	mu sync.Mutex
	// queue holds the waiting askers, in the order in which they are served.
	queue []*asker
	held  int
	// sign tells others that an asker waits here; nil when none does, or when more wait than there are turns.
	sign *flock.Flock
}

// An asker waits for a turn.
type asker struct {
	rank int
	// up tells the first of the queue that a turn may be free for it.
	up chan struct{}
}

// New returns the turns of this machine: four for each core. The files are in the user's cache directory, or among the
// temporary files for a user without a home.
func New() *Turns {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = filepath.Join(os.TempDir(), "agent-"+strconv.Itoa(os.Getuid()))
	}
	return In(filepath.Join(dir, "agent", "turns"), turnsPerCore*runtime.NumCPU())
}

// In returns n turns whose files are in dir. All callers that name the same directory share them; each must use the
// same n.
func In(dir string, n int) *Turns { return &Turns{dir: dir, n: n} }

// Take waits for a turn and returns the function that gives it back, once. The error is that of a ctx that ended, or of
// the directory; then there is no turn and nothing to give back. A nil Turns always has a turn.
//
// A caller that waits for another one to end must have its own turn first, or both wait forever.
func (t *Turns) Take(ctx context.Context, rank int) (give func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the turns: %w", err)
	}
	a := &asker{rank: rank, up: make(chan struct{}, 1)}
	t.join(a)
	defer t.leave(a)
	// Only the first asker polls, so that the others cost nothing.
	var tick *time.Ticker
	var again <-chan time.Time
	for {
		if give, first, err := t.look(a); give != nil || err != nil {
			return give, err
		} else if first && tick == nil {
			tick = time.NewTicker(turnPoll)
			defer tick.Stop()
			again = tick.C
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for a turn: %w", context.Cause(ctx))
		case <-a.up:
		case <-again:
		}
	}
}

// join puts an asker behind those of its rank.
func (t *Turns) join(a *asker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.queue, func(b *asker) bool { return b.rank > a.rank })
	if i < 0 {
		i = len(t.queue)
	}
	t.queue = slices.Insert(t.queue, i, a)
}

// leave removes an asker from the queue, served or not.
func (t *Turns) leave(a *asker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = slices.DeleteFunc(t.queue, func(b *asker) bool { return a == b })
	if len(t.queue) == 0 && t.sign != nil {
		t.sign.Close()
		t.sign = nil
	}
	t.wake()
}

// wake makes the first of the queue look. It is called with mu held.
func (t *Turns) wake() {
	if len(t.queue) == 0 {
		return
	}
	select {
	case t.queue[0].up <- struct{}{}:
	default:
	}
}

// look takes a free turn for an asker if it is first in the queue and the others that wait have their share. Without a
// turn, it tells others that it waits.
func (t *Turns) look(a *asker) (give func(), first bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queue[0] != a {
		return nil, false, nil
	}
	others := 0
	for i := 0; 0 < t.held && t.held < t.n && i < t.n; i++ { // with all turns held here, no file needs a look
		if t.waits(i) {
			others++
		}
	}
	for i := 0; t.held*(others+1) < t.n && i < t.n; i++ {
		f, err := t.lock(strconv.Itoa(i))
		if err != nil {
			return nil, true, fmt.Errorf("take a turn: %w", err)
		}
		if f != nil {
			t.held++
			return func() { t.give(f) }, true, nil
		}
	}
	for i := 0; t.sign == nil && i < t.n; i++ {
		if t.sign, err = t.lock(signName(i)); err != nil {
			return nil, true, fmt.Errorf("wait for a turn: %w", err)
		}
	}
	return nil, true, nil
}

// give gives a turn back.
func (t *Turns) give(f *flock.Flock) {
	f.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held--
	t.wake()
}

// signName returns the name of sign file i, whose lock says that an asker waits.
func signName(i int) string { return fmt.Sprintf("waits-%d", i) }

// waits reports whether another Turns has locked sign i. It is called with mu held.
func (t *Turns) waits(i int) bool {
	name := signName(i)
	if t.sign != nil && filepath.Base(t.sign.Path()) == name {
		return false
	}
	// The lock is shared, so that two that check are not taken for one that waits.
	f := flock.New(filepath.Join(t.dir, name), flock.SetFlag(os.O_RDWR|unix.O_NOFOLLOW))
	defer f.Close()
	free, err := f.TryRLock()
	return !free && err == nil
}

// lock creates and locks a file; both results are nil when someone else holds the lock.
func (t *Turns) lock(name string) (*flock.Flock, error) {
	f := flock.New(filepath.Join(t.dir, name), flock.SetFlag(os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW))
	locked, err := f.TryLock()
	if errors.Is(err, unix.EINTR) {
		err = nil // as if someone else held it: the caller tries again
	}
	if !locked {
		return nil, err
	}
	return f, nil
}
