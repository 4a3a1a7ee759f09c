package dirfd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"agent/sandbox/workspace/internal/treetest"

	"golang.org/x/sys/unix"
)

// C02.
func TestATreeNeverFollowsALink(t *testing.T) {
	t.Parallel()
	victim := treetest.New(t, treetest.Files{"d/f": "v"})
	dir := treetest.New(t, treetest.Files{
		"in/f": "x", "link-in": "->in", "link-out": "->" + filepath.Join(victim, "d"), "up": "->..", "f": "->in/f", "from": "y",
	})
	before, outside := treetest.OnDisk(t, dir), treetest.OnDisk(t, victim)
	tr := newHandle(t, dir)
	for _, parent := range []string{"link-in", "link-out", "up"} {
		name := parent + "/f"
		for what, act := range map[string]func() error{
			"open":   func() error { _, err := tr.Open(name, unix.O_RDONLY, 0); return err },
			"create": func() error { _, err := tr.Open(parent+"/new", unix.O_WRONLY|unix.O_CREAT, 0o644); return err },
			"stat":   func() error { _, err := tr.Stat(name); return err },
			"mkdir":  func() error { return tr.Mkdir(parent+"/new", 0o755) },
			"rmdir":  func() error { return tr.Rmdir(parent + "/new") },
			"unlink": func() error { return tr.Unlink(name) },
			"move":   func() error { return tr.Rename("from", parent+"/new", 0) },
			"take":   func() error { return tr.Rename(name, "taken", 0) },
			"link":   func() error { return tr.Link("from", parent+"/new") },
			"names":  func() error { _, err := tr.Names(parent); return err },
			"sync":   func() error { return tr.Sync(parent) },
			"mount":  func() error { _, err := tr.Mount(parent); return err },
			"write":  func() error { return tr.Write(parent+"/new", nil, 0o644) },
			"empty":  func() error { return errors.Join(tr.Empty(parent), unix.ENOTDIR) },
		} {
			if err := act(); !Gone(err) {
				t.Errorf("%s through %s: %v", what, parent, err)
			}
		}
	}
	if _, err := tr.Open("f", unix.O_RDONLY, 0); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link is opened: %v", err)
	}
	treetest.Same(t, "the workspace", before, treetest.OnDisk(t, dir))
	treetest.Same(t, "what is beside it", outside, treetest.OnDisk(t, victim))
}

func TestATreeIsWhereItWasWhenItWasOpened(t *testing.T) {
	t.Parallel()
	parent := treetest.New(t, treetest.Files{"a/f": "a", "b/f": "b"})
	tr := newHandle(t, filepath.Join(parent, "a"))
	if err := errors.Join(
		os.Rename(filepath.Join(parent, "a"), filepath.Join(parent, "c")),
		os.Rename(filepath.Join(parent, "b"), filepath.Join(parent, "a")),
	); err != nil {
		t.Fatal(err)
	}
	if text, err := tr.Read("f"); string(text) != "a" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestATreeIsClosedOnce(t *testing.T) {
	t.Parallel()
	tr := newHandle(t, treetest.New(t, treetest.Files{"f": ""}))
	if err := errors.Join(tr.Close(), tr.Close()); err != nil {
		t.Error(err)
	}
	if _, err := tr.Stat("f"); !errors.Is(err, unix.EBADF) {
		t.Errorf("a closed tree: %v", err)
	}
}

func TestEmptyRemovesADirectoryWithAllThatIsInIt(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"d/a": "", "d/e/f/g": "", "d/l": "->../keep", "keep/x": "", "d/e/void/": ""})
	tr := newHandle(t, dir)
	if err := tr.Empty("d"); err != nil {
		t.Fatal(err)
	}
	if names, err := tr.Names("."); err != nil || !slices.Equal(names, []string{"keep"}) {
		t.Errorf("left: %q, %v", names, err)
	}
	if _, err := tr.Stat("keep/x"); err != nil {
		t.Error(err)
	}
	if err := tr.Empty("d"); err != nil {
		t.Errorf("nothing there: %v", err)
	}
}

func TestWriteMakesAFileAnew(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"old": "0755 long content", "target": "t", "link": "->target"})
	tr := newHandle(t, dir)
	for _, name := range []string{"old", "link", "new"} {
		if err := tr.Write(name, []byte("short"), 0o600); err != nil {
			t.Error(err)
		}
		text, err := tr.Read(name)
		st, serr := tr.Stat(name)
		if string(text) != "short" || errors.Join(err, serr) != nil || st.Mode&0o777 != 0o600 {
			t.Errorf("%s: %q, %o, %v", name, text, st.Mode, errors.Join(err, serr))
		}
	}
	if text, err := tr.Read("target"); string(text) != "t" || err != nil {
		t.Errorf("a write went through a link: %q, %v", text, err)
	}
	if err := tr.Write("none/f", nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no directory: %v", err)
	}
	treetest.FIFO(t, filepath.Join(dir, "fifo"))
	if _, err := tr.Read("fifo"); err == nil {
		t.Error("a FIFO is read")
	}
}

// newHandle opens a tree for a test.
func newHandle(t testing.TB, dir string) *Tree {
	t.Helper()
	tr, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}
