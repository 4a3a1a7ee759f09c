package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"agent/sandbox"
	"agent/sandbox/boxtest"
)

// rawClient returns a client that bypasses the package under test.
func rawClient(t *testing.T) *client.Client {
	t.Helper()
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	return api
}

// labelled lists the containers with a label.
func labelled(t *testing.T, api *client.Client, label string) []container.Summary {
	t.Helper()
	list, err := api.ContainerList(context.WithoutCancel(t.Context()), container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAnErrandSaysHowItEndsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	engine, api := boxtest.Engine(t), rawClient(t)
	errand := func(ctx context.Context, args ...string) (sandbox.ErrandEnd, error) {
		return engine.Errand(ctx, sandbox.Errand{
			Image: boxtest.Image(t), Args: append([]string{boxtest.Probe}, args...), Files: map[string][]byte{"/tmp/note": []byte("remember")}, User: 10003,
		})
	}
	if end, err := errand(t.Context(), "read", "/tmp/note"); err != nil || end.Exit != 0 || !strings.Contains(string(end.Stdout), "remember") {
		t.Errorf("it says %q and %q and ends with %d (%v)", end.Stdout, end.Stderr, end.Exit, err)
	}
	if end, err := errand(t.Context(), "read", "/tmp/absent"); err != nil || end.Exit == 0 {
		t.Errorf("it ends with %d (%v)", end.Exit, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, cancel)
	if _, err := errand(ctx, "raise", "0"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// One errand belongs to a process that died, the other to this process: only the first is removed.
	dead := sandbox.Owner()[:strings.LastIndexByte(sandbox.Owner(), '/')] + "/1"
	for _, owner := range []string{dead, sandbox.Owner()} {
		if _, err := api.ContainerCreate(t.Context(), &container.Config{
			Image: boxtest.Image(t), Cmd: []string{boxtest.Probe}, Labels: map[string]string{"agent.errand": owner, "agent.test": t.Name()},
		}, nil, nil, nil, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := engine.ReapErrands(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := labelled(t, api, "agent.test="+t.Name())
	if len(left) != 1 || left[0].Labels["agent.errand"] != sandbox.Owner() {
		t.Errorf("left are %+v", left)
	}
	for _, c := range labelled(t, api, "agent.errand="+sandbox.Owner()) {
		if c.Labels["agent.test"] != t.Name() {
			t.Errorf("container %s is left of an errand", c.ID)
		}
		if err := api.ContainerRemove(t.Context(), c.ID, container.RemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	}
}

func TestAContainerOfTheAgentGoesOnWithTheNewImage(t *testing.T) {
	t.Parallel()
	engine, api := boxtest.Engine(t), rawClient(t)
	name := fmt.Sprintf("agent-handover-%d", os.Getpid())
	ref := name + ":current"
	// The two images differ in the environment that they set.
	made, err := api.ContainerCreate(t.Context(), &container.Config{Image: boxtest.Image(t), Cmd: []string{boxtest.Probe}}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for tag, set := range map[string]string{"old": "ENV BOTH=1 OLD=1", "next": "ENV BOTH=2"} {
		if _, err := api.ContainerCommit(t.Context(), made.ID, container.CommitOptions{Reference: name + ":" + tag, Changes: []string{set}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(api.ContainerRemove(t.Context(), made.ID, container.RemoveOptions{}), engine.TagImage(t.Context(), name+":old", ref)); err != nil {
		t.Fatal(err)
	}
	old, err := api.ContainerCreate(t.Context(), &container.Config{
		Image: ref, Entrypoint: []string{boxtest.Probe}, Cmd: []string{"raise", "0"}, Labels: map[string]string{"agent.role": "test", "agent.test": name}, Env: []string{"KEPT=1"},
	}, &container.HostConfig{NetworkMode: "none", ReadonlyRootfs: true}, nil, nil, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		for _, c := range labelled(t, api, "agent.test="+name) {
			if err := api.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true}); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(engine.RemoveImage(ctx, ref), engine.RemoveImage(ctx, name+":old"), engine.RemoveImage(ctx, name+":next")); err != nil {
			t.Error(err)
		}
	})
	if err := api.ContainerStart(t.Context(), old.ID, container.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	again := func(args []string) []string { return slices.Concat(args, []string{"again"}) }
	if err := engine.HandOver(t.Context(), ref, again); err != nil {
		t.Fatal(err)
	}
	if now, err := api.ContainerInspect(t.Context(), name); err != nil || now.ID != old.ID {
		t.Errorf("a container of the current image was replaced: %v", err)
	}
	// A hand-over was killed after the old container had stopped: the old one runs again.
	_, err = api.ContainerCreate(t.Context(), &container.Config{
		Image: ref, Labels: map[string]string{"agent.role": "test", "agent.test": name, "agent.successor": old.ID}, Cmd: []string{boxtest.Probe},
	}, nil, nil, nil, name+"-next")
	if err == nil {
		err = api.ContainerKill(t.Context(), old.ID, "KILL")
	}
	if err == nil {
		err = engine.HandOver(t.Context(), ref, again)
	}
	if err != nil {
		t.Fatal(err)
	}
	if now, err := api.ContainerInspect(t.Context(), name); err != nil || now.ID != old.ID || !now.State.Running || len(labelled(t, api, "agent.test="+name)) != 1 {
		t.Errorf("a hand-over that was killed is not settled: %v", err)
	}
	// A cancellation while the old container is being stopped leaves the successor in its place all the same.
	next, _, err := engine.ImageLabels(t.Context(), name+":next")
	if err == nil {
		err = engine.TagImage(t.Context(), next, ref)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told, _ := api.Events(ctx, events.ListOptions{Filters: filters.NewArgs(filters.Arg("container", old.ID), filters.Arg("event", "kill"))})
	go func() { <-told; cancel() }()
	if err := engine.HandOver(ctx, ref, again); err != nil {
		t.Error(err)
	}
	// A hand-over was killed before the successor had its name.
	err = api.ContainerRename(t.Context(), name, name+"-next")
	if err == nil {
		err = engine.HandOver(t.Context(), ref, again)
	}
	if err != nil {
		t.Fatal(err)
	}
	now, err := api.ContainerInspect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if now.ID == old.ID || now.Image != next || !now.State.Running || !now.HostConfig.ReadonlyRootfs || !slices.Contains(now.Config.Env, "KEPT=1") ||
		!slices.Contains(now.Config.Env, "BOTH=2") || slices.Contains(now.Config.Env, "OLD=1") ||
		!slices.Equal(now.Config.Cmd, []string{"raise", "0", "again"}) {
		t.Errorf("the successor is %s of %s, running %v, args %v, env %v", now.ID, now.Image, now.State.Running, now.Config.Cmd, now.Config.Env)
	}
	if left := labelled(t, api, "agent.test="+name); len(left) != 1 {
		t.Errorf("%d containers are left", len(left))
	}
}
