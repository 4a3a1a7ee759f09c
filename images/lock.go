package images

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// lockPoll is how often a waiting process looks; a wait in the kernel could not be cancelled.
const lockPoll = 50 * time.Millisecond

// cacheDir returns the user's directory for what builds remember, which it makes if necessary.
func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "agent")
	} else {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("agent-%d", os.Getuid())) // a user without a home
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// lock makes this process, and this goroutine in it, the only one that builds name, until the returned function is called or
// the process dies: the kernel drops the lock with the open file. The file itself stays, empty: removing it would let two
// processes hold locks on two files of one name.
//
// BuildKit would survive two builds at once, and share most of the work. But both would bootstrap a base, and the loser's
// image would be left without a tag.
func lock(ctx context.Context, name string) (unlock func(), err error) {
	dir, err := cacheDir()
	if err != nil {
		return nil, fmt.Errorf("make the directory of the build lock: %w", err)
	}
	l := flock.New(filepath.Join(dir, name+".lock"), flock.SetFlag(os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW))
	_, err = l.TryLockContext(ctx, lockPoll)
	switch {
	case err == nil:
		return func() { l.Close() }, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("wait for another build: %w", context.Cause(ctx))
	}
	return nil, fmt.Errorf("take the build lock %s: %w", l.Path(), err)
}
