package loop_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/tournament"
	"agent/verify"
)

// heeded are the directives that earlier runs have dealt with.
type heeded struct {
	texts []string
	err   error
}

func (h heeded) Attended(context.Context, string) ([]string, error) { return h.texts, h.err }

// Directives come after what the request names, and before the cascade queue and the model's own choice.
func TestADirectiveIsAnOrderOfThePerson(t *testing.T) {
	t.Parallel()
	text := "- [ ] lib/b.py: make y two\n- gone.py: make it fast\n"
	for name, c := range map[string]struct {
		req                    run.Request
		queue                  []loop.Waiting
		attended               []string
		target, why, goal, key string
		asked                  bool
	}{
		"the first":         {target: "lib/b.py", why: "directive: lib/b.py: make y two", goal: "make y two", key: "lib/b.py: make y two"},
		"before the queue":  {queue: []loop.Waiting{{Path: "a.py", Because: "old"}}, target: "lib/b.py", why: "directive: lib/b.py: make y two", goal: "make y two", key: "lib/b.py: make y two"},
		"after the request": {req: run.Request{Scope: []string{"a.py"}}, target: "a.py", why: "as asked"},
		"after a goal":      {req: run.Request{Goal: "g"}, target: "a.py", why: "the model's choice", goal: "g", asked: true},
		"the next": {
			attended: []string{"lib/b.py: make y two"}, target: "a.py", why: "directive: gone.py: make it fast",
			goal: "gone.py: make it fast", key: "gone.py: make it fast", asked: true,
		},
		"none is left": {
			attended: []string{"gone.py: make it fast", "lib/b.py: make y two"}, target: "a.py", why: "the model's choice", asked: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m := scout(t, "a.py")
			s.Knowledge, s.Orders = notes{queue: c.queue}, heeded{texts: c.attended}
			files := map[string]string{tournament.DirectivesFile: text}
			for name, text := range pair {
				files[name] = text
			}
			base := runtest.Scan(t, files)
			if _, ok := base.Lookup(tournament.DirectivesFile); ok {
				t.Fatal("the orders are in the snapshot")
			}
			plan, err := s.Plan(t.Context(), base, c.req)
			if err != nil {
				t.Fatal(err)
			}
			b := plan.Task.Brief
			if b.Target != c.target || plan.Why != c.why || b.Goal != c.goal || plan.Directive != c.key || (len(m.Asked) > 0) != c.asked {
				t.Errorf("%q because of %q for the goal %q, directive %q after %d questions", b.Target, plan.Why, b.Goal, plan.Directive, len(m.Asked))
			}
			if implement := c.goal != ""; (plan.Task.Kind == agent.Implement) != implement || b.Code != files[c.target] {
				t.Errorf("the task is %s on %q", plan.Task.Kind, b.Code)
			}
		})
	}
}

func TestOrdersThatCannotBeReadEndThePlan(t *testing.T) {
	t.Parallel()
	s, _ := scout(t, "")
	base := runtest.Scan(t, map[string]string{"a.py": "x = 1\n", tournament.DirectivesFile: "- x\n"})
	s.Orders = heeded{err: errors.New("the store is away")}
	if _, err := s.Plan(t.Context(), base, run.Request{}); err == nil || !strings.Contains(err.Error(), "the store is away") {
		t.Errorf("got %v", err)
	}
	s.Orders = nil
	if plan, err := s.Plan(t.Context(), base, run.Request{}); err != nil || plan.Directive != "x" {
		t.Errorf("without a store: %+v, %v", plan, err)
	}
	s, _ = scout(t, "")
	base = runtest.Scan(t, map[string]string{"a.py": "x = 1\n", tournament.DirectivesFile + "/x": ""})
	var stop *agent.StopError
	if _, err := s.Plan(t.Context(), base, run.Request{}); !errors.As(err, &stop) {
		t.Errorf("got %v", err)
	}
}

// If a run fails for a directive, it says so, and the record skips that directive until its text changes.
func TestADirectiveThatFailedIsPassedOver(t *testing.T) {
	t.Parallel()
	b, m := runtest.Keeping(t, runtest.Wants("x = 2\n"), map[string]string{
		"propose/1": runtest.Only("x = 1", "x = 5"), "heal/1.1": "no", "heal/1.2": "no", "heal/1.3": "no",
	})
	if err := os.Mkdir(filepath.Join(b.Dir, ".agent"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.Write(t, tournament.DirectivesFile, "- a.py: make x two\n- a.py: make it fast\n")
	crew := b.Crew
	b.Crew = func(id string, emit func(agent.Progress)) tournament.Crew {
		c := crew(id, emit)
		c.Planner = &loop.Scout{Engineer: c.Engineer, Knowledge: notes{}, Orders: b.DB, Fence: "5f3c9a0e7b1d2468"}
		return c
	}
	doc := b.Run(t.Context(), b.Review(runtest.Decide(run.Apply)))
	b.Ended(t, doc, run.Rejected, verify.Fail, run.ExitFail)
	if !strings.Contains(doc.Error.Next, tournament.DirectivesFile) || !strings.Contains(m.Asked[0].Text, "make x two") {
		t.Errorf("next: %s", doc.Error.Next)
	}
	if list, _ := b.Open(t); len(list) != 1 || list[0].Goal != "make x two" {
		t.Errorf("kept %+v", list)
	}
	m.Asked, m.Answers = nil, map[string]string{"propose/1": runtest.Only("x = 1", "x = 2")}
	doc = b.Run(t.Context(), b.Review(runtest.Decide(run.Apply)))
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if !strings.Contains(m.Asked[0].Text, "make it fast") {
		t.Errorf("the next order is not taken up:\n%s", m.Asked[0].Text)
	}
	if left, err := b.DB.Attended(t.Context(), b.Dir); err != nil || len(left) != 2 {
		t.Errorf("attended to are %q, %v", left, err)
	}
}
