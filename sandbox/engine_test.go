package sandbox_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/images"
	"agent/sandbox"
	"agent/sandbox/boxtest"
)

var _ images.Engine = (*sandbox.Engine)(nil)

func TestInfoDescribesTheEngine(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	info, err := engine.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Version == "" || info.APIVersion == "" || info.RuncVersion == "" || info.StorageDriver == "" || info.Root == "" ||
		info.NCPU < 1 || info.Memory < 1 || !slices.Contains(info.Runtimes, "runc") || info.FreeBytes == 0 {
		t.Errorf("info: %+v", info)
	}
	if info.CgroupVersion != "1" && info.CgroupVersion != "2" {
		t.Errorf("control groups of version %q", info.CgroupVersion)
	}
}

// mustBeUnavailable fails the test unless err is an UnavailableError with these words in its hint.
func mustBeUnavailable(t *testing.T, err error, hint string) {
	t.Helper()
	var unavailable *sandbox.UnavailableError
	if !errors.As(err, &unavailable) {
		t.Fatalf("error %v, want an UnavailableError", err)
	}
	if !strings.Contains(unavailable.Hint, hint) || !strings.Contains(err.Error(), hint) || unavailable.Err == nil || unavailable.Host == "" {
		t.Errorf("got error %v with hint %q, want a hint with %q", err, unavailable.Hint, hint)
	}
}

func TestConnectSaysWhatToDo(t *testing.T) {
	for name, test := range map[string]struct{ host, hint string }{
		"no socket":         {"unix://" + filepath.Join(t.TempDir(), "absent.sock"), "start Docker"},
		"nobody listens":    {"tcp://127.0.0.1:1", "start Docker"},
		"no address":        {"nonsense", "DOCKER_HOST"},
		"unknown transport": {"carrier-pigeon://coop", "DOCKER_HOST"},
		"no such host":      {"tcp://engine.invalid:2375", "DOCKER_HOST"},
		"nobody by ssh":     {"ssh://engine.invalid", "DOCKER_HOST"},
		"a secret in ssh":   {"ssh://me:secret@engine.invalid", "DOCKER_HOST"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", test.host)
			_, err := sandbox.Connect(t.Context())
			mustBeUnavailable(t, err, test.hint)
		})
	}
}

// listen serves HTTP on a socket file as DOCKER_HOST.
func listen(t *testing.T, answer http.HandlerFunc) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: answer}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() { server.Close(); <-done })
	t.Setenv("DOCKER_HOST", "unix://"+path)
}

func TestConnectRefusesAnOldEngine(t *testing.T) {
	listen(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.40") })
	_, err := sandbox.Connect(t.Context())
	mustBeUnavailable(t, err, "Docker 20.10 or later")
}

func TestConnectRefusesWhatIsNoEngine(t *testing.T) {
	listen(t, func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	_, err := sandbox.Connect(t.Context())
	mustBeUnavailable(t, err, "")
}

func TestConnectDoesNotWaitForAnEngineThatHangs(t *testing.T) {
	hang := make(chan struct{})
	listen(t, func(http.ResponseWriter, *http.Request) { <-hang })
	t.Cleanup(func() { close(hang) })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := sandbox.Connect(ctx); err == nil {
		t.Error("connected")
	}
}

func TestAnEngineThatIsStuckIsTold(t *testing.T) {
	stuck := make(chan struct{})
	listen(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		if strings.HasSuffix(r.URL.Path, "/info") {
			<-stuck
		}
	})
	t.Cleanup(func() { close(stuck) })
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	if err := engine.Patience(10 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	_, err = engine.Info(t.Context())
	mustBeUnavailable(t, err, "restart the engine")
}

// rootFS returns a tar with one file that has this content.
func rootFS(t *testing.T, content string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "f", Mode: 0o644, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestImagesComeAndGo(t *testing.T) {
	t.Parallel()
	engine, ctx := boxtest.Engine(t), t.Context()
	ref := "agent-boxtest-image:one"
	if err := engine.ImportImage(ctx, rootFS(t, "content"), ref); err != nil {
		t.Fatal(err)
	}
	id, labels, err := engine.ImageLabels(ctx, ref)
	if err != nil || !strings.HasPrefix(id, "sha256:") || len(labels) != 0 {
		t.Errorf("%s: ID %q, labels %v, error %v", ref, id, labels, err)
	}
	// A second tag must not keep the image when the image is removed by its ID.
	if err := engine.Raw().ImageTag(ctx, id, "agent-boxtest-image:two"); err != nil {
		t.Fatal(err)
	}
	if err := engine.RemoveImage(ctx, id); err != nil {
		t.Error(err)
	}
	for _, name := range []string{ref, "agent-boxtest-image:two", id} {
		if got, _, err := engine.ImageLabels(ctx, name); err != nil || got != "" {
			t.Errorf("%s is still %q, error %v", name, got, err)
		}
		if err := engine.RemoveImage(ctx, name); err != nil {
			t.Errorf("remove the absent %s: %v", name, err)
		}
	}
}

// Several callers that remove the same image at the same time all succeed: it is gone.
func TestAnImageIsRemovedByTwo(t *testing.T) {
	t.Parallel()
	engine, ctx := boxtest.Engine(t), t.Context()
	for n := range 20 {
		ref := fmt.Sprintf("agent-boxtest-image:by-two-%d", n)
		if err := engine.ImportImage(ctx, rootFS(t, ref), ref); err != nil {
			t.Fatal(err)
		}
		id, _, err := engine.ImageLabels(ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		for range 4 {
			both.Go(func() {
				if err := engine.RemoveImage(ctx, id); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if got, _, err := engine.ImageLabels(ctx, ref); err != nil || got != "" {
			t.Errorf("%s is still %q, error %v", ref, got, err)
		}
	}
}

func TestAnImageInUseStays(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	box := boxtest.Start(t, engine, boxtest.Spec(t))
	if err := engine.RemoveImage(t.Context(), boxtest.Image(t)); err != nil {
		t.Error(err)
	}
	if r := boxtest.Run(t, box, "exit", "0"); r.Exit != 0 {
		t.Errorf("the box lost its image: %+v", r)
	}
	if id, _, err := engine.ImageLabels(t.Context(), boxtest.Image(t)); err != nil || id == "" {
		t.Errorf("the image is gone: %v", err)
	}
}

func TestImportReportsWhatIsNoArchive(t *testing.T) {
	t.Parallel()
	err := boxtest.Engine(t).ImportImage(t.Context(), strings.NewReader(strings.Repeat("no tar", 1000)), "agent-boxtest-image:bad")
	if err == nil || !strings.Contains(err.Error(), "import image agent-boxtest-image:bad") {
		t.Errorf("got error %v", err)
	}
}

func TestPullReportsTheRegistrysError(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	// Nothing listens there. The engine reports that either at once or in its progress.
	if err := engine.PullImage(t.Context(), "127.0.0.1:1/absent:latest"); err == nil {
		t.Error("an image came out of nowhere")
	}
}

func TestImagesLabelledListsTheNewestFirst(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	ids, err := engine.ImagesLabelled(t.Context(), "agent.no-such-label")
	if err != nil || len(ids) != 0 {
		t.Errorf("listed %v, error %v", ids, err)
	}
}

func TestDialHijackNamesTheStream(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	conn, err := engine.DialHijack(t.Context(), "/session", "h2c", map[string][]string{
		"X-Docker-Expose-Session-Uuid": {"test"}, "X-Docker-Expose-Session-Name": {"test"},
	})
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if _, err := engine.DialHijack(t.Context(), "/no-such-stream", "h2c", nil); err == nil || !strings.Contains(err.Error(), "/no-such-stream") {
		t.Errorf("got error %v", err)
	}
}

// The tests of package images cover what an expression selects; here, selecting nothing is no error, and a cancelled call is one.
func TestPruneBuildCacheTakesAnExpression(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	if err := engine.PruneBuildCache(t.Context(), "^(?:no|such)$", false); err != nil {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := engine.PruneBuildCache(over, "^(?:no|such)$", true); !errors.Is(err, context.Canceled) {
		t.Errorf("an engine that was not asked: %v", err)
	}
}

// The stand-in for ssh does on this machine what ssh does on another one: it runs the command that follows the host's
// name, and carries its streams.
func TestAnEngineIsReachedBySSH(t *testing.T) {
	dir := t.TempDir()
	words := filepath.Join(dir, "words")
	script := "#!/bin/sh\nunset DOCKER_HOST\necho \"$*\" >>" + words + "\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nexec $*\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := boxtest.Spec(t)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("DOCKER_HOST", "ssh://me@engine.example:2222")
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	if r := boxtest.Run(t, boxtest.Start(t, engine, spec), "exit", "7"); r.Exit != 7 {
		t.Errorf("a command in a box by ssh: %+v", r)
	}
	said, err := os.ReadFile(words)
	for _, want := range []string{"-l me", "-p 2222", "BatchMode=yes", "-- engine.example docker system dial-stdio"} {
		if err != nil || !strings.Contains(string(said), want) {
			t.Errorf("ssh was called without %q: %s, %v", want, said, err)
		}
	}
	if info, err := engine.Info(t.Context()); err != nil || info.FreeBytes != -1 {
		t.Errorf("another machine's free space is told: %+v, %v", info, err)
	}
}
