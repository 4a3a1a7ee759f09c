package run_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/forge/commit"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/verify"
)

// git runs the user's git in a workspace.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@x"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// committing returns a bench whose workspace is a repository, with a request to commit Patch.
func committing(t *testing.T, branch string) (*runtest.Bench, run.Request) {
	t.Helper()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		git(t, b.Dir, args...)
	}
	b.Write(t, "other.py", "o\n")
	req := b.Request()
	req.Commit = &run.CommitOrder{
		By: commit.Identity{Name: "Ann", Email: "ann@x"}, Branch: branch,
		Message: func(_ context.Context, c run.CommitAbout) string {
			return commit.Message("Two", [][2]string{{"Agent-Run", c.Run}, {"Agent-Besides", strings.Join(c.Besides, " ")}})
		},
	}
	return b, req
}

func TestAPromotionIsCommitted(t *testing.T) {
	t.Parallel()
	b, req := committing(t, "")
	doc := b.Run(t.Context(), req)
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if got := git(t, b.Dir, "status", "--porcelain"); got != "?? other.py" {
		t.Errorf("%q", got)
	}
	if got := git(t, b.Dir, "show", "-s", "--format=%an %B"); got != "Ann Two\n\nAgent-Run: "+doc.Run+"\nAgent-Besides: other.py" {
		t.Errorf("%q", got)
	}
	if c := doc.Commit; c == nil || c.ID != git(t, b.Dir, "rev-parse", "main") || c.Branch != "main" || strings.Join(c.Besides, " ") != "other.py" {
		t.Errorf("%+v", c)
	}
	if got := git(t, b.Dir, "for-each-ref", "refs/agent"); got != "" {
		t.Error(got)
	}
}

func TestABranchIsCommittedToAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	b, req := committing(t, "side")
	doc := b.Run(t.Context(), req)
	b.Ended(t, doc, run.Done, verify.Pass, run.ExitDone)
	if got := b.Tree(t); got["a.py"] != "x = 1\n" || doc.Promotion != nil {
		t.Errorf("%v", got["a.py"])
	}
	if got := git(t, b.Dir, "show", "side:a.py") + git(t, b.Dir, "show", "main:a.py"); got != "x = 2x = 1" || doc.Commit.Branch != "side" {
		t.Errorf("%q, %+v", got, doc.Commit)
	}
}

func TestWhatCannotBeCommittedIsNotPromoted(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(b *runtest.Bench, req *run.Request){
		"an edit":       func(b *runtest.Bench, _ *run.Request) { b.Write(t, "a.py", "x = 1\n\n") },
		"no repository": func(b *runtest.Bench, _ *run.Request) { os.RemoveAll(filepath.Join(b.Dir, ".git")) },
		"a branch that moves": func(b *runtest.Bench, req *run.Request) {
			// The message is requested after the parent was read.
			req.Commit.Message = func(context.Context, run.CommitAbout) string {
				git(t, b.Dir, "commit", "-q", "--allow-empty", "-m", "meanwhile")
				return "Two\n"
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, req := committing(t, "")
			spoil(b, &req)
			before := b.Tree(t)["a.py"]
			doc := b.Run(t.Context(), req)
			if doc.State != run.Conflicted && name != "no repository" || doc.Exit == run.ExitDone || doc.Commit != nil || doc.Promotion != nil {
				t.Errorf("%+v", doc)
			}
			if got := b.Tree(t); got["a.py"] != before || got["new/b.py"] != "" {
				t.Errorf("written: %q", got["a.py"])
			}
			if name != "no repository" && git(t, b.Dir, "for-each-ref", "refs/agent") != "" {
				t.Error("a reference is left")
			}
			b.Ended(t, doc, doc.State, doc.Verdict, doc.Exit)
		})
	}
}

// If the store refuses the promotion, the commit is withdrawn along with the files.
func TestACommitWithoutARecordIsTakenBack(t *testing.T) {
	t.Parallel()
	for _, at := range []run.PromotionStatus{run.Prepared, run.Committed} {
		b, req := committing(t, "")
		old := git(t, b.Dir, "rev-parse", "main")
		b.Runner.Store = refusesPromotion{b.Runner.Store, at}
		doc := b.Runner.Run(t.Context(), req)
		if doc.State != run.Failed || doc.Commit != nil || git(t, b.Dir, "rev-parse", "main") != old || b.Tree(t)["a.py"] != "x = 1\n" {
			t.Errorf("%s: %+v", at, doc)
		}
		if got := git(t, b.Dir, "for-each-ref", "refs/agent") + git(t, b.Dir, "status", "--porcelain"); got != "?? other.py" {
			t.Errorf("%s: %q", at, got)
		}
	}
}

// refusesPromotion is a store that refuses a promotion with one status.
type refusesPromotion struct {
	run.Store
	at run.PromotionStatus
}

func (s refusesPromotion) SavePromotion(ctx context.Context, id string, token int64, p run.Promotion) error {
	if p.Status == s.at {
		return errors.New("no")
	}
	return s.Store.SavePromotion(ctx, id, token, p)
}

// diesAt is a store whose process dies when it saves a promotion with this status.
type diesAt struct {
	run.Store
	at run.PromotionStatus
}

func (s diesAt) SavePromotion(ctx context.Context, id string, token int64, p run.Promotion) error {
	if p.Status == s.at {
		panic("killed")
	}
	return s.Store.SavePromotion(ctx, id, token, p)
}

func TestAKillDuringACommitIsBeforeOrAfter(t *testing.T) {
	t.Parallel()
	for at, want := range map[run.PromotionStatus]string{run.Prepared: "x = 1", run.Committed: "x = 2"} {
		b, req := committing(t, "")
		b.Runner.Store = diesAt{b.Runner.Store, at}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("it lived")
				}
			}()
			b.Runner.Run(t.Context(), req)
		}()
		settled, err := run.Recover(t.Context(), b.DB, orphaned{b.DB}, nil)
		if err != nil || len(settled) != 1 {
			t.Fatalf("%v, %v", settled, err)
		}
		if got := git(t, b.Dir, "show", "main:a.py"); got != want || strings.TrimSpace(b.Tree(t)["a.py"]) != want {
			t.Errorf("%s: committed %q, on disk %q", at, got, b.Tree(t)["a.py"])
		}
		if got := git(t, b.Dir, "for-each-ref", "refs/agent") + git(t, b.Dir, "status", "--porcelain"); got != "?? other.py" {
			t.Errorf("%s: %q", at, got)
		}
	}
}
