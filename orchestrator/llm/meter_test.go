package llm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/journaltest"
)

// Requests that another program makes are subject to the same caps and are kept in the same record.
func TestAMeterHoldsToTheCaps(t *testing.T) {
	t.Parallel()
	journal := &journaltest.Memory{}
	m := &llm.Meter{Limits: llm.Limits{Requests: 2, RunTime: time.Minute}, Journal: journal}
	begin := func() (int64, time.Duration, error) {
		r := llm.Record{Run: "r", Step: "exec/1", Attempt: 1, Vendor: "v", Model: "m", Begun: time.Now()}
		r.Usage = llm.Expected(100, "12345678")
		return m.Begin(t.Context(), r)
	}
	number, left, err := begin()
	if err != nil || left != time.Minute {
		t.Fatalf("%v left, %v", left, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel() // the caller is gone, but the request was paid for
	if err := m.End(gone, number, llm.Outcome{Usage: llm.Usage{In: llm.Tokens{N: 3}, Out: llm.Tokens{N: 4}}, Duration: 20 * time.Second}); err != nil {
		t.Fatal(err)
	}
	if _, left, err := begin(); err != nil || left != 40*time.Second {
		t.Errorf("%v left, %v", left, err)
	}
	var capped *llm.BudgetError
	if _, _, err := begin(); !errors.As(err, &capped) || capped.Cap != "requests of a run" {
		t.Errorf("beyond the cap: %v", err)
	}
	run, _, err := journal.Spent(t.Context(), "r", time.Time{})
	if err != nil || run.Requests != 2 || run.Tokens != 7+102 {
		t.Errorf("recorded %+v, %v", run, err)
	}
	m.Limits.RunCost = 1
	if _, _, err := begin(); !errors.Is(err, llm.ErrUnpriced) {
		t.Errorf("without a price: %v", err)
	}
}

func TestAVendorIsBelievedAsFarAsItCanBe(t *testing.T) {
	t.Parallel()
	expected := llm.Expected(0, "1234")
	if expected.In.N != 1 || expected.Out.N < 1000 {
		t.Errorf("expected %+v", expected)
	}
	if got := llm.Believed(llm.Usage{In: llm.Tokens{N: 5}, Out: llm.Tokens{N: 6}, Cached: 9}, expected, 100); got.In.N != 5 || got.Out.N != 6 || got.Cached != 0 {
		t.Errorf("%+v", got)
	}
	if got := llm.Believed(llm.Usage{}, expected, 100); got != expected {
		t.Errorf("of nothing said: %+v", got)
	}
}
