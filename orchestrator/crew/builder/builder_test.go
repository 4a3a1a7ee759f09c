package builder_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/tools"
	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/gate/batch"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/tournament"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A site is a workspace with a builder of plans and scripted models.
type site struct {
	*runtest.Bench
	b     *builder.Builder
	model *crowd
	notes []string
}

// A crowd answers every role. Like a record's journal, it repeats an answer given before in the same attempt and step.
type crowd struct {
	mu sync.Mutex
	// planner and reviewer list answers in order; the last one repeats. work lists the answers to a task, one for each try, by the first
	// word of its goal.
	planner, reviewer []string
	work              map[string][]string
	asked             []agent.Question
	known             map[string]string // by attempt and step
	counts            map[string]int
	before            func(agent.Question)
}

// answer returns the answer to a question of an attempt.
func (c *crowd) answer(attempt string, q agent.Question) (agent.Reply, error) {
	if c.before != nil {
		c.before(q)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := attempt + " " + q.Step + " " + q.Text
	if text, ok := c.known[key]; ok {
		return agent.Reply{Text: text, Model: "crowd/1"}, nil
	}
	c.asked = append(c.asked, q)
	list, name := c.planner, "planner"
	switch q.Purpose {
	case agent.ReviewWhole:
		list, name = c.reviewer, "reviewer"
	case agent.MakePlan:
	default:
		_, goal, _ := strings.Cut(q.Text, "repository: ")
		if q.Purpose != agent.Implement {
			_, goal, _ = strings.Cut(q.Text, "The goal: ")
		}
		name = strings.Fields(goal)[0]
		list = c.work[name]
	}
	if len(list) == 0 {
		return agent.Reply{}, &agent.StopError{Budget: true, Message: "nobody answers " + name, Next: "write more"}
	}
	text := list[min(c.counts[name], len(list)-1)]
	c.counts[name]++
	c.known[key] = text
	return agent.Reply{Text: text, Model: "crowd/1"}, nil
}

// A voice asks the crowd for one attempt.
type voice struct {
	*crowd
	attempt string
}

// Ask implements agent.Model.
func (v voice) Ask(ctx context.Context, q agent.Question) (agent.Reply, error) {
	if err := ctx.Err(); err != nil {
		return agent.Reply{}, err
	}
	return v.answer(v.attempt, q)
}

// A planner points a run at the first file of its scope.
type planner struct{}

// Plan implements tournament.Planner.
func (planner) Plan(_ context.Context, base *workspace.Manifest, req run.Request) (tournament.Plan, error) {
	p := tournament.Plan{Why: "the test", Task: agent.Task{Fence: agent.NewFence("5f3c9a0e7b1d2468"), Kind: agent.Implement}}
	p.Task.Brief = agent.Brief{Target: req.Scope[0], Language: "python", Goal: req.Goal}
	if text, err := base.ReadFile(req.Scope[0]); err == nil {
		p.Task.Brief.Code = string(text)
	}
	return p, nil
}

// newSite returns a site with a.py and these files. j judges; if it is nil, everything passes.
func newSite(t *testing.T, files map[string]string, j runtest.Judge) *site {
	t.Helper()
	if j == nil {
		j = runtest.Says(verify.Pass)
	}
	s := &site{Bench: runtest.Setup(t, j), model: &crowd{work: map[string][]string{}, known: map[string]string{}, counts: map[string]int{}}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		s.Write(t, name, files[name])
	}
	s.builder(t)
	return s
}

// builder gives the site a new builder, as another process would have.
func (s *site) builder(t *testing.T) {
	t.Helper()
	roles, err := crew.LoadRoles(tools.Names())
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := agent.LoadPrompts(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.b = &builder.Builder{
		Runner: func(emit func(run.Event)) *run.Runner {
			r := *s.Bench.Runner
			r.Emit = emit
			return &r
		},
		Plans: s.DB.Plans(), Roles: roles, Owner: "test " + run.NewID(time.Now()), NoReview: true, Parallel: 2, Queue: &batch.Queue{Slots: builder.MaxParallel},
		Crew: func(a builder.Attempt, _ crew.Role, _ func(agent.Progress)) (tournament.Crew, error) {
			return tournament.Crew{Engineer: &agent.Engineer{Model: voice{s.model, cmp.Or(a.Of, a.ID)}, Prompts: prompts}, Planner: planner{}}, nil
		},
		Ask: func(ctx context.Context, a builder.Attempt, _ crew.Role, purpose agent.Purpose, step string, b agent.Brief) (agent.Reply, error) {
			q, err := prompts.Question(purpose, b, agent.NewFence(a.Fence))
			if err != nil {
				return agent.Reply{}, err
			}
			q.Step = step
			return voice{s.model, a.ID}.Ask(ctx, q)
		},
		Overview: func(_ context.Context, base *workspace.Manifest, goal string, _ bool) (agent.Brief, error) {
			b := agent.Brief{Goal: goal}
			for _, e := range base.Entries {
				b.Files = append(b.Files, e.Path)
			}
			return b, nil
		},
		Proof: func(ctx context.Context, id string) (builder.Proof, error) {
			cand, err := s.DB.Proven(ctx, id)
			if err != nil {
				return builder.Proof{}, err
			}
			d, err := s.DB.Run(ctx, id)
			return builder.Proof{Candidate: cand, Snapshot: d.Record.Snapshot}, err
		},
		RunOf: s.DB.RunOf,
		Tell: func(n builder.Note) {
			if n.Text != "" {
				s.notes = append(s.notes, n.Text)
			}
		},
	}
}

// request returns a request to deliver what passed.
func (s *site) request() run.Request {
	return run.Request{Workspace: s.Dir, Approver: runtest.Decide(run.Apply)}
}

// told reports whether a note contains this text.
func (s *site) told(text string) bool {
	return slices.ContainsFunc(s.notes, func(n string) bool { return strings.Contains(n, text) })
}

// planOf returns a planner's answer with these tasks: "goal | files | creates | after | test that must exist".
func planOf(first int, tasks ...string) string {
	type task map[string]any
	var list []task
	words := func(s string) []string { return append([]string{}, strings.Fields(s)...) }
	for i, t := range tasks {
		f := strings.Split(t, "|")
		for len(f) < 5 {
			f = append(f, "")
		}
		list = append(list, task{
			"id": first + i, "title": strings.TrimSpace(f[0]), "goal": strings.TrimSpace(f[0]) + " as it was said", "files": words(f[1]), "creates": words(f[2]),
			"depends_on": words(f[3]), "accept": task{"text": "it is there", "tests": words(f[4])},
		})
	}
	text, _ := json.Marshal(task{"summary": "a plan", "tasks": list}) // only strings and numbers
	return "Here it is:\n```json\n" + string(text) + "\n```\n"
}

// edits returns an answer that replaces lines of files: file, old, new, and so on.
func edits(list ...string) string {
	var b strings.Builder
	for ; len(list) >= 3; list = list[3:] {
		fmt.Fprintf(&b, "<EDIT file=%q><SEARCH>\n%s\n</SEARCH><REPLACE>\n%s\n</REPLACE></EDIT>\n", list[0], list[1], list[2])
	}
	return b.String()
}

// file returns an answer that creates a file.
func file(name, text string) string {
	return fmt.Sprintf("<EDIT file=%q><SEARCH></SEARCH><REPLACE>\n%s\n</REPLACE></EDIT>\n", name, text)
}

// plan lets the scripted planner make the plan.
func (s *site) plan(t *testing.T) crew.Plan {
	t.Helper()
	p, problem := s.b.Plan(t.Context(), s.request(), "do it all", "")
	if problem != nil {
		t.Fatalf("%+v", problem)
	}
	return p
}

// states lists the states of a plan's tasks by number.
func states(p crew.Plan) string {
	var list []string
	for _, t := range p.Tasks {
		list = append(list, fmt.Sprintf("%d %s", t.N, t.State))
	}
	return strings.Join(list, ", ")
}

// holds checks that the workspace has exactly these files.
func (s *site) holds(t *testing.T, want map[string]string) {
	t.Helper()
	got := s.Tree(t)
	delete(got, ".agent/")
	if !maps.Equal(got, want) {
		t.Errorf("the workspace holds %q\nwant %q", got, want)
	}
}

// eight returns a site with these tasks: 1, then 2 and 3, then 4; 5, then 6; 7 alone, which fails and is planned again; 8 alone.
func eight(t *testing.T, j runtest.Judge) (*site, map[string]string) {
	files := map[string]string{"b.py": "b = 1\n", "c.py": "c = 1\n", "d.py": "d = 1\n", "e.py": "e = 1\n"}
	s := newSite(t, files, j)
	s.model.planner = []string{
		planOf(1, "one|a.py", "two|b.py||1", "three|c.py||1", "four|a.py d.py||2 3", "five||f.py|", "six|f.py||5", "seven|e.py", "eight||g.py|"),
		planOf(20, "other|e.py||1"),
	}
	s.model.work = map[string][]string{
		"one": {edits("a.py", "x = 1", "x = 2")}, "two": {edits("b.py", "b = 1", "b = 2")}, "three": {edits("c.py", "c = 1", "c = 2")},
		"four": {edits("a.py", "x = 2", "x = 3", "d.py", "d = 1", "d = 2")}, "five": {file("f.py", "f = 1")}, "six": {edits("f.py", "f = 1", "f = 2")},
		"seven": {edits("e.py", "e = 9", "e = 2"), edits("e.py", "e = 8", "e = 2")}, "eight": {file("g.py", "g = 1")}, "other": {edits("e.py", "e = 1", "e = 2")},
	}
	return s, map[string]string{"a.py": "x = 3\n", "b.py": "b = 2\n", "c.py": "c = 2\n", "d.py": "d = 2\n", "e.py": "e = 2\n", "f.py": "f = 2\n", "g.py": "g = 1\n"}
}

// A diamond of tasks gives the expected bytes: two tasks run at the same time, one is planned again, a moved change is judged again, and
// nothing is written before the whole has passed.
func TestADiamondOfTasksIsOneChange(t *testing.T) {
	t.Parallel()
	var judged atomic.Int64
	second := make(chan bool, 100)
	var s *site
	var want map[string]string
	s, want = eight(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		// The first judgement waits until a second one begins.
		if judged.Add(1) > 1 {
			second <- true
		} else {
			select {
			case <-second:
			case <-time.After(2 * time.Minute):
				t.Error("never two at work at the same time")
			}
		}
		if got, err := os.ReadFile(filepath.Join(s.Dir, "a.py")); err != nil || string(got) != "x = 1\n" {
			t.Errorf("the workspace was touched before the end: %q, %v", got, err)
		}
		return runtest.Says(verify.Pass)(ctx, req)
	})
	p := s.plan(t)
	res := s.b.Build(t.Context(), s.request(), p)
	if res.Exit != 0 || res.Plan.State != crew.Delivered || res.Document == nil || res.Document.State != run.Promoted {
		t.Fatalf("%s, exit %d: %+v\n%s\n%s", res.Plan.State, res.Exit, res.Error, states(res.Plan), strings.Join(s.notes, "\n"))
	}
	s.holds(t, want)
	if got := states(res.Plan); got != "1 done, 2 done, 3 done, 4 done, 5 done, 6 done, 7 replaced, 8 done, 9 done" {
		t.Errorf("the tasks are %s", got)
	}
	if !s.told("merged and judged again") || !s.told("planned anew") {
		t.Errorf("told:\n%s", strings.Join(s.notes, "\n"))
	}
	// The planner learns why the part failed, and sees the plan as it stood.
	last := s.model.asked[slices.IndexFunc(s.model.asked, func(q agent.Question) bool { return strings.HasPrefix(q.Text, "A part of this plan") })]
	if !strings.Contains(last.Text, "why task 7 failed") || !strings.Contains(last.Text, "7. seven [running]") {
		t.Errorf("the planner was told %s", last.Text)
	}
	kept, err := s.DB.Plans().Plan(t.Context(), p.ID)
	if err != nil || kept.State != crew.Delivered || kept.Owner != "" || states(kept) != states(res.Plan) || kept.Run != res.Document.Run {
		t.Errorf("the record has %s of %q, %s (%v)", kept.State, kept.Owner, states(kept), err)
	}
	// Carrying it out again from its record gives the same result, without a model to ask.
	judged.Store(1)
	for name, text := range map[string]string{"a.py": "x = 1\n", "b.py": "b = 1\n", "c.py": "c = 1\n", "d.py": "d = 1\n", "e.py": "e = 1\n"} {
		s.Write(t, name, text)
	}
	for _, name := range []string{"f.py", "g.py"} {
		if err := os.Remove(filepath.Join(s.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s.carriedOutAgain(t, res.Plan)
	s.holds(t, want)
}

// Wherever the work stops, another process continues it to the same bytes and repeats no answered question.
func TestAPlanIsCarriedOnFromAnywhere(t *testing.T) {
	t.Parallel()
	whole, _ := eight(t, nil)
	if res := whole.b.Build(t.Context(), whole.request(), whole.plan(t)); res.Exit != 0 {
		t.Fatalf("exit %d: %+v", res.Exit, res.Error)
	}
	for _, n := range []int{1, 3, 7} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s, want := eight(t, nil)
			p := s.plan(t)
			// Each process ends after n questions and judgements; n grows with every process.
			for try := 0; ; try++ {
				if try == 40 {
					t.Fatalf("it comes to no end: %s", states(p))
				}
				ctx, cancel := context.WithCancel(t.Context())
				left := n
				var mu sync.Mutex
				spend := func() {
					mu.Lock()
					defer mu.Unlock()
					if left--; left == 0 {
						cancel()
					}
				}
				s.builder(t)
				s.model.before = func(agent.Question) { spend() }
				s.Bench.Runner.Verifier = runtest.Judge(func(ctx context.Context, req verify.Request) (verify.Report, error) {
					spend()
					if err := ctx.Err(); err != nil {
						return verify.Report{}, err
					}
					return runtest.Says(verify.Pass)(ctx, req)
				})
				res := s.b.Build(ctx, s.request(), p)
				cancel()
				p = res.Plan
				if res.Exit == 0 {
					break
				}
				if res.Exit != run.ExitCancelled || p.State != crew.Paused && p.State != crew.Awaiting {
					t.Fatalf("%s, exit %d: %+v", p.State, res.Exit, res.Error)
				}
				if got, err := os.ReadFile(filepath.Join(s.Dir, "b.py")); err != nil || string(got) != "b = 1\n" {
					t.Fatalf("half of it is written: %q, %v", got, err)
				}
				n++ // or a process that gets nowhere would repeat forever
			}
			s.holds(t, want)
			if !maps.Equal(s.model.counts, whole.model.counts) {
				t.Errorf("asked %v, and %v without a break", s.model.counts, whole.model.counts)
			}
		})
	}
}

// A process that dies silently leaves its plan in the building state with running tasks; the next process continues it.
func TestADeadProcesssPlanIsTakenOver(t *testing.T) {
	t.Parallel()
	s, want := eight(t, nil)
	p := s.plan(t)
	taken, err := s.DB.Plans().TakePlan(t.Context(), p.ID, "", "the dead")
	if err != nil {
		t.Fatal(err)
	}
	taken.Task(1).State, taken.Task(1).Tries = crew.Running, 1
	if err := s.DB.Plans().SavePlan(t.Context(), taken, "the dead"); err != nil {
		t.Fatal(err)
	}
	// A process that does not know about the dead owner cannot take the plan, and a fenced one writes nothing.
	if res := s.b.Build(t.Context(), s.request(), p); res.Exit != run.ExitConflict {
		t.Errorf("exit %d: %+v", res.Exit, res.Error)
	}
	taken.Owner = "the dead"
	res := s.b.Build(t.Context(), s.request(), taken)
	if res.Exit != 0 {
		t.Fatalf("exit %d: %+v", res.Exit, res.Error)
	}
	s.holds(t, want)
	if err := s.DB.Plans().SavePlan(t.Context(), taken, "the dead"); !errors.Is(err, run.ErrFenced) {
		t.Errorf("the dead wrote: %v", err)
	}
}

// A task that touches other files is held and shown. Once a person allows it, its proved change is taken without another question.
func TestWhatTouchesOtherFilesIsHeld(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"b.py": "b = 1\n"}, nil)
	s.model.planner = []string{planOf(1, "one|a.py", "two|b.py||1")}
	s.model.work = map[string][]string{"one": {edits("a.py", "x = 1", "x = 2", "b.py", "b = 1", "b = 5")}, "two": {edits("b.py", "b = 5", "b = 6")}}
	res := s.b.Build(t.Context(), s.request(), s.plan(t))
	if res.Exit != run.ExitApproval || states(res.Plan) != "1 held, 2 blocked" || !strings.Contains(res.Error.Message, "it touches b.py") || !strings.Contains(res.Error.Next, "--outside") {
		t.Fatalf("%s, exit %d: %+v", states(res.Plan), res.Exit, res.Error)
	}
	s.b.Outside = true
	if res = s.b.Build(t.Context(), s.request(), res.Plan); res.Exit != 0 {
		t.Fatalf("exit %d: %+v", res.Exit, res.Error)
	}
	s.holds(t, map[string]string{"a.py": "x = 2\n", "b.py": "b = 6\n"})
	if s.model.counts["one"] != 1 {
		t.Errorf("one was asked %d times", s.model.counts["one"])
	}
}

// A task planned as a replacement may wait for a task that is still open, but not for one that is replaced along with the failed one.
func TestWhatIsPlannedAnewWaitsForOtherTasks(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"b.py": "b = 1\n", "c.py": "c = 1\n"}, nil)
	s.b.Parallel = 1
	s.model.planner = []string{planOf(1, "one|a.py", "two|b.py", "three|c.py||1"), planOf(20, "other|a.py||3"), planOf(20, "other|a.py||2")}
	s.model.work = map[string][]string{
		"one": {edits("a.py", "x = 9", "x = 2")}, "two": {edits("b.py", "b = 1", "b = 2")}, "other": {edits("a.py", "x = 1", "x = 3", "b.py", "b = 2", "b = 3")},
	}
	s.b.Outside = true
	res := s.b.Build(t.Context(), s.request(), s.plan(t))
	if res.Exit != 0 || states(res.Plan) != "1 replaced, 2 done, 3 replaced, 4 done" || !s.told(`depends on "3", which is not a task`) {
		t.Fatalf("%s, exit %d: %+v\n%s", states(res.Plan), res.Exit, res.Error, strings.Join(s.notes, "\n"))
	}
	s.holds(t, map[string]string{"a.py": "x = 3\n", "b.py": "b = 3\n", "c.py": "c = 1\n"})
}

// A task whose required test is missing is not done, whatever the gates say. Other tasks go on, and its dependants are blocked.
func TestAFailedTaskBlocksWhatDependsOnIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"b.py": "b = 1\n", "c.py": "c = 1\n"}, nil)
	s.model.planner = []string{planOf(1, "one|a.py|||test_a.py", "two|b.py||1", "three|c.py"), "no", "still no", "never"}
	s.model.work = map[string][]string{"one": {edits("a.py", "x = 1", "x = 2")}, "three": {edits("c.py", "c = 1", "c = 2")}}
	res := s.b.Build(t.Context(), s.request(), s.plan(t))
	if res.Exit != run.ExitFail || states(res.Plan) != "1 failed, 2 blocked, 3 done" || res.Plan.State != crew.Failed || !strings.Contains(res.Plan.Task(1).Why, "test_a.py must exist") ||
		!strings.Contains(res.Plan.Task(1).Why, "the planner found no other way") {
		t.Fatalf("%s, exit %d: %+v, %q", states(res.Plan), res.Exit, res.Error, res.Plan.Task(1).Why)
	}
	s.holds(t, map[string]string{"a.py": "x = 1\n", "b.py": "b = 1\n", "c.py": "c = 1\n"})
	// The finished part can be delivered.
	s.b.Partial = true
	s.model.work["one"] = []string{edits("a.py", "nothing", "there")}
	if res = s.b.Build(t.Context(), s.request(), res.Plan); res.Exit != 0 || res.Plan.State != crew.Delivered || !strings.Contains(res.Plan.Why, "without 2 tasks") {
		t.Fatalf("%s, exit %d: %+v, %q", states(res.Plan), res.Exit, res.Error, res.Plan.Why)
	}
	s.holds(t, map[string]string{"a.py": "x = 1\n", "b.py": "b = 1\n", "c.py": "c = 2\n"})
}

// A reviewer that always finds something causes two rounds of repairs; then a person decides.
func TestAReviewThatAlwaysFindsSomethingEnds(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	s.b.NoReview = false
	s.model.planner = []string{planOf(1, "one|a.py")}
	s.model.reviewer = []string{
		"I do not like it.",
		`{"accepted": false, "findings": [{"severity": "blocker", "file": "a.py", "line": 1, "text": "x should be 3"}], "next": [{"title": "three", "goal": "three it is", "files": ["a.py"]}]}`,
		`{"accepted": false, "findings": [{"severity": "major", "text": "x should be 4"}], "next": [{"title": "four", "goal": "four it is", "files": ["a.py"]}, {"title": "hostile", "goal": "x", "files": ["../up"]}]}`,
		`{"accepted": false, "findings": [{"severity": "odd", "text": "x should be 5"}], "next": [{"title": "five", "goal": "five it is", "files": ["a.py"]}]}`,
	}
	s.model.work = map[string][]string{"one": {edits("a.py", "x = 1", "x = 2")}, "three": {edits("a.py", "x = 2", "x = 3")}, "four": {edits("a.py", "x = 3", "x = 4")}}
	res := s.b.Build(t.Context(), s.request(), s.plan(t))
	if res.Exit != run.ExitApproval || res.Plan.State != crew.Awaiting || states(res.Plan) != "1 done, 2 done, 3 done" || !strings.Contains(res.Error.Message, "major: x should be 5") || !s.told("left out a step of the review") {
		t.Fatalf("%s %s, exit %d: %+v\n%s", res.Plan.State, states(res.Plan), res.Exit, res.Error, strings.Join(s.notes, "\n"))
	}
	s.Untouched(t)
	if q := s.model.asked[len(s.model.asked)-1]; !strings.Contains(q.Text, "-x = 1\n+x = 4") || strings.Contains(q.Text, "as the test wants it said") {
		t.Errorf("the reviewer was shown %s", q.Text)
	}
	s.b.Despite = true
	if res = s.b.Build(t.Context(), s.request(), res.Plan); res.Exit != 0 {
		t.Fatalf("exit %d: %+v", res.Exit, res.Error)
	}
	s.holds(t, map[string]string{"a.py": "x = 4\n"})
}

// A planner learns what is wrong with its plan, and is asked at most three times.
func TestAPlannerIsToldWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []string
		tasks   int
		told    string // part of the last question
		exit    int
	}{
		"prose":                 {[]string{"I would begin with a.py.", "Then the rest.", "And so on."}, 0, "the answer holds no plan", run.ExitFail},
		"a circle, then a plan": {[]string{planOf(1, "one|a.py||2", "two|a.py||1"), planOf(1, "one|a.py")}, 1, "tasks 1 and 2 depend on each other in a circle", 0},
		"a file that is not there, then prose, then a plan": {[]string{planOf(1, "one|z.py"), "sorry", planOf(1, "one|a.py", "two|a.py")}, 2, "the answer holds no plan", 0},
		"nothing tells when it is done":                     {[]string{`{"tasks":[{"id":1,"title":"t","goal":"g","files":["a.py"]}]}`, planOf(1, "one|a.py")}, 1, "nothing says when task 1 is done", 0},
		"a role that there is not":                          {[]string{`{"tasks":[{"id":1,"title":"t","goal":"g","files":["a.py"],"role":"king","accept":"x"}]}`, planOf(1, "one|a.py")}, 1, `may not give work to "king"`, 0},
	} {
		s := newSite(t, nil, nil)
		s.model.planner = c.answers
		p, problem := s.b.Plan(t.Context(), s.request(), "do it", "")
		exit := 0
		if problem != nil {
			exit = run.ExitOf(problem)
		}
		if exit != c.exit || len(p.Tasks) != c.tasks {
			t.Errorf("%s: %d tasks, exit %d: %+v", name, len(p.Tasks), exit, problem)
		}
		if q := s.model.asked[len(s.model.asked)-1]; !strings.Contains(q.Text, c.told) {
			t.Errorf("%s: told %s", name, q.Text)
		}
		kept, err := s.DB.Plans().Plan(t.Context(), p.ID)
		if err != nil || len(kept.Tasks) != c.tasks || kept.State != crew.Drafted {
			t.Errorf("%s: kept %+v, %v", name, kept, err)
		}
	}
}

// The planner sees additional text, such as a report, as quoted data.
func TestThePlannerIsShownTheReport(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	s.model.planner = []string{planOf(1, "one|a.py")}
	if _, problem := s.b.Plan(t.Context(), s.request(), "mend it", "tests  0.2  fail\n  a.py: no test\n"); problem != nil {
		t.Fatalf("%+v", problem)
	}
	_, quoted, _ := strings.Cut(s.model.asked[0].Text, " findings before any change\n")
	if !strings.HasPrefix(quoted, "tests  0.2  fail\n  a.py: no test\n") {
		t.Errorf("asked %s", s.model.asked[0].Text)
	}
}

// A person's edits meanwhile are kept: other lines are merged and judged too, the same lines are a conflict that removes nothing.
func TestEditsMeanwhileAreKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit, want string
		exit       int
	}{
		"other lines": {"x = 1\ny = 1\nz = 1\nmine = 1\n", "x = 1\ny = 2\nz = 1\nmine = 1\n", 0},
		"the same":    {"x = 1\ny = 7\nz = 1\n", "x = 1\ny = 7\nz = 1\n", run.ExitConflict},
	} {
		s := newSite(t, nil, nil)
		s.Write(t, "a.py", "x = 1\ny = 1\nz = 1\n")
		s.model.planner = []string{planOf(1, "one|a.py", "two||b.py|1")}
		s.model.work = map[string][]string{"one": {edits("a.py", "y = 1", "y = 2")}, "two": {file("b.py", "b = 1")}}
		s.model.before = func(q agent.Question) {
			if strings.Contains(q.Text, "repository: two") {
				s.Write(t, "a.py", c.edit)
			}
		}
		res := s.b.Build(t.Context(), s.request(), s.plan(t))
		if res.Exit != c.exit {
			t.Errorf("%s: exit %d: %+v\n%s", name, res.Exit, res.Error, strings.Join(s.notes, "\n"))
		}
		if got := s.Tree(t)["a.py"]; got != c.want {
			t.Errorf("%s: a.py holds %q", name, got)
		}
	}
}

// A person can pause or cancel a plan from elsewhere. Both keep what is done, and the plan can be continued.
func TestAPlanIsSteeredFromElsewhere(t *testing.T) {
	t.Parallel()
	for wanted, exit := range map[string]int{"pause": run.ExitCancelled, "cancel": run.ExitCancelled} {
		s, want := eight(t, nil)
		p := s.plan(t)
		asked := make(chan bool, 1)
		s.Bench.Runner.Verifier = runtest.Judge(func(ctx context.Context, req verify.Request) (verify.Report, error) {
			select {
			case asked <- true:
				if err := s.DB.Plans().Want(ctx, p.ID, wanted); err != nil {
					t.Error(err)
				}
				// Wait until the request is noticed.
				select {
				case <-ctx.Done():
					return verify.Report{}, ctx.Err()
				case <-time.After(2500 * time.Millisecond):
				}
			default:
			}
			return runtest.Says(verify.Pass)(ctx, req)
		})
		res := s.b.Build(t.Context(), s.request(), p)
		if res.Exit != exit || res.Plan.State != crew.Paused || res.Plan.Left() == 0 {
			t.Fatalf("%s: %s, %s, exit %d: %+v", wanted, res.Plan.State, states(res.Plan), res.Exit, res.Error)
		}
		if res = s.b.Build(t.Context(), s.request(), res.Plan); res.Exit != 0 {
			t.Fatalf("%s: exit %d: %+v", wanted, res.Exit, res.Error)
		}
		s.holds(t, want)
	}
}

// An infrastructure failure stops the plan, and does not count against a task.
func TestTroubleStopsThePlanAndIsNoTasksFault(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, runtest.Says(verify.Infra))
	s.model.planner = []string{planOf(1, "one|a.py")}
	s.model.work = map[string][]string{"one": {edits("a.py", "x = 1", "x = 2")}}
	res := s.b.Build(t.Context(), s.request(), s.plan(t))
	if res.Exit != run.ExitInfra || res.Plan.State != crew.Paused || states(res.Plan) != "1 waiting" {
		t.Fatalf("%s, %s, exit %d: %+v", res.Plan.State, states(res.Plan), res.Exit, res.Error)
	}
	s.Bench.Runner.Verifier = runtest.Says(verify.Pass)
	if res = s.b.Build(t.Context(), s.request(), res.Plan); res.Exit != 0 || s.model.counts["one"] != 1 {
		t.Fatalf("exit %d, asked %d times: %+v", res.Exit, s.model.counts["one"], res.Error)
	}
}

// A fixer repairs failures that the gates find only in the whole, in the files that they name.
func TestWhatFailsAsAWholeIsMended(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"b.py": "b = 1\n"}, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		tree := req.Base.With(req.Changeset)
		a, _ := tree.ReadFile("a.py")
		b, _ := tree.ReadFile("b.py")
		if len(req.Changeset.Changes) > 1 && string(a) == "x = 2\n" && string(b) == "b = 2\n" {
			return runtest.Says(verify.Fail)(ctx, req)
		}
		return runtest.Says(verify.Pass)(ctx, req)
	})
	s.b.Parallel = 1
	s.model.planner = []string{planOf(1, "one|a.py", "two|b.py")}
	s.model.work = map[string][]string{"one": {edits("a.py", "x = 1", "x = 2")}, "two": {edits("b.py", "b = 1", "b = 2")}, "All": {edits("a.py", "x = 2", "x = 3")}}
	res := s.b.Build(t.Context(), s.request(), s.plan(t))
	if res.Exit != 0 || len(res.Plan.Tasks) != 3 || res.Plan.Tasks[2].Role != crew.Fixer {
		t.Fatalf("%s, exit %d: %+v\n%s", states(res.Plan), res.Exit, res.Error, strings.Join(s.notes, "\n"))
	}
	s.holds(t, map[string]string{"a.py": "x = 3\n", "b.py": "b = 2\n"})
}

// A person at the steps can change a task's text, skip a task and stop the work.
func TestEachStepIsAPersons(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"b.py": "b = 1\n"}, nil)
	s.b.Parallel = 1
	s.model.planner = []string{planOf(1, "one|a.py", "two|b.py")}
	s.model.work = map[string][]string{"uno": {edits("a.py", "x = 1", "x = 2")}}
	var seen []string
	s.b.Step = func(_ context.Context, step builder.Step) (builder.StepAnswer, error) {
		seen = append(seen, fmt.Sprint(step.Kind, " ", step.Text))
		if step.Task != nil && step.Task.N == 1 {
			return builder.StepAnswer{Text: "uno it is"}, nil
		}
		return builder.StepAnswer{Skip: true}, nil
	}
	res := s.b.Build(t.Context(), s.request(), s.plan(t))
	if res.Exit != run.ExitFail || states(res.Plan) != "1 done, 2 failed" || !slices.Equal(seen, []string{"task one as it was said", "task two as it was said"}) {
		t.Fatalf("%s, exit %d: %+v, %q", states(res.Plan), res.Exit, res.Error, seen)
	}
	s.b.Partial = true
	if res = s.b.Build(t.Context(), s.request(), res.Plan); res.Exit != run.ExitCancelled || !strings.Contains(res.Error.Message, "not delivered") {
		t.Fatalf("exit %d: %+v", res.Exit, res.Error)
	}
	s.Bench.Write(t, "b.py", "b = 1\n")
	s.holds(t, map[string]string{"a.py": "x = 1\n", "b.py": "b = 1\n"})
}
