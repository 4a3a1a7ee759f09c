package ledger_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"agent/sandbox/boxtest"

	"agent/images"
	"agent/orchestrator/ledger"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/symbols"
)

// A lab is the real engine with the toolchain image, in which the scanner is.
type lab struct {
	engine    *sandbox.Engine
	toolchain string
}

// openLab builds the image once, with the guest of this source tree.
var openLab = sync.OnceValues(func() (lab, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		return lab{}, err
	}
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		return lab{}, err
	}
	defer os.RemoveAll(dir)
	// The same flags as the Makefile's, so that the image is the same one.
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+"/guest", "agent/cmd/guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return lab{}, &exec.Error{Name: string(out), Err: err}
	}
	guest, err := os.ReadFile(dir + "/guest")
	if err != nil {
		return lab{}, err
	}
	image, err := images.New(engine, guest, nil).Ensure(ctx, images.Toolchain)
	return lab{engine, image.ID}, err
})

// startBox starts a box in which these files stand in /work.
func startBox(t testing.TB, files map[string]string) *sandbox.Box {
	t.Helper()
	boxtest.NeedsEngine(t)
	l, err := openLab()
	if err != nil {
		t.Fatalf("these tests need a container engine and the toolchain image (make setup): %v", err)
	}
	box, err := l.engine.Start(t.Context(), sandbox.Spec{
		Image: l.toolchain, Run: "ledger-test", Purpose: t.Name(), Lease: time.Now().Add(10 * time.Minute),
		Limits: sandbox.Limits{Work: 512 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	var cs workspace.Changeset
	for _, p := range slices.Sorted(maps.Keys(files)) {
		cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Create, Path: p, Mode: 0o644, After: []byte(files[p])})
	}
	if err := box.Apply(t.Context(), cs); err != nil {
		t.Fatal(err)
	}
	return box
}

// scan scans the files in a box, by path.
func scan(t testing.TB, files map[string]string) map[string]ledger.File {
	t.Helper()
	found := map[string]ledger.File{}
	for _, f := range scanIn(t, startBox(t, files), slices.Sorted(maps.Keys(files))) {
		found[f.Path] = f
	}
	return found
}

// scanIn scans the files at paths, which stand in the box.
func scanIn(t testing.TB, box *sandbox.Box, paths []string) []ledger.File {
	t.Helper()
	var all []ledger.File
	err := symbols.Scan(t.Context(), box, "/work", paths, func(paths []string, answer []byte) error {
		files, err := ledger.Decode(bytes.NewReader(answer), paths)
		all = append(all, files...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
