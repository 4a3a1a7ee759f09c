package sandbox_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agent/sandbox"
	"agent/sandbox/boxtest"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
)

// pooled returns a pool, and a spec whose boxes belong to a run of the test's own.
func pooled(t *testing.T, engine *sandbox.Engine, config sandbox.PoolConfig) (*sandbox.Pool, sandbox.Spec) {
	t.Helper()
	pool, spec := sandbox.NewPool(engine, config), boxtest.Spec(t)
	spec.Run = "pool-" + strings.ToLower(t.Name())
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
		remaining, err := engine.Boxes(context.WithoutCancel(t.Context())) // the test's own has ended
		if err != nil {
			t.Error(err)
		}
		for _, box := range remaining {
			if box.Run == spec.Run {
				t.Errorf("the pool left %+v", box)
			}
		}
	})
	return pool, spec
}

// take takes a box from the pool and closes it when the test ends.
func take(t *testing.T, pool *sandbox.Pool, spec sandbox.Spec) *sandbox.Box {
	t.Helper()
	box, err := pool.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

// until waits until done reports true.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain: " + what)
		}
	}
}

// TestPoolHandsOutEachBoxOnce wants more boxes than may wait and takes more than it wanted, all at the same time. It is
// not parallel: no goroutine of another test may come or go meanwhile.
func TestPoolHandsOutEachBoxOnce(t *testing.T) {
	spec := boxtest.Spec(t)
	spec.Run = "pool-once"
	present := goleak.IgnoreCurrent()
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pool := sandbox.NewPool(engine, sandbox.PoolConfig{Size: 2})
	pool.Want(t.Context(), spec, 3)
	if ids := pool.Waiting(); len(ids) != 2 {
		t.Errorf("%d boxes wait, and no more than 2 may", len(ids))
	}
	const takers = 5
	var boxes [takers]*sandbox.Box
	var errs [takers]error
	var taking sync.WaitGroup
	for i := range takers {
		taking.Go(func() {
			if boxes[i], errs[i] = pool.Start(t.Context(), spec); errs[i] == nil {
				errs[i] = boxes[i].Apply(t.Context(), workspace.Changeset{Changes: []workspace.Change{
					{Op: workspace.Create, Path: "mine", After: []byte("x"), Mode: 0o644}, // refused if another taker has been in the box
				}})
			}
		})
	}
	taking.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	list, err := engine.Boxes(t.Context())
	if err != nil {
		t.Error(err)
	}
	used := map[string]int{}
	for _, box := range boxes {
		used[box.ID()]++
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(used) != takers {
		t.Errorf("%d takers share the boxes %v", takers, used)
	}
	purposes := map[string]int{}
	for _, box := range list {
		if box.Run == spec.Run && box.Live && box.Owner == sandbox.Owner() {
			purposes[box.Purpose]++
		}
	}
	// The third started once one of the first two had been taken, the others when they were asked for.
	if purposes["pool"] != 3 || purposes[spec.Purpose] != 2 {
		t.Errorf("boxes by purpose: %v", purposes)
	}
	// One box waits, and one is being started.
	pool.Want(t.Context(), spec, 1)
	pool.Waiting()
	pool.Want(t.Context(), spec, 2)
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	mustLeaveNothing(t, engine, spec.Run)
	engine.Close()
	if err := goleak.Find(present); err != nil {
		t.Error(err)
	}
}

func TestPoolReplacesABoxThatDied(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	pool, spec := pooled(t, engine, sandbox.PoolConfig{})
	pool.Want(t.Context(), spec, 2)
	ids := pool.Waiting()
	if err := engine.Raw().ContainerKill(t.Context(), ids[0], "KILL"); err != nil {
		t.Fatal(err)
	}
	waitUntilStopped(t, engine, ids[0])
	for i, box := range []*sandbox.Box{take(t, pool, spec), take(t, pool, spec)} {
		if id := box.ID(); id == ids[0] || (id == ids[1]) != (i == 0) {
			t.Errorf("box %d is %.12s; of %.12q the first had died", i, id, ids)
		}
		if res := boxtest.Run(t, box, "exit", "0"); res.Exit != 0 || res.Killed {
			t.Errorf("box %d: %+v", i, res)
		}
	}
}

func TestPoolGivesTheBoxToItsTaker(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	pool, spec := pooled(t, engine, sandbox.PoolConfig{})
	// The caller that wanted the box may be gone when it is taken.
	wanting, gone := context.WithCancel(t.Context())
	pool.Want(wanting, spec, 1)
	gone()
	ids := pool.Waiting()
	if len(ids) != 1 {
		t.Fatalf("%d boxes wait, not 1", len(ids))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	box, err := pool.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	if box.ID() != ids[0] {
		t.Errorf("got box %.12s, not %.12s that waited", box.ID(), ids[0])
	}
	why := errors.New("the taker has had enough")
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	if res, err := box.Run(t.Context(), guest.Command{Args: []string{boxtest.Probe, "stubborn"}}); !errors.Is(err, why) {
		t.Errorf("result %+v, error %v: the box went on without its taker", res, err)
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	mustBeGone(t, engine, box.ID())

	// A taker that ends while its box is still being started leaves no box behind.
	pool.Want(t.Context(), spec, 1)
	short, cancel2 := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel2(why) })
	if box, err := pool.Start(short, spec); err == nil {
		box.Close()
		t.Error("a box was started for nobody")
	}
	if n := pool.Pending(); n != 0 {
		t.Errorf("%d boxes wait that nobody wants", n)
	}
}

func TestPoolSharesNothingBetweenKinds(t *testing.T) {
	t.Parallel()
	pool, spec := pooled(t, boxtest.Engine(t), sandbox.PoolConfig{})
	spec.Limits.MaxFile = 0 // 100 MiB
	spec.Delta = &workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Delete, Path: "main.py"}, {Op: workspace.Create, Path: "new/file", After: []byte("new\n"), Mode: 0o644},
	}}
	pool.Want(t.Context(), spec, 1)
	ids := pool.Waiting()
	if len(ids) != 1 {
		t.Fatalf("%d boxes wait, not 1", len(ids))
	}
	for name, change := range map[string]func(*sandbox.Spec){
		"limits":  func(s *sandbox.Spec) { s.Limits.PIDs++ },
		"runtime": func(s *sandbox.Spec) { s.Runtime = "runc" },
		"delta":   func(s *sandbox.Spec) { s.Delta = nil },
		"lease":   func(s *sandbox.Spec) { s.Lease = s.Lease.Add(time.Hour) },
	} {
		other := spec
		change(&other)
		if box := take(t, pool, other); slices.Contains(ids, box.ID()) {
			t.Errorf("the box that waited was given to one with another %s", name)
		}
	}
	pool.Want(t.Context(), spec, 1) // the box with the other lease counted as one of them
	spec.Limits.MaxFile, spec.Purpose = 100<<20, "another"
	box := take(t, pool, spec)
	if box.ID() != ids[0] {
		t.Errorf("got box %.12s, not %.12s that waited", box.ID(), ids[0])
	}
	if tree := string(boxtest.Run(t, box, "tree", "/work").Stdout.Head); !strings.Contains(tree, "/work/new/file -rw-r--r-- \"new") || strings.Contains(tree, "main.py") {
		t.Errorf("its delta was not applied:\n%s", tree)
	}
	pool.Want(t.Context(), spec, 1)
	pool.Want(t.Context(), spec, 0)
	if n := pool.Pending(); n != 0 {
		t.Errorf("%d boxes wait that nobody wants", n)
	}
}

func TestPoolReplacesABoxThatWaitedTooLong(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	pool, spec := pooled(t, engine, sandbox.PoolConfig{Wait: 200 * time.Millisecond})
	pool.Want(t.Context(), spec, 1)
	first := pool.Waiting()
	until(t, "another box", func() bool { next := pool.Waiting(); return len(next) == 1 && !slices.Equal(next, first) })
	pool.Want(t.Context(), spec, 0)
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	mustBeGone(t, engine, first[0])
	// A closed pool starts nothing ahead.
	pool.Want(t.Context(), spec, 1)
	if n := pool.Pending(); n != 0 {
		t.Errorf("%d boxes wait in a closed pool", n)
	}
}

func TestPoolLeavesTroubleToWhoAsks(t *testing.T) {
	t.Parallel()
	pool, spec := pooled(t, boxtest.Engine(t), sandbox.PoolConfig{})
	spec.Image = "agent-boxtest:absent"
	pool.Want(t.Context(), spec, 2)
	until(t, "no more tries", func() bool { return pool.Pending() == 0 })
	if box, err := pool.Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "No such image") {
		t.Errorf("got box %v, error %v", box, err)
	}
}
