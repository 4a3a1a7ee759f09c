package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/gate"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
	"agent/verify"
	"agent/verify/policy"
)

func TestEveryKindOfProblemHasItsExitCode(t *testing.T) {
	for kind, want := range map[ProblemKind]struct {
		state   State
		verdict verify.Verdict
		exit    int
	}{
		"usage":     {Failed, verify.Infra, 2},
		"infra":     {Failed, verify.Infra, 3},
		"policy":    {Failed, verify.Policy, 4},
		"conflict":  {Conflicted, verify.Conflict, 6},
		"cancelled": {Cancelled, verify.Cancelled, 130},
		"patch":     {Failed, verify.Fail, 1},
		"budget":    {Failed, verify.Budget, 5},
	} {
		end := End(Failed, &Problem{Kind: kind})
		if end.State != want.state || end.Verdict != want.verdict || end.Exit != want.exit {
			t.Errorf("%s ends %s, %s, exit %d; want %+v", kind, end.State, end.Verdict, end.Exit, want)
		}
	}
	if len(kinds) != 7 {
		t.Errorf("there are %d kinds: this test knows 7", len(kinds))
	}
}

func TestTroubleIsNamedForWhatItIs(t *testing.T) {
	x := &Execution{rec: Record{ID: "r1"}}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	taken, stop := context.WithCancelCause(t.Context())
	stop(ErrFenced)
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		kind ProblemKind
		says string
		next string
	}{
		{"an error of something below", t.Context(), broken, "infra", "scan: broken", "agent doctor"},
		{"an engine that went away", t.Context(), fmt.Errorf("start: %w", &sandbox.UnavailableError{Host: "h", Hint: "start it", Err: broken}), "infra", "scan: start", "start it"},
		{"a run that was cancelled", cancelled, context.Canceled, "cancelled", "untouched", "again"},
		{"a run that was taken over", taken, context.Canceled, "infra", "taken over", "runs show r1"},
		{"a store that says so", t.Context(), fmt.Errorf("x: %w", ErrFenced), "infra", "taken over", "runs show r1"},
	} {
		p := x.Trouble(c.ctx, "scan", c.err)
		if p.Kind != c.kind || !strings.Contains(p.Message, c.says) || !strings.Contains(p.Next, c.next) {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

// A promotion that is in place must not be reported as if it had not happened.
func TestAnEndThatWasNotRecordedStillTellsTheTruth(t *testing.T) {
	lost := errors.New("connection refused")
	promoted := unrecorded(Ending{State: Promoted, Verdict: verify.Pass}, lost)
	if promoted.State != Promoted || promoted.Verdict != verify.Pass || promoted.Error == nil || !strings.Contains(promoted.Error.Message, "refused") {
		t.Errorf("a promoted run became %+v", promoted)
	}
	rejected := unrecorded(End(Rejected, &Problem{Kind: "patch"}), lost)
	if rejected.State != Failed || rejected.Exit != ExitInfra {
		t.Errorf("a rejected run became %+v", rejected)
	}
}

func TestTheReasonNamesTheGatesThatDecided(t *testing.T) {
	cand := gate.Candidate{Verdict: verify.Fail, Gates: []verify.Gate{
		{Name: "lint", Verdict: verify.Pass},
		{Name: "types", Verdict: verify.Fail, Findings: []verify.Finding{{Message: "one"}, {Message: "two"}}},
		{Name: "smoke", Verdict: verify.Fail, Findings: []verify.Finding{{Message: "it crashed"}}},
		{Name: "tests", Verdict: verify.Fail, Detail: "no report"},
	}}
	want := "types: 2 findings; smoke: it crashed; tests: no report"
	if got := cand.Because(verify.Fail); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if end := Judged(cand); end.State != Rejected || end.Verdict != verify.Fail || end.Exit != ExitFail {
		t.Errorf("ended %+v", end)
	}
	cand.Verdict = verify.Timeout
	if end := Judged(cand); end.Verdict != verify.Timeout || end.Exit != ExitFail {
		t.Errorf("a timeout ended %+v", end)
	}
}

func TestOnlyBlockingHoldsAskForAFlagOfTheirOwn(t *testing.T) {
	holds := []policy.Hold{
		{Path: "a", Kind: "ci", Block: true},
		{Path: "b", Kind: "ci", Block: true},
		{Path: "c", Kind: "tooling"},
		{Path: "d", Kind: "git", Block: true},
	}
	if got, want := allowFlags(holds), " --allow ci --allow git"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := allowFlags(nil); got != "" {
		t.Errorf("%q for no holds", got)
	}
}

func TestWhatAJournalSaysOfADeadRun(t *testing.T) {
	for _, c := range []struct {
		in     promotion.Recovery
		state  State
		status PromotionStatus
		exit   int
	}{
		{promotion.Recovery{Outcome: promotion.Completed}, Promoted, Committed, 0},
		{promotion.Recovery{Outcome: promotion.RolledBack}, Failed, RolledBack, ExitInfra},
		{promotion.Recovery{Outcome: promotion.Conflicted, Kept: []string{"a.py"}}, Conflicted, RolledBack, ExitConflict},
	} {
		end, status := outcome(c.in)
		if end.State != c.state || status != c.status || end.Exit != c.exit {
			t.Errorf("%s: %+v, %s", c.in.Outcome, end, status)
		}
	}
}

func TestARunIsOrphanedByADeadProcessOrAnOldHeartbeat(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name string
		rec  Record
		want bool
	}{
		{"this process", Record{Owner: sandbox.Owner(), Beat: now.Add(-time.Hour)}, false},
		{"elsewhere, heard of just now", Record{Owner: "elsewhere/0/1/1/1", Beat: now}, false},
		{"elsewhere, silent", Record{Owner: "elsewhere/0/1/1/1", Beat: now.Add(-orphanAfter - time.Second)}, true},
	} {
		if got := orphaned(c.rec, now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestADocumentHasListsAndNeverNull(t *testing.T) {
	d := gate.Candidate{Gates: []verify.Gate{{Name: "lint"}}}.Document()
	if d.Gates[0].Findings == nil || d.Skipped == nil || d.Holds == nil || d.Edits == nil {
		t.Errorf("document %+v", d)
	}
	p := Promotion{Changeset: workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Modify, Path: "a", Before: []byte("1"), After: []byte("2"), Mode: 0o755},
		{Op: workspace.Create, Path: "b", After: []byte("3"), Mode: 0o644},
	}}}.Document()
	if p.Files[0].Mode != "0755" || p.Files[0].Before == "" || p.Files[1].Before != "" || p.Files[1].After == "" {
		t.Errorf("promotion %+v", p)
	}
}
