package images

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockPoll is how often a waiting process looks; the kernel's own waiting could not be cancelled.
const lockPoll = 50 * time.Millisecond

// lock makes this process, and this goroutine in it, the only one that builds
// name, until the returned function is called or the process dies: the kernel
// drops the lock with the open file. The file itself stays, empty; to remove it would let two processes hold
// locks on two files of one name.
//
// BuildKit would survive two at once, and share most of the work, but both
// would bootstrap a base, and the loser's image would be left without a tag.
func lock(ctx context.Context, name string) (unlock func(), err error) {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "agent")
	} else {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("agent-%d", os.Getuid())) // a user without a home
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the build lock: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name+".lock"), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the build lock: %w", err)
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("take the build lock %s: %w", f.Name(), err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for another build: %w", context.Cause(ctx)), f.Close())
		case <-tick.C:
		}
	}
}
