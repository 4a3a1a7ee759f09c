package builder_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"agent/orchestrator/crew/builder"
	"agent/orchestrator/run/runtest"
	"agent/verify"
)

// arrivals are the plans of a record in which a task that passed waits until this many have passed.
type arrivals struct {
	builder.Plans
	mu    sync.Mutex
	left  int
	there chan struct{}
}

// SaveAttempt implements builder.Plans.
func (a *arrivals) SaveAttempt(ctx context.Context, at builder.Attempt) error {
	err := a.Plans.SaveAttempt(ctx, at)
	if at.Kind == builder.TaskKind && at.Outcome == builder.Passed {
		a.mu.Lock()
		if a.left--; a.left == 0 {
			close(a.there)
		}
		a.mu.Unlock()
		<-a.there
	}
	return err
}

// Of four tasks that pass at the same time, one lands as it is. The waiting ones are merged and judged once and, if they do not pass
// together, each alone.
func TestWhatWaitsLandsTogether(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails bool
		most  int // judgements of merged changes
	}{"together": {false, 2}, "apart": {true, 5}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			merges, whole, failed := 0, 0, false
			s := newSite(t, map[string]string{"b.py": "b = 1\n", "c.py": "c = 1\n", "d.py": "d = 1\n"}, func(ctx context.Context, req verify.Request) (verify.Report, error) {
				mu.Lock()
				defer mu.Unlock()
				switch n := len(req.Changeset.Changes); {
				case n == 4:
					whole++
				case n > 1:
					if merges++; c.fails && !failed {
						failed = true
						return runtest.Says(verify.Fail)(ctx, req)
					}
				}
				return runtest.Says(verify.Pass)(ctx, req)
			})
			s.model.planner = []string{planOf(1, "one|a.py", "two|b.py", "three|c.py", "four|d.py")}
			s.model.work = map[string][]string{
				"one": {edits("a.py", "x = 1", "x = 2")}, "two": {edits("b.py", "b = 1", "b = 2")}, "three": {edits("c.py", "c = 1", "c = 2")}, "four": {edits("d.py", "d = 1", "d = 2")},
			}
			a := &arrivals{Plans: s.DB.Plans(), left: 4, there: make(chan struct{})}
			s.b.Plans, s.b.Parallel = a, 4
			res := s.b.Build(t.Context(), s.request(), s.plan(t))
			if res.Exit != 0 || states(res.Plan) != "1 done, 2 done, 3 done, 4 done" {
				t.Fatalf("%s, exit %d: %+v\n%s", states(res.Plan), res.Exit, res.Error, strings.Join(s.notes, "\n"))
			}
			s.holds(t, map[string]string{"a.py": "x = 2\n", "b.py": "b = 2\n", "c.py": "c = 2\n", "d.py": "d = 2\n"})
			if merges == 0 || merges > c.most || whole != 1 || failed != c.fails {
				t.Errorf("%d merges of several, the whole %d times", merges, whole)
			}
			landed := []int{}
			for _, task := range res.Plan.Landed() {
				landed = append(landed, task.Landed)
			}
			if !slices.Equal(landed, []int{1, 2, 3, 4}) || s.told("each is judged alone") != c.fails {
				t.Errorf("landed are %v\n%s", landed, strings.Join(s.notes, "\n"))
			}
		})
	}
}
