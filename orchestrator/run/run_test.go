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

	"agent/images"
	"agent/images/dependencies"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
	"agent/verify"
)

// frozen stands for the image builder: these tests are about the order of the
// phases and what reaches the store and the host, so no image is needed.
type frozen struct{}

func (frozen) Ensure(context.Context, string) (images.Image, error) {
	return images.Image{ID: "sha256:tools"}, nil
}

func (frozen) Install(_ context.Context, toolchain images.Image, _ dependencies.Set) (images.Image, error) {
	return toolchain, nil
}

func (frozen) Near(context.Context, images.Image, images.Tree, string, func() images.Tree) (images.Image, images.Delta, error) {
	return images.Image{}, images.Delta{}, images.ErrAbsent
}

func (frozen) Snapshot(_ context.Context, _ images.Image, tree images.Tree, _ string) (images.Image, error) {
	return images.Image{ID: "sha256:" + tree.Digest()}, nil
}

// judge stands for the gates: it says what a test needs to be said, and may do
// what a user does meanwhile.
type judge func(ctx context.Context, req verify.Request) (verify.Report, error)

func (j judge) Verify(ctx context.Context, req verify.Request, _ func(verify.Event)) (verify.Report, error) {
	return j(ctx, req)
}

func says(v verify.Verdict) judge {
	return func(_ context.Context, req verify.Request) (verify.Report, error) {
		gate := verify.Gate{Name: "tests", Verdict: v, Seconds: 0.5, Detail: "as the test wants"}
		if v != verify.Pass {
			gate.Findings = []verify.Finding{{File: "a.py", Line: 1, Rule: "X1", Message: "wrong"}}
		}
		return verify.Report{Verdict: v, Gates: []verify.Gate{gate}, Changeset: req.Changeset}, nil
	}
}

// decide answers the checkpoint.
type decide run.Decision

func (d decide) Approve(context.Context, run.Proposal) (run.Answer, error) {
	return run.Answer{Decision: run.Decision(d), By: "the test"}, nil
}

const patch = `<EDIT file="a.py"><SEARCH>
x = 1
</SEARCH><REPLACE>
x = 2
</REPLACE></EDIT>
<EDIT file="new/b.py"><SEARCH></SEARCH><REPLACE>
y = 1
</REPLACE></EDIT>`

// A bench is one workspace, one store and a runner between them.
type bench struct {
	dir    string
	db     *store.DB
	runner *run.Runner
	states []run.State
}

func setup(t *testing.T, j judge) *bench {
	t.Helper()
	db, _ := storetest.New(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{dir: dir, db: db}
	b.write(t, "a.py", "x = 1\n")
	var mu sync.Mutex
	log := run.NewLog(t.Context(), db, strings.TrimSpace)
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	b.runner = &run.Runner{Store: db, Log: log, Orphans: db, Images: frozen{}, Verifier: j, Emit: func(e run.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.State != "" {
			b.states = append(b.states, e.State)
		}
	}}
	return b
}

func (b *bench) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) request() run.Request {
	return run.Request{Workspace: b.dir, Patch: []byte(patch), PatchName: "p.xml", Approver: decide(run.Apply)}
}

// tree returns every file of the workspace with its content.
func (b *bench) tree(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(b.dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || p == b.dir {
			return err
		}
		rel, _ := filepath.Rel(b.dir, p)
		if d.IsDir() {
			files[rel+"/"] = ""
			return nil
		}
		text, err := os.ReadFile(p)
		files[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func (b *bench) untouched(t *testing.T) {
	t.Helper()
	if got := b.tree(t); len(got) != 1 || got["a.py"] != "x = 1\n" {
		t.Errorf("the workspace was touched: %v", got)
	}
}

func (b *bench) promoted(t *testing.T) {
	t.Helper()
	got := b.tree(t)
	if len(got) != 3 || got["a.py"] != "x = 2\n" || got["new/b.py"] != "y = 1\n" {
		t.Errorf("the workspace is %v", got)
	}
}

// ended checks the document and that the record says the same.
func (b *bench) ended(t *testing.T, doc run.Document, state run.State, verdict verify.Verdict, exit int) {
	t.Helper()
	if doc.State != state || doc.Verdict != verdict || doc.Exit != exit {
		t.Errorf("ended %s, %s, exit %d (%+v); want %s, %s, exit %d", doc.State, doc.Verdict, doc.Exit, doc.Error, state, verdict, exit)
	}
	if (doc.Error == nil) != (exit == 0) {
		t.Errorf("exit %d with error %+v", exit, doc.Error)
	}
	if doc.Error != nil && doc.Error.Next == "" {
		t.Errorf("the error does not say what to do next: %+v", doc.Error)
	}
	open, err := b.db.Unfinished(t.Context())
	if err != nil || len(open) != 0 {
		t.Errorf("unfinished runs %v, %v", open, err)
	}
	got, err := b.db.Run(t.Context(), doc.Run)
	if err != nil {
		t.Fatal(err)
	}
	if got.Record.State != state {
		t.Errorf("the record says %s, the document %s", got.Record.State, state)
	}
}

func TestAPassingPatchIsPromotedWhole(t *testing.T) {
	t.Parallel()
	b := setup(t, says(verify.Pass))
	doc := b.runner.Run(t.Context(), b.request())
	b.ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	b.promoted(t)
	if doc.Promotion == nil || len(doc.Promotion.Files) != 2 || !strings.Contains(doc.Promotion.Diff, "+x = 2") {
		t.Errorf("promotion %+v", doc.Promotion)
	}
	if len(doc.Candidates) != 1 || len(doc.Candidates[0].Edits) != 2 || doc.Snapshot == "" {
		t.Errorf("document %+v", doc)
	}
	want := []run.State{run.Queued, run.Analyzing, run.Verifying, run.AwaitingApproval, run.Promoting, run.Promoted, run.Promoted}
	if len(b.states) != len(want) {
		t.Errorf("went through %v, want %v", b.states, want)
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
			b := setup(t, says(verdict))
			doc := b.runner.Run(t.Context(), b.request())
			b.ended(t, doc, want.state, verdict, want.exit)
			b.untouched(t)
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
			b := setup(t, says(verify.Pass))
			req := b.request()
			req.Patch = []byte(c.patch)
			doc := b.runner.Run(t.Context(), req)
			verdict := map[int]verify.Verdict{run.ExitFail: verify.Fail, run.ExitApproval: verify.Policy}[c.exit]
			b.ended(t, doc, run.Rejected, verdict, c.exit)
			b.untouched(t)
			if !strings.Contains(doc.Error.Message, c.says) {
				t.Errorf("%q does not name %q", doc.Error.Message, c.says)
			}
			if len(doc.Candidates) != 1 {
				t.Errorf("%d candidates recorded", len(doc.Candidates))
			}
		})
	}
}

// What only the next run asks for is kept beside the promotion: it may take longer, it is
// not given up then, and that it failed is a remark.
func TestWhatTheGatesFoundIsKeptForTheNextRun(t *testing.T) {
	t.Parallel()
	var b *bench
	var promoted bool
	b = setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		report, err := says(verify.Pass)(ctx, req)
		report.Keep = func(ctx context.Context) error {
			for limit := time.Now().Add(4 * time.Second); !promoted && time.Now().Before(limit); time.Sleep(time.Millisecond) {
				_, err := os.Stat(filepath.Join(b.dir, "new/b.py"))
				promoted = err == nil
			}
			return errors.Join(errors.New("nothing was kept"), ctx.Err())
		}
		return report, err
	})
	var notes []string
	b.runner.Emit = func(e run.Event) {
		if e.Note != "" {
			notes = append(notes, e.Note)
		}
	}
	doc := b.runner.Run(t.Context(), b.request())
	b.ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if !promoted || !slices.Contains(notes, "nothing was kept") {
		t.Errorf("promoted meanwhile: %t; told %q", promoted, notes)
	}
}

func TestTheUsersOwnEditsWin(t *testing.T) {
	t.Parallel()
	var b *bench
	b = setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		b.write(t, "a.py", "x = 'mine'\n")
		return says(verify.Pass)(ctx, req)
	})
	doc := b.runner.Run(t.Context(), b.request())
	b.ended(t, doc, run.Conflicted, verify.Conflict, run.ExitConflict)
	if got := b.tree(t); len(got) != 1 || got["a.py"] != "x = 'mine'\n" {
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
		"skipped":     {func(r *run.Request) { r.Approver = decide(run.Skip) }, run.Rejected, verify.Pass, run.ExitApproval},
		"nobody":      {func(r *run.Request) { r.Approver = decide(run.Unattended) }, run.Rejected, verify.Policy, run.ExitApproval},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, says(verify.Pass))
			req := b.request()
			c.change(&req)
			doc := b.runner.Run(t.Context(), req)
			b.ended(t, doc, c.state, c.verdict, c.exit)
			b.untouched(t)
			if doc.Promotion != nil {
				t.Error("the document has a promotion")
			}
		})
	}
}

func TestACancelledRunEndsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := setup(t, func(ctx context.Context, _ verify.Request) (verify.Report, error) {
		cancel()
		<-ctx.Done()
		return verify.Report{}, ctx.Err()
	})
	doc := b.runner.Run(ctx, b.request())
	b.ended(t, doc, run.Cancelled, verify.Cancelled, run.ExitCancelled)
	b.untouched(t)
}

func TestTheSecondRunIsToldWhoHoldsTheWorkspace(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	b := setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		close(entered)
		<-leave
		return says(verify.Fail)(ctx, req)
	})
	var first run.Document
	var wg sync.WaitGroup
	wg.Go(func() { first = b.runner.Run(t.Context(), b.request()) })
	<-entered
	second := (&run.Runner{Store: b.db, Orphans: b.db, Images: frozen{}, Verifier: says(verify.Pass)}).Run(t.Context(), b.request())
	close(leave)
	wg.Wait()
	b.ended(t, second, run.Conflicted, verify.Conflict, run.ExitConflict)
	if !strings.Contains(second.Error.Message, first.Run) {
		t.Errorf("%q does not name run %s", second.Error.Message, first.Run)
	}
	b.untouched(t)
}

func TestAWorkspaceThatIsNoDirectoryIsAUsageError(t *testing.T) {
	t.Parallel()
	b := setup(t, says(verify.Pass))
	for _, dir := range []string{"/nowhere/at/all", filepath.Join(b.dir, "a.py")} {
		req := b.request()
		req.Workspace = dir
		if doc := b.runner.Run(t.Context(), req); doc.Exit != run.ExitUsage || doc.Run != "" {
			t.Errorf("%s: exit %d, run %q", dir, doc.Exit, doc.Run)
		}
	}
}

func TestUndoTakesThePromotionBack(t *testing.T) {
	t.Parallel()
	b := setup(t, says(verify.Pass))
	doc := b.runner.Run(t.Context(), b.request())
	b.promoted(t)
	promotion, err := b.db.PromotionOf(t.Context(), doc.Run)
	if err != nil {
		t.Fatal(err)
	}
	undone := b.runner.Undo(t.Context(), run.Record{ID: doc.Run, Workspace: b.dir}, promotion.Changeset.Reverse(), nil)
	b.ended(t, undone, run.Promoted, verify.Pass, run.ExitDone)
	b.untouched(t)

	b.write(t, "a.py", "x = 'mine'\n")
	again := b.runner.Undo(t.Context(), run.Record{ID: doc.Run, Workspace: b.dir}, promotion.Changeset.Reverse(), nil)
	b.ended(t, again, run.Conflicted, verify.Conflict, run.ExitConflict)
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

func (f *failing) SaveCandidate(ctx context.Context, id string, token int64, c run.Candidate) error {
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

// A database that goes away at any write leaves the workspace as it was and
// says infra; only when the promotion is on record does it stay. The next
// command brings the record to an end.
func TestLosingTheDatabaseAtAnyWriteLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	for from := 1; ; from++ {
		b := setup(t, says(verify.Pass))
		lossy := &failing{Store: b.db, from: from}
		b.runner.Store = lossy
		doc := b.runner.Run(t.Context(), b.request())
		if lossy.calls < from {
			b.promoted(t)
			return // the run made fewer writes than that: all were tried
		}
		if doc.State == run.Promoted {
			b.promoted(t)
		} else {
			b.untouched(t)
			if doc.Exit != run.ExitInfra || doc.Error == nil || doc.Error.Next == "" {
				t.Errorf("write %d lost: exit %d, %+v", from, doc.Exit, doc.Error)
			}
		}
		if from == 1 {
			continue // not even the run was recorded
		}
		// This process is alive, so the orphan would wait for its heartbeat to
		// grow old: let it be somebody else's who is dead.
		settled, err := run.Recover(t.Context(), b.db, orphaned{b.db}, nil)
		if err != nil || len(settled) != 1 || !settled[0].State.Final() {
			t.Errorf("write %d lost: recovered %+v, %v", from, settled, err)
		} else if (settled[0].State == run.Promoted) != (doc.State == run.Promoted) {
			t.Errorf("write %d lost: the record says %s, the document %s", from, settled[0].State, doc.State)
		}
		// What was taken back must not be on record as standing.
		if p, err := b.db.PromotionOf(t.Context(), doc.Run); err == nil && (p.Status == run.Committed) != (doc.State == run.Promoted) {
			t.Errorf("write %d lost: the run ended %s, its promotion is recorded as %s", from, doc.State, p.Status)
		}
		if from > 20 {
			t.Fatal("a run does not make that many writes")
		}
	}
}

// late cancels the run when its promotion has just been recorded as prepared, and the
// answer with it.
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
	b := setup(t, says(verify.Pass))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.runner.Store = late{b.db, cancel}
	doc := b.runner.Run(ctx, b.request())
	b.ended(t, doc, run.Cancelled, verify.Cancelled, run.ExitCancelled)
	b.untouched(t)
	if p, err := b.db.PromotionOf(t.Context(), doc.Run); err != nil || p.Status != run.RolledBack {
		t.Errorf("its promotion is %s, %v", p.Status, err)
	}
}

// orphaned shows every unfinished run as that of a process that is dead.
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
	b := setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		close(entered)
		<-leave
		return says(verify.Pass)(ctx, req)
	})
	var doc run.Document
	var wg sync.WaitGroup
	wg.Go(func() { doc = b.runner.Run(t.Context(), b.request()) })
	<-entered
	settled, err := run.Recover(t.Context(), b.db, b.db, nil)
	close(leave)
	wg.Wait()
	if err != nil || len(settled) != 0 {
		t.Errorf("recovered %v, %v", settled, err)
	}
	b.ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
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
			b := setup(t, says(verify.Pass))
			rec := run.Record{ID: "0000000deadx", Workspace: b.dir, Intent: "patch p", Owner: "elsewhere/00000000/1/1/1", Token: 1, State: run.Queued, Started: time.Now()}
			if err := b.db.Create(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
			for _, s := range c.states {
				if err := b.db.Advance(t.Context(), rec.ID, 1, s, "", ""); err != nil {
					t.Fatal(err)
				}
			}
			if len(c.states) == 4 {
				b.leaveJournal(t, rec.ID, c.commit)
			}
			settled, err := run.Recover(t.Context(), b.db, orphaned{b.db}, nil)
			if err != nil || len(settled) != 1 || settled[0].State != c.want {
				t.Fatalf("recovered %+v, %v", settled, err)
			}
			if list, rows := b.log(t, rec.ID); len(list) != 1 || list[0] != "state agent: "+string(c.want) || !strings.Contains(string(rows[0].Detail), sandbox.Owner()) {
				t.Errorf("its log is %v", list)
			}
			if c.commit {
				if got := b.tree(t); got["a.py"] != "x = 2\n" || len(got) != 1 {
					t.Errorf("the workspace is %v", got)
				}
				return
			}
			b.untouched(t)
		})
	}
}

// leaveJournal does what a run does up to its death while promoting.
func (b *bench) leaveJournal(t *testing.T, id string, commit bool) {
	t.Helper()
	cs := workspace.Changeset{Changes: []workspace.Change{{
		Op: workspace.Modify, Path: "a.py", Before: []byte("x = 1\n"), After: []byte("x = 2\n"), Mode: 0o644,
	}}}
	lock, err := promotion.Acquire(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release() // as the kernel does when a process dies
	p, err := lock.Prepare(t.Context(), cs, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.db.SavePromotion(t.Context(), id, 1, run.Promotion{Status: run.Prepared, Changeset: cs}); err != nil {
		t.Fatal(err)
	}
	if commit {
		if err := p.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
