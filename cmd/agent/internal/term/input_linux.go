package term

import (
	"time"

	"golang.org/x/sys/unix"
)

// waitInput waits for at most d until a read of fd would not block, and reports whether it would not.
func waitInput(fd int, d time.Duration) (bool, error) {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(d.Milliseconds()))
	return n > 0, err
}
