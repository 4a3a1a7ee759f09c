// Package imagestest gives tests the real engine, with the toolchain image of this source tree.
package imagestest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"agent/sandbox/enginetest"

	"agent/images"
	"agent/sandbox"
)

// A Setup is the real engine, a Builder on it, and the toolchain image with the guest of this source tree. The tests of
// a process share one, and it stays open.
type Setup struct {
	Engine    *sandbox.Engine
	Builder   *images.Builder
	Toolchain images.Image
}

// Open returns the setup; the first caller in a process creates it. Without an engine or the images the test fails; see
// enginetest.Need.
func Open(t testing.TB) Setup {
	t.Helper()
	enginetest.Need(t)
	s, err := open()
	if err != nil {
		t.Fatalf("these tests need a container engine and the toolchain image (make setup): %v", err)
	}
	return s
}

var open = sync.OnceValues(func() (Setup, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		return Setup{}, err
	}
	guest, err := buildGuest(ctx)
	if err != nil {
		return Setup{}, err
	}
	b := images.New(engine, guest, nil)
	toolchain, err := b.Ensure(ctx, images.Toolchain)
	return Setup{Engine: engine, Builder: b, Toolchain: toolchain}, err
})

// buildGuest compiles the guest with the flags of the Makefile, so that the image is the same one.
func buildGuest(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "guest")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "agent/cmd/guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the guest: %w: %s", err, out)
	}
	return os.ReadFile(program)
}
