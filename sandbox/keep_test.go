package sandbox_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"agent/sandbox"
	"agent/sandbox/boxtest"
	"agent/sandbox/guest"
)

// kill ends an owner without warning.
func kill(t *testing.T, p *os.Process, wait func() error) {
	t.Helper()
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = wait()
}

// A kept box outlives its process, however that process ends. Exactly one process gets it, and finds it as it was left.
func TestAKeptBoxWaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	owner, id := startOwner(t, ownerKeeps+"=kept")
	kill(t, owner.Process, owner.Wait)
	kept := find(t, engine, id)
	if _, err := engine.Reap(t.Context()); err != nil {
		t.Error(err)
	}
	if kept.Kept != "killed-owner" || kept.Keep != "kept" || !kept.Live || kept.State != "running" {
		t.Fatalf("%+v", kept)
	}
	box, err := engine.Reopen(t.Context(), kept)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if other, err := engine.Reopen(t.Context(), kept); !errors.Is(err, sandbox.ErrTaken) {
		t.Errorf("two have it: %v, %v", other, err)
	}
	if now := find(t, engine, id); now.Kept != "" || now.Owner != sandbox.Owner() || !now.Live {
		t.Errorf("in use it is %+v", now)
	}
	work := guest.Command{Args: []string{boxtest.Probe, "stubborn"}, Timeout: 200 * time.Millisecond, Grace: 100 * time.Millisecond}
	if r, err := box.Run(t.Context(), work); err != nil || !r.TimedOut {
		t.Errorf("%+v, %v", r, err)
	}
	if err := box.Keep(t.Context(), "second"); err != nil || find(t, engine, id).Kept != "second" {
		t.Errorf("kept anew: %v", err)
	}
	if _, err := box.Run(t.Context(), work); err == nil {
		t.Error("a box that was kept is still used")
	}
	if err := engine.Drop(t.Context(), sandbox.Kept{Kind: sandbox.KeptContainer, ID: id}); err != nil {
		t.Error(err)
	}
	if _, err := engine.Reopen(t.Context(), kept); !errors.Is(err, sandbox.ErrTaken) {
		t.Errorf("one that is gone: %v", err)
	}
}

// The process that reopened a box owns it: if it is killed while a command runs there, the remains are reaped.
func TestAReopenedBoxEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	owner, id := startOwner(t, ownerKeeps+"=reopened")
	for find(t, engine, id).Kept != "" { // the owner prints the ID before it reopens the box
		time.Sleep(10 * time.Millisecond)
	}
	if now := find(t, engine, id); !now.Live {
		t.Errorf("in use it is %+v", now)
	}
	kill(t, owner.Process, owner.Wait)
	if _, err := engine.Reap(t.Context()); err != nil {
		t.Error(err)
	}
	mustBeGone(t, engine, id)
}
