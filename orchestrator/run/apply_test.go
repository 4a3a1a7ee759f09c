package run_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/verify"
	"agent/verify/policy"
)

// skipped returns a run that proved Patch, but whose change was not applied.
func skipped(t *testing.T, b *runtest.Bench) run.Document {
	t.Helper()
	req := b.Request()
	req.Approver = runtest.Decide(run.Skip)
	doc := b.Runner.Run(t.Context(), req)
	b.Ended(t, doc, run.Rejected, verify.Pass, run.ExitApproval)
	b.Untouched(t)
	return doc
}

// proven returns the recorded result of a run. again is the answer to whether it is proved again.
func proven(t *testing.T, b *runtest.Bench, id string, again run.Decision) run.Proven {
	t.Helper()
	d, err := b.DB.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	cand, err := b.DB.Proven(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	of := run.Proven{Record: d.Record, Candidate: cand}
	of.AppliedBy = func(ctx context.Context) (string, error) {
		d, err := b.DB.Run(ctx, of.Origin())
		return d.AppliedBy, err
	}
	of.Reprove = func(context.Context, []string) (run.Answer, error) {
		return run.Answer{Decision: again, By: "the test"}, nil
	}
	return of
}

func TestAGreenRunIsAppliedAfterwards(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	first := skipped(t, b)
	judged := 0
	b.Runner.Verifier = runtest.Judge(func(context.Context, verify.Request) (verify.Report, error) { judged++; return verify.Report{}, nil })
	doc := b.Runner.Apply(t.Context(), b.Request(), proven(t, b, first.Run, run.Unattended))
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	b.Promoted(t)
	if judged != 0 || len(doc.Candidates) != 1 || doc.Candidates[0].Digest != first.Candidates[0].Digest || doc.Snapshot != first.Snapshot {
		t.Errorf("judged %d times; the document is %+v", judged, doc)
	}
	d, err := b.DB.Run(t.Context(), first.Run)
	if err != nil || d.AppliedBy != doc.Run || d.State != run.Rejected {
		t.Errorf("the record says that run %s is %s, applied by %q (%v)", first.Run, d.State, d.AppliedBy, err)
	}
	// A second time there is nothing to apply.
	twice := b.Runner.Apply(t.Context(), b.Request(), proven(t, b, first.Run, run.Apply))
	b.Ended(t, twice, run.Conflicted, verify.Conflict, run.ExitConflict)
	if !strings.Contains(twice.Error.Message, "applied by run "+doc.Run) {
		t.Errorf("the second says %q", twice.Error.Message)
	}
	// After an undo, it may be applied again.
	last, p, err := b.DB.LastPromotion(t.Context(), b.Dir)
	if err != nil || last.ID != doc.Run {
		t.Fatalf("the last promotion is of %s: %v", last.ID, err)
	}
	back := b.Runner.Undo(t.Context(), last, nil, p.Changeset.Reverse(), nil)
	b.Ended(t, back, run.Promoted, verify.Pass, run.ExitDone)
	again := b.Runner.Apply(t.Context(), b.Request(), proven(t, b, first.Run, run.Apply))
	b.Ended(t, again, run.Promoted, verify.Pass, run.ExitDone)
	b.Promoted(t)
}

func TestOfTwoThatApplyARunOneWins(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	first := skipped(t, b)
	of := proven(t, b, first.Run, run.Apply)
	docs := make([]run.Document, 4)
	var all sync.WaitGroup
	for i := range docs {
		all.Go(func() { docs[i] = b.Runner.Apply(t.Context(), b.Request(), of) })
	}
	all.Wait()
	won := 0
	for _, d := range docs {
		switch {
		case d.State == run.Promoted:
			won++
		case d.Exit != run.ExitConflict || d.Error == nil:
			t.Errorf("one that lost ended %s, exit %d: %+v", d.State, d.Exit, d.Error)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d wrote", won, len(docs))
	}
	b.Promoted(t)
}

func TestAnApplyIsProvedAgainWhereTheWorkspaceMovedOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		again   run.Decision
		says    verify.Verdict
		state   run.State
		verdict verify.Verdict
		exit    int
		x       string
	}{
		{"proved", run.Apply, verify.Pass, run.Promoted, verify.Pass, run.ExitDone, "x = 2\nz = 1\n"},
		{"failed", run.Apply, verify.Fail, run.Rejected, verify.Fail, run.ExitFail, "x = 1\nz = 1\n"},
		{"skipped", run.Skip, verify.Pass, run.Rejected, verify.Policy, run.ExitApproval, "x = 1\nz = 1\n"},
		{"nobody", run.Unattended, verify.Pass, run.Rejected, verify.Policy, run.ExitApproval, "x = 1\nz = 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := runtest.Setup(t, runtest.Says(verify.Pass))
			first := skipped(t, b)
			b.Write(t, "a.py", "x = 1\nz = 1\n")
			b.Runner.Verifier = runtest.Says(c.says)
			of := proven(t, b, first.Run, c.again)
			asked, reprove := []string{"not asked"}, of.Reprove
			of.Reprove = func(ctx context.Context, moved []string) (run.Answer, error) {
				asked = moved
				return reprove(ctx, moved)
			}
			doc := b.Runner.Apply(t.Context(), b.Request(), of)
			b.Ended(t, doc, c.state, c.verdict, c.exit)
			if strings.Join(asked, " ") != "a.py" {
				t.Errorf("asked about %v", asked)
			}
			if got := b.Tree(t)["a.py"]; got != c.x {
				t.Errorf("a.py holds %q", got)
			}
			if c.exit == run.ExitApproval && !strings.Contains(doc.Error.Next, "agent runs apply "+first.Run) {
				t.Errorf("next: %s", doc.Error.Next)
			}
		})
	}
}

func TestOnlyWhatPassedIsApplied(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Fail))
	failed := b.Runner.Run(t.Context(), b.Request())
	b.Ended(t, failed, run.Rejected, verify.Fail, run.ExitFail)
	if _, err := b.DB.Proven(t.Context(), failed.Run); err == nil {
		t.Error("the record gives a candidate that failed")
	}
	// Bytes that differ from the judged ones are not applied either.
	b = runtest.Setup(t, runtest.Says(verify.Pass))
	first := skipped(t, b)
	of := proven(t, b, first.Run, run.Apply)
	of.Candidate.Changeset.Changes[0].After = []byte("x = 3\n")
	doc := b.Runner.Apply(t.Context(), b.Request(), of)
	b.Ended(t, doc, run.Failed, verify.Infra, run.ExitInfra)
	b.Untouched(t)
}

func TestAnApplyNeedsTheApprovalsOfItsHolds(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	first := skipped(t, b)
	protect, err := policy.Protect([]string{"a.py"})
	if err != nil {
		t.Fatal(err)
	}
	// A path that has been protected since then is held too.
	req := b.Request()
	req.Protect = protect
	doc := b.Runner.Apply(t.Context(), req, proven(t, b, first.Run, run.Apply))
	b.Ended(t, doc, run.Rejected, verify.Policy, run.ExitApproval)
	if !strings.Contains(doc.Error.Next, "--allow protected") {
		t.Errorf("next: %s", doc.Error.Next)
	}
	b.Untouched(t)
	req.Allow = []string{"protected"}
	// A run that applied nothing can be the source too.
	doc = b.Runner.Apply(t.Context(), req, proven(t, b, doc.Run, run.Apply))
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if d, err := b.DB.Run(t.Context(), first.Run); err != nil || d.AppliedBy != doc.Run {
		t.Errorf("run %s was applied by %q: %v", first.Run, d.AppliedBy, err)
	}
}
