package promotion

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"agent/sandbox/workspace/internal/dirfd"

	"golang.org/x/sys/unix"
)

// A Lock is the exclusive right to change one workspace. It is an flock on the directory itself: the kernel releases it
// when the process dies, and it leaves no file behind. The directory is held open, and everything is written to that
// directory, whatever its path names by then.
type Lock struct{ tree *dirfd.Tree }

// ErrLocked means that another process is changing the workspace.
var ErrLocked = errors.New("the workspace is locked by another process")

// A Place is a workspace as it was found, held open: if another directory or a link takes its path before it is locked,
// it is not mistaken for the workspace.
type Place struct {
	// Absolute, links resolved.
	Path string
	// Closed at the latest when nothing refers to it any more.
	dir *os.File
}

// Hold opens the directory at root.
func Hold(root string) (*Place, error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	dir, err := os.OpenFile(real, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return &Place{Path: real, dir: dir}, nil
}

// Close closes the directory; its locks stay. It may be called twice.
func (p *Place) Close() { p.dir.Close() } // it was only read: nothing to lose

// InPlace returns a *ConflictError if the path of the workspace no longer names this directory.
func (p *Place) InPlace() error {
	err := inPlace(&dirfd.Tree{FD: int(p.dir.Fd()), Root: p.Path})
	runtime.KeepAlive(p)
	return err
}

// Acquire takes the lock, without waiting. If another process (or another Acquire in this one) has it, the error is
// ErrLocked, wrapped with the holder's process number if the system reports it. If the directory is no longer at its
// path, the error is a *ConflictError.
func (p *Place) Acquire() (*Lock, error) {
	// An flock belongs to one opening of the directory, so the lock needs an opening of its own.
	t, err := (&dirfd.Tree{FD: int(p.dir.Fd()), Root: p.Path}).Reopen()
	runtime.KeepAlive(p)
	if err != nil {
		return nil, err
	}
	// A lock file would have to be kept out of snapshots and removed at the right moment, which is hard to get right.
	// The directory is there anyway.
	err = unix.Flock(t.FD, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrLocked
		if pid := holder(t.FD); pid != "" {
			err = fmt.Errorf("%w: process %s has it", ErrLocked, pid)
		}
	}
	if err == nil {
		err = inPlace(t)
	}
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("lock %s: %w", p.Path, err)
	}
	return &Lock{tree: t}, nil
}

// Acquire is Place.Acquire for the directory that is at root now.
func Acquire(root string) (*Lock, error) {
	p, err := Hold(root)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return p.Acquire()
}

// InPlace returns a *ConflictError if the path of the workspace no longer names the locked directory. A caller that
// reads the workspace by its path calls it before and after.
func (l *Lock) InPlace() error { return inPlace(l.tree) }

// inPlace returns a *ConflictError if the directory is no longer at its path.
func inPlace(t *dirfd.Tree) error {
	is, err := t.InPlace()
	if err == nil && !is {
		err = &ConflictError{
			Paths: []string{t.Root}, Reason: "the workspace was moved, or replaced by another directory, since the command began",
			Next: "name the intended directory with --workspace, then run again",
		}
	}
	return err
}

// holder returns the process that holds the flock of fd, from the kernel's list. It returns "" if that process is not
// listed: the list leaves out processes of other containers.
func holder(fd int) string {
	var st unix.Stat_t
	f, err := os.Open("/proc/locks")
	if err != nil || unix.Fstat(fd, &st) != nil {
		return ""
	}
	defer f.Close()
	// The list names files by device and inode, in hexadecimal and decimal.
	want := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// As "1: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF".
		col := strings.Fields(lines.Text())
		if len(col) > 5 && col[1] == "FLOCK" && col[5] == want {
			return col[4]
		}
	}
	return ""
}

// Release releases the lock. It may be called twice.
func (l *Lock) Release() error {
	// A child process that is being forked has the opening too, until it executes its program: closing alone would leave it the lock.
	var unlocked error
	if l.tree.FD >= 0 {
		unlocked = unix.Flock(l.tree.FD, unix.LOCK_UN)
	}
	if err := errors.Join(unlocked, l.tree.Close()); err != nil {
		return fmt.Errorf("release the lock: %w", err)
	}
	return nil
}

// A ConflictError says that the host is no longer what the changeset was made from. Nothing was written.
type ConflictError struct {
	// The files in question; the workspace's root if it is about the workspace as a whole.
	Paths []string
	// "" if files changed; otherwise a sentence without its full stop.
	Reason string
	// What the user should do; "" if that is to make the patch again.
	Next string
}

// Error lists the first few paths and says what to do.
func (e *ConflictError) Error() string {
	// A screenful is enough; the whole list is in Paths.
	const shown = 5
	names := strings.Join(e.Paths[:min(shown, len(e.Paths))], ", ")
	if more := len(e.Paths) - shown; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	if e.Reason != "" {
		return e.Reason + " (" + names + "); nothing was written"
	}
	return "changed on the host since the snapshot, or open for writing: " + names +
		"; nothing was written: run again to start from the current state"
}
