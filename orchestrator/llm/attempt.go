package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// attempt makes one request and records it: beforehand what it may cost, and afterwards its result, even if the caller has given
// up. It returns the answer, or the failure that the table decides on, or an error that ends the question.
func (a *asking) attempt(ctx context.Context, t turn) (Answer, *failure, error) {
	a.attempts++
	req := a.request(t)
	start := a.conf.Now()
	r, err := a.record(t, req, start)
	if err != nil {
		return Answer{}, nil, err
	}
	number, left, err := a.meter.Begin(ctx, r)
	if err != nil {
		return Answer{}, nil, err
	}
	s := &stream{asking: a, turn: t, total: min(a.conf.Limits.Total, left)}
	answer, why, err := s.run(ctx, req, r.Usage.In)
	o := s.outcome(answer, why, err, req)
	o.Duration = max(a.conf.Now().Sub(start), 0)
	// From here on the request is paid for. Its outcome is recorded even if the caller is gone, so that it is never paid for again.
	if e := a.meter.End(ctx, number, o); e != nil {
		return Answer{}, nil, errors.Join(err, e)
	}
	switch {
	case err != nil:
		return Answer{}, nil, err
	case why != nil:
		return Answer{}, &failure{why, s.shown}, nil
	}
	// The caller gets what was recorded, so that a replay returns the same.
	answer.Usage, answer.Model = o.Usage, o.Version
	done := Done{Usage: o.Usage, Cost: o.Cost, Priced: o.Priced, Duration: o.Duration}
	return answer, nil, a.call.emit(done)
}

// record returns the entry to make before a request: what it is, and what it may cost. The answer counts with its bound of tokens,
// since a cap that was checked against less could be exceeded.
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
	r.Usage = Expected(req.MaxTokens, req.Texts()...)
	dearest := r.Usage
	dearest.Written = dearest.In.N // all of the question may go to the vendor's cache
	r.Cost, r.Priced = t.cost(dearest)
	return r, nil
}

// midnight returns the beginning of the day of t, in UTC: the cap on the cost of a day starts over there.
func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
