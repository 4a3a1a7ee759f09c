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

// turnsPerCore is how many boxes work at the same time for each core of the
// machine. Most of a program's start is spent waiting, and so is all of a server's
// watch; with more of them the deadlines would be those of another machine.
const turnsPerCore = 4

// turnPoll is how often one of those that wait looks for a turn: the kernel's own
// waiting for a lock could not be cancelled.
const turnPoll = 10 * time.Millisecond

// Turns bounds how many boxes work at the same time on this machine, whichever
// processes of this user they belong to, so that twenty runs at once take longer
// and come to the same verdicts. It is safe for concurrent use.
//
// Of those that ask the same Turns the lowest rank comes first, and of one rank
// who asked first: a candidate whose verdict is near is not kept from it by one
// that has just begun. Between several Turns, of one process or of many, each
// that waits has an equal share: who holds its share or more leaves what is free
// to the others that wait, of which at least one holds less.
//
// A turn is an flock on one of a few empty files: the kernel gives it back when
// the process dies. That somebody waits is told in the same way.
type Turns struct {
	dir string
	n   int

	// mu guards what follows.
	mu sync.Mutex
	// Who waits, in the order in which they are served.
	queue []*asker
	held  int
	// What tells others that somebody waits here; nil when nobody does, or when
	// more wait than there are turns.
	sign *flock.Flock
}

// An asker waits for a turn.
type asker struct {
	rank int
	// up tells the first of the queue that there may be a turn for it.
	up chan struct{}
}

// New gives the turns of this machine: four for each core. The files lie in the
// user's cache directory, or with the temporary files of a user without a home.
func New() *Turns {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = filepath.Join(os.TempDir(), "agent-"+strconv.Itoa(os.Getuid()))
	}
	return In(filepath.Join(dir, "agent", "turns"), turnsPerCore*runtime.NumCPU())
}

// In gives n turns, of which the files lie in dir. All that name the same
// directory share them; each must say the same n.
func In(dir string, n int) *Turns { return &Turns{dir: dir, n: n} }

// Take waits for a turn and returns what gives it back, once. The error is that of
// a ctx that ended, or of the directory: then there is no turn and nothing to give
// back. Of no Turns at all there is always one.
//
// Whoever waits for another to end must have its own turn first, or both wait
// for ever.
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
	// Only the first looks, so that the others cost nothing.
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

// join puts an asker in its place behind those of its rank.
func (t *Turns) join(a *asker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.queue, func(b *asker) bool { return b.rank > a.rank })
	if i < 0 {
		i = len(t.queue)
	}
	t.queue = slices.Insert(t.queue, i, a)
}

// leave takes an asker out of the queue, served or not.
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

// wake has the first of the queue look. Call it with mu held.
func (t *Turns) wake() {
	if len(t.queue) == 0 {
		return
	}
	select {
	case t.queue[0].up <- struct{}{}:
	default:
	}
}

// look takes a free turn for an asker if it is the first of the queue and the
// others that wait have their share. Without one, others are told that it waits.
func (t *Turns) look(a *asker) (give func(), first bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queue[0] != a {
		return nil, false, nil
	}
	others := 0
	for i := 0; 0 < t.held && t.held < t.n && i < t.n; i++ { // who has all needs no look at the files
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

// signName names the file i of those whose lock says that somebody waits.
func signName(i int) string { return fmt.Sprintf("waits-%d", i) }

// waits reports whether somebody else has locked sign i. Call it with mu held.
func (t *Turns) waits(i int) bool {
	name := signName(i)
	if t.sign != nil && filepath.Base(t.sign.Path()) == name {
		return false
	}
	// Shared, so that two who ask are not taken for one who waits.
	f := flock.New(filepath.Join(t.dir, name), flock.SetFlag(os.O_RDWR|unix.O_NOFOLLOW))
	defer f.Close()
	free, err := f.TryRLock()
	return !free && err == nil
}

// lock makes and locks a file; both results are nil when somebody has it.
func (t *Turns) lock(name string) (*flock.Flock, error) {
	f := flock.New(filepath.Join(t.dir, name), flock.SetFlag(os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW))
	locked, err := f.TryLock()
	if errors.Is(err, unix.EINTR) {
		err = nil // as if somebody had it: it is tried again
	}
	if !locked {
		return nil, err
	}
	return f, nil
}
