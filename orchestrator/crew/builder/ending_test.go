package builder_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/forge/commit"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/verify"
)

const accepts = `{"accepted": true, "findings": [], "next": []}`

// errGone is the error of an unavailable database.
var errGone = errors.New("the database is away")

// A mortal keeps plans until it dies: it records nothing from the first attempt on for which dies reports true.
type mortal struct {
	builder.Plans
	dies func(builder.Attempt) bool
	// last, if not nil, reports whether an attempt is the last one to be recorded.
	last func(builder.Attempt) bool
	dead atomic.Bool
}

// SaveAttempt implements builder.Plans.
func (m *mortal) SaveAttempt(ctx context.Context, a builder.Attempt) error {
	if m.dead.Load() || m.dies(a) {
		m.dead.Store(true)
		return errGone
	}
	err := m.Plans.SaveAttempt(ctx, a)
	if m.last != nil && m.last(a) {
		m.dead.Store(true)
	}
	return err
}

// SavePlan implements builder.Plans.
func (m *mortal) SavePlan(ctx context.Context, p crew.Plan, owner string) error {
	if m.dead.Load() {
		return errGone
	}
	return m.Plans.SavePlan(ctx, p, owner)
}

// kept returns the recorded plan for the next process, which knows that the previous one is dead.
func (s *site) kept(t *testing.T, id int64) crew.Plan {
	t.Helper()
	p, err := s.DB.Plans().Plan(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// twice returns a site with a plan of three tasks: two change the same line one after the other, the third changes another file.
func twice(t *testing.T, j runtest.Judge) *site {
	t.Helper()
	s := newSite(t, map[string]string{"b.py": "b = 1\n"}, j)
	s.model.planner = []string{planOf(1, "one|a.py", "two|a.py||1", "three|b.py")}
	s.model.work = map[string][]string{
		"one": {edits("a.py", "x = 1", "x = 2")}, "two": {edits("a.py", "x = 2", "x = 3")}, "three": {edits("b.py", "b = 1", "b = 2")},
	}
	return s
}

// An accepted answer is recorded before the plan contains it, so a process that dies in between does not pay for it twice.
func TestAnAcceptedPlanIsNotAskedForTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	s.model.planner = []string{planOf(1, "one|a.py"), planOf(20, "other|a.py")}
	s.model.work = map[string][]string{"one": {edits("a.py", "x = 9", "x = 2")}, "other": {edits("a.py", "x = 1", "x = 2")}}
	s.b.Plans = &mortal{Plans: s.DB.Plans(), dies: func(builder.Attempt) bool { return false }, last: func(a builder.Attempt) bool {
		return a.Kind == builder.PlanKind && a.Task == 1 && a.Outcome == builder.Passed
	}}
	res := s.b.Build(t.Context(), s.request(), s.plan(t))
	if res.Exit == 0 || s.model.counts["planner"] != 2 {
		t.Fatalf("exit %d: %+v, asked %v", res.Exit, res.Error, s.model.counts)
	}
	s.builder(t)
	res = s.b.Build(t.Context(), s.request(), s.kept(t, res.Plan.ID))
	if res.Exit != 0 || states(res.Plan) != "1 replaced, 2 done" || s.model.counts["planner"] != 2 {
		t.Fatalf("%s, exit %d: %+v, asked %v", states(res.Plan), res.Exit, res.Error, s.model.counts)
	}
	s.holds(t, map[string]string{"a.py": "x = 2\n"})
}

// A process may die at any write about an attempt. The next one gives the same files, repeats no recorded judgement or question, and the
// plan records its outcome.
func TestAProcessDiesBeforeItsWordIsWritten(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]func(builder.Attempt) bool{
		"before a task passed":         func(a builder.Attempt) bool { return a.Kind == builder.TaskKind && a.Outcome == builder.Passed },
		"before the review is begun":   func(a builder.Attempt) bool { return a.Kind == builder.ReviewKind },
		"before the review is ended":   func(a builder.Attempt) bool { return a.Kind == builder.ReviewKind && a.Outcome != "" },
		"before the delivery is begun": func(a builder.Attempt) bool { return a.Kind == builder.DeliverKind },
		"after the promotion":          func(a builder.Attempt) bool { return a.Kind == builder.DeliverKind && a.Outcome != "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := twice(t, nil)
			s.b.NoReview, s.model.reviewer = false, []string{accepts}
			s.b.Plans = &mortal{Plans: s.DB.Plans(), dies: dies}
			res := s.b.Build(t.Context(), s.request(), s.plan(t))
			if res.Exit == 0 || res.Error == nil || !strings.Contains(res.Error.Message, errGone.Error()) {
				t.Fatalf("exit %d: %+v", res.Exit, res.Error)
			}
			s.builder(t)
			s.b.NoReview = false
			p := s.kept(t, res.Plan.ID)
			res = s.b.Build(t.Context(), s.request(), p)
			if p = s.kept(t, p.ID); res.Exit != 0 || p.State != crew.Delivered || p.Owner != "" || p.Run == "" || p.Why != "" || states(p) != "1 done, 2 done, 3 done" {
				t.Errorf("%s, %s of run %q (%s), exit %d: %+v", p.State, states(p), p.Run, p.Why, res.Exit, res.Error)
			}
			s.holds(t, map[string]string{"a.py": "x = 3\n", "b.py": "b = 2\n"})
			for who, n := range s.model.counts {
				if n != 1 {
					t.Errorf("%s was asked %d times", who, n)
				}
			}
		})
	}
}

// If a plan stops after its review, it is reviewed again only if something has changed since.
func TestAReviewIsKeptWhileTheWholeIsTheSame(t *testing.T) {
	t.Parallel()
	for _, edited := range []bool{false, true} {
		s := twice(t, nil)
		s.Write(t, "b.py", "b = 1\nc = 1\n")
		s.b.NoReview, s.model.reviewer = false, []string{accepts}
		s.b.Step = func(_ context.Context, step builder.Step) (builder.StepAnswer, error) {
			return builder.StepAnswer{Abort: step.Kind == builder.DeliverKind}, nil
		}
		res := s.b.Build(t.Context(), s.request(), s.plan(t))
		if res.Exit != run.ExitCancelled || s.kept(t, res.Plan.ID).State != crew.Paused {
			t.Fatalf("%s, exit %d: %+v", res.Plan.State, res.Exit, res.Error)
		}
		want, b := 1, "b = 2\nc = 1\n"
		if edited {
			s.Write(t, "b.py", "b = 1\nc = 1\nmine = 1\n")
			want, b = 2, "b = 2\nc = 1\nmine = 1\n"
		}
		s.b.Step = nil
		if res = s.b.Build(t.Context(), s.request(), res.Plan); res.Exit != 0 || s.model.counts["reviewer"] != want {
			t.Errorf("edited %t: reviewed %d times, exit %d: %+v", edited, s.model.counts["reviewer"], res.Exit, res.Error)
		}
		s.holds(t, map[string]string{"a.py": "x = 3\n", "b.py": b})
	}
}

// Asking again does not change a refused review: a person who delivers despite it pays for no other one.
func TestARefusalIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	s := twice(t, nil)
	s.b.NoReview, s.model.reviewer = false, []string{`{"accepted": false, "findings": [{"severity": "major", "text": "no"}], "next": []}`, accepts}
	res := s.b.Build(t.Context(), s.request(), s.plan(t))
	for _, despite := range []bool{false, true} {
		if res.Exit != run.ExitApproval || res.Plan.State != crew.Awaiting {
			t.Fatalf("%s, exit %d: %+v", res.Plan.State, res.Exit, res.Error)
		}
		s.b.Despite = despite
		res = s.b.Build(t.Context(), s.request(), res.Plan)
	}
	if res.Exit != 0 || s.model.counts["reviewer"] != 1 {
		t.Errorf("reviewed %d times, exit %d: %+v", s.model.counts["reviewer"], res.Exit, res.Error)
	}
}

// If a model's budget runs out, the plan waits, whichever role was asked. Answers are kept, and the plan continues with more budget.
func TestABudgetThatEndsStopsThePlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		empty  func(*crowd) // removes the answers
		fill   func(*crowd)
		states string
	}{
		"the reviewer's": {func(c *crowd) { c.reviewer = nil }, func(c *crowd) { c.reviewer = []string{accepts} }, "1 done, 2 done, 3 done"},
		"a worker's": {
			func(c *crowd) { delete(c.work, "two") },
			func(c *crowd) { c.work["two"] = []string{edits("a.py", "x = 2", "x = 3")} }, "1 done, 2 waiting, 3 done",
		},
		"the planner's, asked for another way": {
			func(c *crowd) { c.work["two"], c.planner = []string{"no edit"}, nil },
			func(c *crowd) {
				c.planner = []string{planOf(9, "other|a.py||1")}
				c.work["other"] = []string{edits("a.py", "x = 2", "x = 3")}
			}, "1 done, 2 waiting, 3 done",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := twice(t, nil)
			s.b.NoReview, s.model.reviewer = false, []string{accepts}
			p := s.plan(t)
			c.empty(s.model)
			res := s.b.Build(t.Context(), s.request(), p)
			if res.Exit != run.ExitBudget || res.Plan.State != crew.Paused || states(res.Plan) != c.states || res.Error.Next == "" {
				t.Fatalf("%s, %s, exit %d: %+v", res.Plan.State, states(res.Plan), res.Exit, res.Error)
			}
			if kept := s.kept(t, p.ID); kept.State != crew.Paused || kept.Owner != "" || kept.Why != res.Error.Message || states(kept) != c.states {
				t.Errorf("the record has %s of %q, %s: %s", kept.State, kept.Owner, states(kept), kept.Why)
			}
			s.holds(t, map[string]string{"a.py": "x = 1\n", "b.py": "b = 1\n"})
			c.fill(s.model)
			if res = s.b.Build(t.Context(), s.request(), res.Plan); res.Exit != 0 || res.Plan.State != crew.Delivered {
				t.Fatalf("%s, exit %d: %+v", res.Plan.State, res.Exit, res.Error)
			}
			s.holds(t, map[string]string{"a.py": "x = 3\n", "b.py": "b = 2\n"})
		})
	}
}

// A partial delivery must contain something: a plan without a finished task is not delivered.
func TestNothingOfAPlanIsNoPartOfIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, runtest.Says(verify.Fail))
	s.b.Partial = true
	s.model.planner = []string{planOf(1, "one|a.py"), "no"}
	s.model.work = map[string][]string{"one": {edits("a.py", "x = 1", "x = 2")}}
	res := s.b.Build(t.Context(), s.request(), s.plan(t))
	if kept := s.kept(t, res.Plan.ID); res.Exit != run.ExitFail || kept.State != crew.Failed || states(kept) != "1 failed" || !strings.Contains(kept.Why, "task 1") {
		t.Errorf("%s, %s (%s), exit %d: %+v", kept.State, states(kept), kept.Why, res.Exit, res.Error)
	}
	s.Untouched(t)
}

// A person's permissions for the whole combine: a part is delivered without a review, a held task is left out of it, and only despite
// delivers what a review refused.
func TestWordsOfAPersonGoTogether(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outside, despite, partial bool
		exit                      int
		state                     crew.PlanState
		states                    string
		reviews                   int
		a, b                      string
	}{
		"none":                         {false, false, false, run.ExitApproval, crew.Failed, "1 held, 2 done", 0, "x = 1\n", "b = 1\n"},
		"partial":                      {false, false, true, 0, crew.Delivered, "1 held, 2 done", 0, "x = 1\n", "b = 2\n"},
		"partial despite":              {false, true, true, 0, crew.Delivered, "1 held, 2 done", 0, "x = 1\n", "b = 2\n"},
		"despite":                      {false, true, false, run.ExitApproval, crew.Failed, "1 held, 2 done", 0, "x = 1\n", "b = 1\n"},
		"outside":                      {true, false, false, run.ExitApproval, crew.Awaiting, "1 done, 2 done", 1, "x = 1\n", "b = 1\n"},
		"outside partial":              {true, false, true, run.ExitApproval, crew.Awaiting, "1 done, 2 done", 1, "x = 1\n", "b = 1\n"},
		"outside despite the review":   {true, true, false, 0, crew.Delivered, "1 done, 2 done", 1, "x = 2\n", "b = 2\n"},
		"outside, partial and despite": {true, true, true, 0, crew.Delivered, "1 done, 2 done", 1, "x = 2\n", "b = 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"b.py": "b = 1\n", "c.py": "c = 1\n"}, nil)
			s.b.NoReview, s.b.Outside, s.b.Despite, s.b.Partial = false, c.outside, c.despite, c.partial
			s.model.reviewer = []string{`{"accepted": false, "findings": [{"severity": "major", "text": "no"}], "next": []}`}
			s.model.planner = []string{planOf(1, "one|a.py", "two|b.py")}
			s.model.work = map[string][]string{"one": {edits("a.py", "x = 1", "x = 2", "c.py", "c = 1", "c = 2")}, "two": {edits("b.py", "b = 1", "b = 2")}}
			res := s.b.Build(t.Context(), s.request(), s.plan(t))
			kept := s.kept(t, res.Plan.ID)
			if res.Exit != c.exit || kept.State != c.state || states(kept) != c.states || s.model.counts["reviewer"] != c.reviews {
				t.Errorf("%s, %s, %d reviews, exit %d: %+v", kept.State, states(kept), s.model.counts["reviewer"], res.Exit, res.Error)
			}
			other := "c = 1\n"
			if c.a != "x = 1\n" {
				other = "c = 2\n"
			}
			s.holds(t, map[string]string{"a.py": c.a, "b.py": c.b, "c.py": other})
		})
	}
}

// Two concurrent tasks change the same lines, or do not pass together. The second is tried again on the result of the first, and learns
// why.
func TestWhatDoesNotGoTogetherIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		two    string // the second task's first answer
		judged func(a, b string) bool
		told   string
	}{
		"the same lines":      {edits("b.py", "b = 1", "b = 5", "a.py", "x = 1", "x = 9"), nil, "it clashes with what was done meanwhile"},
		"it does not compile": {edits("b.py", "b = 1", "b = 5"), func(a, b string) bool { return a == "x = 1\n" || b != "b = 5\n" }, "tests: fail"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *site
			first, second := make(chan bool), make(chan bool)
			var once sync.Once
			s = newSite(t, map[string]string{"b.py": "b = 1\n"}, func(ctx context.Context, req verify.Request) (verify.Report, error) {
				tree := req.Base.With(req.Changeset)
				a, _ := tree.ReadFile("a.py")
				b, _ := tree.ReadFile("b.py")
				// Both are judged before either lands, and task 1 lands first.
				if string(a) == "x = 2\n" && string(b) == "b = 1\n" {
					<-second
				}
				if string(b) == "b = 5\n" {
					once.Do(func() { close(second); <-first })
				}
				v := verify.Pass
				if c.judged != nil && !c.judged(string(a), string(b)) {
					v = verify.Fail
				}
				return runtest.Says(v)(ctx, req)
			})
			s.b.Outside = true
			s.b.Tell = func(n builder.Note) {
				if s.notes = append(s.notes, n.Text); n.Text == "task 1: done" {
					close(first)
				}
			}
			s.model.planner = []string{planOf(1, "one|a.py", "two|b.py")}
			s.model.work = map[string][]string{"one": {edits("a.py", "x = 1", "x = 2")}, "two": {c.two, edits("b.py", "b = 1", "b = 6")}}
			res := s.b.Build(t.Context(), s.request(), s.plan(t))
			if res.Exit != 0 || states(res.Plan) != "1 done, 2 done" || res.Plan.Task(2).Tries != 2 {
				t.Fatalf("%s, exit %d: %+v\n%s", states(res.Plan), res.Exit, res.Error, strings.Join(s.notes, "\n"))
			}
			s.holds(t, map[string]string{"a.py": "x = 2\n", "b.py": "b = 6\n"})
			if q := s.model.asked[len(s.model.asked)-1]; !strings.Contains(q.Text, "An earlier try at this task was not accepted") || !strings.Contains(q.Text, c.told) {
				t.Errorf("the second try was told %s", q.Text)
			}
		})
	}
}

// A directory that replaces the workspace is not the workspace: nothing is written there, and the plan waits for the original.
func TestAnotherDirectoryInItsPlaceIsNotTheWorkspace(t *testing.T) {
	t.Parallel()
	s := twice(t, nil)
	away := s.Dir + "-away"
	t.Cleanup(func() { os.RemoveAll(away) })
	var once sync.Once
	s.model.before = func(q agent.Question) {
		if !strings.Contains(q.Text, "repository: two") {
			return
		}
		once.Do(func() {
			if err := errors.Join(os.Rename(s.Dir, away), os.Mkdir(s.Dir, 0o755)); err != nil {
				t.Error(err)
			}
			s.Write(t, "a.py", "x = 1\n")
			s.Write(t, "b.py", "b = 1\n")
		})
	}
	res := s.b.Build(t.Context(), s.request(), s.plan(t))
	if res.Exit != run.ExitConflict || res.Plan.State != crew.Paused || res.Plan.Left() == 0 {
		t.Fatalf("%s, %s, exit %d: %+v", res.Plan.State, states(res.Plan), res.Exit, res.Error)
	}
	s.holds(t, map[string]string{"a.py": "x = 1\n", "b.py": "b = 1\n"})
	if err := errors.Join(os.RemoveAll(s.Dir), os.Rename(away, s.Dir)); err != nil {
		t.Fatal(err)
	}
	if res = s.b.Build(t.Context(), s.request(), res.Plan); res.Exit != 0 || s.model.counts["planner"] != 1 || s.model.counts["three"] != 1 {
		t.Fatalf("asked %v, exit %d: %+v", s.model.counts, res.Exit, res.Error)
	}
	s.holds(t, map[string]string{"a.py": "x = 3\n", "b.py": "b = 2\n"})
}

// Only one of two builders gets a plan; two plans of one workspace that change different files are both delivered.
func TestTwoBuildersAtOnce(t *testing.T) {
	t.Parallel()
	s := twice(t, nil)
	s.model.planner = []string{s.model.planner[0], planOf(1, "three|b.py"), planOf(1, "five|a.py")}
	s.model.work["five"] = []string{edits("a.py", "x = 1", "x = 5")}
	first, same, other := s.plan(t), s.plan(t), s.plan(t)
	build := func(s site, p crew.Plan) builder.Result {
		s.builder(t)
		return s.b.Build(t.Context(), s.request(), p)
	}
	both := func(p, q crew.Plan) (list []builder.Result) {
		list = make([]builder.Result, 2)
		var work sync.WaitGroup
		for i, p := range []crew.Plan{p, q} {
			copied := *s
			work.Go(func() { list[i] = build(copied, p) })
		}
		work.Wait()
		return list
	}
	if got := both(first, first); min(got[0].Exit, got[1].Exit) != 0 || max(got[0].Exit, got[1].Exit) != run.ExitConflict {
		t.Fatalf("one plan ends with %+v, %+v", got[0].Error, got[1].Error)
	}
	s.holds(t, map[string]string{"a.py": "x = 3\n", "b.py": "b = 2\n"})
	// The workspace is reset: the second plan repeats part of the first, the third changes another file.
	s.Write(t, "a.py", "x = 1\n")
	s.Write(t, "b.py", "b = 1\n")
	for i, res := range both(same, other) {
		// If the other builder is writing at this moment, this one waits for a person.
		if res.Exit == run.ExitConflict && res.Plan.State == crew.Paused && strings.Contains(res.Error.Message, "has held this workspace") {
			res = build(*s, res.Plan)
		}
		if res.Exit != 0 {
			t.Errorf("plan %d of different files ends with %+v", i, res.Error)
		}
	}
	s.holds(t, map[string]string{"a.py": "x = 5\n", "b.py": "b = 2\n"})
}

// Each task becomes a commit that names it. A file that one task creates and a later one drops is in the history, not in the result.
func TestEachTaskIsACommit(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"b.py": "b = 1\n"}, nil)
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@x"}, args...)...)
		cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimRight(string(out), "\n")
	}
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-q", "-m", "first")
	s.b.Parallel = 1
	s.model.planner = []string{planOf(1, "one||tmp.py", "two|a.py||1", "three|b.py tmp.py||1 2")}
	s.model.work = map[string][]string{
		"one": {file("tmp.py", "t = 1")}, "two": {edits("a.py", "x = 1", "x = 2")},
		"three": {edits("b.py", "b = 1", "b = 2") + `<DELETE_FILE path="tmp.py"/>`},
	}
	p := s.plan(t)
	for i := range p.Tasks {
		p.Tasks[i].Message = fmt.Sprintf("Step %d\n\nWhy.", i+1)
	}
	if err := s.DB.Plans().SavePlan(t.Context(), p, ""); err != nil {
		t.Fatal(err)
	}
	req := s.request()
	req.Commit = &run.CommitOrder{By: commit.Identity{Name: "Ann", Email: "ann@example.org"}, Message: func(context.Context, run.CommitAbout) string {
		return builder.LastMessage(s.kept(t, p.ID)) + "\n"
	}}
	old := git("rev-parse", "HEAD")
	// Files that only an intermediate step has are checked too, and a person's work is not committed along with them.
	s.Write(t, "tmp.py", "mine = 1\n")
	res := s.b.Build(t.Context(), req, p)
	if res.Exit == 0 || git("rev-parse", "HEAD") != old || git("for-each-ref", "refs/agent") != "" {
		t.Fatalf("%s, exit %d: %+v", states(res.Plan), res.Exit, res.Error)
	}
	if err := os.Remove(filepath.Join(s.Dir, "tmp.py")); err != nil {
		t.Fatal(err)
	}
	res = s.b.Build(t.Context(), req, res.Plan)
	if res.Exit != 0 || res.Plan.State != crew.Delivered || res.Document == nil || res.Document.Commit == nil {
		t.Fatalf("%s, exit %d: %+v\n%s", states(res.Plan), res.Exit, res.Error, strings.Join(s.notes, "\n"))
	}
	want := "Step 1 [%d, task 1] A tmp.py; Step 2 [%d, task 2] M a.py; Step 3 [] M b.py D tmp.py"
	log := git("log", "--reverse", "--name-status", "--format=;%s [%(trailers:key=Agent-Plan,valueonly,separator=)]", old+"..HEAD")
	if got := strings.Trim(strings.ReplaceAll(strings.Join(strings.Fields(log), " "), " ;", "; "), ";"); got != fmt.Sprintf(want, p.ID, p.ID) {
		t.Errorf("committed %s\nwant      %s", got, fmt.Sprintf(want, p.ID, p.ID))
	}
	if got := git("status", "--porcelain", "--", ".", ":!.agent") + git("for-each-ref", "refs/agent"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "tmp.py")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("tmp.py is there: %v", err)
	}
}
