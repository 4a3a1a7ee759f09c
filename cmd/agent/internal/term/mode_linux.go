package term

import "golang.org/x/sys/unix"

// The requests that read and set the modes of a terminal.
const (
	getModes = unix.TCGETS
	setModes = unix.TCSETS
)

// dropInput discards typed input that was not read yet.
func dropInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
