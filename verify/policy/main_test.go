package policy

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"agent/sandbox/workspace"
)

// modify returns a changeset that changes the text of one file.
func modify(name, before, after string) workspace.Changeset {
	return workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: name, Before: []byte(before), After: []byte(after), Mode: 0o644}}}
}

// create returns a changeset that creates one file.
func create(name, content string) workspace.Changeset {
	return workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: name, After: []byte(content), Mode: 0o644}}}
}

// remove returns a changeset that deletes one file.
func remove(name, content string) workspace.Changeset {
	return workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Delete, Path: name, Before: []byte(content), Mode: 0o644}}}
}

// files has the files of a workspace by name.
type files map[string]string

// newTree makes a directory of files and returns its path without symbolic links.
func newTree(t *testing.T, tree files) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fill(t, dir, tree)
	return dir
}

// fill adds files to a directory.
func fill(t *testing.T, dir string, tree files) {
	t.Helper()
	for name, text := range tree {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// scan calls workspace.Scan on a directory that must be readable.
func scan(t *testing.T, dir string) *workspace.Manifest {
	t.Helper()
	m, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// git runs git in dir, without any user's configuration.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}
