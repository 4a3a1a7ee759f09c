package promotion

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"

	"agent/sandbox/workspace/internal/treetest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// interrupted returns a workspace whose promotion died at the n-th step with the given name.
func interrupted(t *testing.T, tree treetest.Files, cs workspace.Changeset, step string, n int) (dir string) {
	t.Helper()
	dir = treetest.Memory(t, tree)
	defer func() {
		if r := recover(); r != errStop {
			t.Fatalf("the step %q was not reached: %v", step, r)
		}
	}()
	p, err := prepareIn(t.Context(), dir, cs, "run-1", nil, func(j *journal) {
		j.step = func(name string) {
			if name == step {
				if n--; n == 0 {
					panic(errStop)
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// threeFiles returns a tree, and a changeset with a modification, a creation and a deletion.
func threeFiles() (treetest.Files, workspace.Changeset) {
	return treetest.Files{"mod": "1", "del": "1", "other": "1"}, workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Delete, Path: "del", Before: []byte("1"), Mode: 0o644},
		{Op: workspace.Modify, Path: "mod", Before: []byte("1"), After: []byte("2"), Mode: 0o644},
		{Op: workspace.Create, Path: "new/file", After: []byte("2"), Mode: 0o644},
		{Op: workspace.Modify, Path: "other", Before: []byte("1"), After: []byte("2"), Mode: 0o644},
	}}
}

func TestRecoverKeepsWhatTheUserDidMeanwhile(t *testing.T) {
	t.Parallel()
	write := func(name, content string) func(dir string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644) }
	}
	before := map[string]string{"mod": "1", "del": "1", "other": "1"}
	for what, test := range map[string]struct {
		user func(dir string) error
		want map[string]string // the differences from before
		kept []string
	}{
		"edited what was not placed": {write("other", "mine"), map[string]string{"other": "mine"}, []string{"other"}},
		"edited what was placed":     {write("mod", "mine"), map[string]string{"mod": "mine"}, []string{"mod"}},
		"edited what was created":    {write("new/file", "mine"), map[string]string{"new/file": "mine"}, []string{"new/file"}},
		"made again what was gone":   {write("del", "mine"), map[string]string{"del": "mine"}, []string{"del"}},
		"removed what was placed":    {func(dir string) error { return os.Remove(filepath.Join(dir, "mod")) }, map[string]string{"mod": ""}, []string{"mod"}},
		"removed what was created":   {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "new")) }, nil, nil},
		"put a link there": {
			func(dir string) error {
				return errors.Join(os.Remove(filepath.Join(dir, "mod")), os.Symlink("other", filepath.Join(dir, "mod")))
			},
			map[string]string{"mod": "1"},
			[]string{"mod"},
		},
	} {
		tree, cs := threeFiles()
		dir := interrupted(t, tree, cs, "created", 1)
		if err := test.user(dir); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			list, err := recoverIn(t.Context(), dir, nil)
			if err != nil || len(list) != 1 {
				t.Fatalf("%s: %v, %v", what, list, err)
			}
			want := Recovery{ID: "run-1", Outcome: Conflicted, Kept: test.kept}
			if test.kept == nil {
				want.Outcome = RolledBack
			}
			if diff := cmp.Diff(want, list[0], cmpopts.IgnoreUnexported(Recovery{})); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
		}
		if err := (Recovery{ID: "run-1", tree: newHandle(t, dir)}).Discard(); err != nil {
			t.Errorf("%s: discard: %v", what, err)
		}
		want := maps.Clone(before)
		maps.Copy(want, test.want)
		maps.DeleteFunc(want, func(_, content string) bool { return content == "" })
		got := map[string]string{}
		for name, text := range treetest.OnDisk(t, dir) {
			if !strings.HasPrefix(text, "d") {
				content, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				got[name] = string(content)
			}
		}
		treetest.Same(t, what, want, got)
	}
}

func TestRecoverGivesBackWhatAKilledCommitDisplaced(t *testing.T) {
	t.Parallel()
	tree, cs := threeFiles()
	for step, name := range map[string]string{"exchanged": "mod", "taken": "del"} {
		dir := interrupted(t, tree, cs, step, 1)
		h, ws := homeOf(t, dir)
		dead, err := h.journals(ws)
		if err != nil || len(dead) != 1 {
			t.Fatalf("%v, %v", dead, err)
		}
		// This simulates a write by the user just before the rename.
		for _, it := range dead[0].Items {
			if it.Path == name {
				treetest.Fill(t, dir, treetest.Files{it.Slot: "mine"})
			}
		}
		list, err := recoverIn(t.Context(), dir, nil)
		if err != nil || len(list) != 1 || list[0].Outcome != Conflicted || !slices.Equal(list[0].Kept, []string{name}) {
			t.Fatalf("%s: %+v, %v", step, list, err)
		}
		if err := list[0].Discard(); err != nil {
			t.Error(err)
		}
		if got := treetest.Content(t, filepath.Join(dir, name)); got != "mine" {
			t.Errorf("%s: %s is %q", step, name, got)
		}
		if got := treetest.Content(t, filepath.Join(dir, "other")); got != "1" {
			t.Errorf("%s: other is %q", step, got)
		}
	}
}

func TestRecoverGoesForwardOnceCommittingHasBegun(t *testing.T) {
	t.Parallel()
	tree, cs := threeFiles()
	for step, want := range map[string]Outcome{
		"staged": RolledBack, "before ready": RolledBack, "after ready": RolledBack, "before committing": RolledBack,
		"after committing": Completed, "taken": Completed, "exchanged": Completed, "directory made": Completed, "created": Completed,
		"synced": Completed, "after committed": Completed,
	} {
		dir := interrupted(t, tree, cs, step, 1)
		list, err := recoverIn(t.Context(), dir, nil)
		if err != nil || len(list) != 1 || list[0].Outcome != want {
			t.Errorf("killed at %q: %v, %v, want %v", step, list, err, want)
		}
	}
}

func TestRecoverWithoutJournalsLeavesTheWorkspaceAlone(t *testing.T) {
	t.Parallel()
	for _, tree := range []treetest.Files{{"f": ""}, {".agent/HISTORY.md": "x"}, {".agent/staging/": "", ".agent/x": ""}, {".agent": "a file"}} {
		dir := treetest.New(t, tree)
		list, err := recoverIn(t.Context(), dir, nil)
		if err != nil || len(list) != 0 {
			t.Errorf("%v: %v, %v", tree, list, err)
		}
		for name := range tree {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil && !strings.HasSuffix(name, "/") {
				t.Error(err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, stages)); err == nil {
			t.Errorf("%v: an empty directory of staged files is left", tree)
		}
	}
	if _, err := recoverIn(t.Context(), filepath.Join(treetest.New(t, nil), "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no workspace: %v", err)
	}
}

func TestDebrisOfAFinishedPromotionIsSweptWithoutAWord(t *testing.T) {
	t.Parallel()
	tree, cs := threeFiles()
	dir := treetest.Memory(t, tree)
	interruptedClose(t, dir, cs)
	h, ws := homeOf(t, dir)
	_, own, err := h.of(ws)
	if err != nil {
		t.Fatal(err)
	}
	if names, err := h.top.Names(own); err != nil || len(names) != 1 {
		t.Fatalf("no debris: %v, %v", names, err)
	}
	list, err := recoverIn(t.Context(), dir, nil)
	if err != nil || len(list) != 0 {
		t.Errorf("recover: %v, %v", list, err)
	}
	if names, err := h.top.Names(own); !errors.Is(err, os.ErrNotExist) && len(names) > 0 {
		t.Errorf("debris stays: %v, %v", names, err)
	}
	want := []string{".", "mod", "new", "new/file", "other"}
	if got := slices.Sorted(maps.Keys(treetest.OnDisk(t, dir))); !slices.Equal(got, want) {
		t.Errorf("on disk: %q", got)
	}
}

// interruptedClose promotes cs and dies while it removes the journal.
func interruptedClose(t *testing.T, dir string, cs workspace.Changeset) {
	t.Helper()
	p, err := prepareIn(t.Context(), dir, cs, "run-1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.j.step = func(name string) {
		if name == "journal renamed" {
			panic(errStop)
		}
	}
	defer func() {
		if r := recover(); r != errStop {
			t.Fatalf("the journal was not removed: %v", r)
		}
	}()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
