package term

import (
	"time"

	"golang.org/x/sys/unix"
)

// waitInput reports whether a read of fd would not block, and waits for that for at most d.
// It asks select: poll does not know terminals there.
func waitInput(fd int, d time.Duration) (bool, error) {
	if fd >= unix.FD_SETSIZE {
		return false, unix.EBADF
	}
	var read unix.FdSet
	read.Set(fd)
	wait := unix.NsecToTimeval(d.Nanoseconds())
	n, err := unix.Select(fd+1, &read, nil, nil, &wait)
	return n > 0, err
}
