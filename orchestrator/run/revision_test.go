package run_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
	"agent/verify"
)

// edited returns a revision that sets x to two, in a workspace that has different content by now.
func edited(_ context.Context, disk *workspace.Manifest) (run.Revision, error) {
	before := []byte("x = 1\n")
	entries := slices.Clone(disk.Entries)
	for i := range entries {
		entries[i].Digest, entries[i].Size = workspace.Digest(before), int64(len(before))
	}
	return run.Revision{
		Base:    disk.Holding(entries, map[string][]byte{"a.py": before}),
		Changes: workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: "a.py", Before: before, After: []byte("x = 2\n"), Mode: 0o644}}},
		Apart:   []verify.Unproven{{Gate: "syntax", Kind: verify.NoGate, Part: true, Reason: "link: symbolic link"}},
	}, nil
}

func TestARevisionIsProvedAndNotWritten(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[verify.Verdict]struct {
		state run.State
		exit  int
	}{
		verify.Pass: {run.Done, run.ExitDone}, verify.Fail: {run.Rejected, run.ExitFail}, verify.Infra: {run.Failed, run.ExitInfra}, verify.Policy: {run.Rejected, run.ExitApproval},
	} {
		t.Run(string(verdict), func(t *testing.T) {
			t.Parallel()
			var judged string
			b := runtest.Setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
				text, err := req.Base.ReadFile("a.py")
				judged = string(text)
				report, jerr := runtest.Says(verdict)(ctx, req)
				return report, errors.Join(err, jerr)
			})
			b.Write(t, "a.py", "x = 3\n")
			doc := b.Runner.ProveRevision(t.Context(), b.Request(), "commit abc", edited)
			b.Ended(t, doc, want.state, verdict, want.exit)
			if got := b.Tree(t); got["a.py"] != "x = 3\n" || judged != "x = 1\n" || doc.Promotion != nil {
				t.Errorf("on disk %q, judged on %q", got, judged)
			}
			c := doc.Candidates[0]
			if !strings.Contains(c.Diff, "+x = 2") || len(c.Unproven) != 1 || len(doc.Unproven) != 1 {
				t.Errorf("%+v", doc)
			}
			rec, err := b.DB.Run(t.Context(), doc.Run)
			if err != nil || rec.Record.Intent != "commit abc" {
				t.Errorf("%+v, %v", rec, err)
			}
		})
	}
}

// A proof writes nothing, so a promotion may go on at the same time.
func TestAProofOfARevisionTakesNoLock(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	lock, err := promotion.Acquire(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	doc := b.Runner.ProveRevision(t.Context(), b.Request(), "commit abc", edited)
	b.Ended(t, doc, run.Done, verify.Pass, run.ExitDone)
}

func TestARevisionThatNoGateCanJudge(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, func(context.Context, verify.Request) (verify.Report, error) {
		t.Error("it was judged")
		return verify.Report{}, nil
	})
	doc := b.Runner.ProveRevision(t.Context(), b.Request(), "commit abc", func(ctx context.Context, disk *workspace.Manifest) (run.Revision, error) {
		rev, err := edited(ctx, disk)
		rev.Changes = workspace.Changeset{}
		return rev, err
	})
	b.Ended(t, doc, run.Done, verify.Pass, run.ExitDone)
	if len(doc.Candidates) != 0 || len(doc.Unproven) != 1 || doc.Snapshot == "" {
		t.Errorf("%+v", doc)
	}
}

func TestAFormattedRevisionIsSaidToHaveBeen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		left    workspace.Changeset
		reasons int
	}{
		{workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: "a.py", Before: []byte("x = 1\n"), After: []byte("x  =  2\n"), Mode: 0o644}}}, 2},
		{workspace.Changeset{}, 2},
	} {
		b := runtest.Setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
			report, err := runtest.Says(verify.Pass)(ctx, req)
			report.Changeset = c.left
			return report, err
		})
		doc := b.Runner.ProveRevision(t.Context(), b.Request(), "staged", edited)
		b.Ended(t, doc, run.Done, verify.Pass, run.ExitDone)
		if len(doc.Unproven) != c.reasons || !strings.Contains(doc.Unproven[1].Reason, "the format gate changed") {
			t.Errorf("%+v", doc.Unproven)
		}
	}
}

func TestARevisionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	doc := b.Runner.ProveRevision(t.Context(), b.Request(), "commit abc", func(context.Context, *workspace.Manifest) (run.Revision, error) {
		return run.Revision{}, errors.New("object 0123 is not there")
	})
	b.Ended(t, doc, run.Failed, verify.Infra, run.ExitInfra)
	if !strings.Contains(doc.Error.Message, "object 0123") {
		t.Errorf("%+v", doc.Error)
	}
	gone := b.Request()
	gone.Workspace = b.Dir + "/gone"
	if doc := b.Runner.ProveRevision(t.Context(), gone, "commit abc", edited); doc.Exit != run.ExitUsage || doc.Run != "" {
		t.Errorf("%+v", doc)
	}
}
