package term

import (
	"time"

	"golang.org/x/sys/unix"
)

// waitInput reports whether a read of fd would not block, and waits for that for at most d.
func waitInput(fd int, d time.Duration) (bool, error) {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(d.Milliseconds()))
	return n > 0, err
}
