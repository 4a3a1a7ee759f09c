package run_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/images"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/store"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
	"agent/verify"
	"agent/verify/policy"
)

// freezer is an image builder whose Snapshot the test provides.
type freezer struct {
	runtest.Frozen
	snapshot func(tree images.Tree) (images.Image, error)
}

func (f freezer) Snapshot(_ context.Context, _ images.Image, tree images.Tree, _ string) (images.Image, error) {
	return f.snapshot(tree)
}

// Somebody saves a file during the snapshot. Scan, edit and snapshot are repeated with the current files, and the patch is proved on
// those.
func TestAWorkspaceThatChangesDuringTheSnapshotIsScannedAgain(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	tries := 0
	b.Runner.Images = freezer{snapshot: func(tree images.Tree) (images.Image, error) {
		if tries++; tries == 1 {
			b.Write(t, "other.py", "z = 1\n")
			return images.Image{}, &workspace.ChangedError{Path: "a.py"}
		}
		return images.Image{ID: tree.Digest()}, nil
	}}
	doc := b.Run(t.Context(), b.Request())
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if tries != 2 {
		t.Errorf("%d snapshots were tried", tries)
	}
	if got := b.Tree(t); got["other.py"] != "z = 1\n" || got["a.py"] != "x = 2\n" {
		t.Errorf("the workspace is %v", got)
	}
}

func TestAWorkspaceThatNeverRestsIsGivenUp(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	tries := 0
	b.Runner.Images = freezer{snapshot: func(images.Tree) (images.Image, error) {
		tries++
		return images.Image{}, &workspace.ChangedError{Path: "a.py"}
	}}
	doc := b.Run(t.Context(), b.Request())
	b.Ended(t, doc, run.Conflicted, verify.Conflict, run.ExitConflict)
	if tries != 3 || !strings.Contains(doc.Error.Message, "a.py") {
		t.Errorf("%d tries, %+v", tries, doc.Error)
	}
	b.Untouched(t)
}

func TestAnEngineThatGoesAwayIsInfraAndTouchesNothing(t *testing.T) {
	t.Parallel()
	gone := &sandbox.UnavailableError{Host: "unix:///x.sock", Hint: "start it", Err: errors.New("refused")}
	for name, change := range map[string]func(*runtest.Bench){
		"at the snapshot": func(b *runtest.Bench) {
			b.Runner.Images = freezer{snapshot: func(images.Tree) (images.Image, error) { return images.Image{}, gone }}
		},
		"at the gates": func(b *runtest.Bench) {
			b.Runner.Verifier = runtest.Judge(func(context.Context, verify.Request) (verify.Report, error) { return verify.Report{}, gone })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := runtest.Setup(t, runtest.Says(verify.Pass))
			change(b)
			doc := b.Run(t.Context(), b.Request())
			b.Ended(t, doc, run.Failed, verify.Infra, run.ExitInfra)
			b.Untouched(t)
			if doc.Error.Next != gone.Hint {
				t.Errorf("next: %q", doc.Error.Next)
			}
		})
	}
}

// The format gate's result is what is promoted and recorded.
func TestTheFormattedBytesArePromoted(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		changes := append([]workspace.Change{}, req.Changeset.Changes...)
		for i := range changes {
			if changes[i].Path == "a.py" {
				changes[i].After = []byte("x = 2  # formatted\n")
			}
		}
		req.Changeset = workspace.Changeset{Changes: changes}
		return runtest.Says(verify.Pass)(ctx, req)
	})
	doc := b.Run(t.Context(), b.Request())
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if got := b.Tree(t)["a.py"]; got != "x = 2  # formatted\n" {
		t.Errorf("a.py holds %q", got)
	}
	if !strings.Contains(doc.Candidates[0].Diff, "formatted") {
		t.Errorf("the recorded diff is %s", doc.Candidates[0].Diff)
	}
}

func TestAPatchThatTheFormatterTakesBackIsNotPromoted(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		req.Changeset = workspace.Changeset{}
		return runtest.Says(verify.Pass)(ctx, req)
	})
	doc := b.Run(t.Context(), b.Request())
	b.Ended(t, doc, run.Rejected, verify.Fail, run.ExitFail)
	b.Untouched(t)
}

// The execute bit of a diff is promoted, and undo reverts it.
func TestAChangeOfModeIsPromotedAndUndone(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	req := b.Request()
	req.Patch = []byte("diff --git a/a.py b/a.py\nold mode 100644\nnew mode 100755\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n")
	mode := func() os.FileMode {
		info, err := os.Stat(filepath.Join(b.Dir, "a.py"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	doc := b.Run(t.Context(), req)
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if mode() != 0o755 {
		t.Errorf("the promoted file has mode %v", mode())
	}
	promotion, err := b.DB.PromotionOf(t.Context(), doc.Run)
	if err != nil {
		t.Fatal(err)
	}
	undone := b.Runner.Undo(t.Context(), run.Record{ID: doc.Run, Workspace: b.Dir}, nil, promotion.Changeset.Reverse(), nil)
	b.Ended(t, undone, run.Promoted, verify.Pass, run.ExitDone)
	if mode() != 0o644 {
		t.Errorf("after undo the file has mode %v", mode())
	}
	b.Untouched(t)
}

func TestADirectoryIsNoFileToEdit(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	if err := os.Mkdir(filepath.Join(b.Dir, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, search := range []string{"", "\nx = 1\n"} {
		req := b.Request()
		req.Patch = []byte(`<EDIT file="lib"><SEARCH>` + search + `</SEARCH><REPLACE>` + "\nx = 2\n" + `</REPLACE></EDIT>`)
		doc := b.Run(t.Context(), req)
		if doc.State != run.Rejected || (doc.Exit != run.ExitFail && doc.Exit != run.ExitApproval) {
			t.Errorf("searching %q: ended %s, exit %d, %+v", search, doc.State, doc.Exit, doc.Error)
		}
	}
}

// The gates judged the whole workspace, so their verdict does not hold if another file has changed since. New files do not count as
// edits.
func TestAnEditOfAFileThatThePatchDoesNotTouchIsAConflictToo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do    func(t *testing.T, b *runtest.Bench)
		state run.State
	}{
		"edited":    {func(t *testing.T, b *runtest.Bench) { b.Write(t, "other.py", "z = 'mine'\n") }, run.Conflicted},
		"deleted":   {func(t *testing.T, b *runtest.Bench) { removeFile(t, b, "other.py") }, run.Conflicted},
		"made":      {func(t *testing.T, b *runtest.Bench) { b.Write(t, "trace.log", "hello\n") }, run.Promoted},
		"rewritten": {func(t *testing.T, b *runtest.Bench) { b.Write(t, "other.py", "z = 1\n") }, run.Promoted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b *runtest.Bench
			b = runtest.Setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
				c.do(t, b)
				return runtest.Says(verify.Pass)(ctx, req)
			})
			b.Write(t, "other.py", "z = 1\n")
			doc := b.Run(t.Context(), b.Request())
			if doc.State != c.state {
				t.Fatalf("ended %s, %+v", doc.State, doc.Error)
			}
			if c.state == run.Conflicted && (doc.Exit != run.ExitConflict || !strings.Contains(doc.Error.Message, "other.py")) {
				t.Errorf("exit %d, %+v", doc.Exit, doc.Error)
			}
			if text := b.Tree(t)["a.py"]; (text == "x = 2\n") != (c.state == run.Promoted) {
				t.Errorf("a.py holds %q", text)
			}
		})
	}
}

func removeFile(t *testing.T, b *runtest.Bench, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(b.Dir, name)); err != nil {
		t.Fatal(err)
	}
}

// asks records what the checkpoint showed.
type asks struct{ got *run.Proposal }

func (a asks) Approve(_ context.Context, p run.Proposal) (run.Answer, error) {
	*a.got = p
	return run.Answer{Decision: run.Unattended, By: "no terminal"}, nil
}

func TestTheCheckpointShowsWhatNeedsApproval(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	req := b.Request()
	req.Patch = []byte(`<EDIT file=".github/workflows/ci.yml"><SEARCH></SEARCH><REPLACE>
on: push
</REPLACE></EDIT>`)
	var seen run.Proposal
	req.Approver = asks{&seen}
	doc := b.Run(t.Context(), req)
	b.Ended(t, doc, run.Rejected, verify.Policy, run.ExitApproval)
	b.Untouched(t)
	if len(seen.Candidate.Holds) != 1 || seen.Candidate.Holds[0].Kind != "ci" || len(doc.Candidates[0].Holds) != 1 {
		t.Errorf("holds %+v", seen.Candidate.Holds)
	}
	if !strings.Contains(doc.Error.Next, "--yes --allow ci") {
		t.Errorf("next: %q", doc.Error.Next)
	}
}

// If somebody supplied the patch, a changed test is only shown; if a model made the change, it waits for a person. The gates are told
// which one applies, because they let tests go together with their subject.
func TestARewrittenTestOfAModelBlocks(t *testing.T) {
	t.Parallel()
	listed := []policy.Hold{{Path: "test_a.py", Kind: policy.ChangedTest}, {Path: "b.py", Kind: policy.Suppression}}
	for patch, want := range map[string]string{"": "[true false]", "given": "[false false]"} {
		b := runtest.Setup(t, func(_ context.Context, req verify.Request) (verify.Report, error) {
			if req.Model != (patch == "") {
				t.Errorf("patch %q: told that a model wrote it: %v", patch, req.Model)
			}
			return verify.Report{Verdict: verify.Pass, Changeset: req.Changeset, Holds: listed}, nil
		})
		req := b.Request()
		if req.Patch = nil; patch != "" {
			req.Patch = []byte(patch)
		}
		g := &gate.Gate{Verifier: b.Runner.Verifier, Rules: req.Rules(), Run: "r"}
		var cand gate.Candidate
		if err := g.Judge(t.Context(), gate.Stage{Base: &workspace.Manifest{}}, &cand, gate.Watch{}); err != nil || len(cand.Holds) != 2 {
			t.Fatalf("%v %+v", err, cand.Holds)
		}
		if got := fmt.Sprint([]bool{cand.Holds[0].Block, cand.Holds[1].Block}); got != want {
			t.Errorf("patch %q: blocks %s, want %s", patch, got, want)
		}
	}
}

// An approver that accepts everything is not a person: what a person must see stays held, unless its kind was approved in advance.
func TestAPolicyDoesNotApproveWhatNeedsAPerson(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		allow []string
		by    runtest.Decide
		state run.State
	}{
		"by policy":              {nil, runtest.Decide(run.Apply), run.Rejected},
		"of another kind":        {[]string{"git"}, runtest.Decide(run.Apply), run.Rejected},
		"with the kind approved": {[]string{"ci"}, runtest.Decide(run.Apply), run.Promoted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := runtest.Setup(t, runtest.Says(verify.Pass))
			req := b.Request()
			req.Patch = []byte(`<EDIT file=".github/workflows/ci.yml"><SEARCH></SEARCH><REPLACE>
on: push
</REPLACE></EDIT>`)
			req.Allow, req.Approver = c.allow, c.by
			if doc := b.Run(t.Context(), req); doc.State != c.state {
				t.Errorf("ended %s, %+v", doc.State, doc.Error)
			}
		})
	}
}

func TestACheckpointThatBreaksIsNoApproval(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	req := b.Request()
	req.Approver = broken{}
	doc := b.Run(t.Context(), req)
	b.Ended(t, doc, run.Failed, verify.Infra, run.ExitInfra)
	b.Untouched(t)
}

type broken struct{}

func (broken) Approve(context.Context, run.Proposal) (run.Answer, error) {
	return run.Answer{Decision: run.Apply}, errors.New("the terminal went away")
}

// If a process was considered dead, its run has a new owner: its late writes change nothing, neither on the host nor in the record.
func TestALateWriterIsHarmless(t *testing.T) {
	t.Parallel()
	var b *runtest.Bench
	var id string
	b = runtest.Setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		id = req.Run
		if _, err := b.DB.Claim(ctx, req.Run, 1, "elsewhere/0/1/1/1"); err != nil {
			return verify.Report{}, err
		}
		return runtest.Says(verify.Pass)(ctx, req)
	})
	doc := b.Run(t.Context(), b.Request())
	if doc.State != run.Failed || doc.Exit != run.ExitInfra || !strings.Contains(doc.Error.Message, "taken over") {
		t.Errorf("ended %s, exit %d, %+v", doc.State, doc.Exit, doc.Error)
	}
	b.Untouched(t)
	detail, err := b.DB.Run(t.Context(), id)
	if err != nil || detail.Record.State != run.Verifying {
		t.Errorf("the record says %s, %v", detail.Record.State, err)
	}
}

func TestOfTwoThatRecoverOneSettles(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	rec := run.Record{ID: "0000000deadx", Workspace: b.Dir, Intent: "patch p", Owner: "elsewhere/0/1/1/1", Token: 1, State: run.Queued, Started: time.Now()}
	if err := b.DB.Create(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	const many = 6
	settled := make([]int, many)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			got, err := run.Recover(t.Context(), b.DB, orphaned{b.DB}, nil)
			if err != nil {
				t.Error(err)
			}
			settled[i] = len(got)
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range settled {
		sum += n
	}
	if sum > 1 {
		t.Errorf("the run was settled %d times", sum)
	}
	if _, err := run.Recover(t.Context(), b.DB, orphaned{b.DB}, nil); err != nil {
		t.Fatal(err)
	}
	if open, err := b.DB.Unfinished(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("unfinished %v, %v", open, err)
	}
}

func TestRecoverFinishesARunWhoseEndWasNotRecorded(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	rec := run.Record{ID: "0000000deadx", Workspace: filepath.Join(b.Dir, "removed-since"), Intent: "patch p", Owner: "elsewhere/0/1/1/1", Token: 1, State: run.Queued, Started: time.Now()}
	if err := b.DB.Create(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	for _, s := range []run.State{run.Analyzing, run.Verifying, run.AwaitingApproval, run.Promoting, run.Promoted} {
		if err := b.DB.Advance(t.Context(), rec.ID, 1, s, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	settled, err := run.Recover(t.Context(), b.DB, orphaned{b.DB}, nil)
	if err != nil || len(settled) != 1 || settled[0].State != run.Promoted {
		t.Errorf("recovered %+v, %v", settled, err)
	}
}

// reaper counts its calls, or fails.
type reaper struct {
	asked *int
	err   error
}

func (r reaper) Reap(context.Context) ([]sandbox.Leftover, error) {
	*r.asked++
	return nil, r.err
}

func TestRecoverReapsTheBoxesToo(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	asked := 0
	if _, err := run.Recover(t.Context(), b.DB, b.DB, reaper{asked: &asked}); err != nil || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	if _, err := run.Recover(t.Context(), b.DB, b.DB, reaper{asked: &asked, err: errors.New("no engine")}); err == nil {
		t.Error("an engine that does not answer was taken for a clean one")
	}
}

// A journal of a run that this database does not know, because its database is gone, is settled by the next run on the workspace.
func TestAJournalOfAnUnknownRunIsSettledFirst(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	cs := workspace.Changeset{Changes: []workspace.Change{{
		Op: workspace.Create, Path: "stray.py", After: []byte("s = 1\n"), Mode: 0o644,
	}}}
	lock, err := promotion.Acquire(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Prepare(t.Context(), cs, "unknown", nil); err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	doc := b.Run(t.Context(), b.Request())
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	b.Promoted(t)
	if _, err := os.Stat(filepath.Join(b.Dir, ".agent")); err == nil {
		t.Error(".agent is left")
	}
}

// If a directory replaces the workspace while the gates are working, nothing is written to it, or to the judged one.
func TestAWorkspaceThatIsReplacedDuringARunIsAConflict(t *testing.T) {
	t.Parallel()
	for _, replace := range []func(dir string) error{
		func(dir string) error { return os.Mkdir(dir, 0o755) },
		func(dir string) error { return os.CopyFS(dir, os.DirFS(dir+"-aside")) },
		func(dir string) error { return os.Symlink(dir+"-aside", dir) },
		func(dir string) error { return nil },
	} {
		var b *runtest.Bench
		b = runtest.Setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
			t.Cleanup(func() { os.RemoveAll(b.Dir + "-aside") })
			if err := errors.Join(os.Rename(b.Dir, b.Dir+"-aside"), replace(b.Dir)); err != nil {
				t.Error(err)
			}
			return runtest.Says(verify.Pass)(ctx, req)
		})
		doc := b.Run(t.Context(), b.Request())
		if doc.Exit != run.ExitConflict || doc.Error == nil || !strings.Contains(doc.Error.Message, "replaced") {
			t.Errorf("exit code %d, %+v", doc.Exit, doc.Error)
		}
		for _, name := range []string{b.Dir + "/a.py", b.Dir + "-aside/a.py"} {
			if text, err := os.ReadFile(name); err == nil && string(text) != "x = 1\n" {
				t.Errorf("%s is %q", name, text)
			}
		}
	}
}

var _ run.Recovering = (*store.DB)(nil)
