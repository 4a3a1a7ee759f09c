package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"agent/sandbox/workspace/internal/dirfd"

	"agent/sandbox/workspace/internal/treetest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// A visitor scans one workspace again and again.
type visitor struct {
	dir, caches string
	// How far the visitor's clock is ahead, so that no test has to wait for files to grow old.
	ahead time.Duration
	// Temporary files lie on a file system where every file is read each time: then only the results of scans are checked.
	blind bool
}

// newVisitor makes the workspace of a visitor.
func newVisitor(t *testing.T, tree treetest.Files) *visitor {
	t.Helper()
	v := &visitor{dir: treetest.New(t, tree), caches: filepath.Join(t.TempDir(), "caches"), ahead: time.Minute}
	fd, err := unix.Open(v.dir, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if v.blind = !dirfd.Stamps(fd); v.blind {
		t.Logf("%s lies on a file system that is read each time: set TMPDIR to see how much is read", v.dir)
	}
	return v
}

// cache returns the cache of the workspace, which it uses however small the workspace is.
func (v *visitor) cache(root string) cache {
	c := cacheIn(v.caches, root)
	c.least, c.clock = 0, func() time.Time { return time.Now().Add(v.ahead) }
	return c
}

// rescan is Rescan, and also returns how many files were read. The result must equal that of Scan.
func (v *visitor) rescan(t *testing.T) (m *Manifest, read int) {
	t.Helper()
	m, err := scanWith(t.Context(), v.dir, nil, Limits{}, v.cache)
	if err != nil {
		t.Fatal(err)
	}
	cold := scan(t, v.dir)
	if diff := cmp.Diff(cold.Entries, m.Entries); diff != "" || m.Digest() != cold.Digest() {
		t.Fatalf("cold and warm differ:\n%s", diff)
	}
	return m, m.read
}

// want fails the test unless the next scan reads this many files.
func (v *visitor) want(t *testing.T, what string, read int) {
	t.Helper()
	if _, got := v.rescan(t); got != read && !v.blind {
		t.Errorf("%s: %d files are read, want %d", what, got, read)
	}
}

// hundreds returns a workspace of n files, a hundred in each directory.
func hundreds(n int) treetest.Files {
	tree := treetest.Files{}
	for i := range n {
		tree[fmt.Sprintf("d%02d/f%03d", i/100, i)] = fmt.Sprintf("x = %04d\n", i)
	}
	return tree
}

// restored makes a change, and restores the file's modification time.
func restored(t *testing.T, name string, change func() error) {
	t.Helper()
	info, err := os.Stat(name)
	if err == nil {
		err = errors.Join(change(), os.Chtimes(name, info.ModTime(), info.ModTime()))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAThousandEditsOfEqualSizeWithTheOldTimeAreSeen(t *testing.T) {
	t.Parallel()
	v := newVisitor(t, hundreds(1000))
	v.want(t, "the first time", 1000)
	v.want(t, "nothing changed", 0)
	aside := filepath.Join(t.TempDir(), "aside")
	for i := range 1000 {
		name := filepath.Join(v.dir, fmt.Sprintf("d%02d/f%03d", i/100, i))
		text := fmt.Appendf(nil, "y = %04d\n", i)
		restored(t, name, func() error {
			switch i % 3 {
			case 0:
				return os.WriteFile(name, text, 0o644)
			case 1:
				return errors.Join(os.WriteFile(aside, text, 0o644), os.Rename(aside, name))
			}
			return errors.Join(os.Link(name, aside), os.WriteFile(aside, text, 0o644), os.Remove(aside))
		})
	}
	v.want(t, "all changed", 1000)
	v.want(t, "nothing changed since", 0)
}

func TestARescanReadsWhatShowsAChangeAndNothingElse(t *testing.T) {
	t.Parallel()
	v := newVisitor(t, hundreds(200))
	v.want(t, "the first time", 200)
	in := func(name string) string { return filepath.Join(v.dir, name) }
	for _, step := range []struct {
		what   string
		change func() error
		read   int
	}{
		{"a mode", func() error { return os.Chmod(in("d00/f001"), 0o755) }, 1},
		{"a file to another name", func() error { return os.Rename(in("d00/f001"), in("d00/f001b")) }, 1},
		{"two files exchanged", func() error {
			return unix.Renameat2(unix.AT_FDCWD, in("d00/f002"), unix.AT_FDCWD, in("d00/f003"), unix.RENAME_EXCHANGE)
		}, 2},
		{"two directories exchanged", func() error {
			return errors.Join(os.Rename(in("d00"), in("d02")), os.Rename(in("d01"), in("d00")), os.Rename(in("d02"), in("d01")))
		}, 200},
		{"a file less", func() error { return os.Remove(in("d00/f100")) }, 0},
		{"a file more, a link and a directory", func() error {
			return errors.Join(os.WriteFile(in("new"), nil, 0o644), os.Symlink("new", in("link")), os.Mkdir(in("dir"), 0o755))
		}, 1},
		{"a file that may be a secret, each time", func() error { return os.WriteFile(in("ca.pem"), []byte("CERTIFICATE"), 0o644) }, 1},
		{"the same", func() error { return nil }, 1},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		v.want(t, step.what, step.read)
	}
}

func TestWhatATimeOfChangeCannotProveIsReadAgain(t *testing.T) {
	t.Parallel()
	v := newVisitor(t, hundreds(100))
	v.ahead = 0
	v.want(t, "the first time", 100)
	v.want(t, "files younger than two seconds", 100)
	v.ahead = time.Hour
	v.want(t, "an hour later", 100)
	v.want(t, "a moment later", 0)
	v.ahead = -time.Hour
	v.want(t, "the clock set back", 100)
	// In a mapping, the kernel sees only the first store to a page.
	v.ahead = time.Minute
	v.want(t, "the clock set right", 100)
	f, err := os.OpenFile(filepath.Join(v.dir, "d00/f007"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := unix.Mmap(int(f.Fd()), 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, text := range []string{"A", "B", "C"} {
		copy(pages, text)
		v.want(t, "stored "+text, 1)
	}
	if err := unix.Munmap(pages); err != nil {
		t.Fatal(err)
	}
	v.want(t, "the mapping gone", 1)
	v.want(t, "nothing since", 0)
}

// kept returns a scan that found m and may be saved.
func kept(m *Manifest) *scanner {
	return &scanner{m: m, stamped: map[uint64]bool{m.Entries[0].Device: true}}
}

func TestACacheThatIsNotOurOwnIsNotBelieved(t *testing.T) {
	t.Parallel()
	v := newVisitor(t, hundreds(100))
	v.want(t, "the first time", 100)
	file := v.cache(v.dir).file
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	spoilt := func(at int) []byte { b := slices.Clone(good); b[at] ^= 1; return b }
	m, _ := v.rescan(t)
	foreign := v.cache(v.dir)
	foreign.root = "/elsewhere"
	write := func(text []byte) func() error {
		return func() error { return errors.Join(os.RemoveAll(file), os.WriteFile(file, text, 0o600)) }
	}
	for what, spoil := range map[string]func() error{
		"empty":           write(nil),
		"cut off":         write(good[:len(good)/2]),
		"another version": write(spoilt(len("agent manifest "))),
		"a digest":        write(spoilt(len(cacheHeader))),
		"a record":        write(spoilt(len(good) - 20)),
		"another root's":  func() error { foreign.save(kept(m), time.Now().Add(v.ahead), 1); return nil },
		"for others":      func() error { return os.Chmod(file, 0o640) },
		"through a link":  func() error { return errors.Join(os.Rename(file, file+".real"), os.Symlink(file+".real", file)) },
		"a pipe":          func() error { return errors.Join(os.Remove(file), unix.Mkfifo(file, 0o600)) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		v.want(t, what, 100)
		v.want(t, "after "+what, 0)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(file, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		v.want(t, "somebody else's", 100)
	}
	if err := os.Chmod(v.caches, 0o755); err != nil {
		t.Fatal(err)
	}
	v.want(t, "a directory for others", 100)
	v.caches = filepath.Join(v.dir, "d00", "caches")
	v.want(t, "a directory that a patch may write to", 100)
	v.want(t, "the same again", 100)
}

func TestAFileSystemThatStampsLessIsReadEachTime(t *testing.T) {
	t.Parallel()
	var st unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &st); err != nil || st.Type != unix.TMPFS_MAGIC {
		t.Log("no tmpfs at /dev/shm")
		return
	}
	dir, err := os.MkdirTemp("/dev/shm", "workspace-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	treetest.Fill(t, dir, hundreds(10))
	v := &visitor{dir: dir, caches: filepath.Join(t.TempDir(), "caches"), ahead: time.Minute}
	v.want(t, "the first time", 10)
	v.want(t, "the second time", 10)
}

// Not parallel, since it sets the environment.
func TestRescanKeepsWhatIsWorthKeepingInTheUsersCache(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	dir := treetest.New(t, treetest.Files{"f": "small"})
	list := func() []string {
		names, err := filepath.Glob(filepath.Join(home, "agent", "manifests", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	rescan := func() *Manifest {
		m, err := Rescan(t.Context(), dir, nil, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if rescan(); len(list()) != 0 {
		t.Errorf("a small workspace leaves %q", list())
	}
	if err := os.Truncate(filepath.Join(dir, "f"), cacheLeast); err != nil {
		t.Fatal(err)
	}
	m := rescan()
	names := list()
	if len(names) != 1 || m.cache != names[0] {
		t.Fatalf("%q is kept in %q", m.cache, names)
	}
	for _, name := range []string{names[0], filepath.Dir(names[0])} {
		if info, err := os.Stat(name); err != nil || !dirfd.Private(info) {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if scan(t, dir).Digest() != m.Digest() {
		t.Error("Scan and Rescan differ")
	}
	// Young files are read each time, but no longer a minute later.
	c := userCache(m.Root)
	c.clock = func() time.Time { return time.Now().Add(time.Minute) }
	later := func() string {
		if _, err := scanWith(t.Context(), dir, nil, Limits{}, func(string) cache { return c }); err != nil {
			t.Fatal(err)
		}
		return treetest.Content(t, names[0])
	}
	later()
	// A scan writes the cache again only if it has read enough.
	for _, size := range []int{10, cacheLeast / cacheShare} {
		before := treetest.Content(t, names[0])
		if err := os.WriteFile(filepath.Join(dir, "more"), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
		if again := later() != before; again != (size > 10) {
			t.Errorf("%d bytes read: written again is %t", size, again)
		}
	}
}

func TestACacheThatProvesWrongIsForgotten(t *testing.T) {
	t.Parallel()
	v := newVisitor(t, hundreds(100))
	m, _ := v.rescan(t)
	if v.blind {
		return
	}
	// Only the user can write such a cache; its own digest is right, but its content is wrong.
	n, _ := m.find("d00/f001")
	m.Entries[n].Digest = Digest([]byte("a lie"))
	s := kept(m)
	for _, put := range []bool{false, true} {
		v.cache(v.dir).save(s, time.Now().Add(v.ahead), 1)
		warm, err := scanWith(t.Context(), v.dir, nil, Limits{}, v.cache)
		if err != nil {
			t.Fatal(err)
		}
		if e, _ := warm.Lookup("d00/f001"); e.Digest != m.Entries[n].Digest || warm.read != 0 {
			t.Fatalf("the cache is not used: %+v", e)
		}
		// No reader gets content under the false digest.
		if put {
			warm = warm.With(create("more", "text"))
		}
		var changed *ChangedError
		if _, err := warm.ReadFile("d00/f001"); !errors.As(err, &changed) {
			t.Errorf("read under a digest that is not its own: %v", err)
		}
		v.want(t, "after that", 100)
	}
}
