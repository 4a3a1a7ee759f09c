package workspace

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The entries are written one by one, but the text is that of one JSON value, so that old records stay valid. The next
// test rebuilds a workspace from its inventory, bit for bit, even what is read-only, with the same list of what was
// left out.
func TestAnInventoryIsOneDocument(t *testing.T) {
	t.Parallel()
	for _, m := range []*Manifest{
		{},
		{Entries: []Entry{{Path: "a\"<é>\xff", Kind: File, Mode: 0o644, Size: 3, Digest: "0a"}}, exclude: []string{"*.log"}},
		{Entries: []Entry{{Path: "d", Kind: Dir, Mode: fs.ModeDir | 0o755}, {Path: "d/l", Kind: Symlink, Target: "../x"}}, Skipped: []Skip{{Path: "k", Reason: "secret"}}},
	} {
		inv := inventory{Skipped: m.Skipped, Exclude: m.exclude}
		for _, e := range m.Entries {
			inv.Entries = append(inv.Entries, line{e.Path, e.Kind, e.Mode.Perm(), e.Size, e.Digest, e.Target})
		}
		want := must(json.Marshal(inv))
		if got := must(m.Inventory()); string(got) != string(want) {
			t.Errorf("the text is\n%s, want\n%s", got, want)
		}
	}
}

func TestAWorkspaceIsMadeAgainOfItsInventory(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	for name, mode := range map[string]fs.FileMode{"a.py": 0o644, "b/run.sh": 0o750, "b/c/same.py": 0o600, "b/c/locked": 0o400} {
		if err := errors.Join(os.MkdirAll(filepath.Join(from, filepath.Dir(name)), 0o755), os.WriteFile(filepath.Join(from, name), []byte(name[:1]), mode), os.Chmod(filepath.Join(from, name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("../elsewhere", filepath.Join(from, "b/link")), os.WriteFile(filepath.Join(from, ".env"), []byte("KEY=1"), 0o600), os.Mkdir(filepath.Join(from, "closed"), 0o555)); err != nil {
		t.Fatal(err)
	}
	m, err := Scan(t.Context(), from, []string{"*.log"}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.Inventory()
	if err != nil {
		t.Fatal(err)
	}
	digests, err := Contents(text)
	if err != nil || len(digests) != 2 {
		t.Fatalf("the contents are %v, %v", digests, err)
	}
	kept := map[string][]byte{Digest([]byte("a")): []byte("a"), Digest([]byte("b")): []byte("b")}
	to := t.TempDir()
	again, err := Rebuild(to, text, func(d string) ([]byte, error) { return kept[d], nil })
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]*Manifest{"is said": again, "is there": must(Scan(t.Context(), to, nil, Limits{}))} {
		// On disk the empty directory has more permission bits for its owner.
		if got.Digest() != m.Digest() && what == "is said" || len(got.Entries) != len(m.Entries) {
			t.Errorf("what %s of it is %+v, want %+v", what, got.Entries, m.Entries)
		}
	}
	for _, e := range again.Entries {
		info, err := os.Lstat(filepath.Join(to, e.Path))
		if err != nil || e.Kind == File && info.Mode() != e.Mode {
			t.Errorf("%s is %v, %v", e.Path, info, err)
		}
	}
	if !slices.Equal(again.Skipped, m.Skipped) || !again.leavesOut("x.log") || strings.Contains(string(text), Digest([]byte("KEY=1"))) {
		t.Errorf("left out is %v, want %v", again.Skipped, m.Skipped)
	}
	if _, err := Rebuild(t.TempDir(), text, func(string) ([]byte, error) { return []byte("c"), nil }); err == nil || !strings.Contains(err.Error(), "does not match its digest") {
		t.Errorf("other contents give %v", err)
	}
}

// must returns the value of a call that may not fail here.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A hand-written inventory cannot cause a write outside of the directory.
func TestAHostileInventoryIsRefused(t *testing.T) {
	t.Parallel()
	file := `"kind":"file","mode":420,"size":1,"sha256":"` + Digest([]byte("x")) + `"}`
	for _, entries := range []string{
		`{"path":"../x",` + file, `{"path":"/x",` + file, `{"path":"a/../x",` + file, `{"path":".",` + file, `{"path":"",` + file, `{"path":"a\u0000",` + file,
		`{"path":"x",` + file + `,{"path":"x",` + file, `{"path":"y",` + file + `,{"path":"x",` + file, `{"path":"d/x",` + file,
		`{"path":"l","kind":"symlink","mode":511,"target":"/tmp","sha256":"` + Digest([]byte("/tmp")) + `"},{"path":"l/x",` + file,
		`{"path":"l","kind":"symlink","mode":511,"target":"/tmp","sha256":"` + Digest([]byte("/")) + `"}`,
		`{"path":".git","kind":"dir","mode":493}`, `{"path":"a","kind":"dir","mode":493},{"path":"a/.GIT","kind":"dir","mode":493}`, `{"path":".agent","kind":"dir","mode":493}`,
		`{"path":"x","kind":"file","mode":2541,"size":1,"sha256":"` + Digest([]byte("x")) + `"}`, `{"path":"x","kind":"file","mode":420,"size":-1,"sha256":"` + Digest([]byte("x")) + `"}`,
		`{"path":"x","kind":"file","mode":420,"size":9999999999,"sha256":"` + Digest([]byte("x")) + `"}`,
		`{"path":"x","kind":"fifo","mode":420}`, `{"path":"x","kind":"file","mode":420,"sha256":"../x"}`, `{`,
	} {
		top := t.TempDir()
		dir := filepath.Join(top, "in")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Rebuild(dir, []byte(`{"entries":[`+entries+`]}`), func(string) ([]byte, error) { return []byte("x"), nil })
		if err == nil || !strings.Contains(err.Error(), "read the inventory") {
			t.Errorf("%s gives %v", entries, err)
		}
		if left, err := filepath.Glob(top + "/*"); err != nil || len(left) != 1 {
			t.Errorf("%s wrote %v, %v", entries, left, err)
		}
	}
}
