package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"agent/sandbox/workspace/internal/dirfd"

	"golang.org/x/sys/unix"
)

// maxRead is the most bytes that ReadFile reads: eight times what a changeset
// may write, for files that people made longer by hand.
// A name may stand for a device or a file that grows: the bound is on what is read, not on what the size says.
const maxRead = 8 * MaxContent

// ReadFile returns the content of one file of the workspace at root as it is
// now. No link is followed on the way, so what is read lies in root. name is
// slash-separated and relative; the error is an *fs.PathError with it.
//
// A file that is not there is fs.ErrNotExist. It is no snapshot: two calls may see two states.
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
	// It does not wait, so that a pipe without a writer hangs nobody: what it is is asked of the open file, and not of
	// the name, which may mean another by then.
	f, err := t.Open(name, unix.O_RDONLY, 0)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, refuse("is a symbolic link, which is not followed")
	case errors.Is(err, unix.ENOTDIR):
		return nil, refuse("a part of the path is no directory, or a symbolic link, which is not followed")
	case err != nil:
		return nil, err
	}
	defer f.Close() // it was only read
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	if kind, other := KindOf(st.Mode); kind == Dir {
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
