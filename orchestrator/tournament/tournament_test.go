package tournament_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"agent/images"
	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/sandbox"
	"agent/verify"
	"agent/verify/room"
)

func TestAGoalIsProposedProvedAndPromoted(t *testing.T) {
	t.Parallel()
	b, m := runtest.Hunt(t, runtest.Wants("x = 2\n"), map[string]string{"propose/1": runtest.Only("x = 1", "x = 2")})
	doc := b.Run(t.Context(), b.Goal())
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if got := b.Tree(t)["a.py"]; got != "x = 2\n" {
		t.Errorf("a.py is %q", got)
	}
	if m.Steps() != "propose/1" || !strings.Contains(m.Asked[0].Text, "make x two") || !strings.Contains(m.Asked[0].Text, "x = 1") {
		t.Errorf("asked %s:\n%s", m.Steps(), m.Asked[0].Text)
	}
	want := "queued analyzing planning proposing verifying awaiting_approval promoting promoted promoted"
	if got := strings.Trim(fmt.Sprint(b.States), "[]"); got != want {
		t.Errorf("went through %s", got)
	}
}

// TestAFailureIsRepairedOnTheBrokenCode goes through a refused answer, a failing candidate and two repairs; the second builds on the
// first.
func TestAFailureIsRepairedOnTheBrokenCode(t *testing.T) {
	t.Parallel()
	b, m := runtest.Hunt(t, runtest.Wants("x = 2\n"), map[string]string{
		"propose/1": runtest.Only("x = 9", "x = 2"), // matches nowhere
		"heal/1.1":  runtest.Only("x = 1", "x = 5"), // fails lint
		"heal/1.2":  runtest.Only("x = 5", "x = 6"), // made from the broken code, fails again
		"heal/1.3":  runtest.Only("x = 6", "x = 2"),
	})
	doc := b.Run(t.Context(), b.Goal())
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if len(doc.Candidates) != 4 || m.Steps() != "propose/1 heal/1.1 heal/1.2 heal/1.3" {
		t.Errorf("%d candidates after %s", len(doc.Candidates), m.Steps())
	}
	for i, want := range []string{"x = 1\n", "x = 5\n", "x = 6\n"} {
		if q := m.Asked[i+1]; !strings.Contains(q.Text, " a.py\n"+want) || !strings.Contains(q.Text, "make x two") {
			t.Errorf("repair %d does not show the code as it is, %q:\n%s", i+1, want, q.Text)
		}
	}
	if !strings.Contains(m.Asked[1].Text, "text not found in the file") || !strings.Contains(m.Asked[2].Text, "not as wanted") {
		t.Error("a repair does not say what was wrong")
	}
	if diff := doc.Promotion.Diff; !strings.Contains(diff, "-x = 1\n+x = 2") {
		t.Errorf("the promotion is not made from the base:\n%s", diff)
	}
}

func TestRepairsEnd(t *testing.T) {
	t.Parallel()
	b, m := runtest.Hunt(t, runtest.Wants("x = 2\n"), map[string]string{
		"propose/1": runtest.Only("x = 1", "x = 5"), "heal/1.1": "nonsense", "heal/1.2": runtest.Only("x = 9", "x = 2"), "heal/1.3": runtest.Only("x = 5", "x = 7"), "heal/1.4": runtest.Only("x = 7", "x = 2"),
	})
	doc := b.Run(t.Context(), b.Goal())
	b.Ended(t, doc, run.Rejected, verify.Fail, run.ExitFail)
	b.Untouched(t)
	if m.Steps() != "propose/1 heal/1.1 heal/1.2 heal/1.3" || len(doc.Candidates) != 4 {
		t.Errorf("%d candidates after %s", len(doc.Candidates), m.Steps())
	}
}

// A comment is not an answer to a goal that does not ask for one. It is sent back before any gate runs.
func TestACommentIsNoFix(t *testing.T) {
	t.Parallel()
	for goal, want := range map[string]string{"make x two": "propose/1 heal/1.1", "add a comment to x": "propose/1"} {
		b, m := runtest.Hunt(t, runtest.Says(verify.Pass), map[string]string{
			"propose/1": runtest.Only("x = 1", "x = 1  # fixed: two"), "heal/1.1": runtest.Only("x = 1", "x = 2"),
		})
		req := b.Goal()
		req.Goal = goal
		doc := b.Run(t.Context(), req)
		b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
		if m.Steps() != want {
			t.Errorf("%s: asked %s", goal, m.Steps())
		}
		if len(m.Asked) > 1 && !strings.Contains(m.Asked[1].Text, "the change has no effect: it alters only comments") {
			t.Errorf("the repair does not say so:\n%s", m.Asked[1].Text)
		}
	}
}

func TestTheBestOfSeveralCandidatesIsPromoted(t *testing.T) {
	t.Parallel()
	b, _ := runtest.Hunt(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		if req.Changeset.Changes[0].Path == "a.py" && strings.Contains(string(req.Changeset.Changes[0].After), "x = 3") {
			return runtest.Says(verify.Fail)(ctx, req)
		}
		return runtest.Says(verify.Pass)(ctx, req)
	}, map[string]string{
		"propose/1": runtest.Only("x = 1", "x = 2\ny = 3\nz = 4"), "propose/2": runtest.Only("x = 1", "x = 2"), "propose/3": runtest.Only("x = 1", "x = 3"),
	})
	req := b.Goal()
	req.Candidates = 3
	doc := b.Run(t.Context(), req)
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if got := b.Tree(t)["a.py"]; got != "x = 2\n" || len(doc.Candidates) != 3 {
		t.Errorf("promoted %q of %d candidates", got, len(doc.Candidates))
	}
}

func TestTroubleOfTheGatesIsNotTheModelsToMend(t *testing.T) {
	t.Parallel()
	b, m := runtest.Hunt(t, runtest.Says(verify.Infra), map[string]string{"propose/1": runtest.Only("x = 1", "x = 2")})
	doc := b.Run(t.Context(), b.Goal())
	b.Ended(t, doc, run.Failed, verify.Infra, run.ExitInfra)
	b.Untouched(t)
	if m.Steps() != "propose/1" {
		t.Errorf("asked %s", m.Steps())
	}
}

func TestAModelThatStopsEndsTheRun(t *testing.T) {
	t.Parallel()
	b, _ := runtest.Hunt(t, runtest.Wants("x = 2\n"), map[string]string{"propose/1": runtest.Only("x = 1", "x = 5")})
	doc := b.Run(t.Context(), b.Goal())
	b.Ended(t, doc, run.Failed, verify.Budget, run.ExitBudget)
	b.Untouched(t)
	if !strings.Contains(doc.Error.Message, "the script ends at heal/1.1") {
		t.Errorf("%+v", doc.Error)
	}
}

func TestAnEditWhileTheWorkIsPlannedIsAConflict(t *testing.T) {
	t.Parallel()
	b, m := runtest.Hunt(t, runtest.Wants("x = 2\n"), nil)
	emit := b.Runner.Emit
	b.Runner.Emit = func(e run.Event) {
		if emit(e); e.State == run.Planning {
			b.Write(t, "a.py", "x = 1\n# mine\n")
		}
	}
	b.Ended(t, b.Run(t.Context(), b.Goal()), run.Conflicted, verify.Conflict, run.ExitConflict)
	if len(m.Asked) > 0 {
		t.Errorf("asked %s", m.Steps())
	}
}

func TestAPathThatNobodyMayWriteIsToldToTheModel(t *testing.T) {
	t.Parallel()
	b, m := runtest.Hunt(t, runtest.Wants("x = 2\n"), map[string]string{
		"propose/1": "<CREATE_FILE path=\".git/hooks/post-commit\">\nevil\n</CREATE_FILE>", "heal/1.1": runtest.Only("x = 1", "x = 2"),
	})
	doc := b.Run(t.Context(), b.Goal())
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if !strings.Contains(m.Asked[1].Text, ".git") {
		t.Errorf("the repair does not say which path:\n%s", m.Asked[1].Text)
	}
	if got := b.Tree(t); len(got) != 1 {
		t.Errorf("the workspace is %v", got)
	}
}

func TestNothingToChangeIsNoFailureOfAReview(t *testing.T) {
	t.Parallel()
	b, _ := runtest.Hunt(t, runtest.Says(verify.Pass), map[string]string{"propose/1": "<THOUGHT>fine</THOUGHT>\nNOTHING"})
	req := b.Goal()
	req.Goal = ""
	b.Ended(t, b.Run(t.Context(), req), run.Rejected, verify.Pass, run.ExitDone)
	b.Untouched(t)
	other, _ := runtest.Hunt(t, runtest.Says(verify.Pass), map[string]string{"propose/1": "NOTHING"})
	other.Ended(t, other.Run(t.Context(), other.Goal()), run.Rejected, verify.Fail, run.ExitFail)
}

func TestACancelledHuntLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b, _ := runtest.Hunt(t, func(ctx context.Context, _ verify.Request) (verify.Report, error) {
		cancel()
		return verify.Report{}, ctx.Err()
	}, map[string]string{"propose/1": runtest.Only("x = 1", "x = 2")})
	b.Ended(t, b.Run(ctx, b.Goal()), run.Cancelled, verify.Cancelled, run.ExitCancelled)
	b.Untouched(t)
}

// wishes records the boxes that are requested in advance, in order with other events of a test.
type wishes struct {
	noted []string
	specs []sandbox.Spec
}

func (w *wishes) Want(_ context.Context, spec sandbox.Spec, n int) {
	w.noted, w.specs = append(w.noted, fmt.Sprint("want ", n)), append(w.specs, spec)
}

// TestBoxesAreStartedWhileTheModelThinks checks that boxes are requested before each question, as many as its candidates may need, and
// given back before a person is asked.
func TestBoxesAreStartedWhileTheModelThinks(t *testing.T) {
	t.Parallel()
	w := &wishes{}
	var judged verify.Request
	b, m := runtest.Hunt(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		w.noted, judged = append(w.noted, "judge"), req
		return runtest.Wants("x = 2\n")(ctx, req)
	}, map[string]string{"propose/1": runtest.Only("x = 1", "x = 5"), "heal/1.1": runtest.Only("x = 5", "x = 2")})
	m.Before = func(_ context.Context, q agent.Question) (agent.Question, error) {
		w.noted = append(w.noted, "ask")
		return q, nil
	}
	b.Runner.Boxes, b.Runner.Images = w, beside{}
	req := b.Goal()
	req.Config.Limits.PIDs = 77
	doc := b.Run(t.Context(), req)
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if got := strings.Join(w.noted, ", "); got != "want 3, ask, judge, want 3, ask, judge, want 0, want 0" {
		t.Errorf("in this order: %s", got)
	}
	for _, spec := range w.specs {
		want := sandbox.Spec{
			Image: judged.Snapshot, Delta: judged.Delta, Run: doc.Run, Lease: spec.Lease, Limits: room.For(judged.Config.Limits, judged.Base),
		}
		if spec != want || spec.Limits.PIDs != 77 || len(spec.Delta.Changes) != 1 {
			t.Errorf("wanted %+v, not what is judged in: %+v", spec, want)
		}
		if judged.Lease.Sub(spec.Lease).Abs() > time.Minute {
			t.Errorf("wanted until %s, and needed until %s", spec.Lease, judged.Lease)
		}
	}
}

// beside has an earlier snapshot, which contains one more file.
type beside struct{ runtest.Frozen }

func (beside) Near(context.Context, images.Image, images.Tree, string, func() images.Tree) (images.Image, images.Delta, error) {
	return images.Image{ID: "sha256:earlier"}, images.Delta{Delete: []string{"gone.py"}}, nil
}

// The watcher is told each candidate's result, even if no gate judged it. One of several candidates keeps its number while it is repaired
// alone.
func TestACandidateIsToldOfByItsNumber(t *testing.T) {
	t.Parallel()
	b, _ := runtest.Hunt(t, runtest.Wants("x = 2\n"), map[string]string{
		"propose/1": "NOTHING", "propose/2": runtest.Only("x = 9", "x = 2"), "heal/2.1": runtest.Only("x = 1", "x = 2"),
	})
	var told []string
	emit := b.Runner.Emit
	b.Runner.Emit = func(e run.Event) {
		emit(e)
		if e.Verdict != "" {
			why, _, _ := strings.Cut(e.Note, ":")
			told = append(told, strings.TrimSpace(fmt.Sprint(e.Candidate, " ", e.Verdict, " ", why)))
		}
	}
	req := b.Goal()
	req.Candidates = 2
	b.Ended(t, b.Run(t.Context(), req), run.Promoted, verify.Pass, run.ExitDone)
	if got := strings.Join(told, ", "); got != "2 fail edit, 2 pass" {
		t.Errorf("told %s", got)
	}
}
