package llm_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/orchestrator/llm"
)

// TestFiveKeys follows the life of five keys: their rotation, 429 with and without a time, the fallback while all rest, and their return.
func TestFiveKeys(t *testing.T) {
	late := no(llm.RateLimit)
	late.after = 30 * time.Minute
	b := newBench(t, 5, []step{
		say("1"), say("2"), say("3"), say("4"), say("5"), say("6"), // a b c d e a
		no(llm.Quota), late, no(llm.RateLimit), no(llm.Quota), no(llm.Quota), // b c d e a
		say("9"),
	}, []step{say("local")}, nil)
	for i := 1; i <= 6; i++ {
		b.pass(time.Second)
		b.wantAnswer(t, fmt.Sprint("turn ", i), fmt.Sprint(i))
	}
	b.wantAnswer(t, "all at rest", "local")
	b.wantAnswer(t, "still at rest", "local")
	b.pass(20*time.Minute - time.Second)
	b.wantAnswer(t, "a second early", "local")
	b.pass(2 * time.Second)
	for i := range 6 { // b d e a, without c
		b.wantAnswer(t, fmt.Sprint("back ", i), "9")
	}
	b.pass(10 * time.Minute)
	for i := range 3 {
		b.wantAnswer(t, fmt.Sprint("all ", i), "9")
	}
	const want = "a b c d e a" + " b c d e a" + " b d e a b d" + " c e a"
	if got := b.provider(0).keys(b); got != want {
		t.Errorf("keys were used in the order\n%s, want\n%s", got, want)
	}
	if got := b.provider(1).keys(b); got != "- - -" {
		t.Errorf("the fallback was asked with %q, want three times with no key", got)
	}
}

func TestASecondProcessKnowsTheKeys(t *testing.T) {
	b := newBench(t, 3, []step{no(llm.Quota), no(llm.Auth), say("x")}, nil, nil)
	b.wantAnswer(t, "1", "x")
	b.renew(t)
	b.wantAnswer(t, "2", "x")
	b.pass(21 * time.Minute)
	b.renew(t)
	b.wantAnswer(t, "3", "x")
	b.wantAnswer(t, "4", "x")
	if got := b.provider(0).keys(b); got != "a b c c a c" {
		t.Errorf("keys %s, want a b c c a c", got)
	}
}

func TestWhenAllKeysRestTheFirstToWakeIsWaitedFor(t *testing.T) {
	soon, later := no(llm.RateLimit), no(llm.RateLimit)
	soon.after, later.after = 2*time.Second, 90*time.Second
	b := newBench(t, 2, []step{later, soon, say("x")}, nil, nil)
	b.wantAnswer(t, "s", "x")
	if got := b.provider(0).keys(b); got != "a b b" {
		t.Errorf("keys %s, want a b b", got)
	}
	if len(b.slept) != 1 || b.slept[0].Truncate(time.Millisecond) != 2*time.Second {
		t.Errorf("waits %v, want one of 2 s", b.slept)
	}
	if !strings.Contains(b.story(), "abandoned rate_limit shown=false\nwaiting 2.000001s rate_limit\nstarted 3 gemini/flash b") {
		t.Errorf("the caller was told:\n%s", b.story())
	}
}

func TestTheFirstKeyToWakeMayBeOfAnyLink(t *testing.T) {
	for _, c := range []struct{ first, second time.Duration }{{2 * time.Second, 90 * time.Second}, {90 * time.Second, 2 * time.Second}} {
		one, two := no(llm.RateLimit), no(llm.RateLimit)
		one.after, two.after = c.first, c.second
		b := newBench(t, 1, []step{one, say("first")}, []step{two, say("second")}, nil)
		want := "first"
		if c.second < c.first {
			want = "second"
		}
		b.wantAnswer(t, "s", want)
		if len(b.slept) != 1 || b.slept[0].Truncate(time.Millisecond) != 2*time.Second {
			t.Errorf("waits %v, want one of 2 s", b.slept)
		}
	}
}

// The waits of one question add up to two minutes at most.
func TestWaitsAreSummed(t *testing.T) {
	soon := no(llm.RateLimit)
	soon.after = 50 * time.Second
	b := newBench(t, 1, []step{soon}, nil, nil)
	_, err := b.ask(t, "s")
	var gone *llm.ExhaustedError
	if !errors.As(err, &gone) || gone.Attempts != 3 || len(b.slept) != 2 || gone.Wake.IsZero() {
		t.Errorf("error %v after waits %v, want an end after two", err, b.slept)
	}
	if gone.Next() != "wait until a key wakes, or add another to GEMINI_API_KEYS" {
		t.Errorf("next: %q", gone.Next())
	}
}

func TestAQuarantineIsNotWaitedFor(t *testing.T) {
	b := newBench(t, 2, []step{no(llm.Quota)}, nil, nil)
	_, err := b.ask(t, "s")
	var gone *llm.ExhaustedError
	if !errors.As(err, &gone) {
		t.Fatalf("error %v, want an ExhaustedError", err)
	}
	if gone.Attempts != 2 || gone.Run.Requests != 2 || gone.Wake.Sub(start).Truncate(time.Second) != 20*time.Minute || len(b.slept) != 0 {
		t.Errorf("the end %+v after waits %v", gone, b.slept)
	}
	wantKind(t, err, llm.Quota)
	for _, part := range []string{"after 2 attempts", "gemini/flash: quota", "wakes at 2026-11-21T12:20:00Z", "2 requests"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	// The next process gets the same error without asking anyone.
	b.renew(t)
	_, err = b.ask(t, "s")
	wantKind(t, err, llm.Quota)
	if got := b.provider(0).keys(b); got != "a b" {
		t.Errorf("keys %s, want a b", got)
	}
	if !strings.Contains(err.Error(), "2 keys at rest, the first until 2026-11-21T12:20:00Z") {
		t.Errorf("error %q", err)
	}
}

func TestRetiredKeysStayRetired(t *testing.T) {
	b := newBench(t, 2, []step{no(llm.Auth), no(llm.Balance), say("never")}, nil, nil)
	for i := range 3 {
		_, err := b.ask(t, fmt.Sprint(i))
		var gone *llm.ExhaustedError
		if !errors.As(err, &gone) || !gone.Wake.IsZero() {
			t.Fatalf("error %v, want an ExhaustedError and no time at which a key wakes", err)
		}
		if i > 0 && !strings.Contains(err.Error(), "2 keys retired") {
			t.Errorf("error %q", err)
		}
		b.pass(1000 * time.Hour)
		b.renew(t)
	}
	if got := b.provider(0).keys(b); got != "a b" {
		t.Errorf("keys %s, want a b", got)
	}
}

// If a server without keys refuses a request, a person fixes the server, and must not find it retired.
func TestWithoutAKeyNothingIsRetired(t *testing.T) {
	b := newBench(t, 0, []step{no(llm.Auth), say("mended")}, nil, nil)
	_, err := b.ask(t, "s")
	wantKind(t, err, llm.Auth)
	b.wantAnswer(t, "s", "mended")
}

func TestTheVendorsTimeForAnOverloadIsKept(t *testing.T) {
	short, long := no(llm.Overloaded), no(llm.Overloaded)
	short.after, long.after = 10*time.Second, time.Hour
	b := newBench(t, 1, []step{short, long, say("x")}, []step{say("local")}, nil)
	b.wantAnswer(t, "1", "local")
	if len(b.slept) != 1 || b.slept[0] != 10*time.Second {
		t.Errorf("waits %v, want one of 10 s", b.slept)
	}
	b.pass(59 * time.Minute)
	b.wantAnswer(t, "2", "local")
	b.pass(2 * time.Minute)
	b.wantAnswer(t, "3", "x")
}

func TestTheJitterLeavesAtLeastHalfOfTheWait(t *testing.T) {
	b := newBench(t, 1, []step{no(llm.Network)}, nil, func(c *llm.Config) { c.Rand = func() float64 { return 0 } })
	_, err := b.ask(t, "s")
	wantKind(t, err, llm.Network)
	if got := fmt.Sprint(b.slept); got != "[500ms 1s 2s]" {
		t.Errorf("waits %s", got)
	}
}

// Two chains share one store, each used by several goroutines.
func TestChainsShareTheKeys(t *testing.T) {
	b := newBench(t, 5, []step{no(llm.Auth), say("x")}, nil, func(c *llm.Config) { c.Rand = nil })
	other, err := llm.New(b.conf)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 40 {
		chain := []*llm.Chain{b.Chain, other}[i%2]
		group.Go(func() {
			call := b.call(fmt.Sprint(i))
			call.Yield = nil
			if answer, err := chain.Ask(t.Context(), call); err != nil || answer.Text != "x" {
				t.Errorf("answer %q, error %v", answer.Text, err)
			}
		})
	}
	group.Wait()
	if n := len(b.memory.Records()); n != 41 {
		t.Errorf("%d requests are recorded, want 41", n)
	}
	uses := map[string]int{}
	for _, key := range strings.Fields(b.provider(0).keys(b)) {
		uses[key]++
	}
	for _, key := range strings.Fields("a b c d e") {
		if uses[key] > 25 {
			t.Errorf("the keys do not take turns: %v", uses)
		}
	}
}

func TestStatesMergeInAnyOrder(t *testing.T) {
	at := []time.Time{{}, start, start.Add(time.Second)}
	var all []llm.KeyState
	for _, until := range at {
		for _, used := range at {
			for _, reason := range []llm.Kind{"", llm.Quota, llm.RateLimit} {
				for _, retired := range []llm.Kind{"", llm.Auth, llm.Balance} {
					all = append(all, llm.KeyState{Vendor: "v", Key: "k", Until: until, Used: used, Reason: reason, Retired: retired})
				}
			}
		}
	}
	for _, x := range all {
		if x.Merge(x) != x {
			t.Fatalf("%+v merged with itself is another", x)
		}
		for _, y := range all {
			if x.Merge(y) != y.Merge(x) {
				t.Fatalf("%+v and %+v merge in one order only", x, y)
			}
			for _, z := range all[:9] {
				if x.Merge(y).Merge(z) != x.Merge(y.Merge(z)) {
					t.Fatalf("%+v, %+v and %+v merge in one order only", x, y, z)
				}
			}
		}
	}
}
