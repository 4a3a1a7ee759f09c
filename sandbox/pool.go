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
	// poolPurpose labels the boxes of a pool: their later use is not known when they are made, and a label cannot be
	// changed.
	poolPurpose = "pool"
	// poolShare says how much of the engine's memory the boxes of a pool may hold while they do nothing: one part in so
	// many.
	poolShare = 4
	// boxCost is what a waiting box costs besides its files: the guest, the engine's own process for it, and the
	// kernel's bookkeeping for both.
	boxCost = 32 << 20
	// fileCost is the most that a file of /work takes beyond its content: the rest of its last page, and its inode.
	fileCost = 5 << 10
	// startsAtOnce bounds how many boxes the pool starts, or removes, at the same time, so that a large demand does not
	// keep the machine from its work.
	startsAtOnce = 4
	// checkTime bounds the answer by which a waiting box shows that it is alive.
	checkTime = 5 * time.Second
)

// errUnwanted is the cause with which the pool cancels a box that nobody took.
var errUnwanted = errors.New("the box is no longer wanted")

// A PoolConfig bounds the boxes that wait. A field that is zero means the default in brackets.
type PoolConfig struct {
	// Size is how many boxes wait at once: enough for a tournament of one. [64]
	Size int
	// Memory bounds what they hold, in bytes, including boxes that were released and not yet removed. [a quarter of the
	// engine's]
	Memory int64
	// Wait is how long a box waits before a new one takes its place. [10 min]
	Wait time.Duration
}

// A Pool starts boxes before they are asked for. It hands out each box once, to be closed or released; none comes back.
// It is safe for concurrent use.
//
// A waiting box may use as much as its limits, but only the guest runs in it. It holds /work and no more, and counts as
// that much once a box of its kind has reported the size. Until then each counts as its limit. Turns, not the Pool,
// bounds the boxes at work.
//
// The pool removes a released box in the background. It waits until the demand for which boxes were started is
// withdrawn or memory is short, because removing a box costs the machine as much as a quick gate.
//
// A waiting box permanently carries the label agent.purpose "pool", the run of Want, and a lease that is longer than
// that of Want by PoolConfig.Wait. It belongs to the pool until it is taken; then it ends with its taker's context.
type Pool struct {
	engine *Engine
	// work counts the goroutines of boxes that wait or are being closed, and the calls of Start that have taken a box.
	work sync.WaitGroup
	// starts and ends hold a slot for each box that is being started or closed.
	starts, ends chan struct{}

	// mu guards the fields below.
	mu      sync.Mutex
	config  PoolConfig
	closed  bool
	wanted  map[kind]demand
	waiting []*waiter
	used    []*Box
	// sizes is what a waiting box holds, by kind, in bytes.
	sizes map[kind]int64
	errs  []error
}

// A kind is what two boxes have in common that can stand in for each other.
type kind struct {
	image, runtime string
	limits         Limits
	delta          *workspace.Changeset
}

// kindOf returns the kind of the boxes that spec describes.
func kindOf(spec Spec) kind {
	return kind{spec.Image, spec.Runtime, spec.Limits.WithDefaults(), spec.Delta}
}

// A demand is what Want declared for one kind.
type demand struct {
	spec Spec
	// term is how long a taker wants a box.
	term time.Duration
	// n is how many boxes are still expected to be asked for.
	n int
}

// A waiter is a box that waits, or that is being started in order to wait.
type waiter struct {
	spec Spec
	// cancel ends the context that the box was started with.
	cancel context.CancelCauseFunc
	// left is closed when the box is no longer among those that wait.
	left chan struct{}
	// ready is closed when box or err is set.
	ready chan struct{}
	box   *Box
	err   error
}

// NewPool returns a pool without boxes. The caller must close it.
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

// Want declares that n boxes like spec will be asked for, replacing its earlier declaration for them, and returns while
// they start. Boxes beyond n go on waiting; 0 withdraws the demand and closes all of them. When memory does not allow n
// at once, the rest start as the first are taken. Want uses the values of ctx but ignores its cancellation.
func (p *Pool) Want(ctx context.Context, spec Spec, n int) {
	if n > 0 {
		p.measure(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k := kindOf(spec)
	if n > p.wanted[k].n { // boxes are being started in any case, so no one waits for the removals
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

// measure asks the engine once how much memory there is. Until that is known, the pool starts no box ahead.
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

// Start returns a box that waits or is being started, with the image, the delta, the limits and the runtime of spec and
// a lease at least as long. The box lives as if it had been started with ctx. If there is no such box, or none that is
// alive, Start starts a new one.
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

// take removes the box that has waited longest from those that wait, and starts the next one. It returns nil when none
// fits; otherwise the caller must end the work that take has begun.
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

// claim binds the box to ctx. It returns nil when the box did not start or is not alive, or when ctx has ended.
func (p *Pool) claim(ctx context.Context, w *waiter) *Box {
	defer p.work.Done()
	select {
	case <-ctx.Done():
	case <-w.ready:
		if w.err == nil && w.box.answers(ctx) {
			// This outlives the closing of the box; then there is nothing left to end.
			context.AfterFunc(ctx, func() { w.cancel(context.Cause(ctx)) })
			w.box.pool = p
			return w.box
		}
	}
	p.discard(w)
	return nil
}

// answers reports whether the guest accepts a changeset, an empty one. Because of this check the pool need not watch
// the boxes that wait.
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

// Close removes every box that waits or was released, and returns when none is left and nothing goes on in the
// background. Boxes that were taken stay. Start still works afterwards, but the pool starts nothing ahead.
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

// count returns how many boxes of a kind wait. It is called with mu held.
func (p *Pool) count(k kind) (n int) {
	for _, w := range p.waiting {
		if kindOf(w.spec) == k {
			n++
		}
	}
	return n
}

// find returns the index of the first box of a kind whose lease does not end before lease, preferably one that has
// started, or -1. It is called with mu held.
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

// leave removes the box at i from those that wait. It is called with mu held.
func (p *Pool) leave(i int) *waiter {
	w := p.waiting[i]
	p.waiting = slices.Delete(p.waiting, i, i+1)
	close(w.left)
	return w
}

// fill starts the boxes that are wanted and have room. It is called with mu held.
func (p *Pool) fill(ctx context.Context) {
	for k, d := range p.wanted {
		for n := p.count(k); n < d.n && p.fits(k); n++ {
			p.raise(ctx, d)
		}
	}
}

// fits reports whether one more box of a kind may wait. It is called with mu held.
func (p *Pool) fits(k kind) bool {
	return !p.closed && len(p.waiting) < p.config.Size && p.holds()+p.cost(k) <= p.config.Memory
}

// raise starts a box and guards it while it waits. It is called with mu held.
func (p *Pool) raise(ctx context.Context, d demand) {
	// The taker's context is not known yet, and that of Want may end earlier.
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

// guard waits until a box has left. It replaces a box that waits too long, since its lease would run out in its taker's
// hands. It does not replace one that did not start, since the next would not start either: the caller that asks for it
// gets the reason.
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

// discard closes a box that has left, even one that is still being started.
func (p *Pool) discard(w *waiter) {
	w.cancel(errUnwanted)
	p.work.Go(func() {
		if <-w.ready; w.box != nil {
			p.remove(w.box)
		}
	})
}
