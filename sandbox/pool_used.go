package sandbox

import (
	"context"
	"fmt"
	"slices"
)

// Release gives up a box that is no longer needed, so that the caller does not wait for its removal. The pool removes
// its boxes, at the latest when it is closed. It removes one at once if ctx, the context of the box's work, has ended,
// since something may still run in it. Release closes a box that belongs to no pool.
func (b *Box) Release(ctx context.Context) error {
	if b.pool == nil {
		return b.Close()
	}
	return b.pool.release(b, ctx.Err() != nil)
}

// unwatch makes the box survive the end of the context that it was started with.
func (b *Box) unwatch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		close(b.closing)
	}
}

// release takes a box back in order to remove it. Only a pool that is already closed returns an error: it closes the
// box itself, since nothing would do so later.
func (p *Pool) release(b *Box, now bool) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return b.Close()
	}
	defer p.mu.Unlock()
	if now {
		p.work.Go(func() { p.remove(b) })
		return nil
	}
	b.unwatch()
	p.used = append(p.used, b)
	if len(p.wanted) == 0 {
		p.end(len(p.used))
	}
	for len(p.used) > 0 && p.holds() > p.config.Memory {
		p.end(1)
	}
	return nil
}

// end starts the removal of the n boxes that were released first. It is called with mu held.
func (p *Pool) end(n int) {
	for _, b := range p.used[:n] {
		p.work.Go(func() { p.remove(b) })
	}
	p.used = slices.Delete(p.used, 0, n)
}

// remove closes a box; only a few are closed at the same time.
func (p *Pool) remove(b *Box) {
	p.ends <- struct{}{}
	defer func() { <-p.ends }()
	if err := b.Close(); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errs = append(p.errs, fmt.Errorf("close box %s of the pool: %w", short(b.id), err))
	}
}

// weigh records how much a waiting box holds, and starts the boxes that had no room until that was known.
func (p *Pool) weigh(ctx context.Context, w *waiter) {
	if w.err != nil {
		return
	}
	r := w.box.ready
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sizes[kindOf(w.spec)] = boxCost + r.Bytes + fileCost*int64(r.Files+r.Dirs+r.Links)
	p.fill(ctx)
}

// cost returns what a box of a kind holds while it waits, or its limit until that is known. It is called with mu held.
func (p *Pool) cost(k kind) int64 {
	if n, ok := p.sizes[k]; ok {
		return min(n, k.limits.Memory)
	}
	return k.limits.Memory
}

// holds returns what the idle boxes hold. A used box counts with the most memory that its work ever took. It is called
// with mu held.
func (p *Pool) holds() (sum int64) {
	for _, w := range p.waiting {
		sum += p.cost(kindOf(w.spec))
	}
	for _, b := range p.used {
		sum += boxCost + b.peak
	}
	return sum
}
