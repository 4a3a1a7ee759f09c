package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"

	"agent/sandbox/workspace/internal/dirfd"

	"golang.org/x/sys/unix"
)

// maxRead is how many bytes ReadFile reads at most: eight times what a changeset may write, for files that people made
// longer by hand. A name may stand for a device or a growing file, so it bounds what is read, not what the size says.
const maxRead = 8 * MaxContent

// ReadFile returns the current content of one file of the workspace at root. It follows no link on the way, so the file
// lies in root. name is slash-separated and relative; the error is an *fs.PathError with it.
//
// A file that does not exist gives fs.ErrNotExist. This is not a snapshot: two calls may see two states.
func ReadFile(root, name string) ([]byte, error) {
	refuse := func(why string) error {
		return &fs.PathError{Op: "read", Path: name, Err: errors.New(why)}
	}
	if !fs.ValidPath(name) {
		return nil, refuse("not a plain path inside the workspace")
	}
	t, err := dirfd.Open(root)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if name == "." {
		return nil, refuse("is a directory")
	}
	// Opening does not block, so a pipe without a writer is harmless. The kind is read from the open file, not from the
	// name, which may mean another file by then.
	f, err := t.Open(name, unix.O_RDONLY, 0)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, refuse("is a symbolic link, which is not followed")
	case errors.Is(err, unix.ENOTDIR):
		return nil, refuse("part of the path is not a directory, or is a symbolic link, which is not followed")
	case err != nil:
		return nil, err
	}
	defer f.Close() // only read
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	if kind, other := KindOf(uint32(st.Mode)); kind == Dir {
		return nil, refuse("is a directory")
	} else if kind != File {
		return nil, refuse("is a " + other)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxRead+1))
	if err == nil && len(content) > maxRead {
		err = refuse(fmt.Sprintf("is larger than %d MiB", maxRead>>20))
	}
	return content, err
}

// Open returns the content of the file at path. The reader ends with a *ChangedError instead of io.EOF if the bytes are
// not those of the manifest.
func (m *Manifest) Open(path string) (io.ReadCloser, error) {
	e, ok := m.Lookup(path)
	switch {
	case !ok:
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	case e.Kind != File:
		return nil, &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("it is a %s, not a file", e.Kind)}
	}
	// Bytes that With brought are not on disk yet, and may never be.
	if content, ok := m.content[path]; ok {
		return io.NopCloser(bytes.NewReader(content)), nil
	}
	t, err := dirfd.Open(m.Root)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	f, err := t.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		if dirfd.Gone(err) {
			err = &ChangedError{Path: path}
		}
		return nil, err
	}
	// A FIFO put in the file's place would be read forever.
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, &ChangedError{Path: path}
	}
	return &verifier{file: f, hash: sha256.New(), want: e, left: e.Size, forget: m.forget}, nil
}

// A verifier passes on a file's bytes and judges them at the end.
type verifier struct {
	file *os.File
	hash hash.Hash
	want Entry
	// Bytes that may still come.
	left int64
	// Called if the bytes differ.
	forget func()
}

// Read implements io.Reader. It returns no more bytes than the manifest knows.
func (v *verifier) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := v.file.Read(p)
	// A file that grew is refused at once. A consumer with room for exactly Size bytes, such as a tar entry, must not
	// get more.
	if int64(n) > v.left {
		v.forget()
		return 0, &ChangedError{Path: v.want.Path}
	}
	v.left -= int64(n)
	v.hash.Write(p[:n])
	if err == io.EOF && hex.EncodeToString(v.hash.Sum(nil)) != v.want.Digest {
		// If the digest came from the cache, every later scan would repeat it and every read would fail.
		v.forget()
		err = &ChangedError{Path: v.want.Path}
	}
	return n, err
}

// Close closes the file.
func (v *verifier) Close() error { return v.file.Close() }

// ReadFile returns the whole content of the file at path, checked against the manifest. For an absent path the error
// wraps fs.ErrNotExist.
func (m *Manifest) ReadFile(path string) ([]byte, error) {
	r, err := m.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return content, nil
}

// forget removes what is known of the workspace, since it proved wrong.
func (m *Manifest) forget() {
	if m.cache != "" {
		os.Remove(m.cache)
	}
}
