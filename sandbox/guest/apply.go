package guest

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// apply deletes what p names below dir, then writes the regular files of the tar stream, with their exact modes. It
// refuses every path that leads out of dir or through a symbolic link, and everything else in the stream. After an
// error the box is no longer usable: the changes made so far stay.
func apply(dir string, p Patch, stream io.Reader) (Applied, error) {
	var applied Applied
	root, err := os.OpenRoot(dir)
	if err != nil {
		return applied, fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	for _, name := range p.Delete {
		if err := remove(root, name); err != nil {
			return applied, err
		}
		applied.Deleted++
	}
	for _, name := range p.Delete {
		prune(root, path.Dir(name))
	}
	archive := tar.NewReader(stream)
	for {
		head, err := archive.Next()
		if err == io.EOF {
			return applied, nil
		}
		if err != nil {
			return applied, fmt.Errorf("read the changeset: %w", err)
		}
		if head.Typeflag != tar.TypeReg {
			return applied, fmt.Errorf("apply %q: only regular files are applied", head.Name)
		}
		if err := write(root, head.Name, fs.FileMode(head.Mode).Perm(), archive); err != nil {
			return applied, err
		}
		applied.Written++
	}
}

// remove deletes one file or link.
func remove(root *os.Root, name string) error {
	if err := checkParents(root, name); err != nil {
		return err
	}
	if err := root.Remove(filepath.FromSlash(name)); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return nil
}

// prune removes dir and its parents as far as the deletions have emptied them, as a promotion does on the host: the
// tests in the box must see the tree that the user will have.
func prune(root *os.Root, dir string) {
	for ; dir != "."; dir = path.Dir(dir) {
		// Remove fails on a directory that is not empty, which ends the loop.
		if root.Remove(filepath.FromSlash(dir)) != nil {
			return
		}
	}
}

// write creates one file anew, so that neither the mode of an old file nor another name of its inode matters. If the
// path was a directory, it must be empty by now.
func write(root *os.Root, name string, mode fs.FileMode, content io.Reader) error {
	if err := checkParents(root, name); err != nil {
		return err
	}
	name = filepath.FromSlash(name)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("apply: %w", err)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Chmod(mode)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("apply %s: %w", name, err)
	}
	return nil
}

// checkParents refuses a name that is not local, and one whose parents are not all directories. os.Root alone would
// follow a link that stays inside.
func checkParents(root *os.Root, name string) error {
	if !filepath.IsLocal(name) || name == "." || filepath.ToSlash(filepath.Clean(name)) != name {
		return fmt.Errorf("apply %q: the path must be clean and below the workspace", name)
	}
	for i, c := range name {
		if c != '/' {
			continue
		}
		info, err := root.Lstat(name[:i])
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("apply: %w", err)
		}
		if !info.IsDir() {
			return fmt.Errorf("apply %q: %s is a %s, not a directory", name, name[:i], kindOf(info.Mode()))
		}
	}
	return nil
}

// kindOf names a file type for people.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return strings.ToLower(mode.Type().String())
}
