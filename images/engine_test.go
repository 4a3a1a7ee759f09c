package images

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"agent/sandbox/enginetest"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	docker "github.com/docker/docker/client"
	"go.uber.org/goleak"
)

// testGuest makes the toolchain image of these tests different from any other: it shares all layers but the last, and
// may be removed.
var testGuest = []byte("the guest of the tests of package images\n")

// TestMain removes the one image that all tests share, and checks that no build left a goroutine behind.
func TestMain(m *testing.M) {
	code := m.Run()
	if enginetest.Absent() { // no test made the image
		os.Exit(code)
	}
	if err := removeTestToolchain(); err != nil {
		os.Stderr.WriteString("remove the tests' toolchain: " + err.Error() + "\n")
		code = 1
	}
	if err := goleak.Find(); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

func removeTestToolchain() error {
	r, err := load(Toolchain, testGuest)
	if err != nil {
		return err
	}
	api, err := docker.NewClientWithOpts(docker.FromEnv, docker.WithAPIVersionNegotiation())
	if err != nil {
		return err
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return (&testEngine{Client: api}).RemoveImage(ctx, r.ref())
}

// testEngine is the real engine, limited to the few calls that a Builder makes.
type testEngine struct {
	*docker.Client
	only func(id string) bool // when set, listings show only these images
}

// newEngine connects to the engine; without one these tests are meaningless.
func newEngine(t testing.TB) *testEngine {
	t.Helper()
	enginetest.Need(t)
	api, err := docker.NewClientWithOpts(docker.FromEnv, docker.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	return &testEngine{Client: api}
}

// newBuilder returns a Builder with the tests' guest, its toolchain, and the engine under it.
func newBuilder(t testing.TB) (*Builder, Image, *testEngine) {
	t.Helper()
	e := newEngine(t)
	b := New(e, testGuest, nil)
	img, err := b.Ensure(t.Context(), Toolchain)
	if err != nil {
		t.Fatal(err)
	}
	return b, img, e
}

func (e *testEngine) ImageLabels(ctx context.Context, ref string) (string, map[string]string, error) {
	img, err := e.ImageInspect(ctx, ref)
	if errdefs.IsNotFound(err) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	if img.Config == nil {
		return img.ID, nil, nil
	}
	return img.ID, img.Config.Labels, nil
}

func (e *testEngine) ImagesLabelled(ctx context.Context, label string) ([]string, error) {
	list, err := e.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b image.Summary) int { return int(b.Created - a.Created) })
	var ids []string
	for _, img := range list {
		if e.only == nil || e.only(img.ID) {
			ids = append(ids, img.ID)
		}
	}
	return ids, nil
}

func (e *testEngine) ImportImage(ctx context.Context, rootfs io.Reader, ref string, labels ...string) error {
	return drain(e.ImageImport(ctx, image.ImportSource{Source: rootfs, SourceName: "-"}, ref, image.ImportOptions{}))
}

func (e *testEngine) PruneBuildCache(ctx context.Context, ids string, all bool) error {
	_, err := e.BuildCachePrune(ctx, build.CachePruneOptions{All: all, Filters: filters.NewArgs(filters.Arg("id", strconv.Quote(ids)))})
	return err
}

func (e *testEngine) PullImage(ctx context.Context, ref string) error {
	return drain(e.ImagePull(ctx, ref, image.PullOptions{}))
}

func (e *testEngine) RemoveImage(ctx context.Context, ref string) error {
	_, err := e.ImageRemove(ctx, ref, image.RemoveOptions{PruneChildren: true})
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil
	}
	return err
}

func (e *testEngine) DialHijack(ctx context.Context, url, proto string, meta map[string][]string) (net.Conn, error) {
	return e.Client.DialHijack(ctx, url, proto, meta)
}

func (e *testEngine) UserNamespaces(ctx context.Context) (bool, error) {
	info, err := e.Info(ctx)
	return slices.Contains(info.SecurityOptions, "name=userns"), err
}

// drain reads a stream of progress to its end.
func drain(r io.ReadCloser, err error) error {
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return errors.Join(err, r.Close())
}

// has reports whether the engine has an image with that name.
func (e *testEngine) has(t testing.TB, ref string) bool {
	t.Helper()
	id, _, err := e.ImageLabels(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return id != ""
}

// create makes a container; the end of the test removes it and its volumes.
func (e *testEngine) create(t testing.TB, config *container.Config, host *container.HostConfig) string {
	t.Helper()
	c, err := e.ContainerCreate(t.Context(), config, host, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		err := e.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil && !errdefs.IsNotFound(err) {
			t.Error(err)
		}
	})
	return c.ID
}

// export calls visit for each entry of an image's file system, read from a
// container that is never started.
func (e *testEngine) export(t testing.TB, img string, visit func(h *tar.Header, content []byte)) {
	t.Helper()
	id := e.create(t, &container.Config{Image: img, Cmd: []string{"none"}, NetworkDisabled: true}, nil)
	stream, err := e.ContainerExport(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	read(t, stream, visit)
}

// below is export for one place in an image, such as "usr/bin", with the same names: a whole image is over a gigabyte.
func (e *testEngine) below(t testing.TB, img, place string, visit func(h *tar.Header, content []byte)) {
	t.Helper()
	id := e.create(t, &container.Config{Image: img, Cmd: []string{"none"}, NetworkDisabled: true}, nil)
	stream, _, err := e.CopyFromContainer(t.Context(), id, "/"+place)
	if err != nil {
		t.Fatal(err)
	}
	above := strings.TrimSuffix(place, path.Base(place))
	read(t, stream, func(h *tar.Header, content []byte) {
		h.Name = above + h.Name
		visit(h, content)
	})
}

// read calls visit for each entry of an archive, with the content of some of the files.
func read(t testing.TB, stream io.ReadCloser, visit func(h *tar.Header, content []byte)) {
	t.Helper()
	defer stream.Close()
	r := tar.NewReader(stream)
	for {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var content bytes.Buffer
		if strings.HasSuffix(h.Name, "/is-number/package.json") || strings.HasPrefix(h.Name, "snapshot/") || strings.HasPrefix(h.Name, "agent/") || h.Name == "etc/passwd" || h.Name == "etc/group" {
			if _, err := io.Copy(&content, r); err != nil {
				t.Fatal(err)
			}
		}
		visit(h, content.Bytes())
	}
}
