package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
)

// iteration returns an iteration as a loop begins it.
func iteration(id string) loop.Iteration {
	return loop.Iteration{
		ID: id, Workspace: shop, Owner: "me", Fence: "fence of " + id, Phase: loop.Work,
		Order:   loop.Order{Loop: id, Goal: "mend it", Scope: []string{"a.py"}, Iterations: 3},
		Started: time.Now().UTC().Truncate(time.Microsecond),
	}
}

// wantLast checks the last iteration; a zero want means none.
func wantLast(t *testing.T, db *store.DB, want loop.Iteration) {
	t.Helper()
	got, ok, err := db.LastIteration(t.Context(), shop)
	if err != nil || ok != (want.ID != "") {
		t.Fatalf("last: %v, %v", ok, err)
	}
	if d := cmp.Diff(want, got, cmp.Comparer(time.Time.Equal)); d != "" {
		t.Errorf("the last iteration (-want +got):\n%s", d)
	}
}

func TestAnIterationIsCarriedOn(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	wantLast(t, a, loop.Iteration{})
	first, err := a.StartIteration(t.Context(), iteration("01a"))
	must(t, err)
	if first.N != 1 {
		t.Errorf("the first iteration is number %d", first.N)
	}
	wantLast(t, b, first)
	first.Plan, first.Run, first.Outcome, first.Session = []byte(`{"b":1, "a":"\u0000"}`), "01run", "promoted\x00", "did\xff"
	must(t, a.SaveIteration(t.Context(), first))
	first.Outcome, first.Session = "promoted\uFFFD", "did\uFFFD"
	wantLast(t, b, first)

	learning, working := first, first
	learning.Phase = loop.Learn
	must(t, b.SaveIteration(t.Context(), learning))
	wantError(t, "back to work", a.SaveIteration(t.Context(), working), run.ErrFenced)
	wantLast(t, a, learning)
	settled := learning
	settled.Phase = loop.Settled
	must(t, b.SaveIteration(t.Context(), settled))
	must(t, b.SaveIteration(t.Context(), settled))
	wantError(t, "back to learning", a.SaveIteration(t.Context(), learning), run.ErrFenced)
	wantLast(t, a, settled)

	second, err := b.StartIteration(t.Context(), iteration("01b"))
	must(t, err)
	other := iteration("01c")
	other.Workspace = "/other"
	third, err := a.StartIteration(t.Context(), other)
	must(t, err)
	if second.N != 2 || third.N != 1 {
		t.Errorf("numbers %d and %d, want 2, and 1 for another workspace", second.N, third.N)
	}
	wantLast(t, a, second)
	if err := a.SaveIteration(t.Context(), iteration("nobody's")); err == nil || !strings.Contains(err.Error(), "never started") {
		t.Errorf("an unknown iteration: got %v", err)
	}
	second.Phase = "dancing"
	if err := a.SaveIteration(t.Context(), second); err == nil || !strings.Contains(err.Error(), "iteration_phase_check") {
		t.Errorf("an unknown phase: got %v", err)
	}
}

func TestAWorkspaceHasOneOpenIteration(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	for round := range 3 {
		one(t, func(i int) error {
			_, err := []*store.DB{a, b}[i%2].StartIteration(t.Context(), iteration(fmt.Sprint("01", round, i)))
			return err
		})
		it, ok, err := a.LastIteration(t.Context(), shop)
		if err != nil || !ok || it.N != round+1 || it.Phase != loop.Work {
			t.Fatalf("round %d: iteration %d, %v, %v", round, it.N, ok, err)
		}
		it.Phase = loop.Settled
		must(t, a.SaveIteration(t.Context(), it))
	}
}

func TestAnIterationHasOneOwner(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	old, err := a.StartIteration(t.Context(), iteration("01a"))
	must(t, err)
	one(t, func(i int) error {
		_, err := []*store.DB{a, b}[i%2].TakeIteration(t.Context(), old, fmt.Sprint("heir ", i))
		return err
	})
	wantError(t, "the old owner writes", a.SaveIteration(t.Context(), old), run.ErrFenced)
	now, _, err := a.LastIteration(t.Context(), shop)
	must(t, err)
	now.Run = "01run"
	must(t, b.SaveIteration(t.Context(), now))
}

func TestASingleRunIsNotTheLastLoop(t *testing.T) {
	t.Parallel()
	a, _, _ := two(t)
	first, err := a.StartIteration(t.Context(), iteration("01loop"))
	must(t, err)
	first.Phase = loop.Settled
	must(t, a.SaveIteration(t.Context(), first))
	single := iteration("01single")
	single.Order.Single = true
	single, err = a.StartIteration(t.Context(), single)
	must(t, err)
	wantLast(t, a, single) // an open one must be considered
	single.Phase = loop.Settled
	must(t, a.SaveIteration(t.Context(), single))
	wantLast(t, a, first)
}

func TestALoopIsFoundByTheBeginningOfItsName(t *testing.T) {
	t.Parallel()
	a, _, _ := two(t)
	for _, id := range []string{"01aa", "01ab", "01b"} {
		it := iteration(id)
		if id == "01ab" {
			it.Order.Loop = "01aa"
		}
		it, err := a.StartIteration(t.Context(), it)
		must(t, err)
		it.Phase = loop.Settled
		must(t, a.SaveIteration(t.Context(), it))
	}
	list, err := a.LoopIterations(t.Context(), "01a")
	must(t, err)
	if len(list) != 2 || list[0].ID != "01aa" || list[1].ID != "01ab" {
		t.Errorf("the loop has %d iterations", len(list))
	}
	_, err = a.LoopIterations(t.Context(), "01")
	if _, ok := errors.AsType[*database.AmbiguousError](err); !ok {
		t.Errorf("two loops: got %v", err)
	}
	for _, none := range []string{"", "02", "01ab"} {
		_, err = a.LoopIterations(t.Context(), none)
		wantError(t, none, err, database.ErrNotFound)
	}
}

func TestTheRunOfAnIterationIsItsLast(t *testing.T) {
	t.Parallel()
	a, _, _ := two(t)
	if _, _, ok, err := a.RunOf(t.Context(), "01iter"); ok || err != nil {
		t.Errorf("before there is one: %v, %v", ok, err)
	}
	for i, id := range []string{"02run", "01run"} {
		r := record(id)
		r.Iteration, r.Started = "01iter", r.Started.Add(time.Duration(i)*time.Second)
		must(t, a.Create(t.Context(), r))
	}
	if id, state, ok, err := a.RunOf(t.Context(), "01iter"); id != "01run" || state != run.Queued || !ok || err != nil {
		t.Errorf("got %s, %s, %v, %v", id, state, ok, err)
	}
}
