// Package verifytest is the lab for the tests of package verify and of the packages below it: the real engine with
// the real toolchain image, workspaces and changesets of a few files, a cache in memory, and a box that only replays
// recorded answers of tools. It does not know any check.
package verifytest

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/images"
	"agent/images/imagestest"
	"agent/sandbox"
	"agent/sandbox/workspace"
)

// A Memory is a Cache that lives as long as the test process.
type Memory struct {
	mu    sync.Mutex
	Rows  map[string][]byte
	Loads []string // keys that were found
	Saves []string
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{Rows: map[string][]byte{}} }

// Load implements Cache.
func (m *Memory) Load(_ context.Context, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.Rows[key]
	if ok {
		m.Loads = append(m.Loads, key)
	}
	return data, ok, nil
}

// Save implements Cache.
func (m *Memory) Save(_ context.Context, key string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Rows[key] = data
	m.Saves = append(m.Saves, key)
	return nil
}

// A Lab is the real engine with the real toolchain image, and a cache that remembers its proof.
type Lab struct {
	imagestest.Setup
	Cache *Memory

	mu    sync.Mutex
	sites map[string]int // how many sites use a snapshot: equal workspaces share one
}

// shared is the lab of all tests in a process; the first of them sets its setup.
var (
	shared = &Lab{Cache: NewMemory(), sites: map[string]int{}}
	set    sync.Once
)

// Open returns the lab. Without an engine, the test fails.
func Open(t *testing.T) *Lab {
	t.Helper()
	setup := imagestest.Open(t)
	set.Do(func() { shared.Setup = setup })
	return shared
}

// manifestTree presents a manifest to the image builder.
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

// Write writes files below dir. A name that ends in @ stands for a symbolic link, and its text is the target.
func Write(t *testing.T, dir string, files map[string]string) {
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

// Scan creates a workspace with these files and returns its manifest.
func Scan(t *testing.T, files map[string]string) *workspace.Manifest {
	t.Helper()
	dir := t.TempDir()
	Write(t, dir, files)
	m, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Snapshot makes a snapshot of base on an image, and removes it after the last test that uses it.
func (l *Lab) Snapshot(t *testing.T, image images.Image, base *workspace.Manifest) images.Image {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	snapshot, err := l.Builder.Snapshot(t.Context(), image, manifestTree{base}, base.Root)
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
		if err := l.Engine.RemoveImage(context.WithoutCancel(t.Context()), snapshot.ID); err != nil {
			t.Errorf("remove the snapshot: %v", err)
		}
	})
	return snapshot
}

// Box starts a box of an image, or of the bare toolchain for "", and applies a changeset to it. It closes the box after the test.
func (l *Lab) Box(t *testing.T, image string, cs workspace.Changeset, limits sandbox.Limits) *sandbox.Box {
	t.Helper()
	box, err := l.Engine.Start(t.Context(), sandbox.Spec{
		Image: cmp.Or(image, l.Toolchain.ID), Run: "verify-test", Purpose: t.Name(), Lease: time.Now().Add(10 * time.Minute), Limits: limits,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := box.Apply(t.Context(), cs); err != nil {
		t.Fatal(err)
	}
	return box
}

// Change returns the changeset that gives files these texts; "-" deletes a file.
func Change(t *testing.T, base *workspace.Manifest, files map[string]string) workspace.Changeset {
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
