package sandbox_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"agent/sandbox"
	"agent/sandbox/boxtest"
)

// While boxes are wanted, the pool puts off the removal of released ones. It does not put it off when memory is short,
// nor for a box whose work was cancelled.
func TestPoolKeepsWhatWasReleasedUntilTheRoundIsOver(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	// There is room for all four once it is known what they hold; by their limits there is room for one.
	pool, spec := pooled(t, engine, sandbox.PoolConfig{Memory: 9 * sandbox.BoxCost})
	pool.Want(t.Context(), spec, 4)
	until(t, "more boxes than the limits allow", func() bool { return len(pool.Waiting()) == 4 })
	use := func(ctx context.Context) string {
		box, err := pool.Start(ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		if res := boxtest.Run(t, box, "exit", "0"); res.Exit != 0 {
			t.Fatalf("%+v", res)
		}
		if err := box.Release(ctx); err != nil {
			t.Fatal(err)
		}
		return box.ID()
	}
	ctx, cancel := context.WithCancel(t.Context())
	first, second := use(ctx), use(t.Context())
	third, err := pool.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	cancel() // the first two are no longer at work
	if err := third.Release(ctx); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of one that was cancelled", func() bool { return state(t, engine, third.ID()) == "" })
	if got := pool.Used(); !slices.Equal(got, []string{first, second}) || state(t, engine, first) != "running" {
		t.Errorf("%.12q wait to be removed, the first is %s", got, state(t, engine, first))
	}
	// The next round begins with as many boxes, and removes those of the last round.
	pool.Want(t.Context(), spec, 2)
	until(t, "the end of those of the last round", func() bool { return state(t, engine, first)+state(t, engine, second) == "" })
	fourth := use(t.Context())
	pool.Want(t.Context(), spec, 0)
	until(t, "the end of the last one", func() bool { return state(t, engine, fourth) == "" })
	last := use(t.Context()) // nothing is wanted any more
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	mustBeGone(t, engine, last)
	mustBeGone(t, engine, use(t.Context()))
}

func TestPoolRemovesWhatMemoryIsShortOf(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	pool, spec := pooled(t, engine, sandbox.PoolConfig{Memory: 3 * sandbox.BoxCost})
	spec.Limits.Memory = 2 * sandbox.BoxCost
	pool.Want(t.Context(), spec, 2)
	boxes := []*sandbox.Box{take(t, pool, spec), take(t, pool, spec)}
	for _, box := range boxes {
		// Each holds at least half a BoxCost more than a waiting box.
		if res := boxtest.Run(t, box, "fill", "/work/x"); res.PeakBytes < sandbox.BoxCost/2 {
			t.Errorf("%+v", res)
		}
		if err := box.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := pool.Used(); !slices.Equal(got, []string{boxes[1].ID()}) {
		t.Errorf("%.12q are kept of %.12s and %.12s", got, boxes[0].ID(), boxes[1].ID())
	}
}

// state returns the state of a box as the engine reports it, or "" if the box is gone.
func state(t *testing.T, engine *sandbox.Engine, id string) string {
	t.Helper()
	list, err := engine.Boxes(t.Context())
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for _, b := range list {
		if b.ID == id {
			return b.State
		}
	}
	return ""
}
