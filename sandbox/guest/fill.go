package guest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// fillWorkers is how many files are copied at once. A file is mostly
// system calls, and a box has two processors unless told otherwise.
const fillWorkers = 4

// copyBuffer is the size of one read, large enough for most source
// files in one go.
const copyBuffer = 128 << 10

// fill copies the tree at src into the empty directory dst with its
// permission bits and symbolic links, and counts into ready. Without
// src it does nothing. Directories are always writable for the owner,
// or nothing could be applied in them. It stops at the first problem,
// most often that dst is full.
func fill(src, dst string, ready *Ready) error {
	if _, err := os.Lstat(src); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// Long enough that the walk does not wait for the workers in a directory of
	// small files.
	jobs := make(chan string, 1024)
	var copied fillCount
	var workers sync.WaitGroup
	for range fillWorkers {
		workers.Go(func() {
			buf := make([]byte, copyBuffer)
			for rel := range jobs {
				copied.add(copyFile(filepath.Join(src, rel), filepath.Join(dst, rel), buf))
			}
		})
	}
	err := filepath.WalkDir(src, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// When one worker has failed the walk ends; the others finish what is
		// queued.
		if err := copied.failure(); err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil || rel == "." {
			return err
		}
		return place(path, filepath.Join(dst, rel), rel, entry, jobs, ready)
	})
	// In any case, after an error too: the workers end when the channel does.
	close(jobs)
	workers.Wait()
	ready.Files, ready.Bytes = int(copied.files.Load()), copied.bytes.Load()
	if failure := copied.failure(); failure != nil {
		return failure
	}
	return err
}

// place makes directories and links at once, parents before their
// children, and leaves files to the workers.
func place(from, to, rel string, entry fs.DirEntry, jobs chan<- string, ready *Ready) error {
	switch entry.Type() {
	case fs.ModeDir:
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o700
		if err := os.Mkdir(to, mode); err != nil {
			return err
		}
		ready.Dirs++
		return os.Chmod(to, mode) // Mkdir applies the umask
	case fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		ready.Links++
		return os.Symlink(target, to)
	case 0:
		jobs <- rel
		return nil
	}
	// A socket, a pipe or a device: the scan takes none of them, so the snapshot
	// is not what it should be.
	return fmt.Errorf("%s in the snapshot is a %s", rel, entry.Type())
}

// A fillCount gathers what the workers did.
type fillCount struct {
	files, bytes atomic.Int64
	failed       atomic.Pointer[error]
}

// add takes in one file. The first error stays; those after it are mostly the
// same again.
func (c *fillCount) add(n int64, err error) {
	if err != nil {
		c.failed.CompareAndSwap(nil, &err)
		return
	}
	c.files.Add(1)
	c.bytes.Add(n)
}

// failure returns the first error of a worker.
func (c *fillCount) failure() error {
	if err := c.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// copyFile copies one regular file with its permission bits. It uses
// plain system calls: os.File would try three kinds of zero copy that
// tmpfs has not.
func copyFile(src, dst string, buf []byte) (int64, error) {
	in, err := unix.Open(src, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: src, Err: err}
	}
	defer unix.Close(in)
	var st unix.Stat_t
	if err := unix.Fstat(in, &st); err != nil {
		return 0, &fs.PathError{Op: "stat", Path: src, Err: err}
	}
	// Private until its bytes are there. O_EXCL, since dst was empty: whatever
	// stands there was not made by this copy.
	out, err := unix.Open(dst, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return 0, &fs.PathError{Op: "create", Path: dst, Err: err}
	}
	defer unix.Close(out)
	size, err := copyBytes(out, in, buf)
	if err == nil {
		err = unix.Fchmod(out, st.Mode&0o777)
	}
	if err != nil {
		return 0, &fs.PathError{Op: "copy", Path: dst, Err: err}
	}
	return size, nil
}

// copyBytes copies from in to its end.
func copyBytes(out, in int, buf []byte) (total int64, err error) {
	for {
		n, err := unix.Read(in, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return total, err
		}
		for rest := buf[:n]; len(rest) > 0; {
			n, err := unix.Write(out, rest)
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				return total, err
			}
			if n == 0 {
				return total, io.ErrShortWrite
			}
			rest, total = rest[n:], total+int64(n)
		}
	}
}
