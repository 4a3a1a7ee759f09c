package policy

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"agent/sandbox/workspace"
)

// modify is a changeset of one file that gets other text.
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

// files are those of a workspace, by name.
type files map[string]string

// newTree makes a directory of files, without a link on the way to it.
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

// scan is workspace.Scan of a directory that must be readable.
func scan(t *testing.T, dir string) *workspace.Manifest {
	t.Helper()
	m, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// git runs the git program in dir, with nobody's configuration.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}
