package llm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Meter holds requests to the caps and records them, whoever makes them. A Chain has one; code that passes on the requests of
// another program has its own. It may be used by several goroutines. Between processes the last request before a cap is not
// coordinated.
type Meter struct {
	Limits  Limits // caps that are 0 but may not be absent have their defaults
	Journal Journal

	entry sync.Mutex // held from reading what was spent until a request is entered
}

// ErrUnpriced is returned by Begin for a model whose price is not known while cost is capped.
var ErrUnpriced = errors.New("its price is not known while cost is capped: give the price, or set the caps on cost to 0")

// Begin records a request that is about to be made, with what it may cost, if the caps allow it. It returns the request's number
// and how much of the run's time is left. If a cap does not allow it, Begin returns a *BudgetError and records nothing.
func (m *Meter) Begin(ctx context.Context, r Record) (number int64, left time.Duration, err error) {
	limits := m.Limits.withDefaults()
	if limits.capsCost() && !r.Priced {
		return 0, 0, fmt.Errorf("%s/%s: %w", r.Vendor, r.Model, ErrUnpriced)
	}
	// Two goroutines that both read the sum before either has entered its request would both use the rest of a budget.
	m.entry.Lock()
	defer m.entry.Unlock()
	run, day, err := m.Journal.Spent(ctx, r.Run, midnight(r.Begun))
	if err != nil {
		return 0, 0, fmt.Errorf("sum what was spent: %w", err)
	}
	if err := limits.check(run, day, r.Outcome); err != nil {
		return 0, 0, err
	}
	if number, err = m.Journal.Begin(ctx, r); err != nil {
		return 0, 0, fmt.Errorf("record a request: %w", err)
	}
	return number, limits.RunTime - run.Duration, nil
}

// End records the result and the cost of a request. The request is paid for by then, so End writes this even if the caller is gone.
func (m *Meter) End(ctx context.Context, number int64, o Outcome) error {
	late, cancel := detached(ctx, lateWrite)
	defer cancel()
	if err := m.Journal.End(late, number, o); err != nil {
		return fmt.Errorf("record the end of a request: %w", err)
	}
	return nil
}

// Expected returns what a request may use before it is answered: an estimate for the question, and for the answer its bound, or
// assumedAnswer without one.
func Expected(bound int, texts ...string) Usage {
	u := Usage{In: Estimate(texts...), Out: Tokens{N: assumedAnswer, Estimated: true}}
	if bound > 0 {
		u.Out.N = bound
	}
	return u
}

// Believed returns a vendor's counts for a request of that many bytes as far as they are credible, and the expected ones for the
// rest.
func Believed(said, expected Usage, bytes int) Usage { return sane(said, expected, bytes) }
