package builder_test

import (
	"context"
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/tournament"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A reviewing planner plans the review of a file if the request has no goal.
type reviewing struct{ planner }

// Plan implements tournament.Planner.
func (r reviewing) Plan(ctx context.Context, base *workspace.Manifest, req run.Request) (tournament.Plan, error) {
	p, err := r.planner.Plan(ctx, base, req)
	if req.Goal == "" {
		p.Task.Kind = agent.Patch
	}
	return p, err
}

// audited returns a site with files a.py, b.py and c.py, whose reviewer gives these answers, listed by file.
func audited(t *testing.T, answers map[string]string, j runtest.Judge) *site {
	t.Helper()
	s := newSite(t, map[string]string{"b.py": "y = 1\n", "c.py": "z = 1\n"}, j)
	s.audits(answers)
	return s
}

// audits makes the builder of a site ask a reviewer with these answers, listed by file.
func (s *site) audits(answers map[string]string) {
	crewed := s.b.Crew
	s.b.Crew = func(a builder.Attempt, role crew.Role, emit func(agent.Progress)) (tournament.Crew, error) {
		made, err := crewed(a, role, emit)
		made.Engineer.Model, made.Planner = auditor{s, answers}, reviewing{}
		return made, err
	}
}

// An auditor answers according to the file that it reviews.
type auditor struct {
	*site
	answers map[string]string
}

// Ask implements agent.Model.
func (a auditor) Ask(_ context.Context, q agent.Question) (agent.Reply, error) {
	a.model.mu.Lock()
	defer a.model.mu.Unlock()
	a.model.asked = append(a.model.asked, q)
	for file, text := range a.answers {
		if strings.HasPrefix(q.Text, "Review `"+file+"`") || strings.HasPrefix(q.Text, "Review "+file) {
			return agent.Reply{Text: text, Model: "auditor/1"}, nil
		}
	}
	return agent.Reply{Text: "Still wrong.", Model: "auditor/1"}, nil
}

// All files are reviewed. The corrections of two become one change with one approval; the third file stays unchanged.
func TestAllFilesAreReviewedIntoOneChange(t *testing.T) {
	t.Parallel()
	answers := map[string]string{"a.py": edits("a.py", "x = 1", "x = 2"), "b.py": "NOTHING", "c.py": edits("c.py", "z = 1", "z = 2")}
	s := audited(t, answers, nil)
	p, more, problem := s.b.Audit(t.Context(), s.request())
	if problem != nil || more != 0 || len(p.Tasks) != 3 || len(s.model.asked) != 0 {
		t.Fatalf("%+v, %d more, %d tasks, asked %d", problem, more, len(p.Tasks), len(s.model.asked))
	}
	approved := 0
	req := s.request()
	given := req.Approver
	req.Approver = counting{given, &approved}
	res := s.b.Build(t.Context(), req, p)
	if res.Exit != 0 || res.Plan.State != crew.Delivered || states(res.Plan) != "1 done, 2 done, 3 done" || approved != 1 {
		t.Fatalf("%s, exit %d, approved %d times: %+v\n%s", states(res.Plan), res.Exit, approved, res.Error, strings.Join(s.notes, "\n"))
	}
	s.holds(t, map[string]string{"a.py": "x = 2\n", "b.py": "y = 1\n", "c.py": "z = 2\n"})
	if b := res.Plan.Task(2); b.Landed != 0 || b.Why != "nothing had to be changed" || b.Tries != 1 {
		t.Errorf("task 2 is %+v", b)
	}
	// Carrying it out again from the record gives the same result.
	s.Write(t, "a.py", "x = 1\n")
	s.Write(t, "c.py", "z = 1\n")
	again, problem := s.b.Again(t.Context(), s.Dir, res.Plan)
	if problem != nil {
		t.Fatalf("%+v", problem)
	}
	if res = s.b.Build(t.Context(), s.request(), again); res.Exit != 0 || len(res.Differs) > 0 {
		t.Errorf("exit %d: %+v\n%s", res.Exit, res.Error, strings.Join(res.Differs, "\n"))
	}
}

// A failed review is not planned again. With Partial the passing ones are delivered; without it nothing is.
func TestAReviewThatDoesNotPassIsLeftOut(t *testing.T) {
	t.Parallel()
	answers := map[string]string{"a.py": edits("a.py", "x = 1", "x = 2"), "b.py": edits("b.py", "y = 1", "y = ("), "c.py": "NOTHING"}
	s := audited(t, answers, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		if text, err := req.Base.With(req.Changeset).ReadFile("b.py"); err == nil && strings.Contains(string(text), "(") {
			return runtest.Says(verify.Fail)(ctx, req)
		}
		return runtest.Says(verify.Pass)(ctx, req)
	})
	p, _, problem := s.b.Audit(t.Context(), s.request())
	if problem != nil {
		t.Fatalf("%+v", problem)
	}
	res := s.b.Build(t.Context(), s.request(), p)
	if res.Exit != run.ExitFail || states(res.Plan) != "1 done, 2 failed, 3 done" || res.Plan.Replanned != 0 {
		t.Fatalf("%s, exit %d: %+v\n%s", states(res.Plan), res.Exit, res.Error, strings.Join(s.notes, "\n"))
	}
	s.holds(t, map[string]string{"a.py": "x = 1\n", "b.py": "y = 1\n", "c.py": "z = 1\n"})
	s.b.Partial = true
	if res = s.b.Build(t.Context(), s.request(), res.Plan); res.Exit != 0 {
		t.Fatalf("exit %d: %+v", res.Exit, res.Error)
	}
	s.holds(t, map[string]string{"a.py": "x = 2\n", "b.py": "y = 1\n", "c.py": "z = 1\n"})
}

// counting counts the questions to an approver.
type counting struct {
	run.Approver
	n *int
}

// Approve implements run.Approver.
func (c counting) Approve(ctx context.Context, p run.Proposal) (run.Answer, error) {
	*c.n++
	return c.Approver.Approve(ctx, p)
}
