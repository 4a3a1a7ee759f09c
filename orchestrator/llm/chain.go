package llm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"agent/sandbox/workspace/secret"
)

// A Link is one model of a chain, with everything needed to ask it.
type Link struct {
	Provider Provider
	Model    string
	Keys     []Key  // nil for a vendor that needs none
	Price    *Price // nil if not known; &Price{} for a model on the user's own machine
	Context  int    // tokens of question and answer together, 0 if not known
	Sampling Sampling
	Tools    bool // the model can be asked with tools; otherwise a question with tools goes to another link
	Sees     bool // the model can be asked with pictures
}

// A Config holds the parts of a Chain.
type Config struct {
	Links   []Link // in order of preference
	Limits  Limits
	Journal Journal
	States  KeyStates

	// Guard checks a question before it is sent, and returns an error if it must not be sent, for example because it holds a
	// secret. Nil lets all questions pass. A question that holds one of the chain's own keys is always refused.
	Guard func(Request) error
	// Replay names a recorded run. Then its records answer every question, no provider is called and nothing is recorded.
	Replay string

	// The fields below are for tests; nil selects the real one. The limits Idle and Total always use real time.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
	Rand  func() float64 // from 0 up to 1
}

// A Chain asks models in order of preference: each attempt goes to the first one with a key that does not rest. It may be used by
// several goroutines, and several processes may share a journal and key states. Two things are coordinated only between goroutines,
// not between processes: the turns of the keys, and the last request before a cap.
type Chain struct {
	conf   Config
	rings  []*ring       // of the links, by index
	masker secret.Masker // of all keys

	meter Meter
}

// New returns a chain. A model whose price is not known cannot be held to a cap on cost, so New refuses the combination.
func New(c Config) (*Chain, error) {
	if c.Journal == nil || c.Replay == "" && (c.States == nil || len(c.Links) == 0) {
		return nil, errors.New("make a chain: a journal is required, and except in a replay also a model and key states")
	}
	c.Limits = c.Limits.withDefaults()
	// The real clock, wait and randomness replace what a test does not set.
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	chain := &Chain{conf: c, meter: Meter{Limits: c.Limits, Journal: c.Journal}}
	var keys []Key
	for i, l := range c.Links {
		if l.Provider == nil || l.Model == "" {
			return nil, fmt.Errorf("make a chain: link %d has no provider or no model", i+1)
		}
		if err := l.check(c.Limits); err != nil {
			return nil, fmt.Errorf("make a chain: %s/%s: %w", l.Provider.Vendor(), l.Model, err)
		}
		keys = append(keys, l.Keys...)
		// A vendor that needs no key has a ring of one, the zero Key, so that it can rest like any other.
		own := slices.Clone(l.Keys)
		if len(own) == 0 {
			own = []Key{{}}
		}
		chain.rings = append(chain.rings, &ring{vendor: l.Provider.Vendor(), keys: own, states: c.States, now: c.Now})
	}
	chain.masker = newMasker(keys)
	return chain, nil
}

// Release makes the vendors drop what they keep of the chain's conversations. Anything not released expires by itself within an
// hour.
func (c *Chain) Release(ctx context.Context) error {
	var errs []error
	for _, l := range c.conf.Links {
		if r, ok := l.Provider.(Releaser); ok {
			errs = append(errs, r.Release(ctx))
		}
	}
	return errors.Join(errs...)
}

// check refuses a link whose cost is unknown although cost is capped, or whose price is absurd.
func (l Link) check(limits Limits) error {
	if l.Price != nil {
		return l.Price.check()
	}
	if limits.capsCost() {
		return ErrUnpriced
	}
	return nil
}

// cost returns the price of u, and whether it is known.
func (l Link) cost(u Usage) (Money, bool) {
	if l.Price == nil {
		return 0, false
	}
	return l.Price.Cost(u), true
}

// ErrHoldsKey is returned by Ask for a question that contains one of the chain's own keys. The question is not sent.
var ErrHoldsKey = errors.New("the question contains an API key of a model")

// A Call is one question of a run. Run, Step and Request together identify it: the same question in the same step is answered once,
// and later from the journal. To get another answer, or several, ask in another step.
type Call struct {
	Run      string
	Step     string
	Purpose  string
	Template string            // digest of the template that the prompt was made from
	Request  Request           // the chain sets its Model, and its Context if that is 0
	Yield    func(Event) error // receives every event as it happens, nil for none; an error from it ends Ask
}

// emit passes e to the caller.
func (c Call) emit(e Event) error {
	if c.Yield == nil {
		return nil
	}
	return c.Yield(e)
}

// Ask returns the answer to a question: the recorded one if there is one, or else the first one that a model of the chain gives.
//
// Without an answer it returns a *BudgetError, an *ExhaustedError, an *Error of a kind that no other model would cure, ErrHoldsKey,
// ErrNotRecorded in a replay, the error from Guard or Yield, the error of ctx, or an error of the journal or the key states, which
// are needed before anything is asked.
func (c *Chain) Ask(ctx context.Context, call Call) (Answer, error) {
	// The answering model is not part of the question: the digest must be the same for every chain.
	call.Request.Model, call.Request.TopP, call.Request.TopK = "", 0, 0
	if err := c.check(call); err != nil {
		return Answer{}, fmt.Errorf("ask in step %q of run %q: %w", call.Step, call.Run, err)
	}
	a := &asking{Chain: c, call: call, digest: Digest(call.Request), out: map[int]bool{}, tries: map[int]int{}, fits: map[int]bool{}}
	answer, found, err := a.recorded(ctx)
	if found || err != nil {
		return answer, err
	}
	// A recorded question was guarded when it was sent.
	if c.conf.Guard != nil {
		if err := c.conf.Guard(call.Request); err != nil {
			return Answer{}, err
		}
	}
	for {
		t, err := a.choose(ctx)
		if err != nil {
			return Answer{}, err
		}
		answer, f, err := a.attempt(ctx, t)
		if f == nil {
			return answer, err
		}
		if err := a.failed(ctx, t, *f); err != nil {
			return Answer{}, err
		}
	}
}

// check refuses a call that could not be found again, or must not be sent.
func (c *Chain) check(call Call) error {
	r := call.Request
	if call.Run == "" || call.Step == "" {
		return errors.New("a question needs a run and a step")
	}
	if math.IsNaN(r.Temperature) || math.IsInf(r.Temperature, 0) || r.MaxTokens < 0 || r.Context < 0 {
		return fmt.Errorf("temperature %v, bound of %d tokens and context of %d must be finite and not negative", r.Temperature, r.MaxTokens, r.Context)
	}
	for _, text := range r.Texts() {
		if c.masker.Holds(text) {
			return ErrHoldsKey
		}
	}
	return r.CheckTurns() // last, because its error may quote the question
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// lateWrite is how long a write may still take after the caller gave up.
const lateWrite = 10 * time.Second

// detached returns a context for a write that must complete even if ctx ends: the result and cost of a request. It outlives ctx by
// d. While ctx lives only the journal's own patience bounds it: a paid answer is worth waiting for a database that comes back.
func detached(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return late, func() { stop(); cancel() }
}
