package journaltest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/llm"
)

// day is the fixed time at which the suites take place.
var day = time.Date(2026, 11, 21, 9, 30, 0, 123456000, time.UTC)

// question returns a record with something in every field.
func question(run, step, digest string) llm.Record {
	return llm.Record{
		Run: run, Step: step, Attempt: 3, Vendor: "gemini", Model: "gemini-2.5-flash", Key: "0a1b2c3d",
		Purpose: "propose", Template: strings.Repeat("7", 64), Digest: digest,
		Request: []byte(`{"model":"m","messages":[{"role":"user","text":"a\u0000b <é>"}]}`), Begun: day,
		Outcome: llm.Outcome{
			Usage: llm.Usage{In: llm.Tokens{N: 10, Estimated: true}, Out: llm.Tokens{N: 20, Estimated: true}},
			Cost:  1_000_000, Priced: true,
		},
	}
}

// answered returns an outcome with something in every field of an answer. The text holds bytes that a text column would reject.
func answered(text string) llm.Outcome {
	return llm.Outcome{
		Text:  text + "\x00\xff\r\n☃ \u202e",
		Calls: []llm.ToolCall{{ID: "call_1", Name: "read", Arguments: "{\"path\":\"a\\u0000 <☃>\"}\x00"}, {ID: "2"}},
		State: &llm.State{Vendor: "gemini", Model: "gemini-2.5-flash", Data: []byte("\x00\xff signed")}, Version: "gemini-2.5-flash-001",
		Usage: llm.Usage{In: llm.Tokens{N: 1200}, Out: llm.Tokens{N: 34, Estimated: true}, Cached: 1000, Reason: 12},
		Cost:  7, Priced: true, Duration: 1500 * time.Millisecond,
	}
}

// refused returns an outcome without an answer.
func refused(kind llm.Kind, detail string) llm.Outcome {
	return llm.Outcome{Kind: kind, Detail: detail, Duration: time.Millisecond}
}

// enter begins and, unless o is nil, ends a record.
func enter(t *testing.T, j llm.Journal, r llm.Record, o *llm.Outcome) {
	t.Helper()
	number, err := j.Begin(t.Context(), r)
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	if o == nil {
		return
	}
	if err := j.End(t.Context(), number, *o); err != nil {
		t.Fatalf("end: %v", err)
	}
}

// wantFound checks what Find returns for r's question.
func wantFound(t *testing.T, j llm.Journal, r llm.Record, want *llm.Outcome) {
	t.Helper()
	got, ok, err := j.Find(t.Context(), r.Run, r.Step, r.Digest)
	if err != nil || ok != (want != nil) {
		t.Fatalf("found %v, error %v, want found %v", ok, err, want != nil)
	}
	if want == nil {
		return
	}
	r.Outcome = *want
	if d := cmp.Diff(r, got, cmp.Comparer(time.Time.Equal)); d != "" {
		t.Errorf("the record is not as it was entered (-want +got):\n%s", d)
	}
}

// Journal is the suite for a journal. open returns two handles on one empty journal, as two processes have them.
func Journal(t *testing.T, open func(t *testing.T) (first, second llm.Journal)) {
	t.Run("an answer is found byte for byte, by another process too", func(t *testing.T) {
		a, b := open(t)
		r, o := question("r1", "propose/1", "d1"), answered("text")
		enter(t, a, r, &o)
		wantFound(t, a, r, &o)
		wantFound(t, b, r, &o)
	})
	t.Run("an unknown price stays unknown", func(t *testing.T) {
		a, b := open(t)
		r, o := question("r1", "propose/1", "d1"), answered("text")
		o.Cost, o.Priced = 0, false
		enter(t, a, r, &o)
		wantFound(t, b, r, &o)
	})
	t.Run("text alone has nothing beside it", func(t *testing.T) {
		a, b := open(t)
		r, o := question("r1", "propose/1", "d1"), answered("text")
		o.Calls, o.State = nil, nil
		enter(t, a, r, &o)
		wantFound(t, b, r, &o)
	})
	t.Run("every kind is kept", func(t *testing.T) {
		a, b := open(t)
		for i, kind := range append(llm.Kinds(), llm.Cancelled) {
			r, o := question("r1", "propose/1", fmt.Sprint("d", i)), refused(kind, "said so")
			enter(t, a, r, &o)
			wantFound(t, b, r, &o)
		}
	})
	t.Run("only the same run, step and digest is found", func(t *testing.T) {
		a, _ := open(t)
		o := answered("text")
		enter(t, a, question("r1", "propose/1", "d1"), &o)
		wantFound(t, a, question("r2", "propose/1", "d1"), nil)
		wantFound(t, a, question("r1", "propose/2", "d1"), nil)
		wantFound(t, a, question("r1", "propose/1", "d2"), nil)
	})
	t.Run("no digest stands for any", func(t *testing.T) {
		a, _ := open(t)
		r, o := question("r1", "propose/1", "d1"), answered("text")
		enter(t, a, r, &o)
		got, ok, err := a.Find(t.Context(), "r1", "propose/1", "")
		if err != nil || !ok || got.Text != o.Text || got.Digest != "d1" {
			t.Errorf("found %v, %q of %s, %v", ok, got.Text, got.Digest, err)
		}
		if _, ok, err := a.Find(t.Context(), "r1", "propose/2", ""); err != nil || ok {
			t.Errorf("found another step: %v, %v", ok, err)
		}
	})
	t.Run("a request that never ended is not found", func(t *testing.T) {
		a, _ := open(t)
		enter(t, a, question("r1", "propose/1", "d1"), nil)
		wantFound(t, a, question("r1", "propose/1", "d1"), nil)
	})
	t.Run("the last answer comes before any error, and the last error before the others", func(t *testing.T) {
		a, _ := open(t)
		r := question("r1", "propose/1", "d1")
		for _, o := range []llm.Outcome{refused(llm.Network, "first"), refused(llm.Quota, "second")} {
			enter(t, a, r, &o)
			wantFound(t, a, r, &o)
		}
		for _, o := range []llm.Outcome{answered("old"), answered("new")} {
			enter(t, a, r, &o)
			wantFound(t, a, r, &o)
		}
		late, o := refused(llm.Auth, "late"), answered("new")
		enter(t, a, r, &late)
		wantFound(t, a, r, &o)
	})
	t.Run("what was spent", func(t *testing.T) { journalSums(t, open) })
	t.Run("several goroutines", func(t *testing.T) { journalTogether(t, open) })
}

// journalSums checks the sums: of the run, of all runs since a given time, and of a request that was begun and never ended.
func journalSums(t *testing.T, open func(t *testing.T) (first, second llm.Journal)) {
	a, b := open(t)
	if run, all, err := a.Spent(t.Context(), "r1", day); err != nil || run != (llm.Spent{}) || all != (llm.Spent{}) {
		t.Fatalf("an empty journal spent %v and %v, error %v", run, all, err)
	}
	early := question("r1", "s", "d1")
	early.Begun = day.Add(-time.Microsecond)
	one, unpriced, failed := answered("x"), answered("y"), refused(llm.Quota, "no")
	unpriced.Priced, unpriced.Cost = false, 0
	failed.Priced = true
	enter(t, a, early, &one)
	enter(t, b, question("r1", "s", "d2"), nil)
	enter(t, a, question("r1", "s", "d3"), &failed)
	enter(t, a, question("r2", "s", "d4"), &unpriced)

	var wantRun, wantAll llm.Spent
	open1 := question("", "", "").Outcome // the estimate counts
	for _, o := range []llm.Outcome{one, open1, failed} {
		wantRun.Add(o)
	}
	for _, o := range []llm.Outcome{open1, failed, unpriced} {
		wantAll.Add(o)
	}
	for _, j := range []llm.Journal{a, b} {
		run, all, err := j.Spent(t.Context(), "r1", day)
		if err != nil {
			t.Fatal(err)
		}
		if run != wantRun || all != wantAll {
			t.Errorf("spent %+v and %+v, want %+v and %+v", run, all, wantRun, wantAll)
		}
	}
}

// journalTogether checks that no record is lost or mixed up with another.
func journalTogether(t *testing.T, open func(t *testing.T) (first, second llm.Journal)) {
	a, b := open(t)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			r, o := question("r1", "s", fmt.Sprint(i)), answered(fmt.Sprint(i))
			number, err := []llm.Journal{a, b}[i%2].Begin(t.Context(), r)
			if err == nil {
				err = []llm.Journal{b, a}[i%2].End(t.Context(), number, o)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i := range 16 {
		o := answered(fmt.Sprint(i))
		wantFound(t, a, question("r1", "s", fmt.Sprint(i)), &o)
	}
	if run, _, err := a.Spent(t.Context(), "r1", day); err != nil || run.Requests != 16 {
		t.Errorf("%d requests are counted, error %v, want 16", run.Requests, err)
	}
}

// KeyStates is the suite for key states. open returns two handles on the same states, as two processes have them; no state is known
// yet.
func KeyStates(t *testing.T, open func(t *testing.T) (first, second llm.KeyStates)) {
	states := []llm.KeyState{
		{Vendor: "gemini", Key: "0a1b2c3d", Used: day},
		{Vendor: "gemini", Key: "0a1b2c3d", Until: day.Add(20 * time.Minute), Reason: llm.Quota},
		{Vendor: "gemini", Key: "0a1b2c3d", Until: day.Add(20 * time.Minute), Reason: llm.RateLimit},
		{Vendor: "gemini", Key: "0a1b2c3d", Until: day.Add(time.Second), Reason: llm.RateLimit, Used: day.Add(time.Microsecond)},
		{Vendor: "gemini", Key: "0a1b2c3d", Retired: llm.Balance},
		{Vendor: "gemini", Key: "0a1b2c3d", Retired: llm.Auth},
	}
	merged := llm.KeyState{
		Vendor: "gemini", Key: "0a1b2c3d", Used: day.Add(time.Microsecond),
		Until: day.Add(20 * time.Minute), Reason: llm.RateLimit, Retired: llm.Balance,
	}
	t.Run("nothing is known at first", func(t *testing.T) {
		a, _ := open(t)
		wantStates(t, a, "gemini")
	})
	t.Run("each state comes back, for another process too", func(t *testing.T) {
		for _, s := range states {
			a, b := open(t)
			save(t, a, s)
			wantStates(t, b, "gemini", s)
		}
	})
	t.Run("states merge in any order", func(t *testing.T) {
		for start := range states {
			a, b := open(t)
			for i := range states {
				save(t, []llm.KeyStates{a, b}[i%2], states[(start+i)%len(states)])
			}
			wantStates(t, a, "gemini", merged)
			for i := range states {
				save(t, b, states[len(states)-1-i])
			}
			wantStates(t, b, "gemini", merged)
		}
	})
	t.Run("states merge when they come at once", func(t *testing.T) {
		a, b := open(t)
		var group sync.WaitGroup
		for i, s := range states {
			group.Go(func() { save(t, []llm.KeyStates{a, b}[i%2], s) })
		}
		group.Wait()
		wantStates(t, a, "gemini", merged)
	})
	t.Run("vendors and keys are apart, the empty one included", func(t *testing.T) {
		a, _ := open(t)
		none := llm.KeyState{Vendor: "ollama", Used: day}
		other := llm.KeyState{Vendor: "gemini", Key: "ffffffff", Used: day}
		for _, s := range []llm.KeyState{states[0], none, other} {
			save(t, a, s)
		}
		wantStates(t, a, "ollama", none)
		wantStates(t, a, "gemini", states[0], other)
	})
}

// save saves s; it may be called by any goroutine.
func save(t *testing.T, k llm.KeyStates, s llm.KeyState) {
	t.Helper()
	if err := k.Save(t.Context(), s); err != nil {
		t.Errorf("save %+v: %v", s, err)
	}
}

// wantStates checks what is known about the keys of a vendor.
func wantStates(t *testing.T, k llm.KeyStates, vendor string, want ...llm.KeyState) {
	t.Helper()
	got, err := k.Load(t.Context(), vendor)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	slices.SortFunc(got, func(a, b llm.KeyState) int { return strings.Compare(a.Key, b.Key) })
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if d := cmp.Diff(want, got, cmp.Comparer(time.Time.Equal)); d != "" {
		t.Errorf("the states of %s (-want +got):\n%s", vendor, d)
	}
}
