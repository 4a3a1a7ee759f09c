package dirfd

import (
	"os"

	"golang.org/x/sys/unix"
)

// The modes of Tree.Rename besides that of rename.
const (
	// NoReplace fails with EEXIST when the new name is taken.
	NoReplace = unix.RENAME_NOREPLACE
	// Exchange swaps the names of two files atomically.
	Exchange = unix.RENAME_EXCHANGE
)

// rename is renameat2.
func rename(fromDir int, from string, toDir int, to string, flags uint) error {
	return unix.Renameat2(fromDir, from, toDir, to, flags)
}

// asLinux returns err: the package's errors are those of Linux.
func asLinux(err error, _ int) error { return err }

// syncDir makes the names in the open directory durable.
func syncDir(fd int) error { return unix.Fsync(fd) }

// mountNumber distinguishes mounts of one device, such as bind mounts; it is 0 on kernels before 5.8, which number
// none.
func mountNumber(fd int) uint64 {
	var x unix.Statx_t
	if unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &x) == nil && x.Mask&unix.STATX_MNT_ID != 0 {
		return x.Mnt_id
	}
	return 0
}

// lease takes a read lease on f, and gives it back at once.
func lease(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return err
}

// Stamps reports whether every change of a file on the file system of fd shows in its time of change. That includes a
// change through a mapping of its pages, and the time must come from this kernel's clock alone. Network file systems,
// tmpfs and layered ones promise less.
func Stamps(fd int) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC:
		return true
	}
	return false
}
