package promotion

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"agent/sandbox/workspace"

	"agent/sandbox/workspace/internal/treetest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestAJournalIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, scenarioTree())
	p, err := prepareIn(t.Context(), dir, scenario(), "run-1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	h, ws := homeOf(t, dir)
	list, err := h.journals(ws)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	got := list[0]
	if diff := cmp.Diff(p.j, got, cmp.AllowUnexported(journal{}), cmpopts.IgnoreFields(journal{}, "tree", "home", "begun")); diff != "" {
		t.Error(diff)
	}
	if got.state != ready {
		t.Errorf("state %s", got.state)
	}
	inodes := map[uint64]bool{}
	for _, it := range got.Items {
		if it.After != nil && (it.Inode == 0 || inodes[it.Inode]) {
			t.Errorf("%s: inode %d", it.Path, it.Inode)
		}
		inodes[it.Inode] = true
	}
	if want := []string{"moved", "new", "new/deep", "todir", "todir/inner"}; !slices.Equal(got.Make, want) {
		t.Errorf("directories to make: %q, want %q", got.Make, want)
	}
}

func TestTheStatesOfAJournalFollowTheDiagram(t *testing.T) {
	t.Parallel()
	tree, cs := threeFiles()
	run := func(cs workspace.Changeset, spoil bool) (seen []state) {
		dir := treetest.Memory(t, tree)
		p, err := prepareIn(t.Context(), dir, cs, "run-1", nil, func(j *journal) {
			last := state("")
			j.step = func(string) {
				if j.state != last {
					last = j.state
					seen = append(seen, last)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if spoil {
			treetest.Fill(t, dir, treetest.Files{"other": "mine"})
		}
		if err := p.Commit(t.Context()); (err != nil) != spoil {
			t.Errorf("commit: %v", err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		return seen
	}
	if got, want := run(cs, false), []state{staging, ready, committing, committed}; !slices.Equal(got, want) {
		t.Errorf("undisturbed: %q, want %q", got, want)
	}
	if got, want := run(cs, true), []state{staging, ready, committing, rollingBack, rolledBack}; !slices.Equal(got, want) {
		t.Errorf("with a conflict: %q, want %q", got, want)
	}
}

func TestCloseKeepsAJournalThatIsNotSettled(t *testing.T) {
	t.Parallel()
	tree, cs := threeFiles()
	dir := treetest.Memory(t, tree)
	p, err := prepareIn(t.Context(), dir, cs, "run-1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The slots vanish in the middle, so that neither commit nor rollback can finish.
	p.j.step = func(name string) {
		if name == "after rolling-back" || name == "exchanged" {
			newHandle(t, dir).Rename(p.j.stage, ".agent/lost", 0)
		}
	}
	if err := p.Commit(t.Context()); err == nil {
		t.Fatal("a promotion without its staged files succeeds")
	}
	if err := p.Close(); err == nil {
		t.Error("close says that all is well")
	}
	if got := journalsOf(t, dir); !slices.Equal(got, []string{"run-1"}) {
		t.Errorf("the journals: %q", got)
	}
	// Once they are back, recovery continues from there.
	if err := newHandle(t, dir).Rename(".agent/lost", p.j.stage, 0); err != nil {
		t.Fatal(err)
	}
	list, err := recoverIn(t.Context(), dir, nil)
	if err != nil || len(list) != 1 {
		t.Fatalf("recover: %v, %v", list, err)
	}
	if err := list[0].Discard(); err != nil {
		t.Error(err)
	}
	if _, err := newHandle(t, dir).Stat(".agent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after all: %v", err)
	}
}

func TestPendingListsJournalsAndSweepsDebris(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{
		"home/b/": "", "home/a/": "", "home/c~/files/0": "x", "home/.hidden": "", "home/~": "",
	})
	ids, err := pending(newHandle(t, dir), "home")
	if err != nil || !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("pending: %q, %v", ids, err)
	}
	if _, err := newHandle(t, dir).Stat("home/c~"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("debris: %v", err)
	}
	for _, name := range []string{".hidden", "~"} {
		if _, err := newHandle(t, dir).Stat(filepath.Join("home", name)); err != nil {
			t.Errorf("%s is not ours to remove: %v", name, err)
		}
	}
}

func TestALinkInThePlaceOfTheStagedFilesIsRefused(t *testing.T) {
	t.Parallel()
	outside := treetest.New(t, treetest.Files{"keep": "x"})
	for _, tree := range []treetest.Files{
		{"f": "1", ".agent": "->" + outside},
		{"f": "1", ".agent/x": "", ".agent/staging": "->" + outside},
	} {
		dir := treetest.New(t, tree)
		before := treetest.OnDisk(t, dir)
		if p, err := prepareIn(t.Context(), dir, modify("f", "1", "2"), "run-1", nil, nil); err == nil {
			t.Errorf("%v: prepared: %v", tree, p.Close())
		}
		treetest.Same(t, "the workspace", before, treetest.OnDisk(t, dir))
	}
	if got := slices.Collect(func(yield func(string) bool) {
		for name := range treetest.OnDisk(t, outside) {
			if !yield(name) {
				return
			}
		}
	}); len(got) != 2 {
		t.Errorf("outside: %q", got)
	}
}
