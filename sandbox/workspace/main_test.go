package workspace

import (
	"bytes"
	"context"
	"encoding/json"
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

// TestMain lets the test binary play a second process: one that is killed in
// the middle of a promotion, holds a lock, or runs as another user.
func TestMain(m *testing.M) {
	role := os.Getenv("WORKSPACE_TEST_ROLE")
	if role == "" {
		os.Exit(withState(m.Run))
	}
	if err := play(role, os.Getenv("WORKSPACE_TEST_DIR")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// withState runs the tests with a state directory of their own, in memory where
// the machine has such a place; second processes inherit it.
func withState(run func() int) int {
	dir, err := os.MkdirTemp("/dev/shm", "workspace-state-")
	if err != nil {
		dir, err = os.MkdirTemp("", "workspace-state-")
	}
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	return run()
}

// prepareIn is Lock.Prepare without a lock, with a hook.
func prepareIn(ctx context.Context, dir string, cs Changeset, id string, base *Manifest, hook func(*journal)) (*Promotion, error) {
	t, err := openTree(dir)
	if err != nil {
		return nil, err
	}
	defer t.close()
	return prepare(ctx, t, cs, id, base, hook)
}

// recoverIn is Lock.Recover without a lock, with a hook. What it returns can be
// discarded until the process ends.
func recoverIn(ctx context.Context, dir string, hook func(*journal)) ([]Recovery, error) {
	t, err := openTree(dir)
	if err != nil {
		return nil, err
	}
	return recoverAll(ctx, t, hook)
}

// homeOf opens the journals of this user, of which those of dir are asked for.
func homeOf(t testing.TB, dir string) (*home, *tree) {
	t.Helper()
	ws := newHandle(t, dir)
	h, err := openHome(ws, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	return h, ws
}

// journalsOf lists the IDs of the journals of dir.
func journalsOf(t testing.TB, dir string) (ids []string) {
	t.Helper()
	h, ws := homeOf(t, dir)
	list, err := h.journals(ws)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range list {
		ids = append(ids, j.ID)
	}
	return ids
}

// play is what the second process does in the workspace dir.
func play(role, dir string) error {
	ctx := context.Background()
	kill := killAt(os.Getenv("WORKSPACE_TEST_STEP"))
	switch role {
	case "promote", "promote-mounts":
		cs := scenario()
		if role == "promote-mounts" {
			cs = mountScenario()
		}
		p, err := prepareIn(ctx, dir, cs, "run-1", nil, kill)
		if err == nil {
			err = p.Commit(ctx)
		}
		if err == nil {
			err = p.Close()
		}
		return err
	case "recover":
		list, err := recoverIn(ctx, dir, kill)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(list)
	case "scan":
		_, err := Scan(ctx, dir, nil, Limits{})
		return err
	case "undo-unwritable":
		p, err := prepareIn(ctx, dir, modify("shut/f.txt", "one\n", "two\n"), "run-1", nil, nil)
		if err == nil {
			err = p.Commit(ctx)
		}
		if p != nil {
			err = errors.Join(err, p.Close())
		}
		return err
	case "lock":
		l, err := Acquire(dir)
		if err != nil {
			return err
		}
		fmt.Println("locked")
		// The parent closes our input when it has seen enough, or kills us.
		buf := make([]byte, 1)
		os.Stdin.Read(buf)
		return l.Release()
	}
	return fmt.Errorf("no role %q", role)
}

// killAt makes a hook that kills this process at the given step, counted from 1.
func killAt(step string) func(*journal) {
	n, err := strconv.Atoi(step)
	if err != nil {
		return nil
	}
	return func(j *journal) {
		j.step = func(string) {
			if n--; n == 0 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {} // until the signal arrives
			}
		}
	}
}

// second prepares a second process in a role.
func second(t *testing.T, role, dir string, step int) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "WORKSPACE_TEST_ROLE="+role, "WORKSPACE_TEST_DIR="+dir, "WORKSPACE_TEST_STEP="+strconv.Itoa(step))
	return cmd
}

// killed runs cmd and reports whether it was killed by the hook; any other bad end fails the test.
func killed(t *testing.T, cmd *exec.Cmd) bool {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return true
		}
	}
	if err != nil {
		t.Fatalf("second process: %v\n%s", err, &stderr)
	}
	return false
}

// files describes a tree: a path that ends in / is a directory, a content that
// starts with -> is a link, one that starts with a mode and a space has that mode.
type files map[string]string

// newTree makes a temporary workspace.
func newTree(t testing.TB, tree files) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fill(t, dir, tree)
	return dir
}

// memoryTree is newTree in memory where the machine has such a place: tests
// that promote a thousand times would otherwise wait for the disk all the while.
func memoryTree(t testing.TB, tree files) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "workspace-test-")
	if err != nil {
		return newTree(t, tree)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	fill(t, dir, tree)
	return dir
}

// fill adds files to a workspace.
func fill(t testing.TB, dir string, tree files) {
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
			if err := os.WriteFile(full, []byte(content), mode); err != nil {
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

// onDisk describes everything below dir: type, mode, owner, link count and content.
func onDisk(t testing.TB, dir string) map[string]string {
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

// same fails the test unless two trees are equal.
func same(t testing.TB, what string, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// scan is Scan of a workspace that must be readable.
func scan(t testing.TB, dir string, exclude ...string) *Manifest {
	t.Helper()
	m, err := Scan(t.Context(), dir, exclude, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// paths lists what a manifest holds.
func paths(m *Manifest) []string {
	var list []string
	for _, e := range m.Entries {
		list = append(list, e.Path)
	}
	return list
}

// promote brings cs to the host the whole way.
func promote(t testing.TB, dir string, cs Changeset) {
	t.Helper()
	p, err := prepareIn(t.Context(), dir, cs, "run-1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// modify is a changeset of one modified file.
func modify(name, before, after string) Changeset {
	return Changeset{Changes: []Change{{Op: Modify, Path: name, Before: []byte(before), After: []byte(after), Mode: 0o644}}}
}

// create is a changeset of one new file.
func create(name, content string) Changeset {
	return Changeset{Changes: []Change{{Op: Create, Path: name, After: []byte(content), Mode: 0o644}}}
}

// remove is a changeset of one deleted file.
func remove(name, content string) Changeset {
	return Changeset{Changes: []Change{{Op: Delete, Path: name, Before: []byte(content), Mode: 0o644}}}
}

// git runs the git program in dir, with nobody's configuration.
func git(t testing.TB, dir string, args ...string) string {
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

// fifo makes a named pipe.
func fifo(t testing.TB, name string) {
	t.Helper()
	if err := unix.Mkfifo(name, 0o644); err != nil {
		t.Fatal(err)
	}
}

// asNobody lets a command run as a user whom permission bits bind: root is not bound.
func asNobody(cmd *exec.Cmd) *exec.Cmd {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	return cmd
}

// openParents lets everybody reach dir and the test binary, which lie in directories of this user.
func openParents(t testing.TB, dir string) {
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
