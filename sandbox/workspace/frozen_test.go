package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"agent/sandbox/workspace/internal/treetest"

	"github.com/google/go-cmp/cmp"
)

func TestWhatWasFrozenIsKnownUntilItsFileIsSpoilt(t *testing.T) {
	t.Parallel()
	tree := hundreds(100)
	dir := treetest.New(t, tree)
	if err := errors.Join(os.Symlink("d00", filepath.Join(dir, "link")), os.Mkdir(filepath.Join(dir, "empty"), 0o750)); err != nil {
		t.Fatal(err)
	}
	m := scan(t, dir)
	c := cacheIn(filepath.Join(t.TempDir(), "caches"), m.Root)
	if got := c.frozen(); got != nil {
		t.Errorf("before anything was kept: %d entries", len(got.Entries))
	}
	c.keepFrozen(m)
	got := c.frozen()
	if got == nil || got.Root != m.Root || got.Digest() != m.Digest() {
		t.Fatalf("it comes back as %+v", got)
	}
	if diff := cmp.Diff(m.Entries, got.Entries); diff != "" {
		t.Error(diff)
	}
	other := c
	other.root = "/elsewhere"
	if got := other.frozen(); got != nil {
		t.Errorf("another workspace in the same slot: %d entries", len(got.Entries))
	}
	name := c.file + frozenEnd
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func() error{
		"a byte":      func() error { return os.WriteFile(name, append(good[:len(good)-9:len(good)-9], "spoilt!!!"...), 0o600) },
		"cut short":   func() error { return os.WriteFile(name, good[:len(good)/2], 0o600) },
		"no manifest": func() error { seal(name, []byte("text")); return nil },
		"half of one": func() error { seal(name, []byte(unseal(name)[:len(good)/2])); return nil },
		"others read": func() error { return os.Chmod(name, 0o644) },
		"a link":      func() error { return errors.Join(os.Rename(name, name+"2"), os.Symlink(name+"2", name)) },
		"absent":      func() error { return os.Remove(name) },
	} {
		if err := errors.Join(os.RemoveAll(name), os.WriteFile(name, good, 0o600), spoil()); err != nil {
			t.Fatal(err)
		}
		if got := c.frozen(); got != nil {
			t.Errorf("%s: %d entries", what, len(got.Entries))
		}
	}
	// Without a place for the cache, nothing is kept and nothing fails.
	(cache{}).keepFrozen(m)
	if got := (cache{}).frozen(); got != nil {
		t.Errorf("from nowhere: %d entries", len(got.Entries))
	}
}
