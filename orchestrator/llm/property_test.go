package llm_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"agent/orchestrator/llm"
)

// TestWhateverTheVendorsDo plays arbitrary scripts of answers and errors, over several questions with time passing between them, and
// checks the promises of a chain.
func TestWhateverTheVendorsDo(t *testing.T) {
	steps := rapid.Custom(func(r *rapid.T) step {
		kind := rapid.SampledFrom(append(llm.Kinds(), "", "", "news")).Draw(r, "kind")
		return step{
			kind: kind, chunks: rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "answer"}), 0, 2).Draw(r, "chunks"),
			after:  time.Duration(rapid.SampledFrom([]int{0, 0, 1, 30, 3600, 1 << 20, -5}).Draw(r, "after")) * time.Second,
			usage:  llm.Usage{In: tokens(rapid.IntRange(-1, 200).Draw(r, "in")), Out: tokens(rapid.IntRange(-1, 200).Draw(r, "out"))},
			detail: secret(0),
		}
	})
	rapid.Check(t, func(r *rapid.T) {
		limits := llm.Limits{
			Attempts: rapid.IntRange(1, 20).Draw(r, "attempts"),
			Requests: rapid.IntRange(1, 30).Draw(r, "requests"),
			Tokens:   int64(rapid.SampledFrom([]int{0, 1000}).Draw(r, "tokens")),
			RunCost:  llm.Money(rapid.SampledFrom([]int{0, 3000}).Draw(r, "cost")),
		}
		var local []step
		if rapid.Bool().Draw(r, "fallback") {
			local = rapid.SliceOfN(steps, 1, 5).Draw(r, "local")
		}
		keys := rapid.IntRange(0, 4).Draw(r, "keys")
		b := newBench(t, keys, rapid.SliceOfN(steps, 1, 20).Draw(r, "remote"), local, func(c *llm.Config) {
			c.Limits = limits
			c.Rand = func() float64 { return 0.5 }
		})
		for i := range rapid.IntRange(1, 5).Draw(r, "questions") {
			if rapid.Bool().Draw(r, "new process") {
				b.renew(t)
			}
			b.pass(time.Duration(rapid.SampledFrom([]int{0, 1, 600, 7200}).Draw(r, "passes")) * time.Second)
			playQuestion(r, b, limits, fmt.Sprint(i))
		}
		checkKeys(r, b)
		checkBudget(r, b, limits)
	})
}

// playQuestion asks one question and checks its end: a recorded answer from a provider or a typed error, within the caps on attempts and
// waiting.
func playQuestion(r *rapid.T, b *bench, limits llm.Limits, step string) {
	before, slept := len(b.memory.Records()), len(b.slept)
	answer, err := b.Ask(r.Context(), b.call(step))
	records := b.memory.Records()[before:]
	if len(records) > limits.Attempts {
		r.Fatalf("%d requests for one question, more than %d", len(records), limits.Attempts)
	}
	var waited time.Duration
	for _, d := range b.slept[slept:] {
		waited += d
	}
	if waited > 2*time.Minute {
		r.Fatalf("one question waited for %v", waited)
	}
	var spent *llm.BudgetError
	var gone *llm.ExhaustedError
	var e *llm.Error
	switch {
	case err == nil:
		last := records[len(records)-1]
		if answer.Text == "" || last.Text != answer.Text || last.Kind != "" || last.Usage != answer.Usage {
			r.Fatalf("the answer %+v is not the recorded one %+v", answer, last)
		}
	case !errors.As(err, &spent) && !errors.As(err, &gone) && !errors.As(err, &e):
		r.Fatalf("the question ended with %v", err)
	case len(b.names) > 1 && leaks(err.Error(), secret(0)) != "": // the chain knows its own keys
		r.Fatalf("a key is in %q", err)
	}
}

// checkKeys replays the requests and checks that no key was used before its time, based on the vendors' answers and not on what was
// saved.
func checkKeys(r *rapid.T, b *bench) {
	made := 0
	for i := range b.conf.Links {
		until, retired := map[string]time.Time{}, map[string]bool{}
		for n, a := range b.provider(i).asked {
			made++
			if retired[a.key] || a.at.Before(until[a.key]) {
				r.Fatalf("request %d to link %d used key %q at %v: retired %v, at rest until %v", n, i, a.key, a.at, retired[a.key], until[a.key])
			}
			switch a.step.kind {
			case llm.Auth, llm.Balance:
				retired[a.key] = a.key != ""
			case llm.Quota, llm.RateLimit:
				rest := 20 * time.Minute
				if a.step.after > 0 {
					rest = min(a.step.after, 2*time.Hour)
				}
				until[a.key] = a.at.Add(rest)
			}
		}
	}
	if n := len(b.memory.Records()); made != n {
		r.Fatalf("%d requests were made and %d are recorded", made, n)
	}
}

// checkBudget checks that no request was made that could exceed a cap.
func checkBudget(r *rapid.T, b *bench, limits llm.Limits) {
	var spent llm.Spent
	for i, rec := range b.memory.Records() {
		if spent.Requests >= limits.Requests || limits.Tokens > 0 && spent.Tokens+105 > limits.Tokens ||
			limits.RunCost > 0 && spent.Cost > limits.RunCost {
			r.Fatalf("request %d was made after %v", i, spent)
		}
		spent.Add(rec.Outcome)
	}
}
