package promotion

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"agent/sandbox/workspace"

	"agent/sandbox/workspace/internal/dirfd"

	"agent/sandbox/workspace/internal/treetest"
)

// A meeting is one moment of a promotion at which the user acts.
type meeting struct {
	name string
	cs   workspace.Changeset
	// The user acts after the first step with this name.
	step string
	user func(name string) error
	// The content at the path afterwards, "" for no file, and whether the promotion yields.
	want     string
	conflict bool
	// Restricts the case to file systems that can exchange two files, or to those that cannot.
	only string
}

// These are what users do to a file.
func edit(name string) error { return os.WriteFile(name, []byte("mine"), 0o644) }

func replace(name string) error {
	return errors.Join(os.WriteFile(name+".tmp", []byte("mine"), 0o644), os.Rename(name+".tmp", name))
}

func meetings() []meeting {
	mod, del, add := modify("f", "base", "ours"), remove("f", "base"), create("f", "ours")
	return []meeting{
		{"edit before", mod, "after committing", edit, "mine", true, ""},
		{"replace before", mod, "after committing", replace, "mine", true, ""},
		{"remove before", mod, "after committing", os.Remove, "", true, ""},
		{"edit after the look", mod, "looked", edit, "mine", true, ""},
		{"replace after the look", mod, "looked", replace, "mine", true, ""},
		{"remove after the look", mod, "looked", os.Remove, "", true, ""},
		{"edit after the look", del, "looked", edit, "mine", true, ""},
		{"replace after the look", del, "looked", replace, "mine", true, ""},
		{"remove after the look", del, "looked", os.Remove, "", true, ""},
		{"make after the look", add, "looked", edit, "mine", true, ""},
		{"edit the new file", mod, "exchanged", edit, "mine", false, "exchange"},
		{"replace the new file", mod, "exchanged", replace, "mine", false, "exchange"},
		{"remove the new file", mod, "exchanged", os.Remove, "", false, "exchange"},
		{"make it while it is away", mod, "swap: taken away", edit, "mine", true, "plain"},
		{"edit the new file", mod, "swap: put in place", edit, "mine", false, "plain"},
		{"replace the new file", mod, "swap: put in place", replace, "mine", false, "plain"},
		{"edit before the deletion", del, "after committing", edit, "mine", true, ""},
		{"replace before the deletion", del, "after committing", replace, "mine", true, ""},
		{"remove before the deletion", del, "after committing", os.Remove, "", true, ""},
		{"make it after the deletion", del, "taken", edit, "mine", false, ""},
		{"make it before the creation", add, "after committing", edit, "mine", true, ""},
		{"make the bytes of the creation", add, "after committing", func(name string) error {
			return os.WriteFile(name, []byte("ours"), 0o644)
		}, "ours", true, ""},
		{"edit after the creation", add, "created", edit, "mine", false, ""},
		{"remove after the creation", add, "created", os.Remove, "", false, ""},
		{"edit at the very end", mod, "synced", edit, "mine", false, ""},
	}
}

// meet runs cs on a workspace and calls each act once, at the first step with its name.
func meet(t *testing.T, cs workspace.Changeset, plain bool, acts map[string]func(string) error) (dir string, err error) {
	t.Helper()
	tree := treetest.Files{"z-other": "base"}
	if cs.Changes[0].Op != workspace.Create {
		tree["f"] = "base"
	}
	dir = treetest.Memory(t, tree)
	cs.Changes = append(slices.Clone(cs.Changes), modify("z-other", "base", "ours").Changes...)
	p, err := prepareIn(t.Context(), dir, cs, "run-1", nil, func(j *journal) { j.tree.Plain = plain })
	if err != nil {
		t.Fatal(err)
	}
	p.j.step = func(name string) {
		if act := acts[name]; act != nil {
			delete(acts, name)
			if err := act(filepath.Join(dir, "f")); err != nil {
				t.Errorf("the user at %q: %v", name, err)
			}
		}
	}
	err = p.Commit(t.Context())
	if cerr := p.Close(); cerr != nil {
		t.Errorf("close: %v", cerr)
	}
	for name := range acts {
		t.Errorf("the step %q was not reached", name)
	}
	return dir, err
}

// C24.
func TestTheUserWinsAtEveryMomentOfACommit(t *testing.T) {
	t.Parallel()
	for _, m := range meetings() {
		for _, plain := range []bool{false, true} {
			if m.only == "plain" && !plain || m.only == "exchange" && plain {
				continue
			}
			t.Run(fmt.Sprintf("%s %s plain=%v", m.cs.Changes[0].Op, m.name, plain), func(t *testing.T) {
				t.Parallel()
				dir, err := meet(t, m.cs, plain, map[string]func(string) error{m.step: m.user})
				var conflict *ConflictError
				if m.conflict != errors.As(err, &conflict) || !m.conflict && err != nil {
					t.Errorf("commit: %v", err)
				}
				if got := treetest.Content(t, filepath.Join(dir, "f")); got != m.want {
					t.Errorf("the file is %q, want %q", got, m.want)
				}
				want := "ours"
				if m.conflict {
					want = "base"
				}
				if got := treetest.Content(t, filepath.Join(dir, "z-other")); got != want {
					t.Errorf("the other file is %q, want %q", got, want)
				}
				if _, err := os.Stat(filepath.Join(dir, ".agent")); err == nil {
					t.Error("a journal is left")
				}
			})
		}
	}
}

func TestTheNewestOfTwoEditsWins(t *testing.T) {
	t.Parallel()
	newest := func(name string) error { return os.WriteFile(name, []byte("newest"), 0o644) }
	for _, test := range []struct {
		cs    workspace.Changeset
		step  string
		plain bool
	}{
		{modify("f", "base", "ours"), "exchanged", false},
		{modify("f", "base", "ours"), "swap: put in place", true},
		{remove("f", "base"), "taken", false},
	} {
		// The first edit is displaced. Meanwhile a second edit goes to the file that is now at the path.
		dir := treetest.Memory(t, treetest.Files{"f": "base"})
		p, err := prepareIn(t.Context(), dir, test.cs, "run-1", nil, func(j *journal) { j.tree.Plain = test.plain })
		if err != nil {
			t.Fatal(err)
		}
		acts := map[string]func(string) error{"looked": replace, test.step: newest}
		p.j.step = func(name string) {
			if act := acts[name]; act != nil {
				delete(acts, name)
				if err := act(filepath.Join(dir, "f")); err != nil {
					t.Error(err)
				}
			}
		}
		var conflict *ConflictError
		if err := p.Commit(t.Context()); !errors.As(err, &conflict) {
			t.Errorf("%s: commit: %v", test.step, err)
		}
		var kept *KeptError
		if err := p.Close(); !errors.As(err, &kept) {
			t.Fatalf("%s: close: %v", test.step, err)
		}
		if got := treetest.Content(t, filepath.Join(dir, "f")); got != "newest" {
			t.Errorf("%s: the file is %q", test.step, got)
		}
		if got := treetest.Content(t, filepath.Join(dir, kept.Paths[0])); got != "mine" {
			t.Errorf("%s: the first edit is kept as %q", test.step, got)
		}
	}
}

// TestTheUserWinsAtEveryMomentOfARollBack makes the other, later file a conflict, so that f is put back while the user
// acts.
func TestTheUserWinsAtEveryMomentOfARollBack(t *testing.T) {
	t.Parallel()
	spoil := func(name string) error {
		return os.WriteFile(filepath.Join(filepath.Dir(name), "z-other"), []byte("mine too"), 0o644)
	}
	for _, test := range []struct {
		name string
		cs   workspace.Changeset
		step string
		user func(string) error
		want string
	}{
		{"nobody", modify("f", "base", "ours"), "", nil, "base"},
		{"nobody", remove("f", "base"), "", nil, "base"},
		{"nobody", create("f", "ours"), "", nil, ""},
		{"edit", modify("f", "base", "ours"), "after rolling-back", edit, "mine"},
		{"replace", modify("f", "base", "ours"), "after rolling-back", replace, "mine"},
		{"remove", modify("f", "base", "ours"), "after rolling-back", os.Remove, ""},
		{"edit after the look", modify("f", "base", "ours"), "looked back", edit, "mine"},
		{"replace after the look", modify("f", "base", "ours"), "looked back", replace, "mine"},
		{"remove after the look", modify("f", "base", "ours"), "looked back", os.Remove, ""},
		{"edit after the look", create("f", "ours"), "looked back", edit, "mine"},
		{"replace after the look", create("f", "ours"), "looked back", replace, "mine"},
		{"remove after the look", create("f", "ours"), "looked back", os.Remove, ""},
		{"edit when back", modify("f", "base", "ours"), "swapped back", edit, "mine"},
		{"make", remove("f", "base"), "after rolling-back", edit, "mine"},
		{"edit when back", remove("f", "base"), "given back", edit, "mine"},
		{"edit", create("f", "ours"), "after rolling-back", edit, "mine"},
		{"replace", create("f", "ours"), "after rolling-back", replace, "mine"},
		{"remove", create("f", "ours"), "after rolling-back", os.Remove, ""},
		{"make when gone", create("f", "ours"), "withdrawn", edit, "mine"},
	} {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %s plain=%v", test.cs.Changes[0].Op, test.name, plain), func(t *testing.T) {
				t.Parallel()
				acts := map[string]func(string) error{"after committing": spoil}
				if test.user != nil {
					acts[test.step] = test.user
				}
				dir, err := meet(t, test.cs, plain, acts)
				var conflict *ConflictError
				if !errors.As(err, &conflict) || !slices.Equal(conflict.Paths, []string{"z-other"}) {
					t.Errorf("commit: %v", err)
				}
				if got := treetest.Content(t, filepath.Join(dir, "f")); got != test.want {
					t.Errorf("the file is %q, want %q", got, test.want)
				}
				if got := treetest.Content(t, filepath.Join(dir, "z-other")); got != "mine too" {
					t.Errorf("the other file is %q", got)
				}
				if left := treetest.OnDisk(t, dir)[".agent"]; left != "" {
					t.Error("a journal is left")
				}
			})
		}
	}
}

func TestPutNeverReplacesAndAwayTakesWhatIsThere(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		dir := treetest.New(t, treetest.Files{"slot": "s", "taken": "t"})
		tr, err := dirfd.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		tr.Plain = plain
		j := &journal{tree: tr}
		if err := j.put("slot", "taken"); !errors.Is(err, os.ErrExist) {
			t.Errorf("plain=%v: put on a taken name: %v", plain, err)
		}
		if err := j.put("slot", "free"); err != nil {
			t.Errorf("plain=%v: put: %v", plain, err)
		}
		if err := j.away("taken", "slot"); err != nil {
			t.Errorf("plain=%v: away: %v", plain, err)
		}
		if err := j.swap("slot", "free"); err != nil {
			t.Errorf("plain=%v: swap: %v", plain, err)
		}
		if got := treetest.Content(t, filepath.Join(dir, "free")) + treetest.Content(t, filepath.Join(dir, "slot")); got != "ts" {
			t.Errorf("plain=%v: after all %q", plain, got)
		}
		if err := j.swap("slot", "none"); !dirfd.Gone(err) {
			t.Errorf("plain=%v: swap with nothing: %v", plain, err)
		}
		if got := treetest.Content(t, filepath.Join(dir, "slot")); got != "s" {
			t.Errorf("plain=%v: the slot is %q after a swap with nothing", plain, got)
		}
	}
}

func TestLookTellsWhatLiesThere(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"f": "0640 x", "d/": "", "l": "->f"})
	treetest.FIFO(t, filepath.Join(dir, "p"))
	tr, err := dirfd.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for name, want := range map[string]found{
		"none": {absent: true}, "none/f": {absent: true}, "f/below": {absent: true},
		"d": {dir: true}, "l": {}, "p": {},
	} {
		if got, err := look(tr, name); got != want || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	f, err := look(tr, "f")
	if err != nil || !f.plain || f.busy || f.meta.Digest != workspace.Digest([]byte("x")) || f.meta.Mode != 0o640 || f.inode == 0 {
		t.Errorf("file: %+v, %v", f, err)
	}
	w, err := os.OpenFile(filepath.Join(dir, "f"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if f, err := look(tr, "f"); err != nil || !f.busy {
		t.Errorf("a file open for writing: %+v, %v", f, err)
	}
}
