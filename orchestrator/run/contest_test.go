package run_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify"
)

// script answers questions by their step; a step that is not in it ends the
// run. It keeps what was asked.
type script struct {
	mu      sync.Mutex
	answers map[string]string
	asked   []agent.Question
	before  func(context.Context, agent.Question) (agent.Question, error)
}

func (s *script) Ask(_ context.Context, q agent.Question) (agent.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q)
	text, ok := s.answers[q.Step]
	if !ok {
		return agent.Reply{}, &agent.StopError{Budget: true, Message: "the script ends at " + q.Step, Next: "write more of it"}
	}
	return agent.Reply{Text: text, Model: "script/1"}, nil
}

// checkpoint is what the test does before a question is sent, if anything.
func (s *script) checkpoint(ctx context.Context, q agent.Question) (agent.Question, error) {
	if s.before == nil {
		return q, nil
	}
	return s.before(ctx, q)
}

func (s *script) steps() string {
	var steps []string
	for _, q := range s.asked {
		steps = append(steps, q.Step)
	}
	return strings.Join(steps, " ")
}

// plans gives every run the same plan.
type plans run.Plan

func (p plans) Plan(_ context.Context, base *workspace.Manifest, req run.Request) (run.Plan, error) {
	text, err := base.ReadFile("a.py")
	p.Task.Brief.Code, p.Task.Brief.Goal = string(text), req.Goal
	plan := run.Plan(p)
	if req.Proposal != nil {
		req.Proposal.Aim(&plan)
	}
	return plan, err
}

// only answers a question with an edit of a.py.
func only(from, to string) string {
	return fmt.Sprintf("<THOUGHT>%s to %s</THOUGHT><EDIT file=\"a.py\"><SEARCH>\n%s\n</SEARCH><REPLACE>\n%s\n</REPLACE></EDIT>", from, to, from, to)
}

// hunt is a bench with an engineer who works by a script.
func hunt(t *testing.T, j judge, answers map[string]string) (*bench, *script) {
	t.Helper()
	b, m := setup(t, j), &script{answers: answers}
	prompts, err := agent.LoadPrompts(nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := plans{Why: "the test", Task: agent.Task{
		Fence: agent.NewFence("5f3c9a0e7b1d2468"), Kind: agent.Implement, Brief: agent.Brief{Target: "a.py", Language: "python"},
	}}
	b.runner.Crew = func(string, func(agent.Progress)) run.Crew {
		return run.Crew{Engineer: &agent.Engineer{Model: m, Prompts: prompts, Before: m.checkpoint}, Planner: plan}
	}
	return b, m
}

func (b *bench) goal() run.Request {
	return run.Request{Workspace: b.dir, Goal: "make x two", Approver: decide(run.Apply)}
}

// wants passes a candidate whose a.py is the text that is wanted.
func wants(text string) judge {
	return func(_ context.Context, req verify.Request) (verify.Report, error) {
		gate := verify.Gate{Name: "lint", Verdict: verify.Pass}
		got, err := req.Base.With(req.Changeset).ReadFile("a.py")
		if string(got) != text {
			gate.Verdict, gate.Findings = verify.Fail, []verify.Finding{{File: "a.py", Line: 1, Rule: "X1", Message: "not as wanted"}}
		}
		return verify.Report{Verdict: gate.Verdict, Gates: []verify.Gate{gate}, Changeset: req.Changeset}, err
	}
}

func TestAGoalIsProposedProvedAndPromoted(t *testing.T) {
	t.Parallel()
	b, m := hunt(t, wants("x = 2\n"), map[string]string{"propose/1": only("x = 1", "x = 2")})
	doc := b.runner.Run(t.Context(), b.goal())
	b.ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if got := b.tree(t)["a.py"]; got != "x = 2\n" {
		t.Errorf("a.py is %q", got)
	}
	if m.steps() != "propose/1" || !strings.Contains(m.asked[0].Text, "make x two") || !strings.Contains(m.asked[0].Text, "x = 1") {
		t.Errorf("asked %s:\n%s", m.steps(), m.asked[0].Text)
	}
	want := "queued analyzing planning proposing verifying awaiting_approval promoting promoted promoted"
	if got := strings.Trim(fmt.Sprint(b.states), "[]"); got != want {
		t.Errorf("went through %s", got)
	}
}

// TestAFailureIsRepairedOnTheBrokenCode goes through a refused answer, a
// failing candidate and two repairs, of which the second builds on the first.
func TestAFailureIsRepairedOnTheBrokenCode(t *testing.T) {
	t.Parallel()
	b, m := hunt(t, wants("x = 2\n"), map[string]string{
		"propose/1": only("x = 9", "x = 2"), // stands nowhere
		"heal/1.1":  only("x = 1", "x = 5"), // fails lint
		"heal/1.2":  only("x = 5", "x = 6"), // made from the broken code, fails again
		"heal/1.3":  only("x = 6", "x = 2"),
	})
	doc := b.runner.Run(t.Context(), b.goal())
	b.ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if len(doc.Candidates) != 4 || m.steps() != "propose/1 heal/1.1 heal/1.2 heal/1.3" {
		t.Errorf("%d candidates after %s", len(doc.Candidates), m.steps())
	}
	for i, want := range []string{"x = 1\n", "x = 5\n", "x = 6\n"} {
		if q := m.asked[i+1]; !strings.Contains(q.Text, " a.py\n"+want) || !strings.Contains(q.Text, "make x two") {
			t.Errorf("repair %d does not show the code as it is, %q:\n%s", i+1, want, q.Text)
		}
	}
	if !strings.Contains(m.asked[1].Text, "text not found in the file") || !strings.Contains(m.asked[2].Text, "not as wanted") {
		t.Error("a repair does not say what was wrong")
	}
	if diff := doc.Promotion.Diff; !strings.Contains(diff, "-x = 1\n+x = 2") {
		t.Errorf("the promotion is not made from the base:\n%s", diff)
	}
}

func TestRepairsEnd(t *testing.T) {
	t.Parallel()
	b, m := hunt(t, wants("x = 2\n"), map[string]string{
		"propose/1": only("x = 1", "x = 5"), "heal/1.1": "nonsense", "heal/1.2": only("x = 9", "x = 2"), "heal/1.3": only("x = 5", "x = 7"), "heal/1.4": only("x = 7", "x = 2"),
	})
	doc := b.runner.Run(t.Context(), b.goal())
	b.ended(t, doc, run.Rejected, verify.Fail, run.ExitFail)
	b.untouched(t)
	if m.steps() != "propose/1 heal/1.1 heal/1.2 heal/1.3" || len(doc.Candidates) != 4 {
		t.Errorf("%d candidates after %s", len(doc.Candidates), m.steps())
	}
}

func TestTheBestOfSeveralCandidatesIsPromoted(t *testing.T) {
	t.Parallel()
	b, _ := hunt(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		if req.Changeset.Changes[0].Path == "a.py" && strings.Contains(string(req.Changeset.Changes[0].After), "x = 3") {
			return says(verify.Fail)(ctx, req)
		}
		return says(verify.Pass)(ctx, req)
	}, map[string]string{
		"propose/1": only("x = 1", "x = 2\ny = 3\nz = 4"), "propose/2": only("x = 1", "x = 2"), "propose/3": only("x = 1", "x = 3"),
	})
	req := b.goal()
	req.Candidates = 3
	doc := b.runner.Run(t.Context(), req)
	b.ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if got := b.tree(t)["a.py"]; got != "x = 2\n" || len(doc.Candidates) != 3 {
		t.Errorf("promoted %q of %d candidates", got, len(doc.Candidates))
	}
}

func TestTroubleOfTheGatesIsNotTheModelsToMend(t *testing.T) {
	t.Parallel()
	b, m := hunt(t, says(verify.Infra), map[string]string{"propose/1": only("x = 1", "x = 2")})
	doc := b.runner.Run(t.Context(), b.goal())
	b.ended(t, doc, run.Failed, verify.Infra, run.ExitInfra)
	b.untouched(t)
	if m.steps() != "propose/1" {
		t.Errorf("asked %s", m.steps())
	}
}

func TestAModelThatStopsEndsTheRun(t *testing.T) {
	t.Parallel()
	b, _ := hunt(t, wants("x = 2\n"), map[string]string{"propose/1": only("x = 1", "x = 5")})
	doc := b.runner.Run(t.Context(), b.goal())
	b.ended(t, doc, run.Failed, verify.Budget, run.ExitBudget)
	b.untouched(t)
	if !strings.Contains(doc.Error.Message, "the script ends at heal/1.1") {
		t.Errorf("%+v", doc.Error)
	}
}

func TestAnEditWhileTheWorkIsPlannedIsAConflict(t *testing.T) {
	t.Parallel()
	b, m := hunt(t, wants("x = 2\n"), nil)
	emit := b.runner.Emit
	b.runner.Emit = func(e run.Event) {
		if emit(e); e.State == run.Planning {
			b.write(t, "a.py", "x = 1\n# mine\n")
		}
	}
	b.ended(t, b.runner.Run(t.Context(), b.goal()), run.Conflicted, verify.Conflict, run.ExitConflict)
	if len(m.asked) > 0 {
		t.Errorf("asked %s", m.steps())
	}
}

func TestAPathThatNobodyMayWriteIsToldToTheModel(t *testing.T) {
	t.Parallel()
	b, m := hunt(t, wants("x = 2\n"), map[string]string{
		"propose/1": "<CREATE_FILE path=\".git/hooks/post-commit\">\nevil\n</CREATE_FILE>", "heal/1.1": only("x = 1", "x = 2"),
	})
	doc := b.runner.Run(t.Context(), b.goal())
	b.ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if !strings.Contains(m.asked[1].Text, ".git") {
		t.Errorf("the repair does not say which path:\n%s", m.asked[1].Text)
	}
	if got := b.tree(t); len(got) != 1 {
		t.Errorf("the workspace is %v", got)
	}
}

func TestNothingToChangeIsNoFailureOfAReview(t *testing.T) {
	t.Parallel()
	b, _ := hunt(t, says(verify.Pass), map[string]string{"propose/1": "<THOUGHT>fine</THOUGHT>\nNOTHING"})
	req := b.goal()
	req.Goal = ""
	b.ended(t, b.runner.Run(t.Context(), req), run.Rejected, verify.Pass, run.ExitDone)
	b.untouched(t)
	other, _ := hunt(t, says(verify.Pass), map[string]string{"propose/1": "NOTHING"})
	other.ended(t, other.runner.Run(t.Context(), other.goal()), run.Rejected, verify.Fail, run.ExitFail)
}

func TestACancelledHuntLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b, _ := hunt(t, func(ctx context.Context, _ verify.Request) (verify.Report, error) {
		cancel()
		return verify.Report{}, ctx.Err()
	}, map[string]string{"propose/1": only("x = 1", "x = 2")})
	b.ended(t, b.runner.Run(ctx, b.goal()), run.Cancelled, verify.Cancelled, run.ExitCancelled)
	b.untouched(t)
}

// wishes notes which boxes were wanted ahead, among what else a test notes.
type wishes struct {
	noted []string
	specs []sandbox.Spec
}

func (w *wishes) Want(_ context.Context, spec sandbox.Spec, n int) {
	w.noted, w.specs = append(w.noted, fmt.Sprint("want ", n)), append(w.specs, spec)
}

// TestBoxesAreStartedWhileTheModelThinks: they are wanted before each question,
// as many as its candidates may need, and given back before a person is asked.
func TestBoxesAreStartedWhileTheModelThinks(t *testing.T) {
	t.Parallel()
	w := &wishes{}
	var judged verify.Request
	b, m := hunt(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		w.noted, judged = append(w.noted, "judge"), req
		return wants("x = 2\n")(ctx, req)
	}, map[string]string{"propose/1": only("x = 1", "x = 5"), "heal/1.1": only("x = 5", "x = 2")})
	m.before = func(_ context.Context, q agent.Question) (agent.Question, error) {
		w.noted = append(w.noted, "ask")
		return q, nil
	}
	b.runner.Boxes, b.runner.Images = w, beside{}
	req := b.goal()
	req.Config.Limits.PIDs = 77
	doc := b.runner.Run(t.Context(), req)
	b.ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if got := strings.Join(w.noted, ", "); got != "want 3, ask, judge, want 3, ask, judge, want 0, want 0" {
		t.Errorf("in this order: %s", got)
	}
	for _, spec := range w.specs {
		want := sandbox.Spec{
			Image: judged.Snapshot, Delta: judged.Delta, Run: doc.Run, Lease: spec.Lease, Limits: verify.RoomFor(judged.Config.Limits, judged.Base),
		}
		if spec != want || spec.Limits.PIDs != 77 || len(spec.Delta.Changes) != 1 {
			t.Errorf("wanted %+v, not what is judged in: %+v", spec, want)
		}
		if judged.Lease.Sub(spec.Lease).Abs() > time.Minute {
			t.Errorf("wanted until %s, and needed until %s", spec.Lease, judged.Lease)
		}
	}
}
