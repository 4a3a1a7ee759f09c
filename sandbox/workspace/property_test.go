package workspace

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace/internal/treetest"

	"pgregory.net/rapid"
)

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

// drawText draws a few lines, which may lack the last line end.
func drawText() *rapid.Generator[string] {
	line := rapid.SampledFrom([]string{"", "x", "y", "é\t", "z\r", "-- a", "+++ b"})
	return rapid.Custom(func(t *rapid.T) string {
		text := strings.Join(rapid.SliceOfN(line, 0, 12).Draw(t, "lines"), "\n")
		if rapid.Bool().Draw(t, "end") {
			text += "\n"
		}
		return text
	})
}

// drawChanges draws a changeset that turns one tree into another, with some
// of the deletions and creations joined to renames.
func drawChanges(t *rapid.T, before, after map[string]string) Changeset {
	var cs Changeset
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
		cs.Changes = append(cs.Changes, Change{
			Op: Rename, From: gone[0], Path: fresh[0], Before: []byte(before[gone[0]]), After: []byte(after[fresh[0]]), Mode: 0o644,
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

func TestPropertyGitAppliesTheDiff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		before, after := drawTree(rt, "before", drawText()), drawTree(rt, "after", drawText())
		cs := drawChanges(rt, before, after)
		if cs.Empty() {
			return
		}
		got := treetest.Applied(t, treetest.Files(before), cs.Diff())
		dir := roundTree(rt, t, after)
		for name, want := range treetest.OnDisk(t, dir) {
			if got[name] != want {
				rt.Fatalf("%s is %s, not %s, after\n%s", name, got[name], want, cs.Diff())
			}
		}
		for name, text := range got {
			if _, ok := after[name]; !ok && strings.HasPrefix(text, "-") {
				rt.Fatalf("%s is left after\n%s", name, cs.Diff())
			}
		}
	})
}
