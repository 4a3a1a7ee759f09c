package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxFile bounds a configuration file, in bytes. Claude Code's file also holds histories.
const maxFile = 64 << 20

// A File is a configuration file: its name below a trusted directory.
type File struct{ Base, Name string }

// Path returns the path of f.
func (f File) Path() string { return filepath.Join(f.Base, f.Name) }

// there reports whether something exists at that path.
func (f File) there() bool {
	_, err := os.Lstat(f.Path())
	return err == nil
}

// ErrChanged is the error for a file that has changed since it was read.
var ErrChanged = errors.New("it has changed since it was read")

// check refuses a path if a part of it below the base is a link, or not a directory.
func (f File) check() error {
	parts := strings.Split(f.Name, string(filepath.Separator))
	for i := range parts {
		path := filepath.Join(f.Base, filepath.Join(parts[:i+1]...))
		info, err := os.Lstat(path)
		switch last := i == len(parts)-1; {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a symbolic link: its target is not touched", path)
		case !last && !info.IsDir():
			return fmt.Errorf("%s is not a directory", path)
		case last && !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file", path)
		}
	}
	return nil
}

// Read returns the content of f, or nothing if there is no file.
func (f File) Read() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(f.Path(), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", f.Path(), maxFile>>20)
	}
	return text, nil
}

// Apply writes the change completely or not at all, and only if the file is still as it was read. A new file is
// accessible only to the user.
func (c Change) Apply() error {
	now, err := c.File.Read()
	if err != nil {
		return err
	}
	if !bytes.Equal(now, c.Before) {
		return fmt.Errorf("%s: %w", c.File.Path(), ErrChanged)
	}
	mode, dir := fs.FileMode(0o600), filepath.Dir(c.File.Path())
	if info, err := os.Lstat(c.File.Path()); err == nil {
		mode = info.Mode().Perm()
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".agent-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // gone by then if all went well
	_, err = temp.Write(c.After)
	err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), c.File.Path())
	}
	return err
}
