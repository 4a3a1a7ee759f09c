package trial

import (
	"context"
	"time"

	"agent/verify/check"
)

// How long the tests of one mutant may run, as a multiple of what they take without, and at least: what goes on
// for longer is a loop without an end.
const (
	mutantFactor = 4
	leastMutant  = 3 * time.Second
)

// In prepares the runs of the tests of a side in a box that has the program of that side.
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

// Begin runs them without a mutant, and reports whether there is anything to try.
func (m *Mutants) Begin(ctx context.Context, lines check.Lines) bool {
	b := m.bench
	b.Lines = lines
	out := m.def.Run(ctx, b)
	m.bench.Timeout = min(m.bench.Timeout, max(leastMutant, mutantFactor*time.Duration(out.Seconds*float64(time.Second))))
	return m.w.Began(out, m.side)
}

// Try runs them on each mutant that is due, until one shows that they are weaker or the time is up. The first is tried whatever
// the time.
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

// Run runs them on a mutant, and takes back what that makes of the box: byte code and records of the run before are none
// of the next one's.
func (m *Mutants) Run(ctx context.Context, i int) check.Outcome {
	cs, ok := m.w.Change(i, m.side)
	if !ok {
		return check.Infraf("the mutant has no place")
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
		return check.Infraf("take the mutant back: %v", err)
	}
	return out
}
