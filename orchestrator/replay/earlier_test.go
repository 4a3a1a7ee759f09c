package replay_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// measures is a verifier that holds a file if it contained "x = 1" before the last promotions.
func measures(ctx context.Context, req verify.Request) (verify.Report, error) {
	report, err := runtest.Says(verify.Pass)(ctx, req)
	for _, c := range req.Changeset.Changes {
		if c.Op != workspace.Modify {
			continue
		}
		text, err := req.Earlier(ctx, c.Path, c.Before)
		if err != nil {
			return report, err
		}
		if string(text) == "x = 1\n" {
			report.Holds = append(report.Holds, policy.Hold{Path: c.Path, Kind: policy.ChangedTest, Reason: "it proves less"})
		}
	}
	return report, err
}

// The earlier content of files comes from the record when a run judges, and from the run's evidence in a replay.
func TestWhatFilesHeldBeforeIsReplayed(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, measures)
	if doc := record(t, b, b.Request()); doc.State != run.Promoted || len(doc.Candidates[0].Holds) > 0 {
		t.Fatalf("ended %+v, held %+v", doc.Error, doc.Candidates[0].Holds)
	}
	req := b.Request()
	req.Patch = []byte(strings.NewReplacer("x = 1", "x = 2", "x = 2", "x = 3").Replace(runtest.Patch[:strings.Index(runtest.Patch, "\n<EDIT file=\"new")]))
	doc := record(t, b, req)
	if doc.State != run.Promoted || len(doc.Candidates[0].Holds) != 1 {
		t.Fatalf("ended %+v, held %+v", doc.Error, doc.Candidates[0].Holds)
	}
	if err := os.RemoveAll(b.Dir); err != nil {
		t.Fatal(err)
	}
	if rep, err := replayed(t, b, doc.Run, measures); err != nil || !rep.Identical {
		t.Errorf("the replay is %+v, %v", rep, err)
	}
}
