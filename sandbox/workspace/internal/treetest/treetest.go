// Package treetest makes directories of files for tests, and describes their contents.
package treetest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// Files describes a tree. A path that ends in / is a directory; a content that starts with -> is a link; one that
// starts with a mode and a space has that mode.
type Files map[string]string

// New makes a temporary workspace.
func New(t testing.TB, tree Files) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	Fill(t, dir, tree)
	return dir
}

// Memory is like New, but in memory if the machine has a place for it: tests that promote a thousand times would
// otherwise keep waiting for the disk.
func Memory(t testing.TB, tree Files) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "workspace-test-")
	if err != nil {
		return New(t, tree)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	Fill(t, dir, tree)
	return dir
}

// Fill adds files to a workspace.
func Fill(t testing.TB, dir string, tree Files) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		content := tree[name]
		full := filepath.Join(dir, name)
		mode := fs.FileMode(0o644)
		if len(content) >= 5 && content[0] == '0' && content[4] == ' ' {
			m, err := strconv.ParseUint(content[:4], 8, 32)
			if err != nil {
				t.Fatal(err)
			}
			mode, content = fs.FileMode(m), content[5:]
		}
		parent := filepath.Dir(full)
		if strings.HasSuffix(name, "/") {
			parent = full
		}
		if err := os.MkdirAll(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(content, "->"); ok {
			if err := os.Symlink(target, full); err != nil {
				t.Fatal(err)
			}
		} else if !strings.HasSuffix(name, "/") {
			if err := write(full, content, mode); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.HasPrefix(tree[name], "->") {
			if strings.HasSuffix(name, "/") && mode == 0o644 {
				mode = 0o755
			}
			if err := os.Chmod(full, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// write makes a file while this process starts no other. A new process keeps every file of this one open until it
// executes its own program, so the file would still be open for writing after it was closed.
func write(name, content string, mode fs.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(name, []byte(content), mode)
}

// OnDisk describes everything below dir: type, mode, owner, link count and content.
func OnDisk(t testing.TB, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		text := fmt.Sprintf("%v %d:%d", info.Mode(), st.Uid, st.Gid)
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %d %q", st.Nlink, content)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			text += " -> " + target
		}
		rel, err := filepath.Rel(dir, name)
		tree[rel] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// Same fails the test unless two trees are equal.
func Same(t testing.TB, what string, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// Git runs the git program in dir, without any user's configuration.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// FIFO makes a named pipe.
func FIFO(t testing.TB, name string) {
	t.Helper()
	if err := unix.Mkfifo(name, 0o644); err != nil {
		t.Fatal(err)
	}
}

// AsNobody makes a command run as a user to whom permission bits apply, since they do not apply to root.
func AsNobody(cmd *exec.Cmd) *exec.Cmd {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	return cmd
}

// OpenParents makes dir and the test binary, which are in directories of this user, reachable for all users.
func OpenParents(t testing.TB, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, self} {
		for name = filepath.Dir(name); name != "/" && name != os.TempDir(); name = filepath.Dir(name) {
			if err := os.Chmod(name, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Applied runs git apply with a diff on a tree and returns what is on disk afterwards.
func Applied(t testing.TB, tree Files, diff string) map[string]string {
	t.Helper()
	dir := Memory(t, tree)
	cmd := exec.CommandContext(t.Context(), "git", "apply", "--whitespace=nowarn", "-")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	cmd.Stdin = strings.NewReader(diff)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v: %s\n%s", err, out, diff)
	}
	return OnDisk(t, dir)
}

// Repo makes a repository of RepoFiles in which one ignored file is tracked.
func Repo(t *testing.T, initArgs ...string) string {
	t.Helper()
	dir := New(t, RepoFiles())
	Git(t, dir, append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	Git(t, dir, "add", ".")
	Git(t, dir, "add", "-f", "forced/in.txt")
	Git(t, dir, "commit", "-q", "-m", "first")
	return dir
}

// RepoFiles returns a workspace with every kind of ignore rule.
func RepoFiles() Files {
	return Files{
		".gitignore": "*.log\n/out/\nlogs/\nforced/\n!keep.log\n", "sub/.gitignore": "local\n",
		"a.py": "", "a.log": "", "keep.log": "", "out/x": "", "src/out/x": "", "logs/1": "", "some/only.log": "",
		"forced/in.txt": "", "forced/out.txt": "", "sub/local": "", "sub/other": "", "local": "",
		"star*.txt": "", "-dash.log": "",
	}
}

// Content returns the content of a file, "" if it does not exist.
func Content(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}
