package verify

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/images"
	"agent/sandbox"
	"agent/sandbox/workspace"
)

// A memory is a Cache that lives as long as the test process.
type memory struct {
	mu    sync.Mutex
	rows  map[string][]byte
	loads []string // keys that were found
	saves []string
}

func newMemory() *memory { return &memory{rows: map[string][]byte{}} }

func (m *memory) Load(_ context.Context, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.rows[key]
	if ok {
		m.loads = append(m.loads, key)
	}
	return data, ok, nil
}

func (m *memory) Save(_ context.Context, key string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows[key] = data
	m.saves = append(m.saves, key)
	return nil
}

// A lab is the real engine with the real toolchain image.
type lab struct {
	engine    *sandbox.Engine
	builder   *images.Builder
	toolchain images.Image
	cache     *memory

	mu    sync.Mutex
	sites map[string]int // how many sites stand on a snapshot: equal workspaces share one
}

// openLab builds what all tests share, once: the toolchain image with the
// guest of this source tree, and a cache that remembers its proof.
var openLab = sync.OnceValues(func() (*lab, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	// The same flags as the Makefile's, so that the image is the same one.
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+"/guest", "agent/cmd/guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, &exec.Error{Name: string(out), Err: err}
	}
	guest, err := os.ReadFile(dir + "/guest")
	if err != nil {
		return nil, err
	}
	b := images.New(engine, guest, nil)
	toolchain, err := b.Ensure(ctx, images.Toolchain)
	return &lab{engine: engine, builder: b, toolchain: toolchain, cache: newMemory(), sites: map[string]int{}}, err
})

// newLab returns the lab; without an engine the test fails.
func newLab(t *testing.T) *lab {
	t.Helper()
	l, err := openLab()
	if err != nil {
		t.Fatalf("these tests need a container engine and the toolchain image (make setup): %v", err)
	}
	return l
}

// manifestTree shows a manifest to the image builder.
type manifestTree struct{ *workspace.Manifest }

func (m manifestTree) Files() []images.File {
	var files []images.File
	for _, e := range m.Entries {
		mode := e.Mode.Perm()
		switch e.Kind {
		case workspace.Dir:
			mode |= fs.ModeDir
		case workspace.Symlink:
			mode |= fs.ModeSymlink
		}
		files = append(files, images.File{Path: e.Path, Mode: mode, Size: e.Size, Digest: e.Digest, Target: e.Target})
	}
	return files
}

// A site is one workspace with its snapshot.
type site struct {
	lab      *lab
	dir      string
	base     *workspace.Manifest
	snapshot images.Image
	verifier *Verifier
	config   Config
}

// write puts files below dir; a name with an @ behind it is that of a link, and its
// text where that leads.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if link, ok := strings.CutSuffix(p, "@"); ok {
			err = os.Symlink(text, link)
		} else {
			err = os.WriteFile(p, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// scan makes a workspace of files and its manifest.
func scan(t *testing.T, files map[string]string) *workspace.Manifest {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	m, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// newSite makes a workspace of files and snapshots it.
func newSite(t *testing.T, files map[string]string) *site {
	t.Helper()
	return newSiteOn(t, newLab(t).toolchain, files)
}

// newSiteOn is newSite on an image with dependencies.
func newSiteOn(t *testing.T, image images.Image, files map[string]string) *site {
	t.Helper()
	l := newLab(t)
	base := scan(t, files)
	l.mu.Lock()
	defer l.mu.Unlock()
	snapshot, err := l.builder.Snapshot(t.Context(), image, manifestTree{base}, base.Root)
	if err != nil {
		t.Fatal(err)
	}
	l.sites[snapshot.ID]++
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.sites[snapshot.ID]--; l.sites[snapshot.ID] > 0 {
			return
		}
		if err := l.engine.RemoveImage(context.WithoutCancel(t.Context()), snapshot.ID); err != nil {
			t.Errorf("remove the snapshot: %v", err)
		}
	})
	return &site{
		lab: l, dir: base.Root, base: base, snapshot: snapshot,
		verifier: &Verifier{Boxes: l.engine, Cache: l.cache},
	}
}

// change makes the changeset that gives files these texts; "-" deletes one.
func change(t *testing.T, base *workspace.Manifest, files map[string]string) workspace.Changeset {
	t.Helper()
	var cs workspace.Changeset
	for _, p := range slices.Sorted(maps.Keys(files)) {
		c := workspace.Change{Op: workspace.Create, Path: p, After: []byte(files[p]), Mode: 0o644}
		if e, ok := base.Lookup(p); ok {
			before, err := base.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			c.Op, c.Before, c.Mode = workspace.Modify, before, e.Mode
		}
		if files[p] == "-" {
			c.Op, c.After = workspace.Delete, nil
		}
		cs.Changes = append(cs.Changes, c)
	}
	return cs
}

// request is the judgement of one changeset on the site.
func (s *site) request(cs workspace.Changeset) Request {
	return Request{
		Run: "verify-test", Lease: time.Now().Add(10 * time.Minute), Snapshot: s.snapshot.ID, Installed: s.snapshot.Installed, Toolchain: s.lab.toolchain.ID,
		Versions: s.lab.toolchain.Versions, Base: s.base, Changeset: cs, Config: s.config,
	}
}

// verify judges the patch that gives files these texts.
func (s *site) verify(t *testing.T, files map[string]string) Report {
	t.Helper()
	return s.judge(t, change(t, s.base, files))
}

// judge judges a changeset, and keeps what the next verdict is compared with.
func (s *site) judge(t *testing.T, cs workspace.Changeset) Report {
	t.Helper()
	report, err := s.verifier.Verify(t.Context(), s.request(cs), nil)
	if err != nil {
		t.Fatal(err)
	}
	if report.Baseline != nil {
		if err := report.Baseline.Keep(t.Context()); err != nil {
			t.Logf("costs time later: %v", err)
		}
	}
	return report
}

// find returns the gate of that name.
func find(t *testing.T, r Report, name string) Gate {
	t.Helper()
	for _, g := range r.Gates {
		if g.Name == name {
			return g
		}
	}
	t.Fatalf("no gate %s in %+v, skipped %+v", name, r.Gates, r.Skipped)
	return Gate{}
}

// expect checks the overall verdict and that just the gates named have that verdict.
func expect(t *testing.T, r Report, want Verdict, gates ...string) {
	t.Helper()
	if r.Verdict != want {
		t.Errorf("verdict %s, want %s", r.Verdict, want)
	}
	for _, g := range r.Gates {
		if bad := g.Verdict != Pass; bad != slices.Contains(gates, g.Name) {
			t.Errorf("gate %s: %s: %s %+v\n%s", g.Name, g.Verdict, g.Detail, g.Findings, g.Output)
		}
	}
	if t.Failed() {
		t.Logf("skipped: %+v", r.Skipped)
	}
}

// single returns the only finding of a gate and checks its place.
func single(t *testing.T, g Gate, rule, file string, line int) Finding {
	t.Helper()
	if len(g.Findings) != 1 {
		t.Fatalf("gate %s has %d findings: %+v", g.Name, len(g.Findings), g.Findings)
	}
	f := g.Findings[0]
	if f.Rule != rule || f.File != file || f.Line != line {
		t.Errorf("finding %+v, want %s at %s:%d", f, rule, file, line)
	}
	return f
}

// withTimeout is cfg as a session sees it.
func withTimeout(cfg Config) Config {
	cfg.Timeout = defaultTimeout
	return cfg
}

// proofKey is where the proof of this lab's image is kept.
func (l *lab) proofKey() string {
	return newStore(nil, l.toolchain.ID, toolchain, Config{}).proofKey()
}

// allProved is the row of a cache in which every check has proved itself.
func allProved() []byte {
	var names []string
	for _, c := range allChecks() {
		names = append(names, c.name)
	}
	row, err := json.Marshal(names)
	if err != nil {
		panic(err)
	}
	return row
}
