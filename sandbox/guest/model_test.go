package guest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A model is a tree of files as a map: path to mode and content.
type model map[string]string

// parentsAreFree reports whether no parent of the path is a file and the path is no file's parent.
func (m model) parentsAreFree(path string) bool {
	for other := range m {
		if strings.HasPrefix(path, other+"/") || strings.HasPrefix(other, path+"/") {
			return false
		}
	}
	return true
}

// files returns the files below dir as a model.
func files(t *testing.T, dir string) model {
	t.Helper()
	found := model{}
	for path, text := range listing(t, dir) {
		if !strings.HasPrefix(text, "d") {
			found[path] = text
		}
	}
	return found
}

// drawPatch draws a patch that fits the model, and returns it with its tar entries and the model after it.
func drawPatch(t *rapid.T, before model) (Patch, []entry, model) {
	after := maps.Clone(before)
	var p Patch
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if rapid.Bool().Draw(t, "delete "+path) {
			p.Delete = append(p.Delete, path)
			delete(after, path)
		}
	}
	var entries []entry
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		"a", "a/b", "a/b/c", "b", "b/c", "b/d", "c", "d/e", "ä", "with space", "-dash", "new\nline",
	}), 0, 6, rapid.ID).Draw(t, "names")
	for _, name := range names {
		if !after.parentsAreFree(name) {
			continue
		}
		e := entry{
			name: name, mode: rapid.Int64Range(0, 0o777).Draw(t, "mode"),
			content: rapid.StringN(0, 20, -1).Draw(t, "content"),
		}
		entries = append(entries, e)
		after[name] = fmt.Sprintf("%s %s", os.FileMode(e.mode), e.content)
	}
	return p, entries, after
}

func TestApplyDoesWhatTheModelSays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		work := t.TempDir()
		now := model{}
		for range rapid.IntRange(1, 4).Draw(rt, "patches") {
			p, entries, after := drawPatch(rt, now)
			applied, err := apply(work, p, tarOf(t, entries...))
			if err != nil || applied.Deleted != len(p.Delete) || applied.Written != len(entries) {
				rt.Fatalf("%+v with %d files: %+v, %v", p, len(entries), applied, err)
			}
			if diff := cmp.Diff(after, files(t, work)); diff != "" {
				rt.Fatalf("files (-want +got):\n%s", diff)
			}
			now = after
		}
	})
}

// The model knows only files: a directory that a deletion emptied must be removed, or it would be in the way of a later
// file with its name.
func TestApplyTakesEmptiedDirectoriesAway(t *testing.T) {
	work := t.TempDir()
	for _, dir := range []string{"a/b", "kept/empty"} {
		must(t, os.MkdirAll(filepath.Join(work, dir), 0o755))
	}
	for _, name := range []string{"a/b/c.txt", "a/d.txt", "kept/e.txt"} {
		must(t, os.WriteFile(filepath.Join(work, name), nil, 0o644))
	}
	_, err := apply(work, Patch{Delete: []string{"a/b/c.txt", "a/d.txt", "kept/e.txt"}}, tarOf(t, entry{name: "a", content: "a file now", mode: 0o644}))
	must(t, err)
	want := map[string]string{"a": "-rw-r--r-- a file now", "kept": "drwxr-xr-x", "kept/empty": "drwxr-xr-x"}
	if diff := cmp.Diff(want, listing(t, work)); diff != "" {
		t.Errorf("workspace (-want +got):\n%s", diff)
	}
}

func FuzzApplyStaysInside(f *testing.F) {
	for _, name := range []string{"a", "../a", "/a", "a/../../b", "out/x", "in/x", "a//b", "\x00", "out"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		work, victim := workspaceDir(t)
		outside := listing(t, victim)
		_, _ = apply(work, Patch{Delete: []string{name}}, bytes.NewReader(nil))
		if !strings.HasSuffix(name, "/") && !strings.Contains(name, "\x00") {
			_, _ = apply(work, Patch{}, tarOf(t, entry{name: name, content: "x", mode: 0o644}))
		}
		if diff := cmp.Diff(outside, listing(t, victim)); diff != "" {
			t.Fatalf("%q changed another directory:\n%s", name, diff)
		}
		top, err := os.ReadDir(filepath.Dir(work))
		must(t, err)
		if len(top) != 2 {
			t.Fatalf("%q made something beside the workspace: %v", name, top)
		}
	})
}
