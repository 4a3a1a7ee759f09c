package dirfd

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Writing reports whether some process has f open for writing: then the kernel grants no read lease. It is false if
// leases are not available.
func Writing(f *os.File) bool { return errors.Is(lease(f), unix.EAGAIN) }

// Unwritten reports whether certainly no process has f open for writing, or mapped for writing. It is false if leases
// are not available.
func Unwritten(f *os.File) bool { return lease(f) == nil }

// Private reports whether only this user can read or write the file that info describes.
func Private(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}
