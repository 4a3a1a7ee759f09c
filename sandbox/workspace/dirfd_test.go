package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// newHandle opens a tree for a test.
func newHandle(t testing.TB, dir string) *tree {
	t.Helper()
	tr, err := openTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.close() })
	return tr
}

// C02.
func TestATreeNeverFollowsALink(t *testing.T) {
	t.Parallel()
	victim := newTree(t, files{"d/f": "v"})
	dir := newTree(t, files{
		"in/f": "x", "link-in": "->in", "link-out": "->" + filepath.Join(victim, "d"), "up": "->..", "f": "->in/f", "from": "y",
	})
	before, outside := onDisk(t, dir), onDisk(t, victim)
	tr := newHandle(t, dir)
	for _, parent := range []string{"link-in", "link-out", "up"} {
		name := parent + "/f"
		for what, act := range map[string]func() error{
			"open":   func() error { _, err := tr.open(name, unix.O_RDONLY, 0); return err },
			"create": func() error { _, err := tr.open(parent+"/new", unix.O_WRONLY|unix.O_CREAT, 0o644); return err },
			"stat":   func() error { _, err := tr.stat(name); return err },
			"mkdir":  func() error { return tr.mkdir(parent+"/new", 0o755) },
			"rmdir":  func() error { return tr.rmdir(parent + "/new") },
			"unlink": func() error { return tr.unlink(name) },
			"move":   func() error { return tr.rename("from", parent+"/new", 0) },
			"take":   func() error { return tr.rename(name, "taken", 0) },
			"link":   func() error { return tr.link("from", parent+"/new") },
			"names":  func() error { _, err := tr.names(parent); return err },
			"sync":   func() error { return tr.sync(parent) },
			"mount":  func() error { _, err := tr.mount(parent); return err },
			"write":  func() error { return tr.write(parent+"/new", nil, 0o644) },
			"empty":  func() error { return errors.Join(tr.empty(parent), unix.ENOTDIR) },
		} {
			if err := act(); !gone(err) {
				t.Errorf("%s through %s: %v", what, parent, err)
			}
		}
	}
	if _, err := tr.open("f", unix.O_RDONLY, 0); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link is opened: %v", err)
	}
	same(t, "the workspace", before, onDisk(t, dir))
	same(t, "what is beside it", outside, onDisk(t, victim))
}

func TestATreeIsWhereItWasWhenItWasOpened(t *testing.T) {
	t.Parallel()
	parent := newTree(t, files{"a/f": "a", "b/f": "b"})
	tr := newHandle(t, filepath.Join(parent, "a"))
	if err := errors.Join(
		os.Rename(filepath.Join(parent, "a"), filepath.Join(parent, "c")),
		os.Rename(filepath.Join(parent, "b"), filepath.Join(parent, "a")),
	); err != nil {
		t.Fatal(err)
	}
	if text, err := tr.read("f"); string(text) != "a" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestATreeIsClosedOnce(t *testing.T) {
	t.Parallel()
	tr := newHandle(t, newTree(t, files{"f": ""}))
	if err := errors.Join(tr.close(), tr.close()); err != nil {
		t.Error(err)
	}
	if _, err := tr.stat("f"); !errors.Is(err, unix.EBADF) {
		t.Errorf("a closed tree: %v", err)
	}
}

func TestEmptyRemovesADirectoryWithAllThatIsInIt(t *testing.T) {
	t.Parallel()
	dir := newTree(t, files{"d/a": "", "d/e/f/g": "", "d/l": "->../keep", "keep/x": "", "d/e/void/": ""})
	tr := newHandle(t, dir)
	if err := tr.empty("d"); err != nil {
		t.Fatal(err)
	}
	if names, err := tr.names("."); err != nil || !slices.Equal(names, []string{"keep"}) {
		t.Errorf("left: %q, %v", names, err)
	}
	if _, err := tr.stat("keep/x"); err != nil {
		t.Error(err)
	}
	if err := tr.empty("d"); err != nil {
		t.Errorf("nothing there: %v", err)
	}
}

func TestWriteMakesAFileAnew(t *testing.T) {
	t.Parallel()
	dir := newTree(t, files{"old": "0755 long content", "target": "t", "link": "->target"})
	tr := newHandle(t, dir)
	for _, name := range []string{"old", "link", "new"} {
		if err := tr.write(name, []byte("short"), 0o600); err != nil {
			t.Error(err)
		}
		text, err := tr.read(name)
		st, serr := tr.stat(name)
		if string(text) != "short" || errors.Join(err, serr) != nil || st.Mode&0o777 != 0o600 {
			t.Errorf("%s: %q, %o, %v", name, text, st.Mode, errors.Join(err, serr))
		}
	}
	if text, err := tr.read("target"); string(text) != "t" || err != nil {
		t.Errorf("a write went through a link: %q, %v", text, err)
	}
	if err := tr.write("none/f", nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no directory: %v", err)
	}
	fifo(t, filepath.Join(dir, "fifo"))
	if _, err := tr.read("fifo"); err == nil {
		t.Error("a FIFO is read")
	}
}
