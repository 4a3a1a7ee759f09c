package runtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"agent/images"
	"agent/sandbox"
	"agent/sandbox/workspace"
)

// A Lab is the real engine with the toolchain image, in which the scanner is.
type Lab struct {
	Engine  *sandbox.Engine
	Builder *images.Builder
}

// OpenLab builds the image once, with the guest of this source tree.
var OpenLab = sync.OnceValues(func() (Lab, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		return Lab{}, err
	}
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		return Lab{}, err
	}
	defer os.RemoveAll(dir)
	// The same flags as the Makefile's, so that the image is the same one.
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+"/guest", "agent/cmd/guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return Lab{}, fmt.Errorf("build the guest: %w: %s", err, out)
	}
	guest, err := os.ReadFile(dir + "/guest")
	if err != nil {
		return Lab{}, err
	}
	return Lab{engine, images.New(engine, guest, nil)}, nil
})

// Scan writes the files into a new workspace and returns its manifest.
func Scan(t *testing.T, files map[string]string) *workspace.Manifest {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	base, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return base
}
