package run_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/store"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
	"agent/verify"
)

func TestAPassingPatchIsPromotedWhole(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	doc := b.Run(t.Context(), b.Request())
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	b.Promoted(t)
	if doc.Promotion == nil || len(doc.Promotion.Files) != 2 || !strings.Contains(doc.Promotion.Diff, "+x = 2") {
		t.Errorf("promotion %+v", doc.Promotion)
	}
	if len(doc.Candidates) != 1 || len(doc.Candidates[0].Edits) != 2 || doc.Snapshot == "" {
		t.Errorf("document %+v", doc)
	}
	want := []run.State{run.Queued, run.Analyzing, run.Verifying, run.AwaitingApproval, run.Promoting, run.Promoted, run.Promoted}
	if len(b.States) != len(want) {
		t.Errorf("went through %v, want %v", b.States, want)
	}
}

func TestAVerdictOtherThanPassNeverTouchesTheWorkspace(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[verify.Verdict]struct {
		state run.State
		exit  int
	}{
		verify.Fail:    {run.Rejected, run.ExitFail},
		verify.Timeout: {run.Rejected, run.ExitFail},
		verify.OOM:     {run.Rejected, run.ExitFail},
		verify.Policy:  {run.Rejected, run.ExitApproval},
		verify.Infra:   {run.Failed, run.ExitInfra},
	} {
		t.Run(string(verdict), func(t *testing.T) {
			t.Parallel()
			b := runtest.Setup(t, runtest.Says(verdict))
			doc := b.Run(t.Context(), b.Request())
			b.Ended(t, doc, want.state, verdict, want.exit)
			b.Untouched(t)
			if doc.Promotion != nil || !strings.Contains(doc.Error.Message, "wrong") {
				t.Errorf("promotion %+v, error %+v", doc.Promotion, doc.Error)
			}
		})
	}
}

func TestAPatchThatDoesNotApplyIsRefusedWithItsBlock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch string
		exit  int
		says  string
	}{
		"no match": {`<EDIT file="a.py"><SEARCH>` + "\nx = 9\nz = 3\n" + `</SEARCH><REPLACE>` + "\nx = 2\n" + `</REPLACE></EDIT>`, run.ExitFail, "block 1"},
		"no parse": {"hello", run.ExitFail, "apply"},
		"escapes":  {`<EDIT file="../a.py"><SEARCH></SEARCH><REPLACE>` + "\nx\n" + `</REPLACE></EDIT>`, run.ExitApproval, "../a.py"},
		"absolute": {`<EDIT file="/etc/passwd"><SEARCH></SEARCH><REPLACE>` + "\nx\n" + `</REPLACE></EDIT>`, run.ExitApproval, "/etc/passwd"},
		"git":      {`<EDIT file=".git/hooks/pre-commit"><SEARCH></SEARCH><REPLACE>` + "\nx\n" + `</REPLACE></EDIT>`, run.ExitApproval, ".git"},
		"a secret": {`<EDIT file=".env"><SEARCH></SEARCH><REPLACE>` + "\nx=1\n" + `</REPLACE></EDIT>`, run.ExitApproval, ".env"},
		"a repository": {`<EDIT file="docs/HEAD"><SEARCH></SEARCH><REPLACE>` + "\nref: refs/heads/main\n" + `</REPLACE></EDIT>` +
			`<EDIT file="docs/commondir"><SEARCH></SEARCH><REPLACE>` + "\n../x\n" + `</REPLACE></EDIT>`, run.ExitApproval, "docs/HEAD"},
		"below file": {`<EDIT file="a.py/x"><SEARCH></SEARCH><REPLACE>` + "\nx\n" + `</REPLACE></EDIT>`, run.ExitApproval, "a.py"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := runtest.Setup(t, runtest.Says(verify.Pass))
			req := b.Request()
			req.Patch = []byte(c.patch)
			doc := b.Run(t.Context(), req)
			verdict := map[int]verify.Verdict{run.ExitFail: verify.Fail, run.ExitApproval: verify.Policy}[c.exit]
			b.Ended(t, doc, run.Rejected, verdict, c.exit)
			b.Untouched(t)
			if !strings.Contains(doc.Error.Message, c.says) {
				t.Errorf("%q does not name %q", doc.Error.Message, c.says)
			}
			if len(doc.Candidates) != 1 {
				t.Errorf("%d candidates recorded", len(doc.Candidates))
			}
		})
	}
}

// Results that only the next run needs are kept while the promotion goes on. That may take longer than the promotion, is not abandoned
// with it, and a failure is only a note.
func TestWhatTheGatesFoundIsKeptForTheNextRun(t *testing.T) {
	t.Parallel()
	var b *runtest.Bench
	var promoted bool
	b = runtest.Setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		report, err := runtest.Says(verify.Pass)(ctx, req)
		report.Baseline = runtest.Keep(func(ctx context.Context) error {
			for limit := time.Now().Add(4 * time.Second); !promoted && time.Now().Before(limit); time.Sleep(time.Millisecond) {
				_, err := os.Stat(filepath.Join(b.Dir, "new/b.py"))
				promoted = err == nil
			}
			return errors.Join(errors.New("nothing was kept"), ctx.Err())
		})
		return report, err
	})
	var notes []string
	b.Runner.Emit = func(e run.Event) {
		if e.Note != "" {
			notes = append(notes, e.Note)
		}
	}
	doc := b.Run(t.Context(), b.Request())
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if !promoted || !slices.Contains(notes, "nothing was kept") {
		t.Errorf("promoted meanwhile: %t; told %q", promoted, notes)
	}
}

func TestTheUsersOwnEditsWin(t *testing.T) {
	t.Parallel()
	var b *runtest.Bench
	b = runtest.Setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		b.Write(t, "a.py", "x = 'mine'\n")
		return runtest.Says(verify.Pass)(ctx, req)
	})
	doc := b.Run(t.Context(), b.Request())
	b.Ended(t, doc, run.Conflicted, verify.Conflict, run.ExitConflict)
	if got := b.Tree(t); len(got) != 1 || got["a.py"] != "x = 'mine'\n" {
		t.Errorf("the workspace is %v", got)
	}
	if !strings.Contains(doc.Error.Message, "a.py") {
		t.Errorf("the conflict does not name the file: %s", doc.Error.Message)
	}
}

func TestTheCheckpointDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*run.Request)
		state   run.State
		verdict verify.Verdict
		exit    int
	}{
		"proved only": {func(r *run.Request) { r.NoPromote = true }, run.Done, verify.Pass, run.ExitDone},
		"skipped":     {func(r *run.Request) { r.Approver = runtest.Decide(run.Skip) }, run.Rejected, verify.Pass, run.ExitApproval},
		"nobody":      {func(r *run.Request) { r.Approver = runtest.Decide(run.Unattended) }, run.Rejected, verify.Policy, run.ExitApproval},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := runtest.Setup(t, runtest.Says(verify.Pass))
			req := b.Request()
			c.change(&req)
			doc := b.Run(t.Context(), req)
			b.Ended(t, doc, c.state, c.verdict, c.exit)
			b.Untouched(t)
			if doc.Promotion != nil {
				t.Error("the document has a promotion")
			}
		})
	}
}

func TestACancelledRunEndsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := runtest.Setup(t, func(ctx context.Context, _ verify.Request) (verify.Report, error) {
		cancel()
		<-ctx.Done()
		return verify.Report{}, ctx.Err()
	})
	doc := b.Run(ctx, b.Request())
	b.Ended(t, doc, run.Cancelled, verify.Cancelled, run.ExitCancelled)
	b.Untouched(t)
}

func TestTheSecondRunIsToldWhoHoldsTheWorkspace(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	b := runtest.Setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		close(entered)
		<-leave
		return runtest.Says(verify.Fail)(ctx, req)
	})
	var first run.Document
	var wg sync.WaitGroup
	wg.Go(func() { first = b.Run(t.Context(), b.Request()) })
	<-entered
	second := (&run.Runner{Store: b.DB, Orphans: b.DB, Images: runtest.Frozen{}, Verifier: runtest.Says(verify.Pass)}).Run(t.Context(), b.Request())
	close(leave)
	wg.Wait()
	b.Ended(t, second, run.Conflicted, verify.Conflict, run.ExitConflict)
	if !strings.Contains(second.Error.Message, first.Run) {
		t.Errorf("%q does not name run %s", second.Error.Message, first.Run)
	}
	b.Untouched(t)
}

func TestAWorkspaceThatIsNoDirectoryIsAUsageError(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	for _, dir := range []string{"/nowhere/at/all", filepath.Join(b.Dir, "a.py")} {
		req := b.Request()
		req.Workspace = dir
		if doc := b.Run(t.Context(), req); doc.Exit != run.ExitUsage || doc.Run != "" {
			t.Errorf("%s: exit %d, run %q", dir, doc.Exit, doc.Run)
		}
	}
}

func TestUndoTakesThePromotionBack(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	doc := b.Run(t.Context(), b.Request())
	b.Promoted(t)
	promotion, err := b.DB.PromotionOf(t.Context(), doc.Run)
	if err != nil {
		t.Fatal(err)
	}
	undone := b.Runner.Undo(t.Context(), run.Record{ID: doc.Run, Workspace: b.Dir}, nil, promotion.Changeset.Reverse(), nil)
	b.Ended(t, undone, run.Promoted, verify.Pass, run.ExitDone)
	b.Untouched(t)

	b.Write(t, "a.py", "x = 'mine'\n")
	again := b.Runner.Undo(t.Context(), run.Record{ID: doc.Run, Workspace: b.Dir}, nil, promotion.Changeset.Reverse(), nil)
	b.Ended(t, again, run.Conflicted, verify.Conflict, run.ExitConflict)
}

// While a person decides, a link replaces the workspace.
func TestAnUndoStaysInItsDirectory(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	doc := b.Run(t.Context(), b.Request())
	b.Promoted(t)
	written, err := b.DB.PromotionOf(t.Context(), doc.Run)
	if err != nil {
		t.Fatal(err)
	}
	place, err := promotion.Hold(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	aside, elsewhere := b.Dir+"-aside", t.TempDir()
	t.Cleanup(func() { os.RemoveAll(aside) })
	if err := errors.Join(os.Rename(b.Dir, aside), os.CopyFS(elsewhere, os.DirFS(aside)), os.Symlink(elsewhere, b.Dir)); err != nil {
		t.Fatal(err)
	}
	undone := b.Runner.Undo(t.Context(), run.Record{ID: doc.Run, Workspace: b.Dir}, place, written.Changeset.Reverse(), nil)
	b.Ended(t, undone, run.Conflicted, verify.Conflict, run.ExitConflict)
	for _, dir := range []string{aside, elsewhere} {
		if text, err := os.ReadFile(filepath.Join(dir, "a.py")); err != nil || string(text) != "x = 2\n" {
			t.Errorf("%s has %q, %v", dir, text, err)
		}
	}
}

// failing loses the database from its n-th write on.
type failing struct {
	run.Store
	mu    sync.Mutex
	calls int
	from  int
}

var errGone = errors.New("connection refused")

func (f *failing) lost() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls++; f.calls >= f.from {
		return errGone
	}
	return nil
}

func (f *failing) Create(ctx context.Context, r run.Record) error {
	if err := f.lost(); err != nil {
		return err
	}
	return f.Store.Create(ctx, r)
}

func (f *failing) Advance(ctx context.Context, id string, token int64, to run.State, note, snapshot string) error {
	if err := f.lost(); err != nil {
		return err
	}
	return f.Store.Advance(ctx, id, token, to, note, snapshot)
}

func (f *failing) SaveCandidate(ctx context.Context, id string, token int64, c gate.Candidate) error {
	if err := f.lost(); err != nil {
		return err
	}
	return f.Store.SaveCandidate(ctx, id, token, c)
}

func (f *failing) SavePromotion(ctx context.Context, id string, token int64, p run.Promotion) error {
	if err := f.lost(); err != nil {
		return err
	}
	return f.Store.SavePromotion(ctx, id, token, p)
}

func (f *failing) Finish(ctx context.Context, id string, token int64, e run.Ending) error {
	if err := f.lost(); err != nil {
		return err
	}
	return f.Store.Finish(ctx, id, token, e)
}

// If the database fails at any write, the workspace stays as it was and the run ends with infra; the change stays only if the promotion
// is on record. The next command completes the record.
func TestLosingTheDatabaseAtAnyWriteLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	for from := 1; ; from++ {
		b := runtest.Setup(t, runtest.Says(verify.Pass))
		lossy := &failing{Store: b.DB, from: from}
		b.Runner.Store = lossy
		doc := b.Run(t.Context(), b.Request())
		if lossy.calls < from {
			b.Promoted(t)
			return // the run made fewer writes: all were tried
		}
		if doc.State == run.Promoted {
			b.Promoted(t)
		} else {
			b.Untouched(t)
			if doc.Exit != run.ExitInfra || doc.Error == nil || doc.Error.Next == "" {
				t.Errorf("write %d lost: exit %d, %+v", from, doc.Exit, doc.Error)
			}
		}
		if from == 1 {
			continue // not even the run was recorded
		}
		// This process is alive, so Recover would wait for the orphan's heartbeat to grow old. Assign it to a dead process instead.
		settled, err := run.Recover(t.Context(), b.DB, orphaned{b.DB}, nil)
		if err != nil || len(settled) != 1 || !settled[0].State.Final() {
			t.Errorf("write %d lost: recovered %+v, %v", from, settled, err)
		} else if (settled[0].State == run.Promoted) != (doc.State == run.Promoted) {
			t.Errorf("write %d lost: the record says %s, the document %s", from, settled[0].State, doc.State)
		}
		// A change that was rolled back must not be on record as committed.
		if p, err := b.DB.PromotionOf(t.Context(), doc.Run); err == nil && (p.Status == run.Committed) != (doc.State == run.Promoted) {
			t.Errorf("write %d lost: the run ended %s, its promotion is recorded as %s", from, doc.State, p.Status)
		}
		if from > 20 {
			t.Fatal("a run does not make that many writes")
		}
	}
}

// late cancels the run just after its promotion was recorded as prepared, and with it the answer of the store.
type late struct {
	run.Store
	cancel context.CancelFunc
}

func (l late) SavePromotion(ctx context.Context, id string, token int64, p run.Promotion) error {
	if err := l.Store.SavePromotion(ctx, id, token, p); err != nil || p.Status != run.Prepared {
		return err
	}
	l.cancel()
	return ctx.Err()
}

func TestARowWhoseAnswerIsLostIsNotHalfWay(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.Runner.Store = late{b.DB, cancel}
	doc := b.Run(ctx, b.Request())
	b.Ended(t, doc, run.Cancelled, verify.Cancelled, run.ExitCancelled)
	b.Untouched(t)
	if p, err := b.DB.PromotionOf(t.Context(), doc.Run); err != nil || p.Status != run.RolledBack {
		t.Errorf("its promotion is %s, %v", p.Status, err)
	}
}

// orphaned returns every unfinished run as if its process were dead.
type orphaned struct{ *store.DB }

func (o orphaned) Unfinished(ctx context.Context) ([]run.Record, error) {
	open, err := o.DB.Unfinished(ctx)
	for i := range open {
		open[i].Owner, open[i].Beat = "elsewhere/00000000/1/1/1", time.Unix(0, 0)
	}
	return open, err
}

func TestRecoverLeavesTheRunsOfLivingProcessesAlone(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	b := runtest.Setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		close(entered)
		<-leave
		return runtest.Says(verify.Pass)(ctx, req)
	})
	var doc run.Document
	var wg sync.WaitGroup
	wg.Go(func() { doc = b.Run(t.Context(), b.Request()) })
	<-entered
	settled, err := run.Recover(t.Context(), b.DB, b.DB, nil)
	close(leave)
	wg.Wait()
	if err != nil || len(settled) != 0 {
		t.Errorf("recovered %v, %v", settled, err)
	}
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
}

func TestRecoverSettlesWhatADeadProcessLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		states []run.State
		commit bool
		want   run.State
	}{
		"before anything":   {nil, false, run.Failed},
		"while verifying":   {[]run.State{run.Analyzing, run.Verifying}, false, run.Failed},
		"journal, no file":  {[]run.State{run.Analyzing, run.Verifying, run.AwaitingApproval, run.Promoting}, false, run.Failed},
		"files, not record": {[]run.State{run.Analyzing, run.Verifying, run.AwaitingApproval, run.Promoting}, true, run.Promoted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := runtest.Setup(t, runtest.Says(verify.Pass))
			rec := run.Record{ID: "0000000deadx", Workspace: b.Dir, Intent: "patch p", Owner: "elsewhere/00000000/1/1/1", Token: 1, State: run.Queued, Started: time.Now()}
			if err := b.DB.Create(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
			for _, s := range c.states {
				if err := b.DB.Advance(t.Context(), rec.ID, 1, s, "", ""); err != nil {
					t.Fatal(err)
				}
			}
			if len(c.states) == 4 {
				leaveJournal(b, t, rec.ID, c.commit)
				plantJournal(b, t, rec.ID)
			}
			settled, err := run.Recover(t.Context(), b.DB, orphaned{b.DB}, nil)
			if err != nil || len(settled) != 1 || settled[0].State != c.want {
				t.Fatalf("recovered %+v, %v", settled, err)
			}
			if list, rows := entriesOf(b, t, rec.ID); len(list) != 1 || list[0] != "state agent: "+string(c.want) || !strings.Contains(string(rows[0].Detail), sandbox.Owner()) {
				t.Errorf("its log is %v", list)
			}
			if c.commit {
				if got := b.Tree(t); got["a.py"] != "x = 2\n" || got["evil.py"] != "" {
					t.Errorf("the workspace is %v", got)
				}
				return
			}
			if len(c.states) < 4 {
				b.Untouched(t)
			} else if got := b.Tree(t); got["a.py"] != "x = 1\n" || got["evil.py"] != "" {
				t.Errorf("the workspace is %v", got)
			}
		})
	}
}

// plantJournal puts a journal of an earlier version into the workspace that this user did not write.
func plantJournal(b *runtest.Bench, t *testing.T, id string) {
	t.Helper()
	place := ".agent/journal/" + id
	if err := os.MkdirAll(filepath.Join(b.Dir, place, "files"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.Write(t, place+"/files/0", "evil\n")
	b.Write(t, place+"/state.committing", "")
	b.Write(t, place+"/journal.json", `{"id":"`+id+`","items":[{"path":"evil.py","slot":"`+place+`/files/0","after":{"digest":"`+workspace.Digest([]byte("evil\n"))+`","mode":420}}]}`)
}

// leaveJournal does what a run does until it dies while promoting.
func leaveJournal(b *runtest.Bench, t *testing.T, id string, commit bool) {
	t.Helper()
	cs := workspace.Changeset{Changes: []workspace.Change{{
		Op: workspace.Modify, Path: "a.py", Before: []byte("x = 1\n"), After: []byte("x = 2\n"), Mode: 0o644,
	}}}
	lock, err := promotion.Acquire(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release() // as the kernel does when a process dies
	p, err := lock.Prepare(t.Context(), cs, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.DB.SavePromotion(t.Context(), id, 1, run.Promotion{Status: run.Prepared, Changeset: cs}); err != nil {
		t.Fatal(err)
	}
	if commit {
		if err := p.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
