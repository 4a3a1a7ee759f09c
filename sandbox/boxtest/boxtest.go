// Package boxtest gives tests a real engine and a tiny image of their own that contains only the guest and a static
// probe program. Tests of other packages that need real tools use the toolchain image instead.
package boxtest

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/sandbox"
	"agent/sandbox/enginetest"
	"agent/sandbox/guest"
	"agent/sandbox/guest/sealed"
)

// Probe is the path of the probe program in the image. Its first argument names an action: see sandbox/testdata/probe.
const Probe = "/bin/probe"

// Snapshot lists the contents of the snapshot in the image, except for one link. A path that ends in a slash is a directory.
var Snapshot = []struct {
	Path, Content string
	Mode          fs.FileMode
}{
	{"main.py", "print('hello')\n", 0o644},
	{"run.sh", "#!/bin/sh\n", 0o755},
	{"read-only.txt", "keep\n", 0o444},
	{"shop/", "", 0o755},
	{"shop/stock.py", "stock = 1\n", 0o644},
	{"shop/deep/", "", 0o555},
	{"shop/deep/old.txt", "old\n", 0o664},
}

// imageRef names the image of this test process. Processes do not share one, since each removes its own.
var imageRef = fmt.Sprintf("agent-boxtest:%d", os.Getpid())

// buildImage builds and imports the image once.
var buildImage = sync.OnceValues(func() (string, error) {
	rootfs, err := rootFS("guest")
	if err != nil {
		return "", err
	}
	return importImage(rootfs, imageRef, sealed.Label+"="+snapshotKey)
})

// Main runs the tests and removes the image afterwards. Call it from TestMain.
func Main(m *testing.M) int {
	code := m.Run()
	if enginetest.Absent() { // no test made the image
		return code
	}
	if err := removeImage(imageRef); err != nil {
		fmt.Fprintln(os.Stderr, "remove the test image:", err)
		return max(code, 1)
	}
	return code
}

// Engine connects to the engine.
func Engine(t testing.TB) *sandbox.Engine {
	t.Helper()
	enginetest.Need(t)
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatalf("the tests need a Docker engine: %v", err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// Image returns the ID of the image.
func Image(t testing.TB) string {
	t.Helper()
	enginetest.Need(t)
	id, err := buildImage()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// BrokenImage returns the ID of an image whose guest is not a guest: it writes a line to its standard error and exits.
func BrokenImage(t testing.TB) string {
	t.Helper()
	enginetest.Need(t)
	rootfs, err := rootFS("probe")
	if err != nil {
		t.Fatal(err)
	}
	ref := imageRef + "-broken"
	id, err := importImage(rootfs, ref)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeImage(ref); err != nil {
			t.Error(err)
		}
	})
	return id
}

// Runtime is the engine's runtime for boxes of Spec, or "" for its default. `make test-runsc` sets it.
func Runtime() string { return os.Getenv("AGENT_TEST_RUNTIME") }

// OwnKernel reports whether the boxes have a kernel of their own, gVisor's.
func OwnKernel() bool { return Runtime() == "runsc" }

// Spec returns a spec for small boxes of the image.
func Spec(t testing.TB) sandbox.Spec {
	return sandbox.Spec{
		Image: Image(t), Runtime: Runtime(), Run: "test", Purpose: t.Name(), Lease: time.Now().Add(10 * time.Minute),
		Limits: sandbox.Limits{Memory: 256 << 20, CPUs: 1, PIDs: 128, Work: 32 << 20, Inodes: 2000, Tmp: 8 << 20, MaxFile: 16 << 20},
	}
}

// Start starts a box that is closed when the test ends.
func Start(t testing.TB, engine *sandbox.Engine, spec sandbox.Spec) *sandbox.Box {
	t.Helper()
	box, err := engine.Start(t.Context(), spec)
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

// Run runs the probe and fails the test when there is no result.
func Run(t testing.TB, box *sandbox.Box, args ...string) guest.Result {
	t.Helper()
	return RunCommand(t, box, guest.Command{Args: append([]string{Probe}, args...)})
}

// RunCommand runs a command and fails the test when there is no result.
func RunCommand(t testing.TB, box *sandbox.Box, c guest.Command) guest.Result {
	t.Helper()
	result, err := box.Run(t.Context(), c)
	if err != nil {
		t.Fatalf("run %q: %v", c.Args, err)
	}
	return result
}

// rootFS builds the programs and returns a tar of the image's files, with guestProgram as the guest.
func rootFS(guestProgram string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "boxtest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir+"/",
		"agent/cmd/guest", "agent/sandbox/testdata/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the guest and the probe: %w\n%s", err, out)
	}
	var image bytes.Buffer
	w := tar.NewWriter(&image)
	for _, name := range []string{"agent/", "bin/", "dev/", "etc/", "proc/", "snapshot/", "sys/", "tmp/", "work/"} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	for to, from := range map[string]string{"agent/guest": guestProgram, "bin/probe": "probe"} {
		program, err := os.ReadFile(filepath.Join(dir, from))
		if err != nil {
			return nil, err
		}
		if err := addFile(w, to, string(program), 0o755); err != nil {
			return nil, err
		}
	}
	if err := addSnapshot(w); err != nil {
		return nil, err
	}
	return image.Bytes(), w.Close()
}

// snapshotKey opens the snapshot in the image.
var snapshotKey = sealed.NewKey()

// addSnapshot adds the packs of Snapshot, with a link in addition to its files.
func addSnapshot(w *tar.Writer) error {
	entries := []sealed.Entry{{Path: "link", Mode: fs.ModeSymlink | 0o777, Target: "shop/stock.py"}}
	contents := map[string]string{}
	for _, f := range Snapshot {
		name, isDir := strings.CutSuffix(f.Path, "/")
		e := sealed.Entry{Path: name, Mode: f.Mode, Size: int64(len(f.Content))}
		if isDir {
			e.Mode |= fs.ModeDir
		}
		entries, contents[name] = append(entries, e), f.Content
	}
	for _, p := range sealed.Divide(entries) {
		pack := p.Seal(snapshotKey, func(name string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(contents[name])), nil })
		content, err := io.ReadAll(pack)
		if err != nil {
			return err
		}
		if err := addFile(w, "snapshot/"+p.Name, string(content), 0o444); err != nil {
			return err
		}
	}
	return nil
}

// addFile adds a file, or a directory when the name ends in a slash.
func addFile(w *tar.Writer, name, content string, mode fs.FileMode) error {
	head := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(mode), Size: int64(len(content))}
	if name[len(name)-1] == '/' {
		head.Typeflag = tar.TypeDir
	}
	if err := w.WriteHeader(head); err != nil {
		return err
	}
	_, err := w.Write([]byte(content))
	return err
}

// importImage makes an image.
func importImage(rootfs []byte, ref string, labels ...string) (id string, err error) {
	err = withEngine(func(ctx context.Context, engine *sandbox.Engine) error {
		if err := engine.ImportImage(ctx, bytes.NewReader(rootfs), ref, labels...); err != nil {
			return err
		}
		id, _, err = engine.ImageLabels(ctx, ref)
		return err
	})
	return id, err
}

// removeImage removes an image; in a test process that made none there is nothing to remove.
func removeImage(ref string) error {
	return withEngine(func(ctx context.Context, engine *sandbox.Engine) error {
		return engine.RemoveImage(ctx, ref)
	})
}

// withEngine calls f for work that belongs to the test process rather than to one test, and so has no test's context.
func withEngine(f func(context.Context, *sandbox.Engine) error) error {
	ctx := context.Background()
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		return err
	}
	defer engine.Close()
	return f(ctx, engine)
}
