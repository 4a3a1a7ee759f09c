package trial

import (
	"context"
	"time"

	"agent/verify/check"
)

// The time limit for the tests on one mutant: a multiple of the time that they take without it, and a minimum. A
// longer run is an endless loop.
const (
	mutantFactor = 4
	leastMutant  = 3 * time.Second
)

// In prepares to run the tests of a side in a box that contains the program of that side.
func (w *Weighing) In(def check.Check, side Side, b check.Bench) *Mutants {
	return &Mutants{w, def, side, b}
}

// Mutants runs the tests of one side in one box.
type Mutants struct {
	w     *Weighing
	def   check.Check
	side  Side
	bench check.Bench
}

// Begin runs the tests without a mutant, and reports whether there is anything to try.
func (m *Mutants) Begin(ctx context.Context, lines check.Lines) bool {
	b := m.bench
	b.Lines = lines
	out := m.def.Run(ctx, b)
	m.bench.Timeout = min(m.bench.Timeout, max(leastMutant, mutantFactor*time.Duration(out.Seconds*float64(time.Second))))
	return m.w.Began(out, m.side)
}

// Try runs the tests on each mutant that is due, until one shows that they are weaker or the time is up. It tries the
// first one in any case.
func (m *Mutants) Try(ctx context.Context, until time.Time) {
	for n, i := range m.w.Due(m.side) {
		if n > 0 && time.Now().After(until) {
			m.w.Late()
			return
		}
		out := m.Run(ctx, i)
		if ctx.Err() != nil {
			return
		}
		m.w.Tried(i, m.side, out)
		if _, found := m.w.Weaker(); found {
			return
		}
	}
}

// Run runs the tests on mutant i and then reverts it. It clears the box first, so that byte code and records of the
// previous run do not affect this one.
func (m *Mutants) Run(ctx context.Context, i int) check.Outcome {
	cs, ok := m.w.Change(i, m.side)
	if !ok {
		return check.Infraf("the mutant cannot be placed")
	}
	b := m.bench
	if err := b.Sweep(ctx); err != nil {
		return check.Infraf("sweep the box: %v", err)
	}
	if err := b.Box.Apply(ctx, cs); err != nil {
		return check.Infraf("apply the mutant: %v", err)
	}
	out := m.def.Run(ctx, b)
	if err := b.Box.Apply(ctx, cs.Reverse()); err != nil {
		return check.Infraf("revert the mutant: %v", err)
	}
	return out
}
