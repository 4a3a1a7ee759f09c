package dirfd

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Writing reports whether some process has f open for writing: then no read
// lease is given. Where leases are not to be had the answer is no.
func Writing(f *os.File) bool { return errors.Is(lease(f), unix.EAGAIN) }

// Unwritten reports whether certainly no process has f open for writing, nor
// mapped so. Where leases are not to be had the answer is no.
func Unwritten(f *os.File) bool { return lease(f) == nil }

// Private reports whether nobody but this user can read or write the file that
// info is about.
func Private(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}
