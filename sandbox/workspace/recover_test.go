package workspace

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// interrupted returns a workspace whose promotion died at the named step, the n-th of that name.
func interrupted(t *testing.T, tree files, cs Changeset, step string, n int) (dir string) {
	t.Helper()
	dir = memoryTree(t, tree)
	defer func() {
		if r := recover(); r != errStop {
			t.Fatalf("the step %q was not reached: %v", step, r)
		}
	}()
	p, err := prepare(t.Context(), dir, cs, "run-1", nil, func(j *journal) {
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

// threeFiles is a modification, a creation and a deletion.
func threeFiles() (files, Changeset) {
	return files{"mod": "1", "del": "1", "other": "1"}, Changeset{Changes: []Change{
		{Op: Delete, Path: "del", Before: []byte("1"), Mode: 0o644},
		{Op: Modify, Path: "mod", Before: []byte("1"), After: []byte("2"), Mode: 0o644},
		{Op: Create, Path: "new/file", After: []byte("2"), Mode: 0o644},
		{Op: Modify, Path: "other", Before: []byte("1"), After: []byte("2"), Mode: 0o644},
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
		want map[string]string // what differs from before
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
			list, err := Recover(t.Context(), dir)
			if err != nil || len(list) != 1 {
				t.Fatalf("%s: %v, %v", what, list, err)
			}
			want := Recovery{ID: "run-1", Outcome: Conflicted, Kept: test.kept, root: dir}
			if test.kept == nil {
				want.Outcome = RolledBack
			}
			if diff := cmp.Diff(want, list[0], cmp.AllowUnexported(Recovery{})); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
		}
		if err := (Recovery{ID: "run-1", root: dir}).Discard(); err != nil {
			t.Errorf("%s: discard: %v", what, err)
		}
		want := maps.Clone(before)
		maps.Copy(want, test.want)
		maps.DeleteFunc(want, func(_, content string) bool { return content == "" })
		got := map[string]string{}
		for name, text := range onDisk(t, dir) {
			if !strings.HasPrefix(text, "d") {
				content, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				got[name] = string(content)
			}
		}
		same(t, what, want, got)
	}
}

func TestRecoverGivesBackWhatAKilledCommitDisplaced(t *testing.T) {
	t.Parallel()
	tree, cs := threeFiles()
	for step, name := range map[string]string{"exchanged": "mod", "taken": "del"} {
		dir := interrupted(t, tree, cs, step, 1)
		j, err := load(newHandle(t, dir), "run-1")
		if err != nil {
			t.Fatal(err)
		}
		// As if the user had written in the moment before the rename.
		for _, it := range j.Items {
			if it.Path == name {
				fill(t, dir, files{it.Slot: "mine"})
			}
		}
		list, err := Recover(t.Context(), dir)
		if err != nil || len(list) != 1 || list[0].Outcome != Conflicted || !slices.Equal(list[0].Kept, []string{name}) {
			t.Fatalf("%s: %+v, %v", step, list, err)
		}
		if err := list[0].Discard(); err != nil {
			t.Error(err)
		}
		if got := content(t, filepath.Join(dir, name)); got != "mine" {
			t.Errorf("%s: %s is %q", step, name, got)
		}
		if got := content(t, filepath.Join(dir, "other")); got != "1" {
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
		list, err := Recover(t.Context(), dir)
		if err != nil || len(list) != 1 || list[0].Outcome != want {
			t.Errorf("killed at %q: %v, %v, want %v", step, list, err, want)
		}
	}
}

func TestRecoverWithoutJournalsLeavesTheWorkspaceAlone(t *testing.T) {
	t.Parallel()
	for _, tree := range []files{{"f": ""}, {".agent/HISTORY.md": "x"}, {".agent/journal/note": "x", ".agent/x": ""}, {".agent": "a file"}} {
		dir := newTree(t, tree)
		if tree[".agent/journal/note"] != "" {
			if err := os.Remove(filepath.Join(dir, ".agent/journal/note")); err != nil {
				t.Fatal(err)
			}
			delete(tree, ".agent/journal/note")
		}
		list, err := Recover(t.Context(), dir)
		if err != nil || len(list) != 0 {
			t.Errorf("%v: %v, %v", tree, list, err)
		}
		for name := range tree {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, journals)); err == nil {
			t.Errorf("%v: an empty directory of journals is left", tree)
		}
	}
	if _, err := Recover(t.Context(), filepath.Join(newTree(t, nil), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no workspace: %v", err)
	}
}

// C01, C02.
func TestAPlantedJournalReachesNothingThatAChangesetCouldNot(t *testing.T) {
	t.Parallel()
	meta := &fileMeta{Digest: digest([]byte("x")), Mode: 0o644}
	ok := item{Path: "f", Slot: ".agent/journal/bad/files/0", Before: meta}
	for what, j := range map[string]*journal{
		"another ID":       {ID: "other"},
		"outside":          {ID: "bad", Items: []item{{Path: "../f", Slot: ok.Slot, Before: meta}}},
		"in git":           {ID: "bad", Items: []item{{Path: ".git/config", Slot: ok.Slot, Before: meta}}},
		"a foreign slot":   {ID: "bad", Items: []item{{Path: "f", Slot: "secrets/key", After: meta}}},
		"a slot in git":    {ID: "bad", Items: []item{{Path: "f", Slot: ".git/.agent-slot-bad-0", After: meta}}},
		"a slot outside":   {ID: "bad", Items: []item{{Path: "f", Slot: "../.agent-slot-bad-0", After: meta}}},
		"nothing to do":    {ID: "bad", Items: []item{{Path: "f", Slot: ok.Slot}}},
		"making outside":   {ID: "bad", Items: []item{ok}, Make: []string{"../d"}},
		"clearing .git":    {ID: "bad", Items: []item{ok}, Clear: []dirMeta{{Path: ".git"}}},
		"removing outside": {ID: "bad", Items: []item{ok}, Remove: []dirMeta{{Path: "/tmp"}}},
	} {
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []state{ready, committing, rollingBack} {
			dir := newTree(t, files{
				"f": "x", "secrets/key": "k", ".git/config": "c",
				".agent/journal/bad/journal.json": string(text), ".agent/journal/bad/state." + string(s): "", ".agent/journal/bad/files/": "",
			})
			before := onDisk(t, dir)
			if list, err := Recover(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("%s, %s: %v, %v", what, s, list, err)
			}
			same(t, what, before, onDisk(t, dir))
		}
	}
	for _, text := range []string{"", "{", "[]"} {
		dir := newTree(t, files{".agent/journal/bad/journal.json": text, ".agent/journal/bad/state.committing": ""})
		if list, err := Recover(t.Context(), dir); err == nil {
			t.Errorf("a journal %q gives %v", text, list)
		}
	}
}

func TestDebrisOfAFinishedPromotionIsSweptWithoutAWord(t *testing.T) {
	t.Parallel()
	tree, cs := threeFiles()
	dir := memoryTree(t, tree)
	interruptedClose(t, dir, cs)
	if names, err := os.ReadDir(filepath.Join(dir, journals)); err != nil || len(names) != 1 {
		t.Fatalf("no debris: %v, %v", names, err)
	}
	list, err := Recover(t.Context(), dir)
	if err != nil || len(list) != 0 {
		t.Errorf("recover: %v, %v", list, err)
	}
	want := []string{".", "mod", "new", "new/file", "other"}
	if got := slices.Sorted(maps.Keys(onDisk(t, dir))); !slices.Equal(got, want) {
		t.Errorf("on disk: %q", got)
	}
}

// interruptedClose promotes cs and dies while the journal is removed.
func interruptedClose(t *testing.T, dir string, cs Changeset) {
	t.Helper()
	p, err := Prepare(t.Context(), dir, cs, "run-1")
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
