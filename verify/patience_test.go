package verify

import (
	"testing"
	"time"

	"agent/verify/check"
	"agent/verify/python"
	"agent/verify/verifytest"
)

// Tests that took a second before the patch do not get the full time limit of the gate.
func TestPatienceFollowsWhatTestsTookBefore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base  *check.Outcome
		limit time.Duration
		want  time.Duration
	}{
		"not known":         {nil, 5 * time.Minute, 5 * time.Minute},
		"quick":             {&check.Outcome{Seconds: 1}, 5 * time.Minute, time.Minute},
		"long":              {&check.Outcome{Seconds: 12}, 5 * time.Minute, 2 * time.Minute},
		"longer":            {&check.Outcome{Seconds: 100}, 5 * time.Minute, 5 * time.Minute},
		"a lower limit":     {&check.Outcome{Seconds: 1}, 20 * time.Second, 20 * time.Second},
		"without an answer": {&check.Outcome{Seconds: 1, Verdict: check.Timeout}, 5 * time.Minute, 5 * time.Minute},
		"never ran":         {&check.Outcome{}, 5 * time.Minute, 5 * time.Minute},
	} {
		r := newResults(nil, Request{Base: verifytest.Scan(t, nil)})
		if c.base != nil {
			r.base[python.PytestName] = *c.base
		}
		if got := r.patience(python.PytestName, c.limit); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
