package workspace

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"agent/sandbox/workspace/internal/dirfd"
)

// TestMain lets the test binary play a second process that scans as another user.
func TestMain(m *testing.M) {
	dir := os.Getenv("WORKSPACE_TEST_DIR")
	if dir == "" {
		os.Exit(m.Run())
	}
	if _, err := Scan(context.Background(), dir, nil, Limits{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// second prepares a second process that scans dir.
func second(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "WORKSPACE_TEST_DIR="+dir)
	return cmd
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

// paths lists the paths in a manifest.
func paths(m *Manifest) []string {
	var list []string
	for _, e := range m.Entries {
		list = append(list, e.Path)
	}
	return list
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
