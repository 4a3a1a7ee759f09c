package guest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// collect reads the files that exist. A file that is not regular, lies behind a link or is too large counts as absent.
//
// It runs after the last process has gone, so nothing changes while it reads. The caller judges what a missing file
// means.
func collect(names []string) map[string][]byte {
	if len(names) == 0 {
		return nil
	}
	files := make(map[string][]byte, len(names))
	for _, name := range names {
		if content, err := readPlain(name); err == nil {
			files[name] = content
		}
	}
	return files
}

// readPlain reads a regular file whose path contains no symbolic link. It never blocks on a FIFO. A sparse file of any
// size costs no more than MaxCollectSize.
func readPlain(name string) ([]byte, error) {
	fd, err := openPlain(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > MaxCollectSize {
		return nil, fmt.Errorf("%s is a %s of %d bytes", name, kindOf(info.Mode()), info.Size())
	}
	var content bytes.Buffer
	if _, err := io.Copy(&content, io.LimitReader(f, MaxCollectSize)); err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}

// openPlain opens a clean absolute path, one directory after the other, so that no link is followed. openat2 could do
// it in one call but is missing in gVisor.
func openPlain(name string) (int, error) {
	dir, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	parents, base := path.Split(strings.TrimPrefix(name, "/"))
	for part := range strings.SplitSeq(strings.TrimSuffix(parents, "/"), "/") {
		if part == "" {
			continue
		}
		next, err := unix.Openat(dir, part, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(dir)
		if err != nil {
			return -1, err
		}
		dir = next
	}
	defer unix.Close(dir)
	return unix.Openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
}
