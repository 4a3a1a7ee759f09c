package run_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A run's journal is in the state directory of the user who started it, so another user's command leaves the run and its files alone.
func TestARunWhoseJournalIsAnotherUsersIsLeftToThem(t *testing.T) {
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	rec := run.Record{ID: "0000000deadx", Workspace: b.Dir, Intent: "patch p", Owner: "elsewhere/00000000/1/1/1", Token: 1, State: run.Queued, Started: time.Now()}
	if err := b.DB.Create(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	for _, s := range []run.State{run.Analyzing, run.Verifying, run.AwaitingApproval, run.Promoting} {
		if err := b.DB.Advance(t.Context(), rec.ID, 1, s, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	leaveJournal(b, t, rec.ID, false)
	mine := os.Getenv("XDG_STATE_HOME")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if settled, err := run.Recover(t.Context(), b.DB, orphaned{b.DB}, nil); err != nil || len(settled) != 0 {
		t.Errorf("another user settled %+v, %v", settled, err)
	}
	doc := b.Run(t.Context(), b.Request())
	if doc.Exit != run.ExitConflict || !strings.Contains(doc.Error.Next, "XDG_STATE_HOME") {
		t.Errorf("another user's run ends with %d: %+v", doc.Exit, doc.Error)
	}
	t.Setenv("XDG_STATE_HOME", mine)
	if settled, err := run.Recover(t.Context(), b.DB, orphaned{b.DB}, nil); err != nil || len(settled) != 1 || settled[0].State != run.Failed {
		t.Errorf("the user settled %+v, %v", settled, err)
	}
}

// oldJournal leaves behind what a run of an earlier version left in the workspace when it was killed between two renames: a.py is to be
// overwritten.
func oldJournal(b *runtest.Bench, t *testing.T, id string) {
	t.Helper()
	dir := filepath.Join(b.Dir, ".agent", "journal", id)
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	slot := filepath.Join(".agent", "journal", id, "files", "0")
	b.Write(t, slot, "x = 2\n")
	info, err := os.Stat(filepath.Join(b.Dir, slot))
	if err != nil {
		t.Fatal(err)
	}
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	b.Write(t, filepath.Join(".agent", "journal", id, "journal.json"), fmt.Sprintf(
		`{"id":%q,"items":[{"path":"a.py","slot":%q,"before":{"digest":%q,"mode":420},"after":{"digest":%q,"mode":420},"inode":%d}]}`,
		id, slot, sum("x = 1\n"), sum("x = 2\n"), info.Sys().(*syscall.Stat_t).Ino))
	b.Write(t, filepath.Join(".agent", "journal", id, "state.committing"), "")
}

// A journal in the workspace counts as an earlier version's if the record says that its run was promoting; otherwise it could be
// anybody's.
func TestAPromotionOfAnEarlierVersionIsSettledByTheRecord(t *testing.T) {
	t.Parallel()
	for _, promoting := range []bool{true, false} {
		b := runtest.Setup(t, runtest.Says(verify.Pass))
		rec := run.Record{ID: "0000000deadx", Workspace: b.Dir, Intent: "patch p", Owner: "elsewhere/00000000/1/1/1", Token: 1, State: run.Queued, Started: time.Now()}
		if err := b.DB.Create(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		states := []run.State{run.Analyzing, run.Verifying, run.AwaitingApproval, run.Promoting}
		if !promoting {
			states = states[:2]
		}
		for _, s := range states {
			if err := b.DB.Advance(t.Context(), rec.ID, 1, s, "", ""); err != nil {
				t.Fatal(err)
			}
		}
		oldJournal(b, t, rec.ID)
		if promoting {
			// Nothing is settled until the record says what is promoted, because the journal could be anybody's.
			if settled, err := run.Recover(t.Context(), b.DB, orphaned{b.DB}, nil); err == nil || len(settled) != 0 || !strings.Contains(err.Error(), "then remove it") {
				t.Fatalf("without a promotion: %+v, %v", settled, err)
			}
			if got := b.Tree(t)["a.py"]; got != "x = 1\n" {
				t.Errorf("without a promotion a.py is %q", got)
			}
			cs := workspace.Changeset{Changes: []workspace.Change{{
				Op: workspace.Modify, Path: "a.py", Before: []byte("x = 1\n"), After: []byte("x = 2\n"), Mode: 0o644,
			}}}
			if err := b.DB.SavePromotion(t.Context(), rec.ID, 2, run.Promotion{Status: run.Prepared, Changeset: cs}); err != nil {
				t.Fatal(err)
			}
		}
		settled, err := run.Recover(t.Context(), b.DB, orphaned{b.DB}, nil)
		if err != nil || len(settled) != 1 {
			t.Fatalf("recovered %+v, %v", settled, err)
		}
		want, state := "x = 1\n", run.Failed
		if promoting {
			want, state = "x = 2\n", run.Promoted
		}
		if got := b.Tree(t)["a.py"]; got != want || settled[0].State != state {
			t.Errorf("promoting %v: a.py is %q, the run %s", promoting, got, settled[0].State)
		}
		if _, err := os.Stat(filepath.Join(b.Dir, ".agent")); (err == nil) == promoting {
			t.Errorf("promoting %v: .agent: %v", promoting, err)
		}
	}
}
