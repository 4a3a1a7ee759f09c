package builder_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/verify"
)

// taskFile returns a task file about a.py with these additional lines in its head.
func taskFile(head string) string {
	return "+++\nfiles = [\"a.py\"]\n" + head + "\n[accept]\ncommand = [\"./check\"]\ntext = \"x is 4\"\n+++\none: x becomes 4\n"
}

// looped carries out a task file and returns the result. The file is in the workspace as TASK.md.
func (s *site) looped(t *testing.T, text string) builder.Result {
	t.Helper()
	s.Write(t, "TASK.md", text)
	p, problem := s.b.Loop(t.Context(), s.Dir, "TASK.md", []byte(text), 0)
	if problem != nil {
		t.Fatalf("%+v", problem)
	}
	return s.b.Build(t.Context(), s.request(), p)
}

// checks returns a judge that accepts once a.py has this content.
func checks(s **site, want string) runtest.Judge {
	return func(ctx context.Context, req verify.Request) (verify.Report, error) {
		r, err := runtest.Says(verify.Pass)(ctx, req)
		for _, g := range req.Config.Gates {
			text, read := req.Base.With(req.Changeset).ReadFile("a.py")
			if g.Name == "accept-0" && (read != nil || string(text) != want) {
				return runtest.Says(verify.Fail)(ctx, req)
			}
		}
		return r, err
	}
}

// review returns a reviewer's answer with these steps; without steps it accepts.
func review(steps ...string) string {
	if len(steps) == 0 {
		return `{"accepted": true, "findings": [], "next": []}`
	}
	var next []string
	for _, s := range steps {
		next = append(next, `{"title": "`+s+`", "goal": "do it", "files": ["a.py"]}`)
	}
	return `{"accepted": false, "findings": [{"severity": "blocker", "file": "a.py", "text": "not all is done"}], "next": [` + strings.Join(next, ", ") + `]}`
}

// There are three loops. The first declares everything done; the review ignores that and disagrees, and its steps are the task of the
// next loop. The acceptance ends the run, and the host's tree changes once.
func TestALoopEndsByAcceptance(t *testing.T) {
	t.Parallel()
	var s *site
	s = newSite(t, map[string]string{"b.py": "b = 1\n"}, checks(&s, "x = 4\n"))
	s.b.NoReview = false
	s.model.work["one:"] = []string{
		"<THOUGHT>\nSTATUS: COMPLETE. All tests pass, nothing is left.\n</THOUGHT>\n" + edits("a.py", "x = 1", "x = 2"), edits("a.py", "x = 2", "x = 3"), edits("a.py", "x = 3", "x = 4"),
	}
	s.model.reviewer = []string{review("raise it to three"), review("raise it to four", "and look at it"), review()}
	s.model.before = func(agent.Question) {
		if got, err := os.ReadFile(filepath.Join(s.Dir, "a.py")); err != nil || string(got) != "x = 1\n" {
			t.Errorf("the workspace was touched before the end: %q, %v", got, err)
		}
	}
	res := s.looped(t, taskFile(""))
	if res.Exit != 0 || res.Plan.State != crew.Delivered || res.Plan.Ending != crew.EndAccepted || states(res.Plan) != "1 done, 2 done, 3 done" {
		t.Fatalf("%s, %q, exit %d: %+v\n%s", states(res.Plan), res.Plan.Ending, res.Exit, res.Error, strings.Join(s.notes, "\n"))
	}
	s.holds(t, map[string]string{"a.py": "x = 4\n", "b.py": "b = 1\n", "TASK.md": taskFile("")})
	var works, reviews []agent.Question
	for _, q := range s.model.asked {
		if q.Purpose == agent.ReviewWhole {
			reviews = append(reviews, q)
		} else {
			works = append(works, q)
		}
	}
	if len(works) != 3 || len(reviews) != 3 {
		t.Fatalf("%d executions, %d reviews", len(works), len(reviews))
	}
	for _, q := range reviews {
		if strings.Contains(q.Text, "COMPLETE") || !strings.Contains(q.Text, "x becomes 4") || !strings.Contains(q.Text, "+x = ") {
			t.Errorf("a review sees\n%s", q.Text)
		}
	}
	for i, want := range []string{"This is loop 1 of 5", "2. raise it to three", "2. raise it to four: do it\n3. and look at it"} {
		if !strings.Contains(works[i].Text, want) || strings.Contains(works[i].Text, "COMPLETE") {
			t.Errorf("execution %d is told\n%s\nwant %q", i+1, works[i].Text, want)
		}
	}
	if !strings.Contains(works[1].Text, "This is loop 2 of 5") || !strings.Contains(works[1].Text, "a.py") || !strings.Contains(reviews[0].Text, "It is not met") || !strings.Contains(reviews[2].Text, "a machine can tell is met") {
		t.Errorf("the harness says\n%s\n%s", works[1].Text, reviews[0].Text)
	}
	// Carrying it out again from the record gives the same result, without a model to ask.
	s.Write(t, "a.py", "x = 1\n")
	s.carriedOutAgain(t, res.Plan)
	s.holds(t, map[string]string{"a.py": "x = 4\n", "b.py": "b = 1\n", "TASK.md": taskFile("")})
}

// carriedOutAgain carries out a plan from its record, without a model to ask.
func (s *site) carriedOutAgain(t *testing.T, p crew.Plan) {
	t.Helper()
	asked := len(s.model.asked)
	s.builder(t)
	s.b.NoReview = false
	s.model.before, s.model.planner, s.model.reviewer, s.model.work = nil, nil, nil, nil
	again, problem := s.b.Again(t.Context(), s.Dir, p)
	if problem != nil {
		t.Fatalf("%+v", problem)
	}
	res := s.b.Build(t.Context(), s.request(), again)
	if res.Exit != 0 || len(res.Differs) > 0 || states(res.Plan) != states(p) || res.Plan.State != p.State {
		t.Fatalf("%s, exit %d: %+v\n%s\n%s", states(res.Plan), res.Exit, res.Error, strings.Join(res.Differs, "\n"), strings.Join(s.notes, "\n"))
	}
	if len(s.model.asked) != asked {
		t.Errorf("%d questions were asked", len(s.model.asked)-asked)
	}
}

// Each limit of a task file ends the loops, and the message names the limit.
func TestTheLimitsOfALoopAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		head   string
		work   []string
		review []string
		acts   builder.Actions
		ending string
		exit   int
		words  string
	}{
		"loops":       {"[limits]\nloops = 2", []string{edits("a.py", "x = 1", "x = 2"), edits("a.py", "x = 2", "x = 3")}, []string{review("more")}, builder.Actions{}, crew.EndLoops, run.ExitBudget, "limits.loops: the task is not done after 2 loops"},
		"no progress": {"", []string{"NOTHING"}, []string{review("more")}, builder.Actions{}, crew.EndNoProgress, run.ExitFail, "no progress: 2 loops in a row changed nothing"},
		"no edit":     {"", []string{edits("a.py", "x = 7", "x = 2")}, []string{review("more")}, builder.Actions{}, crew.EndNoProgress, run.ExitFail, "no progress"},
		"the file":    {"", []string{edits("TASK.md", "one: x becomes 4", "one: x becomes 1")}, []string{review("more")}, builder.Actions{}, crew.EndNoProgress, run.ExitFail, "no progress"},
		"a cap": {
			"[limits]\nloops = 1",
			[]string{edits("a.py", "x = 1", "x = 2")},
			[]string{review("more")},
			builder.Actions{List: []string{"run ./check: exit 1"}, Limits: []string{"limits.iterations: 30"}},
			crew.EndLoops, run.ExitBudget,
			"limits.loops: the task is not done after 1 loops",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *site
			s = newSite(t, nil, checks(&s, "x = 4\n"))
			s.b.NoReview = false
			s.b.Actions = func(context.Context, string) (builder.Actions, error) { return c.acts, nil }
			s.model.work["one:"], s.model.reviewer = c.work, c.review
			res := s.looped(t, taskFile(c.head))
			if res.Exit != c.exit || res.Plan.Ending != c.ending || res.Plan.State != crew.Failed || !strings.Contains(res.Error.Message, c.words) {
				t.Fatalf("%s, %q, exit %d: %+v\n%s", states(res.Plan), res.Plan.Ending, res.Exit, res.Error, strings.Join(s.notes, "\n"))
			}
			s.holds(t, map[string]string{"a.py": "x = 1\n", "TASK.md": taskFile(c.head)})
			kept, err := s.DB.Plans().Plan(t.Context(), res.Plan.ID)
			if err != nil || kept.Ending != c.ending || kept.Loop == nil || kept.Loop.SHA256 != res.Plan.Loop.SHA256 {
				t.Errorf("the record has %q, %+v, %v", kept.Ending, kept.Loop, err)
			}
			switch {
			case name == "the file" && !strings.Contains(res.Plan.Tasks[0].Why, "TASK.md, the task file"):
				t.Errorf("%+v", res.Plan.Tasks[0])
			case name == "a cap":
				seen := s.model.asked[len(s.model.asked)-1].Text
				if res.Plan.Tasks[0].Why != c.acts.Limits[0] || !strings.Contains(seen, "run ./check: exit 1") || !strings.Contains(seen, "A limit was reached: limits.iterations") {
					t.Errorf("%+v; the review sees\n%s", res.Plan.Tasks[0], seen)
				}
			}
		})
	}
}

// A loop continues where its process ended and pays for nothing twice; changes to the task file in the meantime are ignored.
func TestALoopIsCarriedOn(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 9; n++ {
		var s *site
		s = newSite(t, nil, checks(&s, "x = 3\n"))
		s.b.NoReview = false
		s.model.work["one:"] = []string{edits("a.py", "x = 1", "x = 2"), edits("a.py", "x = 2", "x = 3")}
		s.model.reviewer = []string{review("one more"), review()}
		text := taskFile("")
		s.Write(t, "TASK.md", text)
		p, problem := s.b.Loop(t.Context(), s.Dir, "TASK.md", []byte(text), 0)
		if problem != nil {
			t.Fatalf("%+v", problem)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := n
		die := func() {
			if left--; left == 0 {
				cancel()
			}
		}
		s.model.before = func(agent.Question) { die() }
		judge := s.Bench.Runner.Verifier
		s.Bench.Runner.Verifier = runtest.Judge(func(ctx context.Context, req verify.Request) (verify.Report, error) {
			die()
			if err := ctx.Err(); err != nil {
				return verify.Report{}, err
			}
			return judge.Verify(ctx, req, func(verify.Event) {})
		})
		res := s.b.Build(ctx, s.request(), p)
		cancel()
		s.Write(t, "TASK.md", strings.ReplaceAll(text, "4", "9"))
		if res.Exit != 0 {
			s.builder(t)
			s.b.NoReview = false
			res = s.b.Build(t.Context(), s.request(), res.Plan)
			if !s.told("TASK.md has changed") {
				t.Errorf("%d: told\n%s", n, strings.Join(s.notes, "\n"))
			}
		}
		if res.Exit != 0 || res.Plan.Ending != crew.EndAccepted || !maps.Equal(s.model.counts, map[string]int{"one:": 2, "reviewer": 2}) {
			t.Fatalf("%d: %s, exit %d: %+v, asked %v", n, states(res.Plan), res.Exit, res.Error, s.model.counts)
		}
		s.holds(t, map[string]string{"a.py": "x = 3\n", "TASK.md": strings.ReplaceAll(text, "4", "9")})
	}
}

// Notices about the roles come first, for a new plan and for a continued one.
func TestNoticesAreToldFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	s.b.Notices = []string{"workr.toml is ignored"}
	s.model.planner = []string{planOf(1, "one|a.py")}
	s.model.work["one"] = []string{edits("a.py", "x = 1", "x = 2")}
	p := s.plan(t)
	if len(s.notes) == 0 || !strings.Contains(s.notes[0], "workr.toml is ignored") {
		t.Errorf("planning begins with\n%s", strings.Join(s.notes, "\n"))
	}
	s.notes = nil
	if res := s.b.Build(t.Context(), s.request(), p); res.Exit != 0 || !strings.Contains(s.notes[0], "workr.toml is ignored") {
		t.Errorf("exit %d; building begins with\n%s", res.Exit, strings.Join(s.notes, "\n"))
	}
}
