package sandbox

import (
	"context"
	"fmt"
	"slices"
)

// Release gives a box up that is not needed any more, so that nobody waits for its
// removal. One of a pool is removed by that, at the latest when it is closed; at
// once when ctx, that of its work, has ended, since something may then still run in
// it. A box of no pool is closed here.
func (b *Box) Release(ctx context.Context) error {
	if b.pool == nil {
		return b.Close()
	}
	return b.pool.release(b, ctx.Err() != nil)
}

// unwatch lets the end of the context that the box was started with do nothing to
// it any more.
func (b *Box) unwatch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		close(b.closing)
	}
}

// release takes a box back to remove it. The error is that of a pool that was
// closed before, and so has nobody to do it later.
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

// end has the n boxes removed that were released first. Call it with mu held.
func (p *Pool) end(n int) {
	for _, b := range p.used[:n] {
		p.work.Go(func() { p.remove(b) })
	}
	p.used = slices.Delete(p.used, 0, n)
}

// remove closes a box, among a few at the same time.
func (p *Pool) remove(b *Box) {
	p.ends <- struct{}{}
	defer func() { <-p.ends }()
	if err := b.Close(); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errs = append(p.errs, fmt.Errorf("close box %s of the pool: %w", short(b.id), err))
	}
}

// weigh notes how much a box that waits holds, and starts those for which there was
// no room as long as that was not known.
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

// cost is what a box of a kind holds while it waits: its limit as long as that is
// not known. Call it with mu held.
func (p *Pool) cost(k kind) int64 {
	if n, ok := p.sizes[k]; ok {
		return min(n, k.limits.Memory)
	}
	return k.limits.Memory
}

// holds is what the boxes that do nothing hold; of one that was used, the most that
// its work ever took. Call it with mu held.
func (p *Pool) holds() (sum int64) {
	for _, w := range p.waiting {
		sum += p.cost(kindOf(w.spec))
	}
	for _, b := range p.used {
		sum += boxCost + b.peak
	}
	return sum
}
