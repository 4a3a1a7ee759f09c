package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	blamecmd "agent/cmd/agent/internal/command/blame"
	"agent/cmd/agent/internal/term/termtest"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/blame"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/history"
	"agent/sandbox/workspace"
	"agent/verify"
)

// promote records a run that changed shop.py to text, and writes it; the run starts from the current text.
func (h pastRuns) promote(t *testing.T, id, text string) {
	t.Helper()
	before, err := os.ReadFile(filepath.Join(h.dir, "shop.py"))
	if err != nil {
		t.Fatal(err)
	}
	h.promoted(t, id, workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Modify, Path: "shop.py", Before: before, After: []byte(text), Mode: 0o644},
	}})
	h.write(t, "shop.py", text, 0o644)
}

// promoted records a run that promoted cs.
func (h pastRuns) promoted(t *testing.T, id string, cs workspace.Changeset) {
	t.Helper()
	h.begin(t, id, run.Verifying)
	h.candidate(t, id, gate.Candidate{
		Verdict: verify.Pass, Digest: cs.Digest(), Diff: cs.Diff(),
		Unproven: []verify.Unproven{},
		Gates:    []verify.Gate{{Name: "lint", Verdict: verify.Pass, Seconds: 0.25, Fixed: 2}, {Name: "types", Verdict: verify.Pass, Fixed: 1}},
	})
	if err := h.db.SavePromotion(t.Context(), id, 1, run.Promotion{Status: run.Committed, Approved: "--yes", Changeset: cs}); err != nil {
		t.Fatal(err)
	}
	h.end(t, id, run.Ending{State: run.Promoted, Verdict: verify.Pass})
}

// blamed asks for the origin of each line of shop.py, as "who: text".
func (h pastRuns) blamed(t *testing.T, args ...string) string {
	t.Helper()
	var doc blamecmd.File
	text := h.ask(t, run.ExitDone, append([]string{"blame", "--json", "--workspace", h.dir}, args...)...).stdout
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var lines []string
	for _, l := range doc.Lines {
		if l.By == blame.ByHand && (l.After == nil || l.Before != nil && !l.After.Before(*l.Before)) {
			t.Errorf("line %d was edited by hand between %v and %v", l.Line, l.After, l.Before)
		}
		lines = append(lines, l.Who()+": "+l.Text)
	}
	return strings.Join(lines, "\n")
}

const (
	firstRun  = "1k3caaaaaaaa"
	secondRun = "1k3cbbbbbbbb"
	thirdRun  = "1k3ccccccccc"
)

// One file is changed by three runs and two edits by hand, with an undo and a rename in between: every line has its
// right author.
func TestBlameIsRightOnEveryLine(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.write(t, "shop.py", "price = 2\nimport tax\n\nrate = 3\n", 0o644) // an edit by hand, before the first of the three runs
	h.promote(t, firstRun, "price = 2\nimport tax\n\nrate = 4\ntotal = 5\n")
	h.write(t, "shop.py", "price = 2\nimport tax\n\nrate = 4\n# mind the rate\ntotal = 5\n", 0o644)
	h.promote(t, secondRun, "price = 2\n\nrate = 4\n# mind the rate\ntotal = 6\nsum = 7\n")
	h.promote(t, thirdRun, "price = 2\n\nrate = 8\n# mind the rate\ntotal = 6\nsum = 7\n")
	if err := h.db.AddReview(t.Context(), store.Review{Run: secondRun, Reviewer: "ada", Verdict: history.Accepted}); err != nil {
		t.Fatal(err)
	}
	h.write(t, "shop.py", "price = 2\n\nrate = 8\n# mind the rate\ntotal = 6\nsum = 7\n# \x1b[31mmine", 0o644)
	const want = promotedRun + ": price = 2\nby hand: \n" + thirdRun + ": rate = 8\nby hand: # mind the rate\n" + secondRun + ": total = 6\n" + secondRun + ": sum = 7\nby hand: # \x1b[31mmine"
	for _, name := range []string{"shop.py", "./shop.py", filepath.Join(h.dir, "shop.py")} {
		if got := h.blamed(t, name); got != want {
			t.Errorf("blame %s:\n%s\nwant\n%s", name, got, want)
		}
	}
	text := h.ask(t, run.ExitDone, "blame", "shop.py", "--workspace", h.dir).stdout
	termtest.Golden(t, "blame.txt", h.timeless(text))
	if text := h.ask(t, run.ExitDone, "blame", "shop.py", "-w", h.dir, "--color", "always").stdout; !strings.Contains(text, "\x1b[36m"+thirdRun) || strings.Contains(text, "\x1b[31mmine") {
		t.Errorf("colours are the terminal's, not the file's:\n%q", text)
	}

	// The line that the undone run replaced belongs to the earlier run again, even if the file has another name by
	// then.
	h.write(t, "shop.py", "price = 2\n\nrate = 8\n# mind the rate\ntotal = 6\nsum = 7\n", 0o644)
	h.ask(t, run.ExitDone, "undo", thirdRun, "--yes")
	now := []byte("price = 2\n\nrate = 4\n# mind the rate\ntotal = 6\nsum = 7\n")
	h.promoted(t, "1k3cdddddddd", workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Rename, From: "shop.py", Path: "new.py", Before: now, After: now, Mode: 0o644}}})
	h.write(t, "new.py", "price = 2\r\n\nrate = 4\n# mind the rate\ntotal = 6\nsum = 7\n", 0o644)
	const back = "by hand: price = 2\r\nby hand: \n" + firstRun + ": rate = 4\nby hand: # mind the rate\n" + secondRun + ": total = 6\n" + secondRun + ": sum = 7"
	if got := h.blamed(t, "new.py"); got != back {
		t.Errorf("after undo and rename:\n%s\nwant\n%s", got, back)
	}
	h.write(t, "empty.py", "", 0o644)
	h.write(t, "own.py", "mine\n\n", 0o644)
	if got := h.blamed(t, "empty.py") + h.blamed(t, "own.py"); got != "before: mine\nbefore: " {
		t.Errorf("files that no run touched: %q", got)
	}
}

// However often a run is undone and redone, the last time counts.
func TestTheLastOfAChainOfUndosCounts(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.promote(t, firstRun, "price = 3\n")
	chain := []string{firstRun}
	for i := range 5 {
		var doc run.Document
		text := h.ask(t, run.ExitDone, "undo", "--yes", "--json", "--workspace", h.dir, chain[i]).stdout
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		chain = append(chain, doc.Run)
		past, err := (&wire.Session{DB: h.db}).Timeline(t.Context(), h.dir, "shop.py", "")
		if err != nil {
			t.Fatal(err)
		}
		for n, id := range chain {
			if want := n > 0 || i%2 == 0; past.Undone(id) != want {
				t.Errorf("after %d undos run %d of the chain is taken back: %v, want %v", i+1, n, !want, want)
			}
		}
	}
}

func TestBlameRefusesWhatIsNoTextOfTheWorkspace(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	outside := filepath.Join(t.TempDir(), "secret")
	h.write(t, "pic.png", "\x00\x01", 0o644)
	for _, err := range []error{
		os.WriteFile(outside, []byte("secret\n"), 0o600), os.Symlink(outside, filepath.Join(h.dir, "link")),
		os.Symlink(filepath.Dir(outside), filepath.Join(h.dir, "dir")), os.Mkdir(filepath.Join(h.dir, "real"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, why := range map[string]string{
		"": "no file was named", "none.py": "no file none.py", "real": "is a directory", ".": "is a directory", "pic.png": "not text",
		"link": "is a symbolic link", "dir/secret": "a symbolic link, which is not followed", "../x": "inside the workspace", outside: "inside the workspace",
	} {
		args := []string{"blame", "-w", h.dir}
		if name != "" {
			args = append(args, name)
		}
		got := h.ask(t, run.ExitUsage, args...)
		if !strings.Contains(got.stderr, why) || !strings.Contains(got.stderr, "next: ") || strings.Contains(got.stdout, "secret") {
			t.Errorf("blame %q: %s%s, want %q", name, got.stdout, got.stderr, why)
		}
	}
	if got := h.ask(t, run.ExitUsage, "blame", "-w", h.dir, "shop.py", "--color", "blue"); !strings.Contains(got.stderr, "auto, always or never") {
		t.Errorf("a colour that is none: %s", got.stderr)
	}
}
