package exec

import (
	"context"
	"strings"
	"testing"

	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/sandbox"
	"agent/verify"
	"agent/verify/policy"
)

// asked runs a command that leaves these files in a box, with this request.
func asked(t *testing.T, b *runtest.Bench, req run.Request, files map[string]string) run.Document {
	t.Helper()
	r := &Runner{Runner: b.Runner, Start: func(context.Context, sandbox.Spec) (Box, error) { return &benchBox{found: changes(files)}, nil }}
	req.Workspace = b.Dir
	return r.Run(t.Context(), req, Work{Command: []string{"codemod"}})
}

// An undecided change is on record like any other proved change, and can be applied later.
func TestWhatACommandMadeIsAppliedLater(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	doc := asked(t, b, run.Request{Approver: runtest.Decide(run.Unattended)}, map[string]string{"a.py": "x = 2\n", "new/b.py": "y = 1\n"})
	if doc.Exit != run.ExitApproval || doc.Outcome != run.OutcomeAwaiting || !strings.Contains(doc.Next, "agent runs apply "+doc.Run) {
		t.Errorf("exit %d, %q, %q", doc.Exit, doc.Outcome, doc.Next)
	}
	b.Untouched(t)
	found, err := b.DB.Run(t.Context(), doc.Run)
	if err != nil {
		t.Fatal(err)
	}
	cand, err := b.DB.Proven(t.Context(), doc.Run)
	if err != nil {
		t.Fatal(err)
	}
	applied := b.Runner.Apply(t.Context(), run.Request{Workspace: b.Dir, Approver: runtest.Decide(run.Apply)}, run.Proven{
		Record: found.Record, Candidate: cand,
		AppliedBy: func(context.Context) (string, error) { return "", nil },
	})
	b.Ended(t, applied, run.Promoted, verify.Pass, run.ExitDone)
	if got := b.Tree(t); got["a.py"] != "x = 2\n" || got["new/b.py"] != "y = 1\n" {
		t.Errorf("the tree is %q", got)
	}
}

// A run that may only prove a change does not ask about it.
func TestWhatACommandMadeIsOnlyProved(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	doc := asked(t, b, run.Request{NoPromote: true}, map[string]string{"a.py": "x = 2\n"})
	b.Ended(t, doc, run.Done, verify.Pass, run.ExitDone)
	b.Untouched(t)
}

// A change that needs an approval of its own needs it for a command too.
func TestWhatACommandMadeIsHeld(t *testing.T) {
	t.Parallel()
	files := map[string]string{".github/workflows/ci.yml": "on: push\n"}
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	yes := byPolicy{}
	doc := asked(t, b, run.Request{Approver: yes}, files)
	if doc.Exit != run.ExitApproval || doc.Error == nil || !strings.Contains(doc.Error.Message, ".github/workflows/ci.yml") {
		t.Errorf("exit %d, %+v", doc.Exit, doc.Error)
	}
	b.Untouched(t)
	doc = asked(t, b, run.Request{Approver: yes, Allow: []string{policy.CI}}, files)
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
}

// byPolicy approves as --yes does.
type byPolicy struct{}

func (byPolicy) Approve(context.Context, run.Proposal) (run.Answer, error) {
	return run.Answer{Decision: run.Apply, By: "--yes"}, nil
}

// A person at the checkpoint may edit what the command made, and the result is judged again.
func TestAPersonEditsWhatACommandMade(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	who := runtest.Person(run.Answer{Decision: run.Amend, Response: []byte(runtest.Only("x = 2", "x = 5"))})
	doc := asked(t, b, run.Request{Approver: who}, map[string]string{"a.py": "x = 2\n"})
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if got := b.Tree(t)["a.py"]; got != "x = 5\n" || len(doc.Candidates) != 2 {
		t.Errorf("a.py is %q after %d candidates", got, len(doc.Candidates))
	}
	if first := string(who.Seen[0].Response); !strings.HasPrefix(first, "diff --git a/a.py b/a.py\n") || who.Seen[0].Again {
		t.Errorf("the checkpoint shows %q", first)
	}
}
