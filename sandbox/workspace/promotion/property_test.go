package promotion

import (
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/internal/treetest"
)

// C17, C18.
func TestPropertyWithIsWhatScanFindsAndUndoBringsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SampledFrom([]string{"", "1", "2", "3\n"})
		before, after := drawTree(rt, "before", text), drawTree(rt, "after", text)
		cs := drawChanges(rt, before, after)
		dir := roundTree(rt, t, before)
		// Empty directories and things that a scan leaves out prevent the removal of a directory.
		dirs := map[string]bool{}
		for name := range before {
			dirs[path.Dir(name)] = true
		}
		for _, d := range slices.Sorted(maps.Keys(dirs)) {
			if rapid.IntRange(0, 4).Draw(rt, "extra") == 0 {
				treetest.Fill(t, dir, treetest.Files{d + "/" + rapid.SampledFrom([]string{"x.pyc", "nothing/", "__pycache__/y"}).Draw(rt, "what"): ""})
			}
		}
		m, disk := scan(t, dir), treetest.OnDisk(t, dir)
		p, err := prepareIn(t.Context(), dir, cs, "run-1", nil, nil)
		var conflict *ConflictError
		if errors.As(err, &conflict) && strings.Contains(conflict.Reason, "directory is to become a file") {
			treetest.Same(t, "after a refusal", disk, treetest.OnDisk(t, dir))
			return
		}
		if err == nil {
			err = errors.Join(p.Commit(t.Context()), p.Close())
		}
		if err != nil {
			rt.Fatalf("%v: %v", cs.Diff(), err)
		}
		now := scan(t, dir)
		if m.With(cs).Digest() != now.Digest() {
			rt.Fatalf("foreseen %q, found %q, after\n%s", paths(m.With(cs)), paths(now), cs.Diff())
		}
		for name, want := range after {
			if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want || err != nil {
				rt.Fatalf("%s: %q, %v, want %q", name, got, err, want)
			}
		}
		promote(t, dir, cs.Reverse())
		// A changeset carries no empty directories.
		isDir := func(_, text string) bool { return strings.HasPrefix(text, "d") }
		undone := treetest.OnDisk(t, dir)
		maps.DeleteFunc(disk, isDir)
		maps.DeleteFunc(undone, isDir)
		treetest.Same(t, "after the undo of\n"+cs.Diff(), disk, undone)
	})
}

// drawTree draws files in a few directories, so that two trees often have a file where the other has a directory.
func drawTree(t *rapid.T, label string, content *rapid.Generator[string]) map[string]string {
	tree := map[string]string{}
	part := rapid.SampledFrom([]string{"a", "b", "c d"})
	for range rapid.IntRange(0, 8).Draw(t, label) {
		name := strings.Join(rapid.SliceOfN(part, 1, 3).Draw(t, "path"), "/")
		clash := false
		for other := range tree {
			clash = clash || strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/")
		}
		if !clash {
			tree[name] = content.Draw(t, "content")
		}
	}
	return tree
}

// drawChanges draws a changeset that turns one tree into another, with some
// of the deletions and creations joined to renames.
func drawChanges(t *rapid.T, before, after map[string]string) workspace.Changeset {
	var cs workspace.Changeset
	var gone, fresh []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		now, ok := after[name]
		switch {
		case !ok:
			gone = append(gone, name)
		case now != before[name]:
			cs.Changes = append(cs.Changes, modify(name, before[name], now).Changes...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[name]; !ok {
			fresh = append(fresh, name)
		}
	}
	for len(gone) > 0 && len(fresh) > 0 && rapid.Bool().Draw(t, "rename") {
		cs.Changes = append(cs.Changes, workspace.Change{
			Op: workspace.Rename, From: gone[0], Path: fresh[0], Before: []byte(before[gone[0]]), After: []byte(after[fresh[0]]), Mode: 0o644,
		})
		gone, fresh = gone[1:], fresh[1:]
	}
	for _, name := range gone {
		cs.Changes = append(cs.Changes, remove(name, before[name]).Changes...)
	}
	for _, name := range fresh {
		cs.Changes = append(cs.Changes, create(name, after[name]).Changes...)
	}
	cs.Changes = cs.Sorted()
	return cs
}

// roundTree makes a tree, and removes it at the end of a property's round.
func roundTree(t *rapid.T, tb testing.TB, tree map[string]string) string {
	dir := treetest.Memory(tb, treetest.Files(tree))
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
