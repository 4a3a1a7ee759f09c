//go:build bench

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/images"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
	"agent/verify"
	"agent/verify/room"
)

// whole makes every snapshot from scratch.
type whole struct{ *images.Builder }

func (whole) Near(context.Context, images.Image, images.Tree, string, func() images.Tree) (images.Image, images.Delta, error) {
	return images.Image{}, images.Delta{}, images.ErrAbsent
}

// A starter starts the first box of a request and judges nothing.
type starter struct {
	engine *sandbox.Engine
	ready  time.Time
}

func (s *starter) Verify(ctx context.Context, req verify.Request, _ func(verify.Event)) (verify.Report, error) {
	box, err := s.engine.Start(ctx, sandbox.Spec{
		Image: req.Snapshot, Delta: req.Delta, Run: req.Run, Purpose: "bench", Lease: req.Lease, Limits: room.For(sandbox.Limits{}, req.Base),
	})
	if err != nil {
		return verify.Report{}, err
	}
	s.ready = time.Now()
	return verify.Report{Verdict: verify.Fail, Changeset: req.Changeset}, box.Close()
}

// changeTen changes ten files of a workspace of manyFiles.
func changeTen(t *testing.T, dir, end string) {
	t.Helper()
	for i := range 10 {
		name := filepath.Join(dir, fmt.Sprintf("d%03d", i), fmt.Sprintf("f%05d%s", i*100, end))
		if err := os.WriteFile(name, fmt.Appendf(nil, "x = %d\n", time.Now().UnixNano()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// dropSnapshots removes the snapshots of a workspace.
func dropSnapshots(t *testing.T, engine *sandbox.Engine, dir string) {
	t.Helper()
	ids, err := engine.ImagesLabelled(t.Context(), "agent.workspace="+dir)
	for _, id := range ids {
		if err == nil {
			err = engine.RemoveImage(t.Context(), id)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// benchDelta times a run from its start to its first box when ten of 10,000 files have changed since the last run:
// alternately with a delta and with a whole snapshot.
func benchDelta(t *testing.T) {
	program, err := os.ReadFile(os.Getenv("AGENT_GUEST"))
	if err != nil {
		t.Fatal(err)
	}
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	db, _ := storetest.New(t)
	dir := manyFiles(t, 10_000, ".py")
	builder, box := images.New(engine, program, io.Discard), &starter{engine: engine}
	patch := []byte("<EDIT file=\"new.py\"><SEARCH></SEARCH><REPLACE>\nx = 1\n</REPLACE></EDIT>")
	first := func(by gate.Snapshotter) time.Duration {
		changeTen(t, dir, ".py")
		started := time.Now()
		r := &run.Runner{Store: db, Orphans: db, Images: by, Verifier: box}
		if doc := r.Run(t.Context(), run.Request{Workspace: dir, Patch: patch, NoPromote: true}); doc.Verdict != verify.Fail {
			t.Fatalf("%+v", doc.Error)
		}
		return box.ready.Sub(started)
	}
	first(builder)
	var near, all []time.Duration
	for range 7 {
		near, all = append(near, first(builder)), append(all, first(whole{builder}))
	}
	figure, reference := middle(near), middle(all)
	row("10 of 10,000 files changed → first box ready, by a delta; against a whole snapshot", figure, reference, "≤ 0.50", figure <= reference/2)
	dropSnapshots(t, engine, dir)
}

// heldBy runs a command and returns the most memory that it ever held, in bytes, as reported by the kernel until a few
// milliseconds before the end. The kernel's figure for an ended process includes the process that started it, which is
// large here.
func heldBy(t *testing.T, cmd *exec.Cmd) (most int64) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v: %v\n%s", cmd.Args, err, out.Bytes())
			}
			return most
		case <-time.After(5 * time.Millisecond):
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) // gone with the process
		var kib int64
		if _, line, found := strings.Cut(string(status), "VmHWM:"); found {
			fmt.Sscan(line, &kib)
		}
		most = max(most, kib<<10)
	}
}

// benchLarge runs the command on a workspace of 100,000 files plus a small program, first unchanged and then with ten
// changed files, and reports the most memory that it held.
func benchLarge(t *testing.T) {
	_, url := storetest.New(t)
	dir := manyFiles(t, 100_000, ".txt")
	if err := os.CopyFS(dir, os.DirFS("testdata/example")); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"the first run", "10 files changed"} {
		cmd := exec.Command(agentProgram, "sandbox", "run", "--workspace", dir, "--patch", "testdata/patches/good.xml", "--no-promote", "--json")
		cmd.Env = append(os.Environ(), "AGENT_DATABASE_URL="+url)
		started := time.Now()
		held := heldBy(t, cmd) >> 20
		took, mark := time.Since(started), "MISS"
		if held <= 256 {
			mark = "ok"
		}
		fmt.Printf("| peak memory of a run on 100,000 files, %s (%.0f s) | %d MiB | 256 MiB | | ≤ 256 MiB | %s |\n", what, took.Seconds(), held, mark)
		changeTen(t, dir, ".txt")
	}
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	dropSnapshots(t, engine, dir)
}
