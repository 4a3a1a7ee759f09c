package images

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tonistiigi/fsutil"
	"github.com/tonistiigi/fsutil/types"
)

// A treeFS serves a Tree to BuildKit's local source.
//
// That source assumes that a file with unchanged size and mtime has not changed, which is false for an edit that keeps both.
// So the mtimes that it gets are not those of the disk but derived from the content's digest. A file is sent again exactly
// when its bytes or its mode have changed, whatever happened to its times; one that was only touched costs nothing.
type treeFS struct {
	tree  Tree
	files []File // in the order of Walk
	sizes map[string]int64
	broke func(error) // called with every error of a reader; may be nil

	mu  sync.Mutex
	err error // the first of them
}

// newTreeFS sorts the entries as the receiving side requires: by path, with "/" before every other byte, so that a
// directory's content directly follows it.
func newTreeFS(t Tree) *treeFS {
	files := slices.Clone(t.Files())
	slices.SortFunc(files, func(a, b File) int { return fsutil.ComparePath(a.Path, b.Path) })
	sizes := make(map[string]int64, len(files))
	for _, f := range files {
		sizes[f.Path] = f.Size
	}
	return &treeFS{tree: t, files: files, sizes: sizes}
}

// firstError returns the first error of reading. BuildKit passes errors as text through two streams, so the error on which
// the caller can act is kept here.
func (t *treeFS) firstError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// note remembers err and passes it on. Otherwise the sending side, having met the error, would wait for a receiver that
// waits for the rest of the file, until something ends both.
func (t *treeFS) note(err error) {
	t.mu.Lock()
	if t.err == nil {
		t.err = err
	}
	t.mu.Unlock()
	if t.broke != nil {
		t.broke(err)
	}
}

// Walk calls fn for every entry at and below target.
func (t *treeFS) Walk(ctx context.Context, target string, fn fs.WalkDirFunc) error {
	under := strings.Trim(path.Clean("/"+target), "/")
	for _, f := range t.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if under != "" && f.Path != under && !strings.HasPrefix(f.Path, under+"/") {
			continue
		}
		stat, err := statOf(f)
		if err != nil {
			t.note(err)
			return err
		}
		if err := fn(f.Path, &fsutil.DirEntryInfo{Stat: stat}, nil); err != nil {
			return err
		}
	}
	return nil
}

// Open never returns an error itself: the sender would take that for an empty file, and an empty file that nobody wrote
// would be frozen and proved. The first Read returns the error instead, which ends the transfer.
func (t *treeFS) Open(name string) (io.ReadCloser, error) {
	name = strings.Trim(path.Clean("/"+name), "/")
	r, err := t.tree.Open(name)
	if err != nil {
		err = fmt.Errorf("read %s for the snapshot: %w", name, err)
		t.note(err)
		return &brokenFile{err}, nil
	}
	return &treeFile{ReadCloser: r, fs: t, left: t.sizes[name], name: name}, nil
}

// brokenFile is a file that could not be opened.
type brokenFile struct{ err error }

func (b *brokenFile) Read([]byte) (int, error) { return 0, b.err }
func (b *brokenFile) Close() error             { return nil }

// treeFile notes the error of the underlying reader, and makes sure that as many bytes come as were announced, whatever the
// Tree does.
type treeFile struct {
	io.ReadCloser
	fs   *treeFS
	left int64
	name string
}

// Read passes on the bytes. Its only good end is io.EOF after exactly the announced size: a Tree that keeps its contract has
// compared the digest by then.
func (f *treeFile) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	f.left -= int64(n)
	if f.left < 0 || (err == io.EOF && f.left != 0) {
		err = fmt.Errorf("not the size that was announced: %w", io.ErrUnexpectedEOF)
	}
	if err != nil && err != io.EOF {
		err = fmt.Errorf("read %s for the snapshot: %w", f.name, err)
		f.fs.note(err)
	}
	return n, err
}

// statOf describes f to the receiver. Owner and group are root. A file keeps its permission bits, except that everyone may
// read it (the guest is not root); directories are 0755 and links 0777.
func statOf(f File) (*types.Stat, error) {
	perm := f.Mode.Perm()
	stat := &types.Stat{Path: f.Path, ModTime: fixedTime.UnixNano()}
	switch f.Mode.Type() {
	case 0:
		mtime, err := contentTime(f.Digest)
		if err != nil {
			return nil, fmt.Errorf("file %s in the snapshot: %w", f.Path, err)
		}
		stat.ModTime = mtime.UnixNano()
		stat.Size = f.Size
		perm |= everyone
	case fs.ModeDir:
		perm = 0o755
	case fs.ModeSymlink:
		mtime, err := contentTime(hash([]byte(f.Target)))
		if err != nil {
			return nil, err
		}
		stat.ModTime = mtime.UnixNano()
		stat.Linkname = f.Target
		stat.Size = int64(len(f.Target))
		perm = 0o777
	default:
		return nil, fmt.Errorf("file %s in the snapshot: a %s is neither file, directory nor symbolic link", f.Path, f.Mode.Type())
	}
	stat.Mode = uint32(f.Mode.Type() | perm)
	return stat, nil
}

// These times lie between 1980 (zip knows none before) and 2019 (make dislikes the future).
var (
	firstTime = time.Date(1980, 1, 2, 0, 0, 0, 0, time.UTC)
	lastTime  = time.Date(2019, 12, 31, 0, 0, 0, 0, time.UTC)
	fixedTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// contentTime makes an mtime from the content's digest: some 60 bits of it, 30 in the seconds and 30 in the nanoseconds. Two
// contents of one size under one path would have to agree in all of them to be mistaken for each other.
func contentTime(digest string) (time.Time, error) {
	sum, err := hex.DecodeString(digest)
	if err != nil || len(sum) < 16 {
		return time.Time{}, fmt.Errorf("digest %q is not a hex SHA-256", digest)
	}
	var hi, lo uint64
	for i := range 8 {
		hi, lo = hi<<8|uint64(sum[i]), lo<<8|uint64(sum[8+i])
	}
	span := uint64(lastTime.Unix() - firstTime.Unix())
	return time.Unix(firstTime.Unix()+int64(hi%span), int64(lo%1e9)).UTC(), nil
}

// A memFile is one entry of a memTree.
type memFile struct {
	path    string
	content []byte
	mode    fs.FileMode
}

// A memTree is a Tree in memory, for what the program brings along. Its entries are sorted, and parents come before
// children.
type memTree []memFile

// Digest covers paths, modes and contents.
func (t memTree) Digest() string {
	var all bytes.Buffer
	for _, f := range t {
		fmt.Fprintf(&all, "%q %v %s\n", f.path, f.mode, hash(f.content))
	}
	return hash(all.Bytes())
}

// Files lists the entries as they are.
func (t memTree) Files() []File {
	files := make([]File, len(t))
	for i, f := range t {
		files[i] = File{Path: f.path, Mode: f.mode, Size: int64(len(f.content)), Digest: hash(f.content)}
	}
	return files
}

// Open looks through all entries, which are few.
func (t memTree) Open(name string) (io.ReadCloser, error) {
	for _, f := range t {
		if f.path == name {
			return io.NopCloser(bytes.NewReader(f.content)), nil
		}
	}
	return nil, &os.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// treeOf returns a read-only tree of these files, with the directories above them.
func treeOf(files map[string][]byte) memTree {
	var t memTree
	dirs := map[string]bool{".": true}
	for name, content := range files {
		t = append(t, memFile{path: name, content: content, mode: 0o444})
		// The receiving side of a transfer expects parents first.
		for dir := path.Dir(name); !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
			t = append(t, memFile{path: dir, mode: fs.ModeDir | 0o755})
		}
	}
	slices.SortFunc(t, func(a, b memFile) int { return strings.Compare(a.path, b.path) })
	return t
}
