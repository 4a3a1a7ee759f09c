package wire

import (
	"context"
	"sync"

	"agent/orchestrator/llm"
	"agent/orchestrator/run"
)

// A loggedJournal enters every exchange with a model in the log of its run. The journal itself records a question
// before it is sent.
type loggedJournal struct {
	llm.Journal

	mu sync.Mutex
	// Requests in flight, by number, without their texts: a request may hold a workspace's worth of text, and several
	// are in flight.
	open map[int64]llm.Record
}

// Find enters an answer from the record, for which no model is asked now.
func (j *loggedJournal) Find(ctx context.Context, of, step, digest string) (llm.Record, bool, error) {
	r, ok, err := j.Journal.Find(ctx, of, step, digest)
	if ok && err == nil && r.Kind == "" {
		enterExchange(ctx, r, r.Outcome, map[string]any{"recorded": true})
	}
	return r, ok, err
}

// Begin keeps the request's record until the request ends.
func (j *loggedJournal) Begin(ctx context.Context, r llm.Record) (int64, error) {
	number, err := j.Journal.Begin(ctx, r)
	if err != nil {
		return number, err // nothing is sent, so nothing ends
	}
	r.Request, r.Text = nil, ""
	j.mu.Lock()
	defer j.mu.Unlock()
	j.open[number] = r
	return number, nil
}

// End enters the exchange once it is on record.
func (j *loggedJournal) End(ctx context.Context, number int64, o llm.Outcome) error {
	err := j.Journal.End(ctx, number, o)
	j.mu.Lock()
	r := j.open[number]
	delete(j.open, number)
	j.mu.Unlock()
	if err != nil {
		return err
	}
	enterExchange(ctx, r, o, map[string]any{"call": number})
	return nil
}

// enterExchange enters a question and its outcome. Its texts are in the journal, see `agent runs calls`.
func enterExchange(ctx context.Context, r llm.Record, o llm.Outcome, detail map[string]any) {
	detail["purpose"], detail["attempt"], detail["ms"] = r.Purpose, r.Attempt, o.Duration.Milliseconds()
	detail["tokens_in"], detail["tokens_out"] = o.Usage.In.N, o.Usage.Out.N
	if r.Key != "" {
		detail["key_id"] = r.Key
	}
	if o.Priced {
		detail["cost"] = float64(o.Cost) / 1e6
	}
	if o.Kind != "" {
		detail["error"], detail["said"] = string(o.Kind), o.Detail
	}
	// Money counts millionths; the log has whole units of the currency, as `--max-cost` does.
	run.Enter(ctx, run.Entry{Kind: run.ModelEntry, Actor: r.Vendor + "/" + r.Model, Subject: r.Step, Detail: detail})
}
