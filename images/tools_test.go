package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"

	"agent/images/registries"
)

// An archive without a full lower-case SHA-256 digest, or with a strange name, package or version, is refused.
func TestArchiveWithoutDigestOrWithAStrangeNameIsRefused(t *testing.T) {
	t.Parallel()
	good := archive{Name: "x", Version: "1.0.0", SHA256: strings.Repeat("a", 64)}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func(*archive){
		func(a *archive) { a.SHA256 = "" },
		func(a *archive) { a.SHA256 = strings.Repeat("A", 64) },
		func(a *archive) { a.SHA256 = a.SHA256[1:] },
		func(a *archive) { a.Name = "../x" },
		func(a *archive) { a.Package = "@a/b/c" },
		func(a *archive) { a.Version = "1/../2" },
	} {
		bad := good
		spoil(&bad)
		if err := bad.check(); err == nil {
			t.Errorf("%+v passes", bad)
		}
	}
	for _, a := range mustLoad(t, Toolchain, nil).NPM {
		if err := a.check(); err != nil {
			t.Error(err)
		}
	}
}

func TestEachProcessorHasItsArchivesOrAnError(t *testing.T) {
	t.Parallel()
	r := mustLoad(t, Toolchain, nil)
	for _, arch := range []string{"amd64", "arm64"} {
		picked, err := r.archivesFor(arch)
		if err != nil || len(picked) != len(r.NPM)-2 { // biome and node have one archive for each
			t.Errorf("%s gets %d archives of %d, %v", arch, len(picked), len(r.NPM), err)
		}
	}
	if _, err := r.archivesFor("riscv64"); err == nil || !strings.Contains(err.Error(), "no biome for riscv64") {
		t.Errorf("riscv64 gets %v", err)
	}
	scoped := archive{Name: "biome", Package: "@biomejs/cli-linux-x64", Version: "2.6.8"}
	if got, want := scoped.url("https://r"), "https://r/@biomejs/cli-linux-x64/-/cli-linux-x64-2.6.8.tgz"; got != want {
		t.Errorf("the address is %s", got)
	}
}

// TestStepsOfToolsCountWhereTheyRun: a digest that misses a script would keep an old image.
func TestStepsOfToolsCountWhereTheyRun(t *testing.T) {
	t.Parallel()
	if got := mustLoad(t, Toolchain, nil).steps(); len(got) != 6 {
		t.Errorf("the toolchain's steps are %v", got)
	}
	if got := mustLoad(t, Postgres, nil).steps(); len(got) != 2 {
		t.Errorf("the steps of Postgres are %v", got)
	}
}

// tgz returns an archive in npm's form.
func tgz(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		err := w.WriteHeader(&tar.Header{Name: "package/" + name, Size: int64(len(text)), Mode: 0o4644, Uid: 5, Gid: 5})
		if _, werr := w.Write([]byte(text)); err != nil || werr != nil {
			t.Fatal(err, werr)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestArchiveWithAnotherDigestIsNotBuiltIn runs its own registry, which serves one archive.
func TestArchiveWithAnotherDigestIsNotBuiltIn(t *testing.T) {
	t.Parallel()
	b, _, engine := newBuilder(t)
	content := tgz(t, map[string]string{"bin/x": "#!/bin/sh\necho " + rand.Text() + "\n"})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/npm/x/-/x-1.0.0.tgz" {
			_, _ = w.Write(content)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	src := registries.Set{NPM: server.URL + "/npm"}
	r := mustLoad(t, Toolchain, testGuest)
	ref := "agent-archives:" + rand.Text()
	build := func(a archive) error {
		r := &recipe{name: "archives", base: r.base, NPM: []archive{a}}
		return b.solve(t.Context(), ref, nil, func(_ context.Context, c gateway.Client) (llb.State, ocispecs.ImageConfig, error) {
			root := llb.Image(r.base.ref(), llb.ResolveModePreferLocal).AddEnv("PATH", buildPath)
			root, err := r.addTools(c, root, src, nil)
			return root, ocispecs.ImageConfig{}, err
		})
	}
	a := archive{Name: "x", Version: "1.0.0", SHA256: hash([]byte("other")), Bin: map[string]string{"x": "bin/x"}}
	err := build(a)
	if err == nil || engine.has(t, ref) {
		t.Fatalf("an archive with another digest is built in: %v", err)
	}
	if text := src.Explain(err).Error(); !strings.Contains(text, "not what the recipe pins") || !strings.Contains(text, "NPM_CONFIG_REGISTRY") {
		t.Errorf("the error does not say what to do: %s", text)
	}
	a.SHA256 = hash(content)
	if err := build(a); err != nil {
		t.Fatalf("the right archive: %v", src.Explain(err))
	}
	t.Cleanup(func() {
		if err := engine.RemoveImage(context.WithoutCancel(t.Context()), ref); err != nil {
			t.Error(err)
		}
	})
	seen := make(map[string]*tar.Header)
	for _, place := range []string{"usr/lib/agent", "usr/local/bin"} {
		engine.below(t, ref, place, func(h *tar.Header, _ []byte) { seen[h.Name] = h })
	}
	file, link := seen["usr/lib/agent/npm/x/bin/x"], seen["usr/local/bin/x"]
	if file == nil || file.Mode&0o7777 != 0o755 || file.Uid != 0 || link == nil || link.Linkname != "/usr/lib/agent/npm/x/bin/x" {
		t.Errorf("the archive lies in the image as %+v, linked as %+v", file, link)
	}
}

// TestGoInABoxCompilesOnlyWhatIsNew runs Go as a gate does: with a read-only root, no network and little memory. The
// output of -x names the packages that the compiler ran for: none may be of the standard library.
func TestGoInABoxCompilesOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	_, img, engine := newBuilder(t)
	id := engine.create(t, &container.Config{Image: img.ID, NetworkDisabled: true, Cmd: []string{"/bin/sh", "-euc", `
		export HOME=/tmp/home
		mkdir $HOME /tmp/m; cd /tmp/m
		printf 'module m\n\ngo 1.26\n' >go.mod
		printf 'package m\n\nimport "net/http"\n\nfunc unused() { _ = http.StatusOK }\n' >m.go
		printf 'package m\n\nimport "testing"\n\nfunc TestM(*testing.T) {}\n' >m_test.go
		go=/usr/lib/agent/go/run
		/usr/local/bin/go vet -x . 2>&1
		[ "$(/usr/local/bin/go env GOPROXY) $(GOPROXY=direct /usr/local/bin/go env GOPROXY)" = "off direct" ]
		for command in 'build' 'vet' 'vet -json' 'test'; do $go go $command -x . 2>&1; done
		$go staticcheck . && exit 1
		sleep 1
		echo "at home: $(find $HOME -type f)"
		echo end`}}, &container.HostConfig{
		CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"}, ReadonlyRootfs: true,
		Tmpfs:     map[string]string{"/tmp": "exec,size=64m,uid=10001"},
		Resources: container.Resources{Memory: 512 << 20, MemorySwap: 512 << 20},
	})
	if err := engine.ContainerStart(t.Context(), id, container.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	logs, err := engine.ContainerLogs(t.Context(), id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	var out bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &out, logs); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"-p m ", "ok  \tm", "func unused is unused (U1000)", "at home: /tmp/home/.config/go/telemetry/mode\nend\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in what Go says", want)
		}
	}
	for line := range strings.Lines(text) {
		if _, of, ok := strings.Cut(line, "/compile -o "); ok && !strings.Contains(of, " -p m ") && !strings.Contains(of, " -p main ") {
			t.Errorf("compiled anew: %.200s", line)
		}
	}
	if t.Failed() {
		t.Log(lastLines(text, 20))
	}
}
