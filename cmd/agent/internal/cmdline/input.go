package cmdline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
)

// maxPatch is the maximum size of a patch, in bytes.
const maxPatch = 16 << 20

// CheckDirectory reports a workspace that is not a directory, in a message that names the flag; links are resolved
// later.
func CheckDirectory(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fault.Usage("name a directory with --workspace", "workspace: %w", err)
	}
	if !info.IsDir() {
		return fault.Usage("name a directory with --workspace", "workspace %s is not a directory", dir)
	}
	return nil
}

// Resolved returns dir as the record names it: absolute, with links resolved.
//
// A directory that is gone may still have runs in the record, so its name is then taken as given.
func Resolved(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	return abs
}

// ReadPatch reads the patch from a regular file or a pipe, or from standard input if name is "-". next says how to give
// it, in case it cannot be read.
func (c *Line) ReadPatch(ctx context.Context, name, next string) ([]byte, error) {
	return c.ReadInput(ctx, "patch", name, next)
}

// ReadInput is ReadPatch for other input, which what names.
func (c *Line) ReadInput(ctx context.Context, what, name, next string) ([]byte, error) {
	// A user at a terminal needs to be told that input is expected, and how it ends.
	from := c.Stdin
	switch {
	case name == "":
		return nil, fault.Usage(next, "no %s was given", what)
	case name == "-":
		if term.Terminal(c.Stdin) != nil {
			fmt.Fprintln(c.Stderr, "paste the "+what+", then press Enter and Ctrl-D")
		}
	default:
		f, err := openPatch(name)
		if err != nil {
			return nil, fault.Usage(next, "read the %s: %w", what, err)
		}
		defer f.Close() // it was only read
		// The context also ends a pipe whose writer hangs.
		defer context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Now()) })()
		from = struct{ io.Reader }{f} // read as it is: a poll would wait for the first writer of a FIFO
	}
	// An empty patch is a mistake of the program that made the file. It would change nothing, and accepting it would
	// look like success.
	data, err := term.Read(ctx, from, maxPatch)
	switch {
	case errors.Is(err, term.ErrTooLarge):
		return nil, fault.Usage("split it", "the %s is larger than %d MiB", what, maxPatch>>20)
	case err != nil:
		return nil, fault.Usage(next, "read the %s: %w", what, err)
	case len(data) == 0:
		return nil, fault.Usage(next, "the %s is empty", what)
	}
	return data, nil
}

// openPatch opens the file without waiting: a FIFO without a writer is an empty patch, not a hang.
func openPatch(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	// The pipe of `--patch <(command)` is welcome; a device could be read for ever.
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0 {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("neither a file nor a pipe")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
