// Package dirfd reads and writes below one directory that is held open, and never through a link. Scans and promotions
// of a workspace reach its files only through it.
//
// Paths are slash-separated and relative to the directory, "." for itself. The package attaches no meaning to a path
// and knows nothing of manifests or changesets: its caller has checked what may be read or written.
package dirfd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// A Tree is a directory held open. Everything below it is reached step by step from its descriptor, so no symbolic link
// is ever followed, not even one that stays inside, which os.Root would follow.
type Tree struct {
	FD int // the descriptor, -1 once it is closed
	// For messages.
	Root string
	// Tests set it to emulate a file system that supports neither NoReplace nor Exchange.
	Plain bool
}

// Open opens the directory at root, which may itself be reached through links.
func Open(root string) (*Tree, error) {
	fd, err := openat(unix.AT_FDCWD, root, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open workspace", Path: root, Err: err}
	}
	return &Tree{FD: fd, Root: root}, nil
}

// Reopen opens the directory once more, for a separate owner.
func (t *Tree) Reopen() (*Tree, error) {
	fd, err := t.Dir(".")
	if err != nil {
		return nil, &fs.PathError{Op: "open workspace", Path: t.Root, Err: err}
	}
	return &Tree{FD: fd, Root: t.Root, Plain: t.Plain}, nil
}

// An Inode distinguishes a file or directory from all others that exist at the time.
type Inode struct{ Device, Number uint64 }

// InodeOf returns the inode that st describes.
func InodeOf(st *unix.Stat_t) Inode { return Inode{Device: uint64(st.Dev), Number: st.Ino} }

// Identity returns the inode of the directory itself.
func (t *Tree) Identity() (Inode, error) {
	var st unix.Stat_t
	if err := unix.Fstat(t.FD, &st); err != nil {
		return Inode{}, &fs.PathError{Op: "stat", Path: t.Root, Err: err}
	}
	return InodeOf(&st), nil
}

// InPlace reports whether the directory is still at its path. If not, it was moved or removed, and what is there now,
// if anything, is another directory or a link. The path must contain no links.
func (t *Tree) InPlace() (bool, error) {
	id, err := t.Identity()
	if err != nil {
		return false, err
	}
	var st unix.Stat_t
	err = unix.Lstat(t.Root, &st)
	if err != nil && !Gone(err) {
		return false, &fs.PathError{Op: "stat", Path: t.Root, Err: err}
	}
	return err == nil && InodeOf(&st) == id, nil
}

// Close closes the descriptor, but only once: after that its number may belong to another file.
func (t *Tree) Close() error {
	fd := t.FD
	t.FD = -1
	if fd < 0 {
		return nil
	}
	return unix.Close(fd)
}

// openat makes the system call, and repeats it when a signal interrupts it.
func openat(dir int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
		if !errors.Is(err, unix.EINTR) {
			return fd, asLinux(err, flags)
		}
	}
}

// Dir opens the directory rel, "." for the root. The caller closes it.
func (t *Tree) Dir(rel string) (int, error) {
	// O_DIRECTORY with O_NOFOLLOW makes a link fail with ENOTDIR, like anything else that is not a directory.
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW
	fd, err := openat(t.FD, ".", flags, 0)
	if rel == "." || err != nil {
		return fd, err
	}
	for part := range strings.SplitSeq(rel, "/") {
		next, err := openat(fd, part, flags, 0)
		unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

// at calls do with the directory that holds rel and the last part of rel.
func (t *Tree) at(op, rel string, do func(dir int, base string) error) error {
	// The directory is opened anew each time. Holding it open would be faster, but if the user moved it away, writes
	// would follow it to its new place.
	dir, err := t.Dir(path.Dir(rel))
	if err == nil {
		err = do(dir, path.Base(rel))
		unix.Close(dir)
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: rel, Err: err}
	}
	return nil
}

// Stat describes rel itself, never what it points to.
func (t *Tree) Stat(rel string) (st unix.Stat_t, err error) {
	err = t.at("stat", rel, func(dir int, base string) error {
		return unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return st, err
}

// Open opens rel. O_NONBLOCK keeps a FIFO that appears there from blocking.
func (t *Tree) Open(rel string, flags int, mode uint32) (f *os.File, err error) {
	err = t.at("open", rel, func(dir int, base string) error {
		fd, err := openat(dir, base, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, mode)
		if err == nil {
			f = os.NewFile(uintptr(fd), rel)
		}
		return err
	})
	return f, err
}

// Names lists the directory rel.
func (t *Tree) Names(rel string) ([]string, error) {
	fd, err := t.Dir(rel)
	if err != nil {
		return nil, &fs.PathError{Op: "read directory", Path: rel, Err: err}
	}
	f := os.NewFile(uintptr(fd), rel)
	defer f.Close()
	return f.Readdirnames(-1)
}

// Mkdir makes the directory rel. The process's umask removes bits from mode: see dressDir in package promotion for the
// directories where that matters.
func (t *Tree) Mkdir(rel string, mode uint32) error {
	return t.at("make directory", rel, func(dir int, base string) error {
		return unix.Mkdirat(dir, base, mode)
	})
}

// Rmdir removes the directory rel, but only if it is empty: the kernel checks that, so no file that appears at the last
// moment is lost.
func (t *Tree) Rmdir(rel string) error {
	return t.at("remove directory", rel, func(dir int, base string) error {
		return unix.Unlinkat(dir, base, unix.AT_REMOVEDIR)
	})
}

// Unlink removes the name rel. It must only be called for names that the agent has made; a user's file is renamed,
// never removed.
func (t *Tree) Unlink(rel string) error {
	return t.at("remove", rel, func(dir int, base string) error {
		return unix.Unlinkat(dir, base, 0)
	})
}

// Rename gives what is at from the name to. With flags 0 it replaces what is there, as rename does. NoReplace and
// Exchange do what they say, or fail with an error for which Unsupported is true.
func (t *Tree) Rename(from, to string, flags uint) error {
	if t.Plain && flags != 0 {
		return &fs.PathError{Op: "rename", Path: from, Err: unix.EINVAL}
	}
	return t.at("rename", from, func(fromDir int, fromBase string) error {
		toDir, err := t.Dir(path.Dir(to))
		if err != nil {
			return err
		}
		defer unix.Close(toDir)
		return rename(fromDir, fromBase, toDir, path.Base(to), flags)
	})
}

// Link gives the file from the additional name to, which must be free.
func (t *Tree) Link(from, to string) error {
	return t.at("link", from, func(fromDir int, fromBase string) error {
		toDir, err := t.Dir(path.Dir(to))
		if err != nil {
			return err
		}
		defer unix.Close(toDir)
		return unix.Linkat(fromDir, fromBase, toDir, path.Base(to), 0)
	})
}

// Sync makes the names in the directory rel durable. It ignores EINVAL: some file systems have nothing to sync for a
// directory.
func (t *Tree) Sync(rel string) error {
	fd, err := t.Dir(rel)
	if err != nil {
		return &fs.PathError{Op: "sync", Path: rel, Err: err}
	}
	defer unix.Close(fd)
	if err := syncDir(fd); err != nil && !errors.Is(err, unix.EINVAL) {
		return &fs.PathError{Op: "sync", Path: rel, Err: err}
	}
	return nil
}

// Mount identifies the mount that the directory rel is on, which a rename cannot leave.
func (t *Tree) Mount(rel string) (id [2]uint64, err error) {
	fd, err := t.Dir(rel)
	if err != nil {
		return id, &fs.PathError{Op: "open", Path: rel, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return id, err
	}
	return [2]uint64{uint64(st.Dev), mountNumber(fd)}, nil
}

// Write makes a new file with content, in place of a leftover, and makes its bytes durable.
func (t *Tree) Write(name string, content []byte, mode uint32) error {
	if err := t.Unlink(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := t.Open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, mode)
	if err != nil {
		return err
	}
	// Without the sync, a power failure after the rename could leave a file with the right name and no content.
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Read returns the content of a small file, such as a plan.
func (t *Tree) Read(name string) ([]byte, error) {
	f, err := t.Open(name, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("it is not a regular file")}
	}
	// A plan of 100,000 items has some 30 MB; the agent writes nothing larger than this limit.
	return io.ReadAll(io.LimitReader(f, 256<<20))
}

// Empty removes the directory name with everything in it; it may be absent.
func (t *Tree) Empty(name string) error {
	names, err := t.Names(name)
	if Gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, child := range names {
		child = path.Join(name, child)
		err := t.Unlink(child)
		if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
			err = t.Empty(child)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := t.Rmdir(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Unsupported reports whether err says that a file system does not support the flags of a Rename.
func Unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOTSUP)
}

// Gone reports whether err says that a path, or a directory on the way to it, no longer exists or is something else.
func Gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO)
}
