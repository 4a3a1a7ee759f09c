package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/sandbox/workspace/internal/treetest"
)

func TestReadFileGivesTheScannedBytesOrAnError(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"f": "content", "d/": "", "l": "->f", "empty": ""})
	m := scan(t, dir)
	if got, err := m.ReadFile("f"); string(got) != "content" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := m.ReadFile("empty"); len(got) != 0 || err != nil {
		t.Errorf("empty file: %q, %v", got, err)
	}
	if _, err := m.ReadFile("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	for _, name := range []string{"d", "l", "../" + filepath.Base(dir) + "/f"} {
		if _, err := m.ReadFile(name); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

func TestReadingNoticesEveryChangeSinceTheScan(t *testing.T) {
	t.Parallel()
	victim := filepath.Join(treetest.New(t, treetest.Files{"v": "content"}), "v")
	for what, change := range map[string]func(name string) error{
		"other bytes": func(name string) error { return os.WriteFile(name, []byte("CONTENT"), 0o644) },
		"fewer bytes": func(name string) error { return os.Truncate(name, 3) },
		"more bytes":  func(name string) error { return os.WriteFile(name, []byte("content and more"), 0o644) },
		"none":        os.Remove,
		"a directory": func(name string) error { return errors.Join(os.Remove(name), os.Mkdir(name, 0o755)) },
		"a link":      func(name string) error { return errors.Join(os.Remove(name), os.Symlink(victim, name)) },
		"a parent link": func(name string) error {
			return errors.Join(os.RemoveAll(filepath.Dir(name)), os.Symlink(filepath.Dir(victim), filepath.Dir(name)))
		},
		"a FIFO": func(name string) error { treetest.FIFO(t, name+"2"); return os.Rename(name+"2", name) },
	} {
		dir := treetest.New(t, treetest.Files{"d/v": "content"})
		m := scan(t, dir)
		if err := change(filepath.Join(dir, "d/v")); err != nil {
			t.Fatal(err)
		}
		var changed *ChangedError
		if _, err := m.ReadFile("d/v"); !errors.As(err, &changed) || changed.Path != "d/v" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestTheReaderEndsInAChangedErrorAndNeverInEOF(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"f": strings.Repeat("x", 10_000)})
	m := scan(t, dir)
	r, err := m.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 5000)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "f"), 7000); err != nil {
		t.Fatal(err)
	}
	var changed *ChangedError
	if _, err := io.Copy(io.Discard, r); !errors.As(err, &changed) {
		t.Errorf("got %v", err)
	}
}

func TestTheManifestAfterAChangesetServesItsContent(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"f": "old", "g": "same", "h": "gone"})
	m := scan(t, dir)
	w := m.With(modify("f", "old", "new")).With(create("n", "fresh")).With(remove("h", "gone"))
	for name, want := range map[string]string{"f": "new", "g": "same", "n": "fresh"} {
		if got, err := w.ReadFile(name); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := w.ReadFile("h"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted file: %v", err)
	}
	if got, err := m.ReadFile("f"); string(got) != "old" || err != nil {
		t.Errorf("the manifest before: %q, %v", got, err)
	}
}
