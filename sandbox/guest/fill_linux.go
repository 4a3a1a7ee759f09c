package guest

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"agent/sandbox/guest/sealed"
)

// fillWorkers is how many packs are unsealed at once. Writing a file is mostly system calls, and a box has two
// processors by default.
const fillWorkers = 4

// copyBuffer is the size of one write, large enough to write most source files at once.
const copyBuffer = 128 << 10

// fill unseals the packs in the directory src with key into the empty directory dst, with permission bits and symbolic
// links, and counts into ready. Without a key it does nothing. Directories are always writable for the owner, or
// nothing could be applied in them. It stops at the first problem, which is usually that dst is full.
func fill(src, dst string, key []byte, ready *Ready) error {
	if len(key) == 0 {
		return nil
	}
	names, err := os.ReadDir(src)
	if err != nil {
		return fmt.Errorf("read the snapshot: %w", err)
	}
	// Directories come before their contents, and links last, so that no file is written through one.
	var links []sealed.Entry
	err = unseal(filepath.Join(src, sealed.Structure), key, func(e sealed.Entry, _ io.Reader) error {
		if e.Mode.Type() == fs.ModeSymlink {
			links = append(links, e)
			return nil
		}
		ready.Dirs++
		return makeDir(filepath.Join(dst, e.Path), e.Mode.Perm()|0o700)
	})
	if err != nil {
		return err
	}
	jobs := make(chan string, len(names))
	for _, name := range names {
		if name.Name() != sealed.Structure {
			jobs <- name.Name()
		}
	}
	close(jobs)
	var copied fillCount
	var workers sync.WaitGroup
	for range fillWorkers {
		workers.Go(func() { copied.unseal(src, dst, key, jobs) })
	}
	workers.Wait()
	ready.Files, ready.Bytes = int(copied.files.Load()), copied.bytes.Load()
	if failure := copied.failure(); failure != nil {
		return failure
	}
	for _, l := range links {
		if err := os.Symlink(l.Target, filepath.Join(dst, l.Path)); err != nil {
			return err
		}
		ready.Links++
	}
	return nil
}

// unseal calls put for each entry of the pack at path.
func unseal(path string, key []byte, put func(sealed.Entry, io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the snapshot: %w", err)
	}
	defer f.Close()
	return sealed.Unseal(f, filepath.Base(path), key, put)
}

// makeDir creates a directory with exactly this mode: Mkdir applies the umask.
func makeDir(path string, mode fs.FileMode) error {
	if err := os.Mkdir(path, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// A fillCount gathers what the workers did.
type fillCount struct {
	files, bytes atomic.Int64
	// failed keeps the first error; later ones are mostly the same again.
	failed atomic.Pointer[error]
}

// add counts one file of n bytes.
func (c *fillCount) add(n int64) {
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

// unseal writes the files of the packs that it takes from jobs, until none is left or a worker has failed.
func (c *fillCount) unseal(src, dst string, key []byte, jobs <-chan string) {
	buf := make([]byte, copyBuffer)
	for name := range jobs {
		err := unseal(filepath.Join(src, name), key, func(e sealed.Entry, content io.Reader) error {
			if err := c.failure(); err != nil {
				return err
			}
			n, err := writeFile(filepath.Join(dst, e.Path), e.Mode.Perm(), content, buf)
			if err == nil {
				c.add(n)
			}
			return err
		})
		if err != nil {
			c.failed.CompareAndSwap(nil, &err)
			return
		}
	}
}

// writeFile creates one regular file with its permission bits. It uses plain system calls: os.File would involve the
// poller for each file.
func writeFile(dst string, mode fs.FileMode, content io.Reader, buf []byte) (int64, error) {
	// The file is private until its bytes are there. O_EXCL, since dst was empty: this fill did not make whatever
	// exists there.
	out, err := unix.Open(dst, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return 0, &fs.PathError{Op: "create", Path: dst, Err: err}
	}
	defer unix.Close(out)
	size, err := copyBytes(out, content, buf)
	if err == nil {
		err = unix.Fchmod(out, uint32(mode))
	}
	if err != nil {
		return 0, &fs.PathError{Op: "write", Path: dst, Err: err}
	}
	return size, nil
}

// copyBytes copies in to its end into out.
func copyBytes(out int, in io.Reader, buf []byte) (total int64, err error) {
	for {
		n, readErr := in.Read(buf)
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
		if readErr == io.EOF {
			return total, nil
		}
		if readErr != nil {
			return total, readErr
		}
	}
}
