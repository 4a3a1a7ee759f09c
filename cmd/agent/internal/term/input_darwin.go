package term

import (
	"time"

	"golang.org/x/sys/unix"
)

// waitInput waits for at most d until a read of fd would not block, and reports whether it would not. It uses select:
// poll does not support terminals there.
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
