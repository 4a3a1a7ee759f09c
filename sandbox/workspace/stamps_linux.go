package workspace

import "golang.org/x/sys/unix"

// stamps reports whether every change of a file shows in its time of change,
// on the file system that fd lies on: also a change through a mapping of its
// pages, and by nobody's clock but this kernel's. Network file systems, tmpfs
// and layered ones promise less.
func stamps(fd int) bool {
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
