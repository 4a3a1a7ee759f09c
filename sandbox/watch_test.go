package sandbox_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"agent/sandbox"
	"agent/sandbox/boxtest"
	"agent/sandbox/guest"
)

// An ear records the calls that are made with its context.
type ear struct {
	mu    sync.Mutex
	calls []sandbox.Call
	ran   []sandbox.Ran
}

func (e *ear) Called(c sandbox.Call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, c)
}

func (e *ear) Ran(r sandbox.Ran) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ran = append(e.ran, r)
}

// heard lists the calls with the box's ID replaced.
func (e *ear) heard(box string) (list []string) {
	for _, c := range e.calls {
		list = append(list, c.Method+" "+strings.ReplaceAll(c.Path, box, "ID"))
	}
	return list
}

func TestEveryCallOfTheEngineIsToldOf(t *testing.T) {
	t.Parallel()
	engine, e := boxtest.Engine(t), &ear{}
	if _, err := engine.Info(t.Context()); err != nil { // not watched
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(sandbox.Watched(t.Context(), e))
	if _, err := engine.Info(ctx); err != nil {
		t.Fatal(err)
	}
	if id, _, err := engine.ImageLabels(ctx, "agent-no-such-image"); id != "" || err != nil {
		t.Errorf("an image that is not there: %s, %v", id, err)
	}
	if _, err := engine.DialHijack(ctx, "/no-such-stream", "h2c", nil); err == nil {
		t.Error("a stream that is not there")
	}
	cancel()
	if _, err := engine.Info(ctx); err == nil {
		t.Error("asked with a context that had ended")
	}
	for i, want := range []sandbox.Call{
		{Method: "GET", Path: "/info", Status: 200},
		{Method: "GET", Path: "/version", Status: 200},
		{Method: "GET", Path: "/images/agent-no-such-image/json", Status: 404},
		{Method: "POST", Path: "/no-such-stream"},
		{Method: "GET", Path: "/info"},
	} {
		got := e.calls[i]
		if got.Took <= 0 {
			t.Errorf("call %d took %v", i, got.Took)
		}
		if got.Took = 0; got != want {
			t.Errorf("call %d is %+v, want %+v", i, got, want)
		}
	}
	if len(e.calls) != 5 {
		t.Errorf("heard %+v", e.calls)
	}
}

// Calls for a pooled box are reported, until it is gone, to the caller that wanted it, and its commands to the caller that runs them.
func TestTheCallsOfAPooledBoxAreToldToWhoWantedIt(t *testing.T) {
	t.Parallel()
	engine, wanted, took := boxtest.Engine(t), &ear{}, &ear{}
	pool, spec := sandbox.NewPool(engine, sandbox.PoolConfig{}), boxtest.Spec(t)
	ctx := sandbox.Watched(t.Context(), took)
	pool.Want(sandbox.Watched(t.Context(), wanted), spec, 1)
	box, err := pool.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	result, err := box.Run(ctx, guest.Command{Args: []string{boxtest.Probe, "exit", "7"}})
	if err != nil || result.Exit != 7 {
		t.Errorf("%+v, %v", result, err)
	}
	if err := box.Release(ctx); err != nil {
		t.Error(err)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	got := wanted.heard(box.ID())
	for _, call := range []string{"POST /containers/create", "POST /containers/ID/attach", "GET /containers/ID/json", "POST /containers/ID/start", "DELETE /containers/ID"} {
		if !slices.Contains(got, call) || slices.Contains(took.heard(box.ID()), call) {
			t.Errorf("%s is not told to who wanted the box alone: %v, %v", call, got, took.heard(box.ID()))
		}
	}
	if len(wanted.ran) != 0 || len(took.ran) != 1 || took.ran[0].Box != box.ID() || took.ran[0].Args[2] != "7" || took.ran[0].Result.Exit != 7 || took.ran[0].Took <= 0 {
		t.Errorf("ran %+v and %+v", wanted.ran, took.ran)
	}
}
