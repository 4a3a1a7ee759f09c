package guest

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/guest/sealed"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// An entry is a tar entry for apply.
type entry struct {
	name, content string
	mode          int64
	kind          byte
}

// tarOf returns a tar of regular files, unless an entry says otherwise.
func tarOf(t *testing.T, entries ...entry) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		head := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.content)),
			Uid: 4001, PAXRecords: map[string]string{"SCHILY.xattr.user.note": "x"}, // never applied
		}
		if e.kind != 0 {
			head.Typeflag, head.Linkname = e.kind, "/etc/passwd"
		}
		if err := w.WriteHeader(head); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// workspaceDir returns a directory with some files and links, and one next to it that no patch may touch.
func workspaceDir(t *testing.T) (work, victim string) {
	t.Helper()
	top := t.TempDir()
	work, victim = filepath.Join(top, "work"), filepath.Join(top, "victim")
	for _, dir := range []string{work, victim, filepath.Join(work, "dir"), filepath.Join(work, "empty")} {
		must(t, os.Mkdir(dir, 0o755))
	}
	must(t, os.WriteFile(filepath.Join(work, "a.txt"), []byte("a\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(work, "dir", "b.txt"), []byte("b\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(victim, "v.txt"), []byte("v\n"), 0o644))
	must(t, os.Symlink(victim, filepath.Join(work, "out")))
	must(t, os.Symlink("dir", filepath.Join(work, "in")))
	must(t, os.Link(filepath.Join(victim, "v.txt"), filepath.Join(work, "hard.txt")))
	return work, victim
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listing returns each path below dir with its type, mode and content.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(content)
		}
		rel, err := filepath.Rel(dir, path)
		found[rel] = text
		return err
	}))
	return found
}

// C05, C07, C09, C17.
func TestApplyWritesExactly(t *testing.T) {
	work, victim := workspaceDir(t)
	outside := listing(t, victim)
	want := listing(t, work)
	applied, err := apply(work, Patch{Delete: []string{"a.txt", "dir/b.txt", "in"}}, tarOf(t,
		entry{name: "a.txt/now/a-dir.txt", content: "deep", mode: 0o644}, // a file becomes a directory
		entry{name: "dir/b.txt", content: "script", mode: 0o755},
		entry{name: "empty", content: "a directory becomes a file", mode: 0o640},
		entry{name: "hard.txt", content: "changed", mode: 0o666},
		entry{name: "new.sh", content: "", mode: 0o4777},
		entry{name: "bin.dat", content: "\x00\xff\r\n", mode: 0o444},
	))
	if err != nil || applied.Deleted != 3 || applied.Written != 6 {
		t.Fatalf("applied %+v, error %v", applied, err)
	}
	delete(want, "in")
	want["a.txt"], want["a.txt/now"] = "drwxr-xr-x", "drwxr-xr-x"
	want["a.txt/now/a-dir.txt"] = "-rw-r--r-- deep"
	want["dir/b.txt"] = "-rwxr-xr-x script"
	want["empty"] = "-rw-r----- a directory becomes a file"
	want["hard.txt"] = "-rw-rw-rw- changed"
	want["new.sh"] = "-rwxrwxrwx " // no set-user-ID bit
	want["bin.dat"] = "-r--r--r-- \x00\xff\r\n"
	if diff := cmp.Diff(want, listing(t, work)); diff != "" {
		t.Errorf("workspace (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(outside, listing(t, victim)); diff != "" {
		t.Errorf("the other directory changed:\n%s", diff)
	}
	var st unix.Stat_t
	must(t, unix.Stat(filepath.Join(work, "new.sh"), &st))
	if n, err := unix.Listxattr(filepath.Join(work, "new.sh"), nil); n != 0 || err != nil || int(st.Uid) != os.Getuid() {
		t.Errorf("%d bytes of attributes, %v, and the owner %d", n, err, st.Uid)
	}
}

// C01, C02.
func TestApplyRefusesToLeaveTheWorkspace(t *testing.T) {
	for _, name := range []string{
		"../victim/v.txt", "a/../../victim/v.txt", "/etc/passwd", "//etc", "./a.txt", "dir//b.txt", "out/v.txt", "in/b.txt",
		"a.txt/below", "", ".",
	} {
		work, victim := workspaceDir(t)
		before, outside := listing(t, work), listing(t, victim)
		if _, err := apply(work, Patch{}, tarOf(t, entry{name: name, content: "evil", mode: 0o644})); err == nil {
			t.Errorf("write %q: accepted", name)
		}
		if _, err := apply(work, Patch{Delete: []string{name}}, tarOf(t)); err == nil {
			t.Errorf("delete %q: accepted", name)
		}
		if diff := cmp.Diff(before, listing(t, work)); diff != "" {
			t.Errorf("%q changed the workspace:\n%s", name, diff)
		}
		if diff := cmp.Diff(outside, listing(t, victim)); diff != "" {
			t.Errorf("%q changed the other directory:\n%s", name, diff)
		}
	}
}

// C05, C08.
func TestApplyTakesRegularFilesOnly(t *testing.T) {
	for _, kind := range []byte{tar.TypeSymlink, tar.TypeLink, tar.TypeFifo, tar.TypeChar, tar.TypeBlock, tar.TypeDir} {
		work, _ := workspaceDir(t)
		before := listing(t, work)
		if _, err := apply(work, Patch{}, tarOf(t, entry{name: "x", kind: kind})); err == nil {
			t.Errorf("type %q: accepted", kind)
		}
		if diff := cmp.Diff(before, listing(t, work)); diff != "" {
			t.Errorf("type %q changed the workspace:\n%s", kind, diff)
		}
	}
}

func TestApplyReportsABrokenStreamAndAMissingFile(t *testing.T) {
	work, _ := workspaceDir(t)
	whole := tarOf(t, entry{name: "new.txt", content: strings.Repeat("x", 2000), mode: 0o644}).Bytes()
	if _, err := apply(work, Patch{}, bytes.NewReader(whole[:1500])); err == nil {
		t.Error("a cut stream was accepted")
	}
	if _, err := apply(work, Patch{Delete: []string{"absent.txt"}}, tarOf(t)); err == nil {
		t.Error("the deletion of an absent file was accepted")
	}
	if _, err := apply(work, Patch{Delete: []string{"dir"}}, tarOf(t)); err == nil {
		t.Error("the deletion of a directory with files was accepted")
	}
	if _, err := apply(work, Patch{Delete: []string{"a.txt/"}}, tarOf(t)); err == nil {
		t.Error("a name that ends in a slash was accepted")
	}
}

// A sealedFile is one file of a sealed snapshot, or a link if its mode says so; a link's content is its target.
type sealedFile struct {
	content string
	mode    fs.FileMode
}

// sealedDir returns a directory with the packs of these files and their parent directories, and its key.
func sealedDir(t testing.TB, files map[string]sealedFile) (dir string, key []byte) {
	t.Helper()
	dir, text := t.TempDir(), sealed.NewKey()
	dirs := map[string]bool{".": true}
	var entries []sealed.Entry
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var parents []string
		for up := path.Dir(name); !dirs[up]; up = path.Dir(up) {
			dirs[up], parents = true, append(parents, up)
		}
		for _, up := range slices.Backward(parents) {
			entries = append(entries, sealed.Entry{Path: up, Mode: fs.ModeDir | 0o755})
		}
		f := files[name]
		e := sealed.Entry{Path: name, Mode: f.mode, Size: int64(len(f.content))}
		if f.mode.Type() == fs.ModeSymlink {
			e.Size, e.Target = 0, f.content
		}
		entries = append(entries, e)
	}
	for _, p := range sealed.Divide(entries) {
		r := p.Seal(text, func(name string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(files[name].content)), nil
		})
		content, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, p.Name), content, 0o444)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, []byte(text)
}

func TestFillReportsWhatItCannotUnseal(t *testing.T) {
	var ready Ready
	if err := fill(t.TempDir(), t.TempDir(), nil, &ready); err != nil || ready.Files != 0 {
		t.Errorf("without a snapshot: %+v, %v", ready, err)
	}
	src, key := sealedDir(t, map[string]sealedFile{"d/f": {"f", 0o644}, "g": {strings.Repeat("g", 5000), 0o644}})
	dst := t.TempDir()
	must(t, fill(src, dst, key, &ready))
	if err := fill(src, dst, key, &ready); err == nil {
		t.Error("a file that is there already was overwritten")
	}
	if err := fill(src, t.TempDir(), []byte(sealed.NewKey()), &ready); !errors.Is(err, sealed.ErrUnsealed) {
		t.Errorf("with another key: %v", err)
	}
	if err := fill(src, t.TempDir(), key[:10], &ready); err == nil {
		t.Error("a key that is none was accepted")
	}
	if err := fill(t.TempDir(), t.TempDir(), key, &ready); err == nil {
		t.Error("a snapshot that is not there was accepted")
	}
	names, err := filepath.Glob(filepath.Join(src, "files-*"))
	must(t, err)
	for _, name := range names {
		whole, err := os.ReadFile(name)
		must(t, err)
		must(t, os.Chmod(name, 0o644))
		must(t, os.WriteFile(name, whole[:700], 0o644))
		if err := fill(src, t.TempDir(), key, &ready); err == nil && len(whole) > 4000 {
			t.Errorf("pack %s, cut off, was accepted", name)
		}
	}
	must(t, os.WriteFile(filepath.Join(src, "other"), nil, 0o644))
	if err := fill(src, t.TempDir(), key, &ready); err == nil {
		t.Error("a file that is no pack was accepted")
	}
}

func TestFillUnsealsManyFiles(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	files, size := map[string]sealedFile{"a/link": {"../b", fs.ModeSymlink | 0o777}}, int64(0)
	for i := range 300 {
		content := strings.Repeat(string(rune('a'+i%26)), i*1000) // some larger than the buffer
		size += int64(len(content))
		name := path.Join(string(rune('a'+i%7)), strings.Repeat("n", i%50+1)+string(rune('0'+i/50)))
		files[name] = sealedFile{content, fs.FileMode(0o600 | i%8)}
	}
	for name, f := range files {
		to := filepath.Join(src, name)
		must(t, os.MkdirAll(filepath.Dir(to), 0o755))
		if f.mode.Type() == fs.ModeSymlink {
			must(t, os.Symlink(f.content, to))
		} else {
			must(t, os.WriteFile(to, []byte(f.content), 0o600))
			must(t, os.Chmod(to, f.mode))
		}
	}
	dir, key := sealedDir(t, files)
	var ready Ready
	must(t, fill(dir, dst, key, &ready))
	want := listing(t, src)
	if diff := cmp.Diff(want, listing(t, dst)); diff != "" {
		t.Errorf("copy differs:\n%.2000s", diff)
	}
	if ready.Files+ready.Dirs+ready.Links != len(want) || ready.Dirs != 7 || ready.Links != 1 || ready.Bytes != size {
		t.Errorf("counted %+v, there are %d entries of %d bytes", ready, len(want), size)
	}
}

func TestReadPlainFollowsNoLink(t *testing.T) {
	work, _ := workspaceDir(t)
	if content, err := readPlain(filepath.Join(work, "dir", "b.txt")); err != nil || string(content) != "b\n" {
		t.Errorf("a plain file: %q, %v", content, err)
	}
	for _, name := range []string{"in/b.txt", "out/v.txt", "out", "dir", "absent", "a.txt/x"} {
		if content, err := readPlain(filepath.Join(work, name)); err == nil {
			t.Errorf("%s: read %q", name, content)
		}
	}
}
