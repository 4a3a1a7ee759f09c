package llm_test

import (
	"strings"
	"testing"
	"time"

	"agent/orchestrator/llm"
)

// TestWhatFollowsFromEachKind simulates a vendor that answers every request with one kind of error, with two keys, and a second model
// that answers.
func TestWhatFollowsFromEachKind(t *testing.T) {
	for _, c := range []struct {
		kind    llm.Kind
		after   time.Duration
		asked   string          // keys of the requests to the first model
		ends    bool            // the question ends with the error
		waits   []time.Duration // waits between the requests, with the longest jitter
		rests   time.Duration   // rest of both keys
		retired bool
		charged bool
	}{
		{kind: llm.Quota, asked: "a b", rests: 20 * time.Minute},
		{kind: llm.Quota, after: time.Hour, asked: "a b", rests: time.Hour},
		{kind: llm.RateLimit, asked: "a b", rests: 20 * time.Minute},
		{kind: llm.RateLimit, after: 2 * time.Second, asked: "a b", rests: 2 * time.Second},
		{kind: llm.RateLimit, after: 24 * time.Hour, asked: "a b", rests: 2 * time.Hour},
		{kind: llm.RateLimit, after: -time.Second, asked: "a b", rests: 20 * time.Minute},
		{kind: llm.Auth, asked: "a b", retired: true},
		{kind: llm.Balance, asked: "a b", retired: true},
		{kind: llm.Network, asked: "a b a b", waits: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{kind: llm.Refused, asked: "a", charged: true},
		{kind: llm.Overloaded, asked: "a b a b a", waits: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}},
		{kind: llm.Malformed, asked: "a b a", waits: []time.Duration{time.Second, 2 * time.Second}, charged: true},
		{kind: llm.Truncated, asked: "a", ends: true, charged: true},
		{kind: llm.Missing, asked: "a"},
		{kind: llm.Invalid, asked: "a"},
		{kind: llm.Unknown, asked: "a b", waits: []time.Duration{time.Second}, charged: true},
		{kind: "news", asked: "a b", waits: []time.Duration{time.Second}, charged: true},
	} {
		t.Run(string(c.kind)+" after "+c.after.String(), func(t *testing.T) {
			st := no(c.kind)
			st.after = c.after
			b := newBench(t, 2, []step{st}, []step{say("from the second")}, nil)
			answer, err := b.ask(t, "s")
			if c.ends {
				wantKind(t, err, c.kind)
			} else if err != nil || answer.Text != "from the second" {
				t.Fatalf("answer %q, error %v", answer.Text, err)
			}
			if got := b.provider(0).keys(b); got != c.asked {
				t.Errorf("keys %s were used, want %s", got, c.asked)
			}
			if len(b.slept) != len(c.waits) {
				t.Fatalf("waits %v, want %v", b.slept, c.waits)
			}
			for i, d := range c.waits {
				if b.slept[i] != d {
					t.Errorf("waits %v, want %v", b.slept, c.waits)
				}
			}
			for _, s := range b.memory.States() {
				if s.Vendor != "gemini" {
					continue
				}
				if got := s.Until.Sub(start); c.rests > 0 && got.Truncate(time.Millisecond) != c.rests || c.rests == 0 && !s.Until.IsZero() {
					t.Errorf("key %s rests for %v, want %v", b.names[s.Key], got, c.rests)
				}
				if (s.Retired == c.kind) != c.retired {
					t.Errorf("key %s is retired as %q, want %v", b.names[s.Key], s.Retired, c.retired)
				}
			}
			if r := b.memory.Records()[0]; (r.Cost > 0) != c.charged || !r.Usage.In.Estimated {
				t.Errorf("the first request is recorded with usage %+v and cost %v, want charged %v", r.Usage, r.Cost, c.charged)
			}
		})
	}
}

func TestEveryKindTellsThePerson(t *testing.T) {
	seen := map[llm.Kind]bool{}
	for _, kind := range append(llm.Kinds(), "news") {
		seen[kind] = true
		e := llm.NewError(kind, "gemini", "flash", "x")
		for _, text := range []string{e.Told(), e.Next()} {
			if text == "" || strings.ContainsAny(text, "{}\n") {
				t.Errorf("%s: the person reads %q", kind, text)
			}
		}
		if r := kind.Rule(); (r.Do == llm.Retry) != (r.Tries > 1) || (r.Do == llm.RestKey) != (r.Rest > 0) {
			t.Errorf("%s: the rule %+v has what its action does not use, or lacks it", kind, r)
		}
	}
	for _, kind := range strings.Fields("quota rate_limit auth balance network refused overloaded malformed truncated missing invalid unknown") {
		if !seen[llm.Kind(kind)] {
			t.Errorf("%s is not among the kinds", kind)
		}
	}
	if seen[llm.Cancelled] {
		t.Error("a cancelled request is listed as an error of a provider")
	}
	if next := llm.NewError(llm.Auth, "gemini", "flash", "").Next(); !strings.HasPrefix(next, "put a valid key in GEMINI_API_KEYS, or ") {
		t.Errorf("after auth: %q", next)
	}
	// Without a key, the advice does not mention keys.
	for _, kind := range []llm.Kind{llm.Auth, llm.Balance, llm.Quota, llm.RateLimit} {
		e := llm.NewError(kind, "ollama", "coder:30b", "")
		e.Keyless = true
		if text := e.Told() + "; " + e.Next(); strings.Contains(text, "key") || strings.ContainsAny(text, "{}") || !strings.Contains(text, "ollama") {
			t.Errorf("%s without a key: %q", kind, text)
		}
	}
	if next := llm.NewError(llm.Missing, "ollama", "coder:30b", "").Next(); !strings.Contains(next, "`ollama pull coder:30b`") {
		t.Errorf("after missing: %q", next)
	}
}
