package images

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/solver/pb"
)

func TestEnsureBuildsWhatFindFindsAndRecordsVersions(t *testing.T) {
	t.Parallel()
	b, built, _ := newBuilder(t)
	for _, name := range []string{Toolchain, Postgres} {
		img, err := b.Ensure(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		found, err := b.Find(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if found.ID != img.ID || found.Ref != img.Ref || !strings.HasPrefix(img.ID, "sha256:") {
			t.Errorf("Ensure gives %v, Find %v", img, found)
		}
		for tool := range mustLoad(t, name, testGuest).Tools {
			if found.Versions[tool] == "" {
				t.Errorf("%s records no version of %s: %v", name, tool, found.Versions)
			}
		}
		if name == Toolchain && img.ID != built.ID {
			t.Errorf("a second Ensure makes another image: %s, before %s", img.ID, built.ID)
		}
	}
	if v := built.Versions["python3"]; !strings.HasPrefix(v, "3.13.") {
		t.Errorf("python3 is %q", v)
	}
}

func TestFindOfAnotherGuestIsAbsent(t *testing.T) {
	t.Parallel()
	b := New(newEngine(t), []byte("a guest that nobody builds"), nil)
	if _, err := b.Find(t.Context(), Toolchain); !errors.Is(err, ErrAbsent) {
		t.Errorf("Find gives %v", err)
	}
}

func TestToolchainHoldsGuestFilesUserAndNoSetuid(t *testing.T) {
	t.Parallel()
	_, img, e := newBuilder(t)
	seen := make(map[string]*tar.Header)
	e.export(t, img.ID, func(h *tar.Header, content []byte) {
		name := strings.TrimSuffix(h.Name, "/")
		seen[name] = h
		switch {
		case h.Typeflag == tar.TypeReg && h.FileInfo().Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
			t.Errorf("%s gives rights to who starts it: %v", h.Name, h.FileInfo().Mode())
		case name == "agent/guest" && !bytes.Equal(content, testGuest):
			t.Errorf("the guest is %q", content)
		case name == "etc/passwd" || name == "etc/group":
			if strings.Contains(string(content), "agent") {
				t.Errorf("%s names the product:\n%s", name, content)
			}
			for id := range 1000 { // the users of boxes: sandbox/baseline.go
				line := fmt.Sprintf("\nuser%[1]d:x:%[1]d:", 20_000+id)
				if name == "etc/passwd" {
					line += fmt.Sprintf("%d::/tmp:/bin/bash\n", 20_000+id)
				}
				if !strings.Contains(string(content), line) {
					t.Errorf("%s lacks %q", name, line)
				}
			}
		case h.Uid >= 10_000 || h.Gid >= 10_000:
			t.Errorf("%s has owner %d:%d", name, h.Uid, h.Gid)
		case strings.HasPrefix(name, "var/lib/apt/lists/"):
			t.Errorf("%s is left", name)
		}
	})
	for name, mode := range map[string]fs.FileMode{
		"agent": 0o755, "agent/guest": 0o755, "agent/syntax.py": 0o555, "work": 0o755, "snapshot": 0o755, "usr/bin/ruff": 0o755,
	} {
		h := seen[name]
		if h == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		if got := h.FileInfo().Mode().Perm(); got&^0o111 != mode&^0o111 || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s has mode %v and owner %d:%d", name, got, h.Uid, h.Gid)
		}
	}
	conf, err := e.ImageInspect(t.Context(), img.ID)
	if err != nil {
		t.Fatal(err)
	}
	if c := conf.Config; c.User != "10001:10001" || len(c.Env) != 1 || len(c.Entrypoint)+len(c.Cmd) != 0 || len(c.Volumes) != 0 {
		t.Errorf("configuration is %+v", c)
	}
}

func TestPostgresImageHasNoSetuidAndNoCluster(t *testing.T) {
	t.Parallel()
	b, _, e := newBuilder(t)
	img, err := b.Ensure(t.Context(), Postgres)
	if err != nil {
		t.Fatal(err)
	}
	var home *tar.Header
	e.export(t, img.ID, func(h *tar.Header, _ []byte) {
		if h.Typeflag == tar.TypeReg && h.FileInfo().Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			t.Errorf("%s gives rights to who starts it: %v", h.Name, h.FileInfo().Mode())
		}
		if strings.HasSuffix(h.Name, "PG_VERSION") {
			t.Errorf("the image holds a cluster: %s", h.Name)
		}
		if h.Name == "var/lib/postgresql/" {
			home = h
		}
	})
	if home == nil || home.Uid != 10002 || home.Gid != 10002 || home.FileInfo().Mode().Perm() != 0o700 {
		t.Errorf("the volume's place is %+v", home)
	}
}

// TestPinThatTheArchiveReplacedIsSaidAndRecorded installs a small package, pinned to a version that never existed.
func TestPinThatTheArchiveReplacedIsSaidAndRecorded(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	var said bytes.Buffer
	b := New(e, nil, &said)
	spec := mustLoad(t, Postgres, nil).base
	r := &recipe{
		name: "test-moved", base: spec, digest: hash([]byte("test-moved")), Env: []string{"PATH=/usr/bin:/bin"},
		Packages: map[string]string{"netbase": "0.0-never"}, Tools: map[string]string{"bash": "bash --version"},
	}
	t.Cleanup(func() { removeImage(t, e, r.ref()) })
	img, err := b.ensure(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	_, labels, err := e.ImageLabels(t.Context(), img.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := labels["agent.package.netbase"]; got == "" || got == "0.0-never" {
		t.Errorf("netbase is recorded as %q", got)
	}
	if labels["agent.moved"] != "netbase=0.0-never" {
		t.Errorf("the moved pin is recorded as %q", labels["agent.moved"])
	}
	if !strings.Contains(said.String(), "the archive no longer has netbase=0.0-never") {
		t.Errorf("progress does not say so:\n%s", said.String())
	}
}

// removeImage removes an image that a test made, after the test's own context has ended.
func removeImage(t testing.TB, e *testEngine, ref string) {
	t.Helper()
	if err := e.RemoveImage(context.WithoutCancel(t.Context()), ref); err != nil {
		t.Error(err)
	}
}

func TestBrokenStepTellsItsLastWordsAndTagsNothing(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	r := &recipe{
		name: "test-broken", base: mustLoad(t, Postgres, nil).base, digest: hash([]byte("test-broken")),
		Prepare: "echo the disk is made of cheese; exit 7",
	}
	_, err := New(e, nil, nil).ensure(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "the disk is made of cheese") {
		t.Errorf("the error is %v", err)
	}
	if e.has(t, r.ref()) {
		t.Error("a broken build left a tag")
	}
}

func TestCancelledBuildEndsAndTagsNothing(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	r := &recipe{
		name: "test-cancelled", base: mustLoad(t, Postgres, nil).base, digest: hash([]byte("test-cancelled")),
		Prepare: "echo started; exec sleep 1000",
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The step's own output is the signal that it runs.
	_, err := New(e, nil, &onText{text: "started", do: cancel}).ensure(ctx, r)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the build ends with %v", err)
	}
	if e.has(t, r.ref()) {
		t.Error("a cancelled build left a tag")
	}
}

// onText calls do once text ends a line of the output written to it.
type onText struct {
	mu   sync.Mutex
	all  bytes.Buffer
	text string
	do   func()
}

func (o *onText) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all.Write(p)
	if strings.Contains(o.all.String(), " "+o.text+"\n") {
		o.do()
	}
	return len(p), nil
}

func TestBaseSaysWhatToDoWithoutMmdebstrap(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := New(newEngine(t), nil, nil).bootstrapBase(t.Context(), base{Suite: "trixie", Image: "debian:x", digest: hash(nil)})
	if err == nil || !strings.Contains(err.Error(), "apt-get install mmdebstrap") {
		t.Errorf("the error is %v", err)
	}
}

func TestBaseOfUnknownSuiteCarriesTheReasonAndImportsNothing(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	spec := base{Suite: "no-such-suite", Image: "debian:x", digest: hash([]byte("no-such-suite"))}
	err := New(e, nil, nil).bootstrapBase(t.Context(), spec)
	if err == nil || !strings.Contains(err.Error(), "mmdebstrap") || !strings.Contains(err.Error(), "no-such-suite") {
		t.Errorf("the error is %v", err)
	}
	if e.has(t, spec.ref()) {
		t.Error("half a base was imported")
	}
}

// remapped is an engine whose containers may have their own users.
type remapped struct {
	Engine
	own bool
}

func (r remapped) UserNamespaces(context.Context) (bool, error) { return r.own, nil }

func TestStepsShareTheHostsNetworkWhereTheyMay(t *testing.T) {
	t.Parallel()
	for own, want := range map[bool]pb.NetMode{false: pb.NetMode_HOST, true: pb.NetMode_UNSET} {
		out, err := New(remapped{own: own}, nil, nil).outside(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		def, err := llb.Image("base").Run(llb.Args([]string{"true"}), out).Root().Marshal(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		modes := map[pb.NetMode]bool{}
		for _, text := range def.Def {
			var op pb.Op
			if err := op.UnmarshalVT(text); err != nil {
				t.Fatal(err)
			}
			if x := op.GetExec(); x != nil {
				modes[x.Network] = true
			}
		}
		if len(modes) != 1 || !modes[want] {
			t.Errorf("with users of their own (%t) a step has the network %v, want %v", own, modes, want)
		}
	}
}
