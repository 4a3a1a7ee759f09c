package images

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tonistiigi/fsutil"
	"github.com/tonistiigi/fsutil/types"
	"pgregory.net/rapid"
)

// A testTree is a Tree with files that may misbehave.
type testTree struct {
	files  []File
	open   func(path string) (io.ReadCloser, error)
	digest string
}

func (t *testTree) Digest() string                          { return t.digest }
func (t *testTree) Files() []File                           { return t.files }
func (t *testTree) Open(name string) (io.ReadCloser, error) { return t.open(name) }

// announced collects what a walk announces to the receiver, and applies the receiver's own check of the order.
func announced(ctx context.Context, tree Tree) ([]*types.Stat, error) {
	var order fsutil.Validator
	var stats []*types.Stat
	err := newTreeFS(tree).Walk(ctx, "/", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		stats = append(stats, info.Sys().(*types.Stat))
		return order.HandleChange(fsutil.ChangeKindAdd, p, info, nil)
	})
	return stats, err
}

func TestWalkIsInTheOrderThatTheReceiverInsistsOn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		// The characters of the names surround the slash in ASCII, where sorting by plain bytes goes wrong.
		name := rapid.StringMatching(`[a-c !+,.\-0]{1,3}`).Filter(func(s string) bool { return s != "." && s != ".." })
		tree := make(map[string]fs.FileMode)
		for range rapid.IntRange(0, 12).Draw(rt, "files") {
			p := name.Draw(rt, "name")
			for range rapid.IntRange(0, 3).Draw(rt, "depth") {
				if mode, ok := tree[p]; ok && !mode.IsDir() {
					break
				}
				tree[p] = fs.ModeDir | 0o755
				p = path.Join(p, name.Draw(rt, "name"))
			}
			if _, ok := tree[p]; !ok {
				tree[p] = 0o644
			}
		}
		var m memTree
		for _, p := range sortedPaths(tree) {
			m = append(m, memFile{path: p, mode: tree[p]})
		}
		stats, err := announced(t.Context(), m)
		if err != nil {
			rt.Fatal(err)
		}
		if len(stats) != len(m) {
			rt.Fatalf("%d of %d entries are announced", len(stats), len(m))
		}
	})
}

func sortedPaths(m map[string]fs.FileMode) []string {
	plain := make(map[string]string)
	for k := range m {
		plain[k] = ""
	}
	return slices.Sorted(maps.Keys(plain))
}

func TestAnnouncedTimeFollowsTheContentAlone(t *testing.T) {
	t.Parallel()
	at := func(content string, mode fs.FileMode) int64 {
		stats, err := announced(t.Context(), memTree{{path: "f", content: []byte(content), mode: mode}})
		if err != nil {
			t.Fatal(err)
		}
		return stats[0].ModTime
	}
	if at("x = 1", 0o644) == at("x = 2", 0o644) {
		t.Fatal("two contents of one size have one time: the second would never be sent")
	}
	if at("x = 1", 0o644) != at("x = 1", 0o755) {
		t.Fatal("the time of equal content differs: it would be sent again")
	}
	rapid.Check(t, func(rt *rapid.T) {
		got, err := contentTime(hash(rapid.SliceOf(rapid.Byte()).Draw(rt, "content")))
		if err != nil {
			rt.Fatal(err)
		}
		if got.Year() < 1980 || got.After(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)) {
			rt.Fatalf("time %v upsets zip or make", got)
		}
	})
	for _, bad := range []string{"", "abc", strings.Repeat("g", 64)} {
		if _, err := contentTime(bad); err == nil {
			t.Errorf("digest %q passes", bad)
		}
	}
}

func TestAnnouncedModesKeepTheirBitsAndLetEveryoneRead(t *testing.T) {
	t.Parallel()
	sum := hash(nil)
	for _, c := range []struct {
		file File
		want fs.FileMode
		size int64
	}{
		{File{Mode: 0o600, Digest: sum}, 0o644, 0},
		{File{Mode: 0o644, Digest: sum}, 0o644, 0},
		{File{Mode: 0o700, Digest: sum, Size: 5}, 0o744, 5},
		{File{Mode: 0o000, Digest: sum}, 0o444, 0},
		{File{Mode: fs.ModeDir | 0o700}, fs.ModeDir | 0o755, 0},
		{File{Mode: fs.ModeSymlink | 0o777, Target: "../x"}, fs.ModeSymlink | 0o777, 4},
	} {
		stat, err := statOf(c.file)
		if err != nil {
			t.Errorf("%+v: %v", c.file, err)
			continue
		}
		if fs.FileMode(stat.Mode) != c.want || stat.Size != c.size || stat.Linkname != c.file.Target || stat.Uid != 0 || stat.Gid != 0 {
			t.Errorf("%+v is announced as %v, mode %v", c.file, stat, fs.FileMode(stat.Mode))
		}
	}
	for _, odd := range []fs.FileMode{fs.ModeNamedPipe, fs.ModeSocket, fs.ModeDevice} {
		if _, err := statOf(File{Path: "odd", Mode: odd, Digest: sum}); err == nil || !strings.Contains(err.Error(), "odd") {
			t.Errorf("a %v gives %v", odd, err)
		}
	}
}

// TestUnreadableFileIsNeverAnEmptyOne: the sender mistakes an error of Open for the end of the file.
func TestUnreadableFileIsNeverAnEmptyOne(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	tree := &testTree{files: []File{{Path: "f", Size: 3, Digest: hash(nil)}}}
	for name, c := range map[string]struct {
		open func(string) (io.ReadCloser, error)
		want error
	}{
		"not opened":  {func(string) (io.ReadCloser, error) { return nil, gone }, gone},
		"breaks off":  {func(string) (io.ReadCloser, error) { return io.NopCloser(&failing{"ab", gone}), nil }, gone},
		"too short":   {func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("ab")), nil }, io.ErrUnexpectedEOF},
		"too long":    {func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("abcd")), nil }, io.ErrUnexpectedEOF},
		"as promised": {func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("abc")), nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *tree
			own.open = c.open
			f := newTreeFS(&own)
			r, err := f.Open("f")
			if err != nil {
				t.Fatalf("Open gives %v, which the sender would not report", err)
			}
			defer r.Close()
			_, err = io.ReadAll(r)
			if !errors.Is(err, c.want) || !errors.Is(f.firstError(), c.want) {
				t.Errorf("reading gives %v, remembered is %v, want %v", err, f.firstError(), c.want)
			}
		})
	}
}

// failing returns its text, then its error.
type failing struct {
	text string
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	n := copy(p, f.text)
	f.text = f.text[n:]
	if n == 0 {
		return 0, f.err
	}
	return n, nil
}
