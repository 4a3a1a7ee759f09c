package promotion

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"agent/sandbox/workspace/internal/treetest"
)

func TestWithForeseesThePromotion(t *testing.T) {
	t.Parallel()
	tree := treetest.Files{
		"a/b/only": "x", "a/b2/keep": "", "c/only": "x", "c/__pycache__/only.pyc": "", "d/only": "x", "d/sub/": "", "e/f": "0600 x", "g/old.pyc": "x", "g/h": "x",
	}
	dir := treetest.New(t, tree)
	m := scan(t, dir)
	before := m.Digest()
	cs := workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Delete, Path: "a/b/only", Before: []byte("x")},
		{Op: workspace.Delete, Path: "c/only", Before: []byte("x")},
		{Op: workspace.Delete, Path: "d/only", Before: []byte("x")},
		{Op: workspace.Rename, Path: "n/e/w", From: "e/f", Before: []byte("x"), After: []byte("y"), Mode: 0o644},
		{Op: workspace.Delete, Path: "g/h", Before: []byte("x")},
		{Op: workspace.Create, Path: "g/new.pyc", After: []byte("z"), Mode: 0o644},
	}}
	w := m.With(cs)
	promote(t, dir, cs)
	now := scan(t, dir)
	want := []string{"a", "a/b2", "a/b2/keep", "c", "d", "d/sub", "g", "n", "n/e", "n/e/w"}
	if got := paths(w); !slices.Equal(got, want) || !slices.Equal(paths(now), want) {
		t.Errorf("foreseen %q, found %q, want %q", got, paths(now), want)
	}
	if w.Digest() != now.Digest() {
		t.Error("the digest is not the one foreseen")
	}
	if e, _ := w.Lookup("n/e/w"); e.Mode != 0o600 || e.MTime != 0 || e.CTime != 0 || e.Inode != 0 {
		t.Errorf("entry: %+v", e)
	}
	if m.Digest() != before {
		t.Error("With changed the manifest that it was asked of")
	}
	if w := m.With(create("../x", "")); w != m {
		t.Error("a changeset that may not be is foreseen")
	}
}

func TestGitAppliesTheDiffOfEveryKindOfChange(t *testing.T) {
	t.Parallel()
	cs, tree := scenario(), scenarioTree()
	// A diff only names binary content, and git leaves the permissions of other users alone.
	for i := range cs.Changes {
		if cs.Changes[i].Path == "crlf.txt" {
			cs.Changes[i].After = []byte("a\r\nb\r\nc")
		}
		if cs.Changes[i].Path == "new/deep/file.txt" {
			cs.Changes[i].Mode = 0o755
		}
	}
	tree["flip.sh"], tree["private.txt"] = "echo\n", "mine\n"
	delete(tree, ".git/HEAD")
	delete(tree, ".git/objects/")
	dir := treetest.Memory(t, tree)
	promote(t, dir, cs)
	treetest.Same(t, "promoted (-) and applied by git (+)", treetest.OnDisk(t, dir), treetest.Applied(t, tree, cs.Diff()))
	parsed, _, err := gitdiff.Parse(strings.NewReader(cs.Diff()))
	if err != nil || len(parsed) != len(cs.Changes) {
		t.Errorf("read back: %d of %d files, %v", len(parsed), len(cs.Changes), err)
	}
}
