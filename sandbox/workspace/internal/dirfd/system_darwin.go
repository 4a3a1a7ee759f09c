package dirfd

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// The modes of Tree.Rename besides that of rename.
const (
	// NoReplace fails with EEXIST when the new name is taken.
	NoReplace = unix.RENAME_EXCL
	// Exchange swaps the names of two files atomically.
	Exchange = unix.RENAME_SWAP
)

// rename is renameatx_np. HFS+ and network file systems support no flags: ENOTSUP.
func rename(fromDir int, from string, toDir int, to string, flags uint) error {
	return unix.RenameatxNp(fromDir, from, toDir, to, uint32(flags))
}

// asLinux translates the error of an open with flags to that of Linux: a link in the place of a directory is not a
// directory, and a socket cannot be opened.
func asLinux(err error, flags int) error {
	switch {
	case flags&unix.O_DIRECTORY != 0 && errors.Is(err, unix.ELOOP):
		return unix.ENOTDIR
	case errors.Is(err, unix.EOPNOTSUPP):
		return unix.ENXIO
	}
	return err
}

// syncDir makes the names in the open directory durable. fsync alone leaves them in the cache of the drive; a file
// system that cannot flush that supports only fsync.
func syncDir(fd int) error {
	for {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTTY):
			return unix.Fsync(fd)
		}
		return err
	}
}

// mountNumber returns 0: there are no bind mounts, so the device alone identifies the mount.
func mountNumber(int) uint64 { return 0 }

// lease fails: there are no leases, and nothing else shows who has f open. Files count as being written to, so each is
// read twice.
func lease(*os.File) error { return unix.ENOTSUP }

// Stamps returns false: no file system here is known to show a change through a mapping of a file's pages in its time
// of change.
func Stamps(int) bool { return false }
