package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// attempt makes one request and records it: what it may cost before it is
// made, and what it gave after it, whoever gave up meanwhile. It returns the answer, or the
// failure that the table decides on, or an error that ends the question.
func (a *asking) attempt(ctx context.Context, t turn) (Answer, *failure, error) {
	a.attempts++
	req := a.request(t)
	start := a.conf.Now()
	r, err := a.record(t, req, start)
	if err != nil {
		return Answer{}, nil, err
	}
	number, left, err := a.enter(ctx, r)
	if err != nil {
		return Answer{}, nil, err
	}
	s := &stream{asking: a, turn: t, total: min(a.conf.Limits.Total, left)}
	answer, why, err := s.run(ctx, req, r.Usage.In)
	o := s.outcome(answer, why, err, req)
	o.Duration = max(a.conf.Now().Sub(start), 0)
	// From here the request is paid for. Its outcome is written even when the
	// caller is gone, so that nobody pays for it again.
	late, cancel := detached(ctx, lateWrite)
	defer cancel()
	if e := a.conf.Journal.End(late, number, o); e != nil {
		return Answer{}, nil, errors.Join(err, fmt.Errorf("record the end of a request: %w", e))
	}
	switch {
	case err != nil:
		return Answer{}, nil, err
	case why != nil:
		return Answer{}, &failure{why, s.shown}, nil
	}
	// The caller gets what was recorded, so that a replay gives the same.
	answer.Usage, answer.Model = o.Usage, o.Version
	done := Done{Usage: o.Usage, Cost: o.Cost, Priced: o.Priced, Duration: o.Duration}
	return answer, nil, a.call.emit(done)
}

// record returns what is entered before a request: what it is, and what it may
// cost. The answer is reckoned with its bound of tokens, since a cap that was
// checked against less could be overrun.
func (a *asking) record(t turn, req Request, begun time.Time) (Record, error) {
	text, err := json.Marshal(req)
	if err != nil {
		return Record{}, fmt.Errorf("write the question as JSON: %w", err)
	}
	r := Record{
		Run: a.call.Run, Step: a.call.Step, Attempt: a.attempts, Purpose: a.call.Purpose, Template: a.call.Template,
		Vendor: t.Provider.Vendor(), Model: t.Model, Key: t.key.ID,
		Digest: a.digest, Request: text, Begun: begun.UTC().Truncate(time.Microsecond),
	}
	r.Usage = Usage{In: Estimate(req.Texts()...), Out: Tokens{N: assumedAnswer, Estimated: true}}
	if req.MaxTokens > 0 {
		r.Usage.Out.N = req.MaxTokens
	}
	dearest := r.Usage
	dearest.Written = dearest.In.N // all of the question may go to the vendor's cache
	r.Cost, r.Priced = t.cost(dearest)
	return r, nil
}

// enter records a request that is about to be made, if the caps allow it, and
// returns its number and how much of the run's time is left.
func (a *asking) enter(ctx context.Context, r Record) (number int64, left time.Duration, err error) {
	// Two goroutines that both read the sum before either has entered its
	// request would both take the last of a budget.
	a.entry.Lock()
	defer a.entry.Unlock()
	run, day, err := a.conf.Journal.Spent(ctx, r.Run, midnight(r.Begun))
	if err != nil {
		return 0, 0, fmt.Errorf("sum what was spent: %w", err)
	}
	if err := a.conf.Limits.check(run, day, r.Outcome); err != nil {
		return 0, 0, err
	}
	if number, err = a.conf.Journal.Begin(ctx, r); err != nil {
		return 0, 0, fmt.Errorf("record a request: %w", err)
	}
	return number, a.conf.Limits.RunTime - run.Duration, nil
}

// midnight returns the beginning of the day of t, in UTC: where the cap on the
// cost of a day begins anew.
func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
