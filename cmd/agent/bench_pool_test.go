//go:build bench

package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"agent/images"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
	"agent/sandbox/turns"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/room"
)

// frozenTree is a scanned workspace in the form that the image builder takes.
type frozenTree struct{ *workspace.Manifest }

func (t frozenTree) Files() []images.File {
	files := make([]images.File, len(t.Entries))
	for i, e := range t.Entries {
		files[i] = images.File{Path: e.Path, Mode: e.Mode.Perm(), Size: e.Size, Digest: e.Digest}
		if e.Kind == workspace.Dir {
			files[i].Mode |= fs.ModeDir
		}
	}
	return files
}

func (t frozenTree) Open(path string) (io.ReadCloser, error) { return t.Manifest.Open(path) }

// freeze scans the workspace at dir and returns it with the ID of its image, which the caller removes.
func freeze(t *testing.T, engine *sandbox.Engine, dir string) (*workspace.Manifest, string) {
	t.Helper()
	program, err := os.ReadFile(os.Getenv("AGENT_GUEST"))
	if err != nil {
		t.Fatal(err)
	}
	base, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	builder := images.New(engine, program, io.Discard)
	tools, err := builder.Ensure(t.Context(), images.Toolchain)
	if err != nil {
		t.Fatal(err)
	}
	image, err := builder.Snapshot(t.Context(), tools, frozenTree{base}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return base, image.ID
}

// benchPool times the way from a patch to its verdict, in a workspace of 10,000 files with one gate that does nothing,
// in boxes that were started ahead. That covers the choice of the gates, the lookup of the base in Postgres, the box,
// the patch in it, the gate and its judgement. What the next run is compared with is stored after that, as in a run.
// The reference is docker run of the same program.
func benchPool(t *testing.T) {
	const rounds, each = 13, 4
	ctx := t.Context()
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	base, image := freeze(t, engine, manyFiles(t, 10_000, ".txt"))
	pool := sandbox.NewPool(engine, sandbox.PoolConfig{})
	cache, _ := storetest.New(t)
	verifier := &verify.Verifier{Boxes: pool, Cache: cache, Turns: turns.New()}
	req := verify.Request{
		Run: "bench", Lease: time.Now().Add(30 * time.Minute), Base: base, Snapshot: image, Toolchain: image,
		Config: verify.Config{Gates: []verify.CustomGate{{Name: "nothing", Command: []string{"true"}}}},
	}
	spec := sandbox.Spec{Image: image, Run: req.Run, Lease: req.Lease, Limits: room.For(sandbox.Limits{}, base)}
	before, err := base.ReadFile("d000/f00000.txt")
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	judge := func() time.Duration {
		tries++ // no text occurs twice, so that no result of it is known
		req.Changeset = workspace.Changeset{Changes: []workspace.Change{
			{Op: workspace.Modify, Path: "d000/f00000.txt", Before: before, After: fmt.Appendf(nil, "try %d\n", tries), Mode: 0o644},
		}}
		started := time.Now()
		report, err := verifier.Verify(ctx, req, nil)
		took := time.Since(started)
		if err != nil || report.Verdict != verify.Pass || len(report.Gates) != 1 {
			t.Fatalf("%v: %+v", err, report)
		}
		if err := report.Baseline.Keep(ctx); err != nil {
			t.Fatal(err)
		}
		return took
	}
	judge() // after this the baseline is known
	var figures, references []time.Duration
	for n := range rounds {
		pool.Want(ctx, spec, each)
		awaitBoxes(t, engine, each)
		for range each {
			took := judge()
			if n > 0 { // the first round reads the image from disk
				figures = append(figures, took)
			}
		}
		references = append(references, median(t, 1, func() {
			if out, err := exec.Command("docker", "run", "--rm", "--network", "none", "--entrypoint", "/bin/true", image).CombinedOutput(); err != nil {
				t.Fatalf("docker run: %v\n%s", err, out)
			}
		}))
	}
	slices.Sort(figures)
	p50, p95, reference := figures[len(figures)/2], figures[len(figures)*95/100], middle(references)
	row("patch → verdict of a gate that does nothing, warm, 10,000 files, p50; against docker run --rm true", p50, reference,
		"≤ 10 ms and ≤ 0.05", p50 <= 10*time.Millisecond && p50 <= reference/20)
	row("the same, p95", p95, reference, "≤ 30 ms", p95 <= 30*time.Millisecond)
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	if err := engine.RemoveImage(ctx, image); err != nil {
		t.Error(err)
	}
}

// awaitBoxes waits until n boxes of the bench run, and a moment longer in which they fill /work.
func awaitBoxes(t *testing.T, engine *sandbox.Engine, n int) {
	t.Helper()
	for running := 0; running < n; time.Sleep(2 * time.Second) {
		boxes, err := engine.Boxes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		running = 0
		for _, b := range boxes {
			if b.Run == "bench" && b.Purpose == "pool" && b.State == "running" {
				running++
			}
		}
	}
}
