package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// A tree is a directory held open. Everything below it is reached step by step
// from its descriptor, so no symbolic link is ever followed, not even one that
// stays inside: os.Root would follow that.
type tree struct {
	fd int
	// For messages.
	root string
	// Tests behave as on a file system that knows no flags of renameat2.
	plain bool
}

// openTree opens the directory at root, which may itself be reached through
// links.
func openTree(root string) (*tree, error) {
	fd, err := openat(unix.AT_FDCWD, root, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open workspace", Path: root, Err: err}
	}
	return &tree{fd: fd, root: root}, nil
}

// again opens the directory once more, for an owner of its own.
func (t *tree) again() (*tree, error) {
	fd, err := t.dir(".")
	if err != nil {
		return nil, &fs.PathError{Op: "open workspace", Path: t.root, Err: err}
	}
	return &tree{fd: fd, root: t.root, plain: t.plain}, nil
}

// An inode tells a file or directory from all others that exist at the time.
type inode struct{ device, number uint64 }

// identity is the inode of the directory itself.
func (t *tree) identity() (inode, error) {
	var st unix.Stat_t
	if err := unix.Fstat(t.fd, &st); err != nil {
		return inode{}, &fs.PathError{Op: "stat", Path: t.root, Err: err}
	}
	return inode{device: st.Dev, number: st.Ino}, nil
}

// inPlace gives a *ConflictError when the directory is not at its path any
// more: it was moved or removed, and what is there now, if anything, is another
// directory or a link. The path must be one without links.
func (t *tree) inPlace() error {
	id, err := t.identity()
	if err != nil {
		return err
	}
	var st unix.Stat_t
	err = unix.Lstat(t.root, &st)
	if err != nil && !gone(err) {
		return &fs.PathError{Op: "stat", Path: t.root, Err: err}
	}
	if err != nil || (inode{device: st.Dev, number: st.Ino}) != id {
		return &ConflictError{
			Paths: []string{t.root}, Reason: "the workspace was moved, or replaced by another directory, since the command began",
			Next: "name the directory that is meant with --workspace, then run again",
		}
	}
	return nil
}

// close closes the descriptor, once: a number closed twice may by then be
// another file's.
func (t *tree) close() error {
	fd := t.fd
	t.fd = -1
	if fd < 0 {
		return nil
	}
	return unix.Close(fd)
}

// openat is the system call, started again when a signal interrupts it.
func openat(dir int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// dir opens the directory rel, "." for the root. The caller closes it.
func (t *tree) dir(rel string) (int, error) {
	// O_DIRECTORY with O_NOFOLLOW makes a link fail with ENOTDIR, as any other
	// thing that is no directory does.
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW
	fd, err := openat(t.fd, ".", flags, 0)
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
func (t *tree) at(op, rel string, do func(dir int, base string) error) error {
	// The directory is opened anew each time. Holding it open would be faster,
	// but a user who moves it away would then be written to in its new place.
	dir, err := t.dir(path.Dir(rel))
	if err == nil {
		err = do(dir, path.Base(rel))
		unix.Close(dir)
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: rel, Err: err}
	}
	return nil
}

// stat tells about rel itself, never about what it points to.
func (t *tree) stat(rel string) (st unix.Stat_t, err error) {
	err = t.at("stat", rel, func(dir int, base string) error {
		return unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return st, err
}

// open opens rel. O_NONBLOCK keeps a FIFO that appears there from blocking.
func (t *tree) open(rel string, flags int, mode uint32) (f *os.File, err error) {
	err = t.at("open", rel, func(dir int, base string) error {
		fd, err := openat(dir, base, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, mode)
		if err == nil {
			f = os.NewFile(uintptr(fd), rel)
		}
		return err
	})
	return f, err
}

// names lists the directory rel.
func (t *tree) names(rel string) ([]string, error) {
	fd, err := t.dir(rel)
	if err != nil {
		return nil, &fs.PathError{Op: "read directory", Path: rel, Err: err}
	}
	f := os.NewFile(uintptr(fd), rel)
	defer f.Close()
	return f.Readdirnames(-1)
}

// mkdir makes the directory rel. The process's umask takes bits away from
// mode: see dressDir for the directories where that matters.
func (t *tree) mkdir(rel string, mode uint32) error {
	return t.at("make directory", rel, func(dir int, base string) error {
		return unix.Mkdirat(dir, base, mode)
	})
}

// rmdir removes the directory rel, and only if it is empty: the kernel checks
// that, so no file that appears in the last moment is lost.
func (t *tree) rmdir(rel string) error {
	return t.at("remove directory", rel, func(dir int, base string) error {
		return unix.Unlinkat(dir, base, unix.AT_REMOVEDIR)
	})
}

// unlink removes the name rel. It is only ever called for names that this
// package has made; a user's file is renamed, never removed.
func (t *tree) unlink(rel string) error {
	return t.at("remove", rel, func(dir int, base string) error {
		return unix.Unlinkat(dir, base, 0)
	})
}

// rename is renameat2 with its flags.
func (t *tree) rename(from, to string, flags uint) error {
	if t.plain && flags != 0 {
		return &fs.PathError{Op: "rename", Path: from, Err: unix.EINVAL}
	}
	return t.at("rename", from, func(fromDir int, fromBase string) error {
		toDir, err := t.dir(path.Dir(to))
		if err != nil {
			return err
		}
		defer unix.Close(toDir)
		return unix.Renameat2(fromDir, fromBase, toDir, path.Base(to), flags)
	})
}

// link gives the file from the further name to, which must be free.
func (t *tree) link(from, to string) error {
	return t.at("link", from, func(fromDir int, fromBase string) error {
		toDir, err := t.dir(path.Dir(to))
		if err != nil {
			return err
		}
		defer unix.Close(toDir)
		return unix.Linkat(fromDir, fromBase, toDir, path.Base(to), 0)
	})
}

// sync makes the names in the directory rel durable. Some file systems have
// nothing to sync for a directory and say EINVAL.
func (t *tree) sync(rel string) error {
	fd, err := t.dir(rel)
	if err != nil {
		return &fs.PathError{Op: "sync", Path: rel, Err: err}
	}
	defer unix.Close(fd)
	if err := unix.Fsync(fd); err != nil && !errors.Is(err, unix.EINVAL) {
		return &fs.PathError{Op: "sync", Path: rel, Err: err}
	}
	return nil
}

// mount identifies the mount that the directory rel lies on: a rename does not
// cross it.
func (t *tree) mount(rel string) (id [2]uint64, err error) {
	fd, err := t.dir(rel)
	if err != nil {
		return id, &fs.PathError{Op: "open", Path: rel, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return id, err
	}
	id[0] = uint64(st.Dev)
	// The device alone misses bind mounts; kernels before 5.8 know no mount
	// number.
	var x unix.Statx_t
	if unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &x) == nil && x.Mask&unix.STATX_MNT_ID != 0 {
		id[1] = x.Mnt_id
	}
	return id, nil
}

// kindOf names what is not a regular file, directory or link: "" for those
// three.
//
// The kernel tells more kinds of things than a snapshot can carry. A device or
// socket means something only on the machine where it is, and reading a FIFO
// would wait for a writer, so none of them is opened at all.
func kindOf(mode uint32) (Kind, string) {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return File, ""
	case unix.S_IFDIR:
		return Dir, ""
	case unix.S_IFLNK:
		return Symlink, ""
	case unix.S_IFIFO:
		return "", "fifo"
	case unix.S_IFSOCK:
		return "", "socket"
	}
	return "", "device"
}
