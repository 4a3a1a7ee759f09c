package gate

import (
	"io/fs"
	"strings"
	"testing"

	"agent/sandbox/workspace"
)

// shop returns a small workspace: a script, a module, a link and a data directory.
func shop() *workspace.Manifest {
	return &workspace.Manifest{Root: "/nowhere", Entries: []workspace.Entry{
		{Path: "data", Kind: workspace.Dir, Mode: 0o755},
		{Path: "data/a.csv", Kind: workspace.File, Mode: 0o600},
		{Path: "data/b.csv", Kind: workspace.File, Mode: 0o644},
		{Path: "latest", Kind: workspace.Symlink, Target: "data"},
		{Path: "run.sh", Kind: workspace.File, Mode: 0o750},
	}}
}

func TestAnEditKeepsThePermissionBitsOfTheFile(t *testing.T) {
	for _, c := range []struct {
		name string
		in   workspace.Change
		want fs.FileMode
	}{
		{"a modified file keeps its own bits", workspace.Change{Op: workspace.Modify, Path: "data/a.csv", Mode: 0o644}, 0o600},
		{"a script stays executable as it was", workspace.Change{Op: workspace.Modify, Path: "run.sh", Mode: 0o755}, 0o750},
		{"a diff may take the execute bits", workspace.Change{Op: workspace.Modify, Path: "run.sh", Mode: 0o644}, 0o640},
		{"a diff may give them, to those who may read", workspace.Change{Op: workspace.Modify, Path: "data/a.csv", Mode: 0o755}, 0o700},
		{"a renamed file keeps the bits of its old place", workspace.Change{Op: workspace.Rename, From: "data/a.csv", Path: "c.csv", Mode: 0o644}, 0o600},
		{"a deleted file records them for undo", workspace.Change{Op: workspace.Delete, Path: "run.sh"}, 0o750},
		{"a created file has what the edit gave it", workspace.Change{Op: workspace.Create, Path: "new.py", Mode: 0o644}, 0o644},
	} {
		cs := workspace.Changeset{Changes: []workspace.Change{c.in}}
		keepModes(shop(), cs)
		got := cs.Changes[0]
		if got.Mode != c.want {
			t.Errorf("%s: %o, want %o", c.name, got.Mode, c.want)
		}
		old, _ := shop().Lookup(c.in.Path)
		if alters := c.in.Op == workspace.Modify && c.want != old.Mode; alters != (got.OldMode != 0) {
			t.Errorf("%s: it alters the bits: %v, its old mode is %o", c.name, alters, got.OldMode)
		}
	}
}

func TestAChangeMustHaveAPlaceInTheWorkspace(t *testing.T) {
	del := func(p string) workspace.Change { return workspace.Change{Op: workspace.Delete, Path: p} }
	make := func(p string) workspace.Change { return workspace.Change{Op: workspace.Create, Path: p} }
	for _, c := range []struct {
		name    string
		changes []workspace.Change
		ok      bool
	}{
		{"a new file in a directory", []workspace.Change{make("data/c.csv")}, true},
		{"a new file in a new directory", []workspace.Change{make("x/y/z.csv")}, true},
		{"a file where a directory is", []workspace.Change{make("data")}, false},
		{"a file where the directory is emptied", []workspace.Change{make("data"), del("data/a.csv"), del("data/b.csv")}, true},
		{"a file where the directory is not quite emptied", []workspace.Change{make("data"), del("data/a.csv")}, false},
		{"a file over a link", []workspace.Change{make("latest")}, false},
		{"a file through a link", []workspace.Change{make("latest/c.csv")}, false},
		{"a file below a file", []workspace.Change{make("run.sh/x")}, false},
		{"a file below a file that goes", []workspace.Change{del("run.sh"), make("run.sh/x")}, true},
	} {
		if err := placeable(shop(), workspace.Changeset{Changes: c.changes}); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestThePersonIsToldWhatNoGateWillSee(t *testing.T) {
	skips := []workspace.Skip{
		{Path: ".git", Reason: "git", Quiet: true},
		{Path: ".env", Reason: "secret"},
		{Path: "pipe", Reason: "fifo"},
	}
	if got, want := LeftOut(skips), "left out of the snapshot: .env (secret), pipe (fifo)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := LeftOut(skips[:1]); got != "" {
		t.Errorf("%q for what everybody expects", got)
	}
	for range 10 {
		skips = append(skips, workspace.Skip{Path: "x", Reason: "socket"})
	}
	if got := LeftOut(skips); !strings.HasSuffix(got, "and 7 more") {
		t.Errorf("%q", got)
	}
}
