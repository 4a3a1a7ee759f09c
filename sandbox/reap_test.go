package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"agent/sandbox"
	"agent/sandbox/boxtest"
	"agent/sandbox/guest"
)

// ownerImage names the variable that makes this program the owner of a box instead of a test: see beOwner.
const ownerImage = "AGENT_TEST_OWNER_IMAGE"

// beOwner starts a box of the image, prints its ID, and runs a command in it that does not end. It exists to be killed.
func beOwner(image string) error {
	ctx := context.Background()
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		return err
	}
	spec := sandbox.Spec{Image: image, Run: "killed-owner", Lease: time.Now().Add(time.Hour), Keep: os.Getenv(ownerKeeps)}
	box, err := engine.Start(ctx, spec)
	if err == nil && spec.Keep != "" {
		err = box.Keep(ctx, "killed-owner")
	}
	if err != nil {
		return err
	}
	fmt.Println(box.ID())
	if spec.Keep == "reopened" {
		box, err = engine.Reopen(ctx, sandbox.Leftover{ID: box.ID(), Kept: "killed-owner"})
	}
	if spec.Keep == "kept" || err != nil {
		return errors.Join(err, ctx.Err(), pause())
	}
	_, err = box.Run(ctx, guest.Command{Args: []string{boxtest.Probe, "escape", "2"}, Timeout: time.Hour})
	return err
}

// ownerKeeps names the variable that makes an owner keep its box, and reopen it if the value is "reopened".
const ownerKeeps = "AGENT_TEST_OWNER_KEEPS"

// pause waits to be killed.
func pause() error {
	_, err := os.Stdin.Read(make([]byte, 1))
	return err
}

// startOwner starts an owner with a box, and returns the owner and the box's ID.
func startOwner(t *testing.T, env ...string) (owner *exec.Cmd, id string) {
	t.Helper()
	owner = exec.Command(os.Args[0])
	owner.Env = slices.Concat(os.Environ(), []string{ownerImage + "=" + boxtest.Image(t)}, env)
	owner.Stderr = os.Stderr
	stdout, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := owner.StdinPipe(); err != nil { // the pipe stays open
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	id, err = bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the owner printed %q: %v", id, err)
	}
	return owner, strings.TrimSpace(id)
}

func TestReapRemovesWhatAKilledProcessLeft(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	owner, id := startOwner(t)
	before := find(t, engine, id)
	if !before.Live || before.State != "running" || before.Run != "killed-owner" {
		t.Errorf("while its owner lives: %+v", before)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // it was killed
	// The box ends by itself; only its remains wait for a reaper.
	waitUntilStopped(t, engine, id)
	if after := find(t, engine, id); after.Live {
		t.Errorf("after the death of its owner: %+v", after)
	}
	if _, err := engine.Reap(t.Context()); err != nil {
		t.Error(err)
	}
	mustBeGone(t, engine, id)
}

// find returns the box of that ID.
func find(t *testing.T, engine *sandbox.Engine, id string) sandbox.Leftover {
	t.Helper()
	boxes, err := engine.Boxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(boxes, func(l sandbox.Leftover) bool { return l.ID == id })
	if i < 0 {
		t.Fatalf("box %.12s is not listed", id)
	}
	return boxes[i]
}

// leave makes a container with these labels that its owner will never close.
func leave(t *testing.T, engine *sandbox.Engine, owner, lease string) string {
	t.Helper()
	labels := map[string]string{"agent.run": "left", "agent.owner": owner, "agent.lease": lease, "agent.purpose": "test"}
	if owner == "none" {
		delete(labels, "agent.owner")
	}
	made, err := engine.Raw().ContainerCreate(t.Context(), &container.Config{
		Image: boxtest.Image(t), Cmd: []string{boxtest.Probe, "stubborn"}, Labels: labels,
	}, &container.HostConfig{NetworkMode: "none", LogConfig: container.LogConfig{Type: "none"}}, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // no error check: it should have been reaped
		_ = engine.Raw().ContainerRemove(context.WithoutCancel(t.Context()), made.ID, container.RemoveOptions{Force: true})
	})
	return made.ID
}

// It is not parallel: the reaper of another test would take a box before the box has its state.
func TestReapRemovesEveryStateAndNothingOfOthers(t *testing.T) {
	engine := boxtest.Engine(t)
	raw := engine.Raw()
	start := func(id string) string {
		if err := raw.ContainerStart(t.Context(), id, container.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		return id
	}
	soon := strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)
	past := strconv.FormatInt(time.Now().Add(-time.Second).Unix(), 10)
	dead := ownerOf(t, os.Getpid(), "1") // this process's number, but of an earlier process
	paused := start(leave(t, engine, dead, soon))
	if err := raw.ContainerPause(t.Context(), paused); err != nil {
		t.Fatal(err)
	}
	exited := start(leave(t, engine, dead, soon))
	if err := raw.ContainerKill(t.Context(), exited, "KILL"); err != nil {
		t.Fatal(err)
	}
	waitUntilStopped(t, engine, exited)
	doomed := map[string]string{
		"created":                        leave(t, engine, dead, soon),
		"paused":                         paused,
		"exited":                         exited,
		"running":                        start(leave(t, engine, dead, soon)),
		"expired":                        start(leave(t, engine, sandbox.Owner(), past)),
		"of another host, expired":       leave(t, engine, "elsewhere/00000000/1/1/1", past),
		"with a lease that is no number": leave(t, engine, dead, "soon"),
	}
	kept := map[string]string{
		"of this process":          start(leave(t, engine, sandbox.Owner(), soon)),
		"of another host":          leave(t, engine, "elsewhere/00000000/1/1/1", soon),
		"that has no owner at all": leave(t, engine, "none", past), // not a box
	}
	// Two concurrent reapers share the work. Neither can tell for certain which of them removed a box: the engine says
	// yes to both while it deletes one. By the time that either is done, all are gone.
	var both sync.WaitGroup
	var mu sync.Mutex
	reaped := map[string]bool{}
	for range 2 {
		both.Go(func() {
			removed, err := engine.Reap(t.Context())
			if err != nil {
				t.Error(err)
			}
			for name, id := range doomed {
				if _, err := raw.ContainerInspect(t.Context(), id); !errdefs.IsNotFound(err) {
					t.Errorf("box %s is still there: %v", name, err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for _, l := range removed {
				reaped[l.ID] = true
			}
		})
	}
	both.Wait()
	for name, id := range kept {
		if _, err := raw.ContainerInspect(t.Context(), id); err != nil || reaped[id] {
			t.Errorf("box %s: reaped: %t, %v", name, reaped[id], err)
		}
	}
}

func TestBoxesTellWhatTheLabelsSay(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	spec := boxtest.Spec(t)
	box := boxtest.Start(t, engine, spec)
	got := find(t, engine, box.ID())
	want := sandbox.Leftover{
		ID: box.ID(), Run: "test", Purpose: t.Name(), Owner: sandbox.Owner(),
		Lease: time.Unix(spec.Lease.Unix(), 0), State: "running", Live: true,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
