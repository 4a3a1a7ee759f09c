package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

func (h pastRuns) holds(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(h.dir, name)); string(got) != want || err != nil {
		t.Fatalf("%s holds %q, %v; want %q", name, got, err, want)
	}
}

// threeRuns has three runs edit one file, far enough apart, and finally a person edit it.
func threeRuns(t *testing.T) pastRuns {
	t.Helper()
	h := newHistory(t)
	h.write(t, "shop.py", "a\nb\nc\nd\ne\nf\ng\nh\n", 0o644)
	h.promote(t, firstRun, "a\nfirst\nc\nd\ne\nf\ng\nh\n")
	h.promote(t, secondRun, "a\nfirst\nc\nsecond\nand more\ne\nf\ng\nh\n")
	h.promote(t, thirdRun, "a\nfirst\nc\nsecond\nand more\ne\nthird\ng\nh\n")
	h.write(t, "shop.py", "a\nfirst\nc\nsecond\nand more\ne\nthird\ng\nhand\n", 0o644)
	return h
}

// The first of three runs on one file is undone and the others stay. Each of them can be undone in turn, and so can the
// undo.
func TestUndoKeepsTheLaterRuns(t *testing.T) {
	t.Parallel()
	h := threeRuns(t)
	if got := h.ask(t, run.ExitApproval, "undo", "--workspace", h.dir, firstRun); !strings.Contains(got.stderr, "needs an approval") {
		t.Errorf("nobody was there to approve, yet: %s", got.stderr)
	}
	got := h.ask(t, run.ExitDone, "undo", "--workspace", h.dir, firstRun, "--yes")
	h.holds(t, "shop.py", "a\nb\nc\nsecond\nand more\ne\nthird\ng\nhand\n")
	if note := "merged with later edits (" + secondRun + ", " + thirdRun + ", by hand)"; !strings.Contains(got.stderr, note) {
		t.Errorf("told was %q, want %q", got.stderr, note)
	}
	if got := h.blamed(t, "shop.py"); !strings.Contains(got, "by hand: b\nby hand: c\n"+secondRun+": second\n") || !strings.HasSuffix(got, "by hand: hand") {
		t.Errorf("the undo took lines away from their authors:\n%s", got)
	}
	h.ask(t, run.ExitDone, "undo", "--workspace", h.dir, "--yes") // the last that stands
	h.holds(t, "shop.py", "a\nb\nc\nsecond\nand more\ne\nf\ng\nhand\n")
	last := h.ask(t, run.ExitDone, "sql", "--csv", "select undone_by from v_reviews where run = '"+firstRun+"'").stdout
	h.ask(t, run.ExitDone, "undo", "--yes", strings.Fields(last)[1])
	h.holds(t, "shop.py", "a\nfirst\nc\nsecond\nand more\ne\nf\ng\nhand\n")
	if got := h.blamed(t, "shop.py"); !strings.Contains(got, firstRun+": first\n") {
		t.Errorf("done again, the line is not the first run's:\n%s", got)
	}
	// What was reverted by hand is not undone twice.
	h.write(t, "shop.py", "a\nfirst\nc\nd\ne\nf\ng\nhand\n", 0o644)
	if got := h.ask(t, run.ExitUsage, "undo", secondRun, "--yes"); !strings.Contains(got.stderr, "nothing of run "+secondRun+" is left") {
		t.Errorf("told was %q", got.stderr)
	}
}

// An undo is refused if later edits touch the same lines. It names those lines and their authors, and writes no file,
// not even one that it could.
func TestUndoRefusesRatherThanGuesses(t *testing.T) {
	t.Parallel()
	h := threeRuns(t)
	h.promote(t, "1k3cdddddddd", "a\nfirst!\nc\nsecond\nx\ne\nthird\ng\nhand\n")
	h.write(t, "shop.py", "a\nfirst!\nc\nnew\nsecond\nx\ne\ng\nhand\n", 0o644)
	for id, where := range map[string]string{
		firstRun:  "shop.py:2 (1k3cdddddddd)",
		secondRun: "shop.py:4 (by hand); shop.py:6 (1k3cdddddddd)",
		thirdRun:  "shop.py:8 (by hand, 1k3cdddddddd)", // the line is gone: all later authors are named
	} {
		got := h.ask(t, run.ExitConflict, "undo", "-w", h.dir, id, "--yes").stdout
		if !strings.Contains(got, "run "+id) || !strings.Contains(got, where) || !strings.Contains(got, "next: undo the later runs first") {
			t.Errorf("told was %s, want %s", got, where)
		}
	}
	if got := h.ask(t, run.ExitDone, "sql", "--csv", "select count(*) from v_runs where state = 'conflict'").stdout; got != "count\n3\n" {
		t.Errorf("the record has %q conflicts", got)
	}
	h.holds(t, "shop.py", "a\nfirst!\nc\nnew\nsecond\nx\ne\ng\nhand\n")
}

// Binary files, and files that were created, deleted, moved or changed in mode, are not merged.
func TestUndoMergesTextsAlone(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.write(t, "plain.py", "a\nb\nc\n", 0o644)
	h.promoted(t, firstRun, workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Modify, Path: "bin", Before: []byte("\x00a\nb\nc\n"), After: []byte("\x00A\nb\nc\n"), Mode: 0o644},
		{Op: workspace.Create, Path: "created", After: []byte("a\n"), Mode: 0o644},
		{Op: workspace.Delete, Path: "deleted", Before: []byte("a\n"), Mode: 0o644},
		{Op: workspace.Modify, Path: "gone", Before: []byte("a\n"), After: []byte("b\n"), Mode: 0o644},
		{Op: workspace.Modify, Path: "link", Before: []byte("a\n"), After: []byte("b\n"), Mode: 0o644},
		{Op: workspace.Modify, Path: "mode", Before: []byte("a\nb\nc\n"), After: []byte("A\nb\nc\n"), Mode: 0o755, OldMode: 0o644},
		{Op: workspace.Rename, From: "old", Path: "moved", Before: []byte("a\nb\nc\n"), After: []byte("A\nb\nc\n"), Mode: 0o644},
		{Op: workspace.Modify, Path: "plain.py", Before: []byte("a\nb\nx\n"), After: []byte("a\nb\nc\n"), Mode: 0o644},
	}})
	for name, text := range map[string]string{"bin": "\x00A\nb\nC\n", "created": "a\nmine\n", "deleted": "again\n", "mode": "A\nb\nC\n", "moved": "A\nb\nC\n"} {
		h.write(t, name, text, 0o644)
	}
	if err := os.Symlink("plain.py", filepath.Join(h.dir, "link")); err != nil {
		t.Fatal(err)
	}
	got := h.ask(t, run.ExitConflict, "undo", "-w", h.dir, firstRun, "--yes").stdout
	for _, why := range []string{
		"bin is binary and was changed (by hand)", "created was edited (by hand)", "deleted exists again (by hand)", "gone is gone (by hand)",
		"link: is a symbolic link", "mode was edited (by hand)", "moved was edited (by hand)",
	} {
		if !strings.Contains(got, why) {
			t.Errorf("it does not say that %s:\n%s", why, got)
		}
	}
	h.holds(t, "plain.py", "a\nb\nc\n")
}
