package promotion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"agent/sandbox/workspace"

	"agent/sandbox/workspace/internal/dirfd"
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

// withState runs the tests with their own state directory, in memory if the machine has a place for it; second
// processes inherit it.
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
func prepareIn(ctx context.Context, dir string, cs workspace.Changeset, id string, base *workspace.Manifest, hook func(*journal)) (*Promotion, error) {
	t, err := dirfd.Open(dir)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return prepare(ctx, t, cs, id, base, hook)
}

// recoverIn is Lock.Recover without a lock, with a hook. Its recoveries can be discarded until the process ends.
func recoverIn(ctx context.Context, dir string, hook func(*journal)) ([]Recovery, error) {
	t, err := dirfd.Open(dir)
	if err != nil {
		return nil, err
	}
	return recoverAll(ctx, t, hook)
}

// homeOf opens this user's journals, and the workspace dir.
func homeOf(t testing.TB, dir string) (*home, *dirfd.Tree) {
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

// play is what the second process does in workspace dir.
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
		// The parent closes standard input when it has seen enough, or kills this process.
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

// killed runs cmd and reports whether the hook killed it; any other failure fails the test.
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

// scan is Scan of a workspace that must be readable.
func scan(t testing.TB, dir string, exclude ...string) *workspace.Manifest {
	t.Helper()
	m, err := workspace.Scan(t.Context(), dir, exclude, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// paths lists the paths in a manifest.
func paths(m *workspace.Manifest) []string {
	var list []string
	for _, e := range m.Entries {
		list = append(list, e.Path)
	}
	return list
}

// promote promotes cs completely.
func promote(t testing.TB, dir string, cs workspace.Changeset) {
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
func modify(name, before, after string) workspace.Changeset {
	return workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: name, Before: []byte(before), After: []byte(after), Mode: 0o644}}}
}

// create is a changeset of one new file.
func create(name, content string) workspace.Changeset {
	return workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: name, After: []byte(content), Mode: 0o644}}}
}

// remove is a changeset of one deleted file.
func remove(name, content string) workspace.Changeset {
	return workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Delete, Path: name, Before: []byte(content), Mode: 0o644}}}
}

// newHandle opens a tree for a test.
func newHandle(t testing.TB, dir string) *dirfd.Tree {
	t.Helper()
	tr, err := dirfd.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}
