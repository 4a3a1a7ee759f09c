package llm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Meter holds requests to the caps and has them recorded, whoever makes them. A Chain has one; who
// lets somebody else's requests through has one of its own. It may be used by several goroutines;
// between processes the last request before a cap is not settled.
type Meter struct {
	Limits  Limits // those that are 0 and may not be are their defaults
	Journal Journal

	entry sync.Mutex // held from reading what was spent until a request is entered
}

// ErrUnpriced is what Begin returns for a model whose price is not known while cost is capped.
var ErrUnpriced = errors.New("its price is not known while cost is capped: give the price, or set the caps on cost to 0")

// Begin records a request that is about to be made, with what it may cost, if the caps allow it, and
// returns its number and how much of the run's time is left. One that a cap does not allow is a
// *BudgetError, and nothing is recorded.
func (m *Meter) Begin(ctx context.Context, r Record) (number int64, left time.Duration, err error) {
	limits := m.Limits.withDefaults()
	if limits.capsCost() && !r.Priced {
		return 0, 0, fmt.Errorf("%s/%s: %w", r.Vendor, r.Model, ErrUnpriced)
	}
	// Two goroutines that both read the sum before either has entered its
	// request would both take the last of a budget.
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

// End records what a request gave and cost. It is paid for by then, so that this is written also when
// the caller is gone.
func (m *Meter) End(ctx context.Context, number int64, o Outcome) error {
	late, cancel := detached(ctx, lateWrite)
	defer cancel()
	if err := m.Journal.End(late, number, o); err != nil {
		return fmt.Errorf("record the end of a request: %w", err)
	}
	return nil
}

// Expected returns what a request may take before it is answered: the question by estimate, and the
// answer by its bound, or what one is reckoned to have.
func Expected(bound int, texts ...string) Usage {
	u := Usage{In: Estimate(texts...), Out: Tokens{N: assumedAnswer, Estimated: true}}
	if bound > 0 {
		u.Out.N = bound
	}
	return u
}

// Believed returns what a vendor says of a request of so many bytes as far as it can be, and what was
// expected for the rest.
func Believed(said, expected Usage, bytes int) Usage { return sane(said, expected, bytes) }
