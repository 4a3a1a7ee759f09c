package promotion

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"

	"agent/sandbox/workspace/internal/treetest"

	"golang.org/x/sys/unix"
)

// planted is a journal in the form of earlier versions that overwrites f and deletes g.
func planted(id string, s state) treetest.Files {
	plan, err := json.Marshal(&journal{ID: id, Items: []item{
		{Path: "f", Slot: oldJournals + "/" + id + "/files/0", Before: &fileMeta{Digest: workspace.Digest([]byte("x")), Mode: 0o644}, After: &fileMeta{Digest: workspace.Digest([]byte("evil")), Mode: 0o644}},
		{Path: "g", Slot: oldJournals + "/" + id + "/files/1", Before: &fileMeta{Digest: workspace.Digest([]byte("y")), Mode: 0o644}},
	}})
	if err != nil {
		panic(err)
	}
	dir := oldJournals + "/" + id + "/"
	return treetest.Files{"f": "x", "g": "y", dir + "journal.json": string(plan), dir + "state." + string(s): "", dir + "files/0": "evil"}
}

// A journal that a clone brings is never carried out, wherever it is and whatever it contains: neither by the command
// that settles the past nor by the next promotion.
func TestAJournalThatAWorkspaceBringsIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	for _, s := range []state{staging, ready, committing, committed, rollingBack, rolledBack} {
		dir := treetest.New(t, planted("run-1", s))
		before := treetest.OnDisk(t, dir)
		list, err := recoverIn(t.Context(), dir, nil)
		if err != nil || len(list) != 0 {
			t.Errorf("%s: recovered %v, %v", s, list, err)
		}
		treetest.Same(t, "after Recover, "+string(s), before, treetest.OnDisk(t, dir))
		lock, err := Acquire(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := lock.OldJournals(); !slices.Equal(got, []string{".agent/journal/run-1"}) {
			t.Errorf("old journals: %q", got)
		}
		p, err := lock.Prepare(t.Context(), create("h", "z"), "run-2", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.Commit(t.Context()), p.Close(), lock.Release()); err != nil {
			t.Error(err)
		}
		after := treetest.OnDisk(t, dir)
		delete(after, "h")
		treetest.Same(t, "after a promotion, "+string(s), before, after)
	}
}

// A plan must carry a signature with this user's key, and name nothing that a changeset could not.
func TestAJournalThatThisUserDidNotWriteIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	meta := &fileMeta{Digest: workspace.Digest([]byte("x")), Mode: 0o644}
	slot := stages + "/bad/0"
	ok := item{Path: "f", Slot: slot, Before: meta}
	for what, j := range map[string]*journal{
		"unsigned":          {ID: "bad", Items: []item{ok}},
		"another key":       {ID: "bad", Items: []item{ok}},
		"an empty key":      {ID: "bad", Items: []item{ok}},
		"another ID":        {ID: "other"},
		"another workspace": {ID: "bad", Root: "/elsewhere", Items: []item{ok}},
		"outside":           {ID: "bad", Items: []item{{Path: "../f", Slot: slot, Before: meta}}},
		"in git":            {ID: "bad", Items: []item{{Path: ".git/config", Slot: slot, Before: meta}}},
		"a foreign slot":    {ID: "bad", Items: []item{{Path: "f", Slot: "secrets/key", After: meta}}},
		"a slot in git":     {ID: "bad", Items: []item{{Path: "f", Slot: ".git/.agent-slot-bad-0", After: meta}}},
		"a slot outside":    {ID: "bad", Items: []item{{Path: "f", Slot: "../.agent-slot-bad-0", After: meta}}},
		"nothing to do":     {ID: "bad", Items: []item{{Path: "f", Slot: slot}}},
		"making outside":    {ID: "bad", Items: []item{ok}, Make: []string{"../d"}},
		"clearing .git":     {ID: "bad", Items: []item{ok}, Clear: []dirMeta{{Path: ".git"}}},
		"removing outside":  {ID: "bad", Items: []item{ok}, Remove: []dirMeta{{Path: "/tmp"}}},
		"not JSON":          nil,
	} {
		for _, s := range []state{ready, committing, rollingBack} {
			dir := treetest.New(t, treetest.Files{"f": "x", "secrets/key": "k", ".git/config": "c"})
			h, ws := homeOf(t, dir)
			written, err := h.newJournal(ws, "bad")
			if err != nil {
				t.Fatal(err)
			}
			text := []byte("{")
			if j != nil {
				if j.Root == "" || j.Root != "/elsewhere" {
					j.Root = dir
				}
				if text, err = json.Marshal(j); err != nil {
					t.Fatal(err)
				}
			}
			key := h.key
			switch what {
			case "another key":
				key = []byte(strings.Repeat("k", 32))
			case "an empty key":
				key = nil
			}
			signed := sign(key, text) + "\n" + string(text)
			if what == "unsigned" {
				signed = string(text)
			}
			treetest.Fill(t, h.top.Root, treetest.Files{written.place + "/journal.json": signed, written.place + "/state." + string(s): ""})
			before := treetest.OnDisk(t, dir)
			if list, err := recoverIn(t.Context(), dir, nil); err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("%s, %s: %v, %v", what, s, list, err)
			}
			treetest.Same(t, what, before, treetest.OnDisk(t, dir))
		}
	}
}

// A promotion that was cut off before an upgrade is settled if the record knows its run.
func TestAPromotionOfAnEarlierVersionIsSettledByItsID(t *testing.T) {
	t.Parallel()
	for s, want := range map[state]Outcome{staging: RolledBack, ready: RolledBack, committing: Completed, committed: Completed} {
		tree := planted("run-1", s)
		dir := treetest.New(t, tree)
		// The plan identifies the staged file by its inode number.
		plan := &journal{}
		name := filepath.Join(dir, oldJournals, "run-1", "journal.json")
		if err := json.Unmarshal([]byte(treetest.Content(t, name)), plan); err != nil {
			t.Fatal(err)
		}
		st, err := newHandle(t, dir).Stat(plan.Items[0].Slot)
		if err != nil {
			t.Fatal(err)
		}
		plan.Items[0].Inode = st.Ino
		text, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		treetest.Fill(t, dir, treetest.Files{oldJournals + "/run-1/journal.json": string(text)})
		if s == committed {
			treetest.Fill(t, dir, treetest.Files{"f": "evil"})
			if err := errors.Join(os.Remove(filepath.Join(dir, "g")), os.Remove(filepath.Join(dir, plan.Items[0].Slot))); err != nil {
				t.Fatal(err)
			}
		}
		lock, err := Acquire(dir)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := lock.RecoverOld(t.Context(), "run-2", nil); r != nil || err != nil {
			t.Errorf("another run: %v, %v", r, err)
		}
		for range 2 { // it may be killed and called again
			r, err := lock.RecoverOld(t.Context(), "run-1", records(both(modify("f", "x", "evil"), remove("g", "y"))))
			if err != nil || r == nil || r.Outcome != want {
				t.Fatalf("%s: %v, %v", s, r, err)
			}
		}
		r, err := lock.RecoverOld(t.Context(), "run-1", records(both(modify("f", "x", "evil"), remove("g", "y"))))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Discard(); err != nil {
			t.Error(err)
		}
		left := slices.Sorted(maps.Keys(treetest.OnDisk(t, dir)))
		wantLeft := []string{".", "f", "g"}
		if want == Completed {
			wantLeft = []string{".", "f"}
		}
		if !slices.Equal(left, wantLeft) {
			t.Errorf("%s: left %q", s, left)
		}
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	}
}

// records returns a record of cs.
func records(cs workspace.Changeset) func(context.Context) (workspace.Changeset, error) {
	return func(context.Context) (workspace.Changeset, error) { return cs, nil }
}

// A journal with the right name that differs from the record was planted.
func TestAPlantedJournalOfAKnownRunIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	gone := func(context.Context) (workspace.Changeset, error) {
		return workspace.Changeset{}, errors.New("nothing was promoted")
	}
	for what, recorded := range map[string]func(context.Context) (workspace.Changeset, error){
		"no record":      gone,
		"nothing":        records(workspace.Changeset{}),
		"less":           records(modify("f", "x", "evil")),
		"other bytes":    records(both(modify("f", "x", "good"), remove("g", "y"))),
		"others before":  records(both(modify("f", "z", "evil"), remove("g", "y"))),
		"no deletion":    records(both(modify("f", "x", "evil"), modify("g", "y", ""))),
		"a creation":     records(both(create("f", "evil"), remove("g", "y"))),
		"other paths":    records(both(modify("f2", "x", "evil"), remove("g", "y"))),
		"a directory":    nil,
		"one to remove":  nil,
		"one to replace": nil,
	} {
		for _, s := range []state{committing, rollingBack} {
			tree := planted("run-1", s)
			if recorded == nil {
				recorded = records(both(modify("f", "x", "evil"), remove("g", "y")))
			}
			name := oldJournals + "/run-1/journal.json"
			switch what {
			case "a directory":
				tree[name] = strings.Replace(tree[name], `"make":null`, `"make":["d"]`, 1)
			case "one to remove":
				tree[name], tree["d/"] = strings.Replace(tree[name], `"remove":null`, `"remove":[{"path":"d"}]`, 1), ""
			case "one to replace":
				tree[name], tree["d/"] = strings.Replace(tree[name], `"clear":null`, `"clear":[{"path":"d"}]`, 1), ""
			}
			dir := treetest.New(t, tree)
			before := treetest.OnDisk(t, dir)
			lock, err := Acquire(dir)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := lock.RecoverOld(t.Context(), "run-1", recorded); r != nil || err == nil || !strings.Contains(err.Error(), ".agent/journal/run-1 is not carried out") ||
				!strings.Contains(err.Error(), "then remove it") {
				t.Errorf("%s, %s: %v, %v", what, s, r, err)
			}
			treetest.Same(t, what, before, treetest.OnDisk(t, dir))
			if err := lock.Release(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestAMovedWorkspaceIsSettledWhereItIsNow(t *testing.T) {
	t.Parallel()
	tree, cs := threeFiles()
	dir := interrupted(t, tree, cs, "exchanged", 1)
	moved := dir + "-moved"
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(moved) })
	list, err := recoverIn(t.Context(), moved, nil)
	if err != nil || len(list) != 1 || list[0].Outcome != Completed {
		t.Fatalf("%v, %v", list, err)
	}
	if err := list[0].Discard(); err != nil {
		t.Error(err)
	}
	if got := treetest.Content(t, filepath.Join(moved, "mod")); got != "2" {
		t.Errorf("mod is %q", got)
	}
	if got := journalsOf(t, moved); len(got) > 0 {
		t.Errorf("journals are left: %q", got)
	}
}

// A directory that was removed and made again, as by a fresh clone, may have the inode number and the path of the one
// that a journal belongs to.
func TestADirectoryMadeAnewIsNotTouchedByTheJournalOfTheOldOne(t *testing.T) {
	t.Parallel()
	tree, cs := threeFiles()
	for _, again := range []treetest.Files{tree, {"mod": "1", "del": "1", "other": "mine"}} {
		dir := interrupted(t, tree, cs, "exchanged", 1)
		// Emptying and refilling the directory has the same result as such a clone.
		for _, name := range []string{".agent", "mod", "del", "other", "new"} {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		treetest.Fill(t, dir, again)
		before := treetest.OnDisk(t, dir)
		list, err := recoverIn(t.Context(), dir, nil)
		if err != nil || len(list) != 1 || list[0].Outcome == Completed {
			t.Fatalf("%v, %v", list, err)
		}
		if err := list[0].Discard(); err != nil {
			t.Error(err)
		}
		treetest.Same(t, "made anew", before, treetest.OnDisk(t, dir))
		if got := journalsOf(t, dir); len(got) > 0 {
			t.Errorf("journals are left: %q", got)
		}
	}
}

// Another user's promotion may be half done, and only that user's journal records its progress.
func TestStagedFilesWithoutAJournalStopAPromotion(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"f": "1", stages + "/run-7/0": "2"})
	before := treetest.OnDisk(t, dir)
	_, err := prepareIn(t.Context(), dir, modify("f", "1", "2"), "run-8", nil, nil)
	var conflict *ConflictError
	if !errors.As(err, &conflict) || !slices.Equal(conflict.Paths, []string{stages + "/run-7"}) {
		t.Errorf("%v", err)
	}
	lock, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{"run-7": true, "run-8": false} {
		if got, err := lock.Foreign(id); got != want || err != nil {
			t.Errorf("%s is foreign: %v, %v", id, got, err)
		}
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	treetest.Same(t, "the workspace", before, treetest.OnDisk(t, dir))
}

func TestThePlaceOfTheJournalsMustBePrivateAndElsewhere(t *testing.T) {
	dir := treetest.New(t, treetest.Files{"f": "1"})
	cs := modify("f", "1", "2")
	for what, state := range map[string]func(t *testing.T) string{
		"in the workspace": func(t *testing.T) string { return filepath.Join(dir, "deep", "state") },
		"readable by others": func(t *testing.T) string {
			state := t.TempDir()
			if err := os.MkdirAll(filepath.Join(state, "agent", "promotions"), 0o755); err != nil {
				t.Fatal(err)
			}
			return state
		},
		"a key that others can read": func(t *testing.T) string {
			state := t.TempDir()
			promotions := filepath.Join(state, "agent", "promotions")
			if err := errors.Join(os.MkdirAll(promotions, 0o700), os.WriteFile(filepath.Join(promotions, "key"), make([]byte, 32), 0o644)); err != nil {
				t.Fatal(err)
			}
			return state
		},
		"a short key": func(t *testing.T) string {
			state := t.TempDir()
			promotions := filepath.Join(state, "agent", "promotions")
			if err := errors.Join(os.MkdirAll(promotions, 0o700), os.WriteFile(filepath.Join(promotions, "key"), []byte("k"), 0o600)); err != nil {
				t.Fatal(err)
			}
			return state
		},
		"a link for a key": func(t *testing.T) string {
			state := t.TempDir()
			promotions := filepath.Join(state, "agent", "promotions")
			if err := errors.Join(os.MkdirAll(promotions, 0o700), os.Symlink(filepath.Join(dir, "f"), filepath.Join(promotions, "key"))); err != nil {
				t.Fatal(err)
			}
			return state
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", state(t))
			if p, err := prepareIn(t.Context(), dir, cs, "run-1", nil, nil); err == nil {
				t.Errorf("prepared: %v", p.Close())
			} else {
				t.Log(err)
			}
			if got := treetest.Content(t, filepath.Join(dir, "f")); got != "1" {
				t.Errorf("f is %q", got)
			}
		})
	}
}

func TestWithoutHOMETheJournalsLieInTheUsersHome(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "relative")
	t.Setenv("HOME", "/somewhere")
	if got, err := homePath(); err != nil || got != "/somewhere/.local/state/agent/promotions" {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("HOME", "")
	if got, err := homePath(); err != nil || !filepath.IsAbs(got) || strings.HasPrefix(got, "/somewhere") {
		t.Errorf("%q, %v", got, err)
	}
}

// Processes that need the first key at the same time all get the same one.
func TestTheKeyIsMadeOnce(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	ws := newHandle(t, treetest.New(t, nil))
	keys := make(chan string, 8)
	for range cap(keys) {
		go func() {
			h, err := openHome(ws, true)
			if err != nil {
				keys <- err.Error()
				return
			}
			defer h.close()
			keys <- string(h.key)
		}()
	}
	first := <-keys
	for range cap(keys) - 1 {
		if next := <-keys; next != first || len(next) != 32 {
			t.Errorf("%q and %q", first, next)
		}
	}
}

// swaps returns what can happen to the path of a workspace.
func swaps(t *testing.T, dir string) map[string]func() error {
	aside := func() error { return os.Rename(dir, dir+"-aside") }
	t.Cleanup(func() { os.RemoveAll(dir + "-aside") })
	elsewhere := treetest.New(t, treetest.Files{"f": "1"})
	return map[string]func() error{
		"moved":             aside,
		"a link to itself":  func() error { return errors.Join(aside(), os.Symlink(dir+"-aside", dir)) },
		"a link to another": func() error { return errors.Join(aside(), os.Symlink(elsewhere, dir)) },
		"another directory": func() error {
			return errors.Join(aside(), os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "f"), []byte("1"), 0o644))
		},
		"another mounted on it":    func() error { return unix.Mount(elsewhere, dir, "", unix.MS_BIND, "") },
		"a file in its place":      func() error { return errors.Join(aside(), os.WriteFile(dir, nil, 0o644)) },
		"its parent not reachable": func() error { return errors.Join(aside(), os.Symlink(dir, dir)) },
	}
}

// The directory at the path of the workspace must be the one that was locked,
// before the journal is written and before the first file is placed.
func TestAWorkspaceThatWasReplacedIsAConflict(t *testing.T) {
	t.Parallel()
	for what := range swaps(t, filepath.Join(t.TempDir(), "none")) {
		for _, late := range []bool{false, true} {
			dir := treetest.New(t, treetest.Files{"w/f": "1"}) + "/w"
			lock, err := Acquire(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := lock.InPlace(); err != nil {
				t.Errorf("%s, before: %v", what, err)
			}
			var p *Promotion
			if late {
				if p, err = lock.Prepare(t.Context(), modify("f", "1", "2"), "run-1", nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := swaps(t, dir)[what](); err != nil {
				t.Fatal(err)
			}
			var conflict *ConflictError
			if err := lock.InPlace(); !errors.As(err, &conflict) {
				t.Errorf("%s: %v", what, err)
			}
			if late {
				err = p.Commit(t.Context())
				if cerr := p.Close(); cerr != nil {
					t.Error(cerr)
				}
			} else {
				_, err = lock.Prepare(t.Context(), modify("f", "1", "2"), "run-1", nil)
			}
			if !errors.As(err, &conflict) {
				t.Errorf("%s, late %v: %v", what, late, err)
			}
			if what == "another mounted on it" {
				if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{dir + "/f", dir + "-aside/f"} {
				if got, err := os.ReadFile(name); err == nil && string(got) != "1" {
					t.Errorf("%s, late %v: %s is %q", what, late, name, got)
				}
			}
			if _, err := os.Lstat(dir + "-aside/.agent"); err == nil {
				t.Errorf("%s, late %v: .agent is left", what, late)
			}
			if err := lock.Release(); err != nil {
				t.Error(err)
			}
		}
	}
}
