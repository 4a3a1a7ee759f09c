package promotion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"agent/sandbox/workspace"

	"agent/sandbox/workspace/internal/treetest"

	"golang.org/x/sys/unix"
)

func TestPrepareAloneChangesNothingAndCloseAbandonsIt(t *testing.T) {
	t.Parallel()
	tree := scenarioTree()
	delete(tree, ".agent/HISTORY")
	dir := treetest.New(t, tree)
	before := treetest.OnDisk(t, dir)
	p, err := prepareIn(t.Context(), dir, scenario(), "run-1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	staged := treetest.OnDisk(t, dir)
	for name := range staged {
		if strings.HasPrefix(name, ".agent") {
			delete(staged, name)
		}
	}
	treetest.Same(t, "after Prepare, the journal aside", before, staged)
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	treetest.Same(t, "after Close", before, treetest.OnDisk(t, dir))
	if err := p.Commit(t.Context()); err == nil {
		t.Error("a closed promotion is committed")
	}
}

// A hostCase is a state of the host that a promotion must not overwrite.
type hostCase struct {
	tree   treetest.Files
	change func(dir string) error // what happens after the changeset was made
	cs     workspace.Changeset
	paths  []string // of the ConflictError; nil: a *PathError
}

func hostCases() map[string]hostCase {
	write := func(name, content string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644) }
	}
	return map[string]hostCase{
		"edited":           {treetest.Files{"f": "1"}, write("f", "2"), modify("f", "1", "3"), []string{"f"}},
		"edited, delete":   {treetest.Files{"f": "1"}, write("f", "2"), remove("f", "1"), []string{"f"}},
		"made":             {treetest.Files{}, write("f", "2"), create("f", "1"), []string{"f"}},
		"made, same bytes": {treetest.Files{}, write("f", "1"), create("f", "1"), []string{"f"}},
		"removed":          {treetest.Files{"f": "1"}, func(dir string) error { return os.Remove(filepath.Join(dir, "f")) }, modify("f", "1", "3"), []string{"f"}},
		"removed, delete":  {treetest.Files{"f": "1"}, func(dir string) error { return os.Remove(filepath.Join(dir, "f")) }, remove("f", "1"), []string{"f"}},
		"parent removed":   {treetest.Files{"d/f": "1"}, func(dir string) error { return os.RemoveAll(filepath.Join(dir, "d")) }, modify("d/f", "1", "3"), []string{"d/f"}},
		"in the way": {
			treetest.Files{"d/f": "1", "d/user": "mine"},
			nil,
			workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "d", After: []byte("x")}, {Op: workspace.Delete, Path: "d/f", Before: []byte("1")}}},
			[]string{"d/user"},
		},
		"a directory":        {treetest.Files{"f/": ""}, nil, modify("f", "1", "2"), nil},
		"a directory, gone":  {treetest.Files{"f/": ""}, nil, remove("f", ""), nil},
		"a link":             {treetest.Files{"f": "->g", "g": "1"}, nil, modify("f", "1", "2"), nil},
		"a link, create":     {treetest.Files{"f": "->none"}, nil, create("f", "2"), nil},
		"a link, delete":     {treetest.Files{"f": "->g", "g": "1"}, nil, remove("f", "1"), nil},
		"a parent link":      {treetest.Files{"d": "->e", "e/f": "1"}, nil, modify("d/f", "1", "2"), nil},
		"a link above":       {treetest.Files{"d": "->e", "e/x/f": "1"}, nil, create("d/x/g", "2"), nil},
		"a file as a parent": {treetest.Files{"d": "1"}, nil, create("d/f", "2"), nil},
		"a link to nowhere":  {treetest.Files{"d": "->/"}, nil, create("d/tmp/f", "2"), nil},
		"a FIFO":             {treetest.Files{}, func(dir string) error { return unix.Mkfifo(filepath.Join(dir, "f"), 0o644) }, modify("f", "1", "2"), nil},
		"a FIFO, create":     {treetest.Files{}, func(dir string) error { return unix.Mkfifo(filepath.Join(dir, "f"), 0o644) }, create("f", "2"), nil},
		"a device":           {treetest.Files{}, func(dir string) error { return unix.Mknod(filepath.Join(dir, "f"), unix.S_IFCHR|0o666, 1<<8|3) }, modify("f", "", "2"), nil},
		"outside":            {treetest.Files{}, nil, create("../f", "2"), nil},
		"in git":             {treetest.Files{".git/config": "1"}, nil, modify(".git/config", "1", "2"), nil},
	}
}

// C01, C02, C08, C23.
func TestTheHostWinsBeforePrepare(t *testing.T) {
	t.Parallel()
	for what, test := range hostCases() {
		dir := treetest.New(t, test.tree)
		if test.change != nil {
			if err := test.change(dir); err != nil {
				t.Fatal(err)
			}
		}
		names := func() []string {
			var list []string
			filepath.WalkDir(dir, func(name string, _ os.DirEntry, _ error) error {
				info, err := os.Lstat(name)
				list = append(list, fmt.Sprint(name, info.Mode(), info.Size(), err))
				return nil
			})
			return list
		}
		before := names()
		_, err := prepareIn(t.Context(), dir, test.cs, "run-1", nil, nil)
		var conflict *ConflictError
		var perr *workspace.PathError
		switch {
		case test.paths == nil && !errors.As(err, &perr):
			t.Errorf("%s: %v", what, err)
		case test.paths != nil && (!errors.As(err, &conflict) || !slices.Equal(conflict.Paths, test.paths)):
			t.Errorf("%s: %v", what, err)
		}
		if !slices.Equal(before, names()) {
			t.Errorf("%s: the workspace has changed", what)
		}
	}
}

// C02, C08, C23.
func TestTheHostWinsBetweenPrepareAndCommit(t *testing.T) {
	t.Parallel()
	at := filepath.Join
	write := func(name, content string) func(string) error {
		return func(dir string) error { return os.WriteFile(at(dir, name), []byte(content), 0o644) }
	}
	for what, change := range map[string]func(dir string) error{
		"edited":          write("mod.txt", "mine\n"),
		"edited, deleted": write("del.txt", "mine\n"),
		"edited, renamed": write("ren.txt", "mine\n"),
		"removed":         func(dir string) error { return os.Remove(at(dir, "mod.txt")) },
		"made":            write("moved", "a file where a directory is to be\n"),
		"made, file": func(dir string) error {
			return errors.Join(os.Mkdir(at(dir, "new"), 0o755), write("new/nothing", "")(dir))
		},
		"bits changed": func(dir string) error { return os.Chmod(at(dir, "run.sh"), 0o700) },
		"replaced by link": func(dir string) error {
			return errors.Join(os.Remove(at(dir, "mod.txt")), os.Symlink("del.txt", at(dir, "mod.txt")))
		},
		"replaced by FIFO": func(dir string) error {
			return errors.Join(os.Remove(at(dir, "mod.txt")), unix.Mkfifo(at(dir, "mod.txt"), 0o644))
		},
		"parent is a link": func(dir string) error {
			return errors.Join(os.Rename(at(dir, "room"), at(dir, "r2")), os.Symlink("r2", at(dir, "room")))
		},
		"in the way":        write("tofile/mine", "mine\n"),
		"last in the order": write("vacated/new.txt", "mine\n"),
	} {
		for _, plain := range []bool{false, true} {
			tree := scenarioTree()
			dir := treetest.Memory(t, tree)
			p, err := prepareIn(t.Context(), dir, scenario(), "run-1", nil, func(j *journal) { j.tree.Plain = plain })
			if err != nil {
				t.Fatal(err)
			}
			if err := change(dir); err != nil {
				t.Fatal(err)
			}
			err = p.Commit(t.Context())
			var conflict *ConflictError
			if !errors.As(err, &conflict) {
				t.Errorf("%s: %v", what, err)
			}
			if err := p.Close(); err != nil {
				t.Errorf("%s: close: %v", what, err)
			}
			other := treetest.Memory(t, tree)
			if err := change(other); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(what, "FIFO") {
				for _, d := range []string{dir, other} {
					if err := os.Remove(at(d, "mod.txt")); err != nil {
						t.Fatal(err)
					}
				}
			}
			treetest.Same(t, what+": after the roll back", treetest.OnDisk(t, other), treetest.OnDisk(t, dir))
		}
	}
}

func TestRollBackKeepsTheTimesOfEveryFile(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, scenarioTree())
	before := scan(t, dir)
	p, err := prepareIn(t.Context(), dir, scenario(), "run-1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	p.j.step = func(name string) {
		if name == "created" {
			if steps++; steps == 3 {
				cancel()
			}
		}
	}
	if err := p.Commit(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("commit: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	after := scan(t, dir)
	for i, e := range before.Entries {
		if e.Kind == workspace.File && (after.Entries[i].MTime != e.MTime || after.Entries[i].Inode != e.Inode) {
			t.Errorf("%s is another file than before", e.Path)
		}
	}
	if before.Digest() != after.Digest() {
		t.Error("the content is not as before")
	}
}

// C26.
func TestPrepareRefusesTheMiddleOfSomethingElse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"index.lock", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge/", "rebase-apply/"} {
		dir := treetest.New(t, treetest.Files{"f": "1", ".git/HEAD": "ref: refs/heads/main\n", ".git/" + name: ""})
		_, err := prepareIn(t.Context(), dir, modify("f", "1", "2"), "run-1", nil, nil)
		var conflict *ConflictError
		if !errors.As(err, &conflict) || conflict.Reason == "" || !strings.Contains(err.Error(), strings.TrimSuffix(name, "/")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := treetest.New(t, treetest.Files{"f": "1"})
	p, err := prepareIn(t.Context(), dir, modify("f", "1", "2"), "run-1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, id := range []string{"run-1", "run-2"} {
		if _, err := prepareIn(t.Context(), dir, modify("f", "1", "2"), id, nil, nil); err == nil || !strings.Contains(err.Error(), "run-1 must be settled") {
			t.Errorf("beside an open promotion: %v", err)
		}
	}
	for _, id := range []string{"", ".", "..", "a/b", "a~", strings.Repeat("x", 101), "-x"} {
		if _, err := prepareIn(t.Context(), treetest.New(t, treetest.Files{"f": "1"}), modify("f", "1", "2"), id, nil, nil); err == nil {
			t.Errorf("the ID %q is taken", id)
		}
	}
}

// C26.
func TestPrepareFromNoticesThatTheBranchWasSwitched(t *testing.T) {
	t.Parallel()
	dir := treetest.Repo(t)
	base := scan(t, dir)
	cs := modify("a.py", "", "x = 1\n")
	try := func() error {
		p, err := prepareIn(t.Context(), dir, cs, "run-1", base, nil)
		if err == nil {
			err = p.Close()
		}
		return err
	}
	if err := try(); err != nil {
		t.Fatalf("unchanged: %v", err)
	}
	treetest.Git(t, dir, "checkout", "-q", "-b", "other")
	var conflict *ConflictError
	if err := try(); !errors.As(err, &conflict) || !strings.Contains(err.Error(), "switched") {
		t.Errorf("another branch: %v", err)
	}
	treetest.Git(t, dir, "checkout", "-q", "main")
	treetest.Git(t, dir, "commit", "-q", "--allow-empty", "-m", "second")
	if err := try(); !errors.As(err, &conflict) || !strings.Contains(err.Error(), "another commit") {
		t.Errorf("another commit: %v", err)
	}
	base = scan(t, dir)
	if err := os.Chmod(filepath.Join(dir, "a.py"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := try(); !errors.As(err, &conflict) || !slices.Equal(conflict.Paths, []string{"a.py"}) {
		t.Errorf("other permission bits: %v", err)
	}
}

// C07, C09.
func TestPromotionKeepsOwnersAndStripsSpecialBits(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Fatal("this test changes owners: run it as root, as the build does")
	}
	dir := treetest.New(t, treetest.Files{"theirs": "0750 1", "d/": "", "suid": "0755 1"})
	for name, id := range map[string]int{"theirs": 4001, "d": 4002} {
		if err := os.Chown(filepath.Join(dir, name), id, id+100); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Chmod(filepath.Join(dir, "suid"), 0o6755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Chmod(filepath.Join(dir, "d"), 0o2755); err != nil {
		t.Fatal(err)
	}
	promote(t, dir, workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Create, Path: "d/e/new", After: []byte("2"), Mode: os.ModeSetuid | 0o755},
		{Op: workspace.Modify, Path: "suid", Before: []byte("1"), After: []byte("2"), Mode: 0o755},
		{Op: workspace.Modify, Path: "theirs", Before: []byte("1"), After: []byte("2"), Mode: 0o644},
	}})
	got := treetest.OnDisk(t, dir)
	for name, want := range map[string]string{
		"d/e":     "dgrwxr-xr-x 4002:4102",
		"d/e/new": `-rwxr-xr-x 4002:4102 1 "2"`,
		"suid":    `-rwxr-xr-x 0:0 1 "2"`,
		"theirs":  `-rwxr-x--- 4001:4101 1 "2"`,
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
}

// C27: staged files, files unknown to git, and git's own files all stay as they are.
func TestWhatTheUserHasNotCommittedIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := treetest.Repo(t)
	treetest.Fill(t, dir, treetest.Files{"sub/other": "staged\n", "draft.py": "untracked\n"})
	treetest.Git(t, dir, "add", "sub/other")
	treetest.Fill(t, dir, treetest.Files{"sub/other": "and changed since\n"})
	want := treetest.OnDisk(t, dir)
	want["a.py"] = strings.TrimSuffix(want["a.py"], `""`) + `"x = 1\n"`
	promote(t, dir, modify("a.py", "", "x = 1\n"))
	treetest.Same(t, "after the promotion", want, treetest.OnDisk(t, dir))
	if stashed := treetest.Git(t, dir, "stash", "list"); stashed != "" {
		t.Errorf("stashed: %s", stashed)
	}
}

// C09: the privileges of the old file do not pass to new content.
func TestPromotionLeavesAttributesBehind(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"f": "0755 1", "g": "1"})
	// cap_net_raw, effective, as a vfs_cap_data of revision 2 (capability.h).
	capability := append([]byte{1, 0, 0, 2, 0, 1 << 5}, make([]byte, 14)...)
	for _, name := range []string{"f", "g"} {
		for key, value := range map[string][]byte{"user.note": []byte("x"), "security.capability": capability} {
			if err := unix.Setxattr(filepath.Join(dir, name), key, value, 0); err != nil {
				t.Fatalf("%s (needs root): %v", key, err)
			}
		}
	}
	cs := modify("f", "1", "2")
	cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Rename, From: "g", Path: "h", Before: []byte("1"), After: []byte("1"), Mode: 0o644})
	promote(t, dir, cs)
	for _, name := range []string{"f", "h"} {
		buf := make([]byte, 100)
		if n, err := unix.Listxattr(filepath.Join(dir, name), buf); n != 0 || err != nil {
			t.Errorf("%s keeps %q, %v", name, buf[:max(n, 0)], err)
		}
	}
}

// C05.
func TestAnotherHardLinkKeepsTheOldContent(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(treetest.New(t, treetest.Files{"victim": "1"}), "victim")
	dir := treetest.New(t, nil)
	if err := os.Link(outside, filepath.Join(dir, "f")); err != nil {
		t.Fatal(err)
	}
	promote(t, dir, modify("f", "1", "2"))
	if got, err := os.ReadFile(outside); string(got) != "1" || err != nil {
		t.Errorf("the other name has %q, %v", got, err)
	}
	if got := treetest.OnDisk(t, dir)["f"]; !strings.HasSuffix(got, `1 "2"`) {
		t.Errorf("the file is %s", got)
	}
}

// C30.
func TestAFullDiskRollsEverythingBack(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, nil)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatalf("mount a small file system (needs root): %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	treetest.Fill(t, dir, treetest.Files{"f": "1"})
	before := treetest.OnDisk(t, dir)
	cs := modify("f", "1", "2")
	for i := range 4 {
		cs.Changes = append(cs.Changes, create(fmt.Sprintf("new/%d", i), strings.Repeat("x", 100<<10)).Changes...)
	}
	if _, err := prepareIn(t.Context(), dir, cs, "run-1", nil, nil); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("prepare: %v", err)
	}
	treetest.Same(t, "on a full disk", before, treetest.OnDisk(t, dir))

	// A disk that fills up between Prepare and Commit hinders neither commit nor rollback.
	p, err := prepareIn(t.Context(), dir, modify("f", "1", "2"), "run-1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "fat"), make([]byte, 1<<20), 0o644); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk does not fill up: %v", err)
	}
	if err := errors.Join(p.Commit(t.Context()), p.Close()); err != nil {
		t.Error(err)
	}
	if got := treetest.OnDisk(t, dir); got["f"] != `-rw-r--r-- 0:0 1 "2"` || got[".agent"] != "" {
		t.Errorf("after the promotion: %v %v", got["f"], got[".agent"])
	}
}

// C30.
func TestADirectoryThatMayNotBeWrittenRollsEverythingBack(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"shut/f.txt": "one\n", "shut/": "0555 "})
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	treetest.OpenParents(t, dir)
	before := treetest.OnDisk(t, dir)
	state := treetest.New(t, nil)
	if err := os.Chmod(state, 0o777); err != nil {
		t.Fatal(err)
	}
	treetest.OpenParents(t, state)
	cmd := treetest.AsNobody(second(t, "undo-unwritable", dir, 0))
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "permission denied") || !strings.Contains(string(out), "shut/f.txt") {
		t.Errorf("%v: %s", err, out)
	}
	treetest.Same(t, "after the refusal", before, treetest.OnDisk(t, dir))
}

// mountScenario changes files on three mounts.
func mountScenario() workspace.Changeset {
	return workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Modify, Path: "bind/s", Before: []byte("1"), After: []byte("2")},
		{Op: workspace.Modify, Path: "f", Before: []byte("1"), After: []byte("2")},
		{Op: workspace.Delete, Path: "mnt/del", Before: []byte("1")},
		{Op: workspace.Create, Path: "mnt/new/x", After: []byte("2")},
		{Op: workspace.Modify, Path: "mnt/old", Before: []byte("1"), After: []byte("2")},
	}}
}

func TestAPathOnAnotherMountIsStagedBesideItsTarget(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"f": "1", "mnt/": "", "bind/": ""})
	source := treetest.New(t, treetest.Files{"s": "1"})
	if err := unix.Mount("tmpfs", filepath.Join(dir, "mnt"), "tmpfs", 0, "size=1m"); err != nil {
		t.Fatalf("mount (needs root): %v", err)
	}
	defer unix.Unmount(filepath.Join(dir, "mnt"), unix.MNT_DETACH)
	if err := unix.Mount(source, filepath.Join(dir, "bind"), "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(filepath.Join(dir, "bind"), unix.MNT_DETACH)
	treetest.Fill(t, dir, treetest.Files{"mnt/old": "1", "mnt/del": "1"})
	cs := mountScenario()
	m := scan(t, dir)
	for step := 1; ; step++ {
		if !killed(t, second(t, "promote-mounts", dir, step)) {
			break
		}
		list, err := recoverIn(t.Context(), dir, nil)
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		for _, r := range list {
			if err := r.Discard(); err != nil {
				t.Fatal(err)
			}
		}
		switch scan(t, dir).Digest() {
		case m.Digest():
		case m.With(cs).Digest():
			promote(t, dir, cs.Reverse())
		default:
			t.Fatalf("step %d: neither before nor after: %q", step, paths(scan(t, dir)))
		}
		for name := range treetest.OnDisk(t, dir) {
			if strings.Contains(name, ".agent") {
				t.Fatalf("step %d: %s is left behind", step, name)
			}
		}
	}
	if scan(t, dir).Digest() != m.With(cs).Digest() {
		t.Error("the promotion is not what With foresees")
	}
}

func TestBytesWrittenThroughAnOldDescriptorAreKept(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"d/f": "1"})
	p, err := prepareIn(t.Context(), dir, modify("d/f", "1", "2"), "run-1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Opened before the exchange, but only for reading, so that it does not show as a writer.
	f, err := os.Open(filepath.Join(dir, "d/f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := p.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	late, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_WRONLY|syscall.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.WriteString("late"); err != nil {
		t.Fatal(err)
	}
	late.Close()
	treetest.Fill(t, dir, treetest.Files{"d/f.kept-run-1": "taken"})
	err = p.Close()
	var kept *KeptError
	if !errors.As(err, &kept) || !slices.Equal(kept.Paths, []string{"d/f.kept-run-1-2"}) {
		t.Fatalf("close: %v", err)
	}
	got := treetest.OnDisk(t, dir)
	if !strings.HasSuffix(got["d/f"], `"2"`) || !strings.HasSuffix(got["d/f.kept-run-1-2"], `"late"`) || got[".agent"] != "" {
		t.Errorf("on disk: %v", got)
	}
}

func TestAFileOpenForWritingIsAConflict(t *testing.T) {
	t.Parallel()
	for _, cs := range []workspace.Changeset{modify("f", "1", "2"), remove("f", "1")} {
		dir := treetest.New(t, treetest.Files{"f": "1"})
		before := treetest.OnDisk(t, dir)
		f, err := os.OpenFile(filepath.Join(dir, "f"), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p, err := prepareIn(t.Context(), dir, cs, "run-1", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var conflict *ConflictError
		if err := p.Commit(t.Context()); !errors.As(err, &conflict) {
			t.Errorf("commit: %v", err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		treetest.Same(t, "after the conflict", before, treetest.OnDisk(t, dir))
	}
}
