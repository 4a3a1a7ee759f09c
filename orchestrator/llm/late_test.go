package llm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/llm"
)

// The outcome of a paid request is recorded however long the database takes, as long as the caller waits for it, and for a while
// afterwards.
func TestARecordIsWaitedForAsLongAsTheCallerIsThere(t *testing.T) {
	ctx, give := context.WithCancel(t.Context())
	late, done := llm.Detached(ctx, time.Millisecond)
	if _, bounded := late.Deadline(); bounded || late.Err() != nil {
		t.Errorf("bounded: %v, ended: %v while the caller waits", bounded, late.Err())
	}
	give()
	<-late.Done() // never closed if the caller's end changes nothing
	done()

	ctx, give = context.WithCancel(t.Context())
	late, done = llm.Detached(ctx, time.Hour)
	give()
	if late.Err() != nil {
		t.Error("the record ends with its caller")
	}
	done() // returns although the hour has not passed
	if late.Err() == nil {
		t.Error("the record goes on after its end")
	}
}

func TestWhatWasSpentIsToldInWords(t *testing.T) {
	for want, s := range map[string]llm.Spent{
		"1 request, 7 tokens, 0.0 s, cost not known":                                  {Requests: 1, Tokens: 7, Unpriced: 1},
		"2 requests, 7 tokens, 1.5 s, cost 0.000009":                                  {Requests: 2, Tokens: 7, Cost: 9, Duration: 1500 * time.Millisecond},
		"1 request, 7 tokens, 0.0 s, free":                                            {Requests: 1, Tokens: 7},
		"2 requests, 7 tokens, 0.0 s, cost 0.000009, plus 1 request of unknown price": {Requests: 2, Tokens: 7, Cost: 9, Unpriced: 1},
	} {
		if got := s.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	e := &llm.ExhaustedError{Attempts: 1, Run: llm.Spent{Requests: 1, Unpriced: 1}, Wake: time.Unix(0, 0), Last: llm.NewError(llm.Overloaded, "gemini", "m", "status 503: busy")}
	if got, want := e.Told(), "gemini is overloaded (status 503: busy); no model answered after 1 attempt; a key wakes at 1970-01-01T00:00:00Z; the run spent 1 request, 0 tokens, 0.0 s, cost not known"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (&llm.ExhaustedError{}).Told(); !strings.HasPrefix(got, "no model answered after 0 attempts; ") {
		t.Errorf("got %q", got)
	}
}
