package workspace_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agent/sandbox/workspace"
)

func TestAFileIsReadInTheWorkspaceAlone(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "sub"), 0o755),
		os.WriteFile(filepath.Join(dir, "sub", "é.txt"), []byte("here\n"), 0o600),
		os.WriteFile(filepath.Join(outside, "file"), []byte("secret\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "large"), bytes.Repeat([]byte("x"), 16<<20+1), 0o600),
		os.Symlink(filepath.Join(outside, "file"), filepath.Join(dir, "link")),
		os.Symlink(outside, filepath.Join(dir, "away")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := workspace.ReadFile(dir, "sub/é.txt"); string(got) != "here\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for name, why := range map[string]string{
		"link": "symbolic link", "away/file": "symbolic link", "sub/é.txt/x": "not a directory", "sub": "is a directory", ".": "is a directory",
		"pipe": "is a fifo", "large": "larger than 16 MiB", "../x": "inside the workspace", "/etc/passwd": "inside the workspace", "": "inside the workspace",
	} {
		got, err := workspace.ReadFile(dir, name)
		if pathErr, ok := errors.AsType[*fs.PathError](err); !ok || pathErr.Path != name || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %d bytes, %v; want %q", name, len(got), err, why)
		}
	}
	if _, err := workspace.ReadFile(dir, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := workspace.ReadFile(filepath.Join(dir, "none"), "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a workspace that is not there: %v", err)
	}
}
