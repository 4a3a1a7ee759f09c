package sandbox

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"agent/sandbox/guest"
	"agent/sandbox/guest/wire"
	"agent/sandbox/workspace"
)

const (
	// poolPurpose labels the boxes of a pool: when one is made, what it will
	// be used for is not known, and a label cannot be changed.
	poolPurpose = "pool"
	// poolShare is the part of the engine's memory that the boxes of a pool may
	// hold while they do nothing: one in so many.
	poolShare = 4
	// boxCost is what a box that waits costs besides its files: the guest, the
	// engine's own process beside it, and the kernel's books of both.
	boxCost = 32 << 20
	// fileCost is what a file of /work takes beyond its content, at most: the rest
	// of its last page, and its inode.
	fileCost = 5 << 10
	// startsAtOnce bounds how many boxes the pool starts, or removes, at the same
	// time, so that many that are wanted do not keep the machine from its work.
	startsAtOnce = 4
	// checkTime is for the answer by which a waiting box shows that it lives.
	checkTime = 5 * time.Second
)

// errUnwanted ends a box that nobody took.
var errUnwanted = errors.New("the box is not wanted any more")

// A PoolConfig bounds the boxes that wait. The zero value of a field means
// the default in brackets.
type PoolConfig struct {
	// Size is how many wait at once: enough for a tournament of one. [64]
	Size int
	// Memory bounds what they hold, in bytes, with those that were released and
	// are not removed yet. [a quarter of the engine's]
	Memory int64
	// Wait is how long one waits before a new one takes its place. [10 min]
	Wait time.Duration
}

// A Pool starts boxes before they are asked for. Each is handed out once,
// to be closed or released; none comes back. It is safe for concurrent
// use.
//
// What a box that waits may use is its limits, but all that runs in it is the guest:
// it holds /work and no more, and counts as that once one of its kind has told
// how much it is. Until then each counts as its limit. Boxes at work are bounded by
// Turns, not here.
//
// A box that was released is removed behind its taker's back, and not before the
// demand for which boxes were started is taken back or memory is short: to remove
// one costs as much of the machine as a quick gate.
//
// A box that waits carries the label agent.purpose "pool" for good, the run
// of Want, and a lease that is longer than that by PoolConfig.Wait. Until it
// is taken it belongs to the pool; then it ends with its taker's context.
type Pool struct {
	engine *Engine
	// work are the goroutines of boxes that wait or are being closed, and
	// the calls of Start that have taken one.
	work sync.WaitGroup
	// starts and ends hold a place for each box that is being started, or closed.
	starts, ends chan struct{}

	// mu guards what follows.
	mu      sync.Mutex
	config  PoolConfig
	closed  bool
	wanted  map[kind]demand
	waiting []*waiter
	used    []*Box
	// What a box that waits holds, by kind, in bytes.
	sizes map[kind]int64
	errs  []error
}

// A kind is what two boxes share that can stand in for each other.
type kind struct {
	image, runtime string
	limits         Limits
	delta          *workspace.Changeset
}

// kindOf returns the kind of the boxes that spec describes.
func kindOf(spec Spec) kind {
	return kind{spec.Image, spec.Runtime, spec.Limits.WithDefaults(), spec.Delta}
}

// A demand is what Want declared of one kind.
type demand struct {
	spec Spec
	// term is how long a taker wants a box.
	term time.Duration
	// n is how many boxes will still be asked for.
	n int
}

// A waiter is a box that waits, or that is being started for it.
type waiter struct {
	spec Spec
	// cancel ends the context that the box was started with.
	cancel context.CancelCauseFunc
	// left is closed when it is not among those that wait any more.
	left chan struct{}
	// ready is closed when box or err is set.
	ready chan struct{}
	box   *Box
	err   error
}

// NewPool returns a pool without any box. Close it.
func NewPool(engine *Engine, config PoolConfig) *Pool {
	if config.Size == 0 {
		config.Size = 64
	}
	if config.Wait == 0 {
		config.Wait = 10 * time.Minute
	}
	return &Pool{
		engine: engine, config: config, wanted: map[kind]demand{}, sizes: map[kind]int64{},
		starts: make(chan struct{}, startsAtOnce), ends: make(chan struct{}, startsAtOnce),
	}
}

// Want declares that n boxes like spec will be asked for, instead of what it
// declared of them before, and returns while they start. Those beyond n go on
// waiting; 0 takes the demand back, and all of them are closed. When memory does
// not allow n at once, the rest start as the first are taken. ctx lends its
// values, not its end.
func (p *Pool) Want(ctx context.Context, spec Spec, n int) {
	if n > 0 {
		p.measure(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k := kindOf(spec)
	if n > p.wanted[k].n { // boxes are started in any case: nobody hurries
		p.end(len(p.used))
	}
	p.wanted[k] = demand{spec: spec, term: time.Until(spec.Lease), n: n}
	if n <= 0 {
		delete(p.wanted, k)
	}
	if len(p.wanted) == 0 {
		p.end(len(p.used))
	}
	for n <= 0 && p.count(k) > 0 {
		p.discard(p.leave(p.find(k, time.Time{})))
	}
	p.fill(ctx)
}

// measure asks the engine how much memory there is, once. While that is not
// known no box is started ahead.
func (p *Pool) measure(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.config.Memory != 0 {
		return
	}
	if info, err := p.engine.Info(ctx); err == nil {
		p.config.Memory = info.Memory / poolShare
	}
}

// Start returns a box that waits, or is being started, with the image, the
// delta, the limits and the runtime of spec and a lease as long. It lives as if it were
// started with ctx. When there is none, or none that lives, a new one is
// started.
func (p *Pool) Start(ctx context.Context, spec Spec) (*Box, error) {
	for ctx.Err() == nil {
		w := p.take(ctx, spec)
		if w == nil {
			break
		}
		if box := p.claim(ctx, w); box != nil {
			return box, nil
		}
	}
	box, err := p.engine.Start(ctx, spec)
	if err == nil {
		box.pool = p
	}
	return box, err
}

// take lets the box leave that has waited longest, and starts the next one;
// nil when none fits. The caller has work to end.
func (p *Pool) take(ctx context.Context, spec Spec) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := kindOf(spec)
	if d := p.wanted[k]; d.n > 0 {
		d.n--
		p.wanted[k] = d
	}
	i := p.find(k, spec.Lease)
	if i < 0 {
		return nil
	}
	p.work.Add(1)
	w := p.leave(i)
	p.fill(ctx)
	return w
}

// claim binds the box to ctx; nil when it did not start, does not live, or
// ctx has ended.
func (p *Pool) claim(ctx context.Context, w *waiter) *Box {
	defer p.work.Done()
	select {
	case <-ctx.Done():
	case <-w.ready:
		if w.err == nil && w.box.answers(ctx) {
			// It stays when the box is closed: then there is nothing to end.
			context.AfterFunc(ctx, func() { w.cancel(context.Cause(ctx)) })
			w.box.pool = p
			return w.box
		}
	}
	p.discard(w)
	return nil
}

// answers reports whether the guest takes a changeset, an empty one. So the
// pool needs to watch no box that waits: what became of it is seen here.
func (b *Box) answers(ctx context.Context) bool {
	var applied guest.Applied
	err := b.stream.exchange(ctx, time.Now().Add(checkTime), func() error {
		if err := sendChangeset(b.stream, workspace.Changeset{}); err != nil {
			return err
		}
		return wire.ReadJSON(b.stream, wire.KindApplied, guest.MaxReady, &applied)
	})
	return err == nil && applied.Problem == ""
}

// Close removes every box that waits or was released and returns when none is
// left and nothing goes on. Boxes that were taken stay. Start works afterwards, and
// takes nothing ahead.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	for len(p.waiting) > 0 {
		p.discard(p.leave(0))
	}
	p.end(len(p.used))
	p.mu.Unlock()
	p.work.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.errs...)
}

// count returns how many boxes of a kind wait. Call it with mu held.
func (p *Pool) count(k kind) (n int) {
	for _, w := range p.waiting {
		if kindOf(w.spec) == k {
			n++
		}
	}
	return n
}

// find returns the place of the first box of a kind that has this lease, one
// that has started if there is, or -1. Call it with mu held.
func (p *Pool) find(k kind, lease time.Time) int {
	first := -1
	for i, w := range p.waiting {
		if kindOf(w.spec) != k || w.spec.Lease.Before(lease) {
			continue
		}
		select {
		case <-w.ready:
			return i
		default:
			if first < 0 {
				first = i
			}
		}
	}
	return first
}

// leave takes the box at i out of those that wait. Call it with mu held.
func (p *Pool) leave(i int) *waiter {
	w := p.waiting[i]
	p.waiting = slices.Delete(p.waiting, i, i+1)
	close(w.left)
	return w
}

// fill starts what is wanted and has room. Call it with mu held.
func (p *Pool) fill(ctx context.Context) {
	for k, d := range p.wanted {
		for n := p.count(k); n < d.n && p.fits(k); n++ {
			p.raise(ctx, d)
		}
	}
}

// fits reports whether one more box may wait. Call it with mu held.
func (p *Pool) fits(k kind) bool {
	return !p.closed && len(p.waiting) < p.config.Size && p.holds()+p.cost(k) <= p.config.Memory
}

// raise starts a box and guards it while it waits. Call it with mu held.
func (p *Pool) raise(ctx context.Context, d demand) {
	// Its taker's context is not known yet, and that of Want may end before.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	w := &waiter{spec: d.spec, cancel: cancel, left: make(chan struct{}), ready: make(chan struct{})}
	w.spec.Purpose, w.spec.Lease = poolPurpose, time.Now().Add(d.term+p.config.Wait)
	p.waiting = append(p.waiting, w)
	p.work.Go(func() {
		select {
		case p.starts <- struct{}{}:
			w.box, w.err = p.engine.Start(ctx, w.spec)
			<-p.starts
		case <-ctx.Done():
			w.err = context.Cause(ctx)
		}
		p.weigh(ctx, w)
		close(w.ready)
		p.guard(ctx, w)
	})
}

// guard waits until a box has left. One that waits too long is replaced, since
// its lease would run out in its taker's hands; one that did not start is not,
// since the next would not either: who asks for it will be told why.
func (p *Pool) guard(ctx context.Context, w *waiter) {
	old := time.NewTimer(p.config.Wait)
	defer old.Stop()
	if w.err == nil {
		select {
		case <-w.left:
		case <-old.C:
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.waiting, w)
	if i < 0 {
		return
	}
	p.discard(p.leave(i))
	if w.err != nil {
		delete(p.wanted, kindOf(w.spec))
	}
	p.fill(ctx)
}

// discard closes a box that has left, also one that is still being started.
func (p *Pool) discard(w *waiter) {
	w.cancel(errUnwanted)
	p.work.Go(func() {
		if <-w.ready; w.box != nil {
			p.remove(w.box)
		}
	})
}
