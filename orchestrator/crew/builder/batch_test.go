package builder_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/gate/batch"
	"agent/orchestrator/run/runtest"
	"agent/verify"
)

// judgements records the judgements of a site: the files of each, and the verdict that it gets.
type judgements struct {
	mu   sync.Mutex
	list []string
	says func(paths string) verify.Verdict
}

// judge implements runtest.Judge.
func (j *judgements) judge(ctx context.Context, req verify.Request) (verify.Report, error) {
	var paths []string
	for _, c := range req.Changeset.Changes {
		paths = append(paths, c.Path)
	}
	name := strings.Join(paths, " ")
	j.mu.Lock()
	j.list = append(j.list, name)
	j.mu.Unlock()
	if j.says != nil {
		return runtest.Says(j.says(name))(ctx, req)
	}
	return runtest.Says(verify.Pass)(ctx, req)
}

// sorted lists the judgements in order.
func (j *judgements) sorted() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	slices.Sort(j.list)
	return strings.Join(j.list, ", ")
}

// three returns a site with three tasks that may run concurrently, and with one judgement at a time.
func three(t *testing.T, j *judgements) *site {
	t.Helper()
	s := newSite(t, map[string]string{"b.py": "b = 1\n", "c.py": "c = 1\n"}, j.judge)
	s.model.planner = []string{planOf(1, "one|a.py", "two|b.py", "three|c.py"), planOf(9, "other|c.py")}
	s.model.work = map[string][]string{
		"one": {edits("a.py", "x = 1", "x = 2")}, "two": {edits("b.py", "b = 1", "b = 2")}, "three": {edits("c.py", "c = 1", "c = 2")}, "other": {edits("c.py", "c = 1", "c = 3")},
	}
	s.b.Parallel, s.b.Queue = 3, &batch.Queue{Slots: 1, Patience: time.Minute}
	// All three tasks are running before any of them has a change.
	var asked atomic.Int32
	all := make(chan struct{})
	s.model.before = func(q agent.Question) {
		if q.Purpose != agent.Implement {
			return
		}
		if n := asked.Add(1); n == 3 {
			close(all)
		} else if n < 3 {
			<-all
		}
	}
	return s
}

// Changes finished at the same time are judged once and land together; carrying them out again from the record gives the same result.
func TestWhatPassesTogetherLandsTogether(t *testing.T) {
	t.Parallel()
	j := &judgements{}
	s := three(t, j)
	res := s.b.Build(t.Context(), s.request(), s.plan(t))
	if res.Exit != 0 || states(res.Plan) != "1 done, 2 done, 3 done" {
		t.Fatalf("%s, exit %d: %+v\n%s", states(res.Plan), res.Exit, res.Error, strings.Join(s.notes, "\n"))
	}
	// The second judgement is the delivery's.
	if got := j.sorted(); got != "a.py b.py c.py, a.py b.py c.py" {
		t.Errorf("judged %s", got)
	}
	for _, task := range res.Plan.Landed() {
		if task.Landed != task.N {
			t.Errorf("task %d landed at place %d", task.N, task.Landed)
		}
		d, err := s.DB.Run(t.Context(), task.Run)
		if err != nil || len(d.Candidates) != 1 || !strings.Contains(d.Candidates[0].Gates[0].Detail, "all gates judged it together with task ") {
			t.Errorf("task %d: %+v, %v", task.N, d.Candidates, err)
		}
	}
	after := map[string]string{"a.py": "x = 2\n", "b.py": "b = 2\n", "c.py": "c = 2\n"}
	s.holds(t, after)
	for name, text := range map[string]string{"a.py": "x = 1\n", "b.py": "b = 1\n", "c.py": "c = 1\n"} {
		s.Write(t, name, text)
	}
	s.b.Queue = nil
	s.carriedOutAgain(t, res.Plan)
	s.holds(t, after)
}

// If one change of a passed batch does not land, the rest are merged and judged without it: nothing has proved them alone.
func TestWhatIsLeftOfABatchIsJudgedAgain(t *testing.T) {
	t.Parallel()
	j := &judgements{}
	s := three(t, j)
	s.model.work["three"] = []string{file("d.py", "d = 1")} // a file outside the task
	res := s.b.Build(t.Context(), s.request(), s.plan(t))
	if states(res.Plan) != "1 done, 2 done, 3 held" {
		t.Fatalf("%s, exit %d: %+v\n%s", states(res.Plan), res.Exit, res.Error, strings.Join(s.notes, "\n"))
	}
	if got := j.sorted(); got != "a.py b.py, a.py b.py d.py" {
		t.Errorf("judged %s", got)
	}
}

// If changes do not pass together, each is judged alone; the one that fails is repaired while the others land.
func TestOneOfABatchThatFailsIsFound(t *testing.T) {
	t.Parallel()
	j := &judgements{says: func(paths string) verify.Verdict {
		if strings.Contains(paths, "c.py") {
			return verify.Fail
		}
		return verify.Pass
	}}
	s := three(t, j)
	s.b.Partial = true
	res := s.b.Build(t.Context(), s.request(), s.plan(t))
	if !strings.HasPrefix(states(res.Plan), "1 done, 2 done, 3 ") || strings.Contains(states(res.Plan), "3 done") {
		t.Fatalf("%s, exit %d: %+v\n%s", states(res.Plan), res.Exit, res.Error, strings.Join(s.notes, "\n"))
	}
	s.holds(t, map[string]string{"a.py": "x = 2\n", "b.py": "b = 2\n", "c.py": "c = 1\n"})
	for _, want := range []string{"a.py b.py c.py", "a.py", "b.py", "c.py", "a.py b.py"} {
		if !slices.Contains(j.list, want) {
			t.Errorf("%s was not judged: %q", want, j.list)
		}
	}
}

// If a process dies after its tasks passed together and before they landed, none counts as proved alone: the next process judges again.
func TestABatchOfADeadProcessIsJudgedAgain(t *testing.T) {
	t.Parallel()
	j := &judgements{}
	s := three(t, j)
	var passed atomic.Int32
	m := &mortal{Plans: s.DB.Plans(), dies: func(builder.Attempt) bool { return false }, last: func(a builder.Attempt) bool {
		return a.Kind == builder.TaskKind && a.Outcome == builder.Passed && passed.Add(1) == 1
	}}
	s.b.Plans = m
	p := s.plan(t)
	if res := s.b.Build(t.Context(), s.request(), p); res.Exit == 0 || !m.dead.Load() {
		t.Fatalf("exit %d: %+v", res.Exit, res.Error)
	}
	asked := len(s.model.asked)
	s.builder(t)
	res := s.b.Build(t.Context(), s.request(), s.kept(t, p.ID))
	if res.Exit != 0 || states(res.Plan) != "1 done, 2 done, 3 done" || len(s.model.asked) != asked {
		t.Fatalf("%s, exit %d: %+v, %d more questions\n%s", states(res.Plan), res.Exit, res.Error, len(s.model.asked)-asked, strings.Join(s.notes, "\n"))
	}
	// First all three together, with one recorded attempt; then again, in whatever groups they met; then the whole.
	first, _, _ := strings.Cut(strings.Join(j.list, ", "), ", ")
	if first != "a.py b.py c.py" || len(j.list) < 3 {
		t.Errorf("judged %q", j.list)
	}
	s.holds(t, map[string]string{"a.py": "x = 2\n", "b.py": "b = 2\n", "c.py": "c = 2\n"})
}
