package loop_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/gate"
	"agent/orchestrator/ledger"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/tournament"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A course is a loop on a bench with a model that has a script for each iteration. Its answers are recorded as in a journal, so the same
// question of the same iteration is paid for only once.
type course struct {
	*runtest.Bench
	loop *loop.Loop
	// answers are listed by the number of the iteration and the step: "1 propose/1".
	answers map[string]string
	paid    []string
	journal map[string]string
	// onAsk, if not nil, is called before an answer that must be paid for.
	onAsk func(step string) error
}

// A pupil is the model of one iteration.
type pupil struct {
	*course
	it loop.Iteration
}

// Ask answers from the journal, or else from the script.
func (p pupil) Ask(ctx context.Context, q agent.Question) (agent.Reply, error) {
	key := p.it.ID + q.Step + q.Text
	if text, ok := p.journal[key]; ok {
		return agent.Reply{Text: text}, nil
	}
	step := fmt.Sprintf("%d %s", p.it.Order.Done+1, q.Step)
	text, ok := p.answers[step]
	if !ok {
		return agent.Reply{}, &agent.StopError{Message: "nobody answers " + step, Next: "write more of it"}
	}
	p.paid = append(p.paid, step)
	p.journal[key] = text
	if p.onAsk != nil {
		if err := p.onAsk(step); err != nil {
			return agent.Reply{}, err
		}
	}
	return agent.Reply{Text: text}, ctx.Err()
}

// school returns a course in a workspace with the files a.py, which contains x = 1, and b.py.
func school(t *testing.T, j runtest.Judge, answers map[string]string) *course {
	t.Helper()
	c := &course{Bench: runtest.Setup(t, j), answers: answers, journal: map[string]string{}}
	c.Write(t, "b.py", "import a\n")
	prompts, err := agent.LoadPrompts(nil)
	if err != nil {
		t.Fatal(err)
	}
	c.loop = &loop.Loop{
		Runner: c.Runner, Iterations: c.DB, Knowledge: c.DB, Attended: true,
		Crew: func(it loop.Iteration, _ func(agent.Progress)) tournament.Crew {
			e := &agent.Engineer{Model: pupil{c, it}, Prompts: prompts}
			return tournament.Crew{Engineer: e, Planner: &loop.Scout{Engineer: e, Knowledge: c.DB, Fence: it.Fence, Last: it.Order.Last, Turns: it.Order.Turns}}
		},
	}
	return c
}

// sail runs the loop from start.
func (c *course) sail(ctx context.Context, start loop.Start) loop.Result {
	return c.loop.Run(ctx, run.Request{Workspace: c.Dir, Approver: runtest.Decide(run.Apply)}, start)
}

// outcomes lists the outcomes of a result's iterations.
func outcomes(r loop.Result) string {
	var list []string
	for _, i := range r.Iterations {
		list = append(list, strings.TrimSpace(i.Target+" "+i.Outcome))
	}
	return strings.Join(list, ", ")
}

func TestALoopPromotesRemembersAndEnds(t *testing.T) {
	t.Parallel()
	c := school(t, runtest.Says(verify.Pass), map[string]string{
		"1 target": "a.py", "1 propose/1": runtest.Only("x = 1", "x = 2"), "1 memory/UM": "- x of a.py is two",
		"2 target": "b.py", "2 propose/1": "NOTHING",
	})
	ripple := ledger.Ripple{Path: "b.py", Lines: []int{1}, Because: []ledger.Change{{
		Path: "a.py", Kind: ledger.Renamed, Definition: ledger.Definition{Name: "x", Kind: ledger.Constant}, From: "x", To: "y",
	}}}
	c.loop.Study = func(_ context.Context, _ string, found func([]ledger.Ripple) error) error {
		return found([]ledger.Ripple{ripple})
	}
	res := c.sail(t.Context(), loop.Start{Order: loop.Order{Iterations: 2}})
	if res.Exit != run.ExitDone || res.Promoted != 1 || res.Stopped != "all of 2 iterations done" || outcomes(res) != "a.py promoted, b.py clean" {
		t.Errorf("exit %d, %d promoted, %s: %s", res.Exit, res.Promoted, outcomes(res), res.Stopped)
	}
	// The second target came from the cascade, so the model was not asked for it.
	if want := "1 target, 1 propose/1, 1 memory/UM, 2 propose/1"; strings.Join(c.paid, ", ") != want {
		t.Errorf("paid for %v", c.paid)
	}
	if why := res.Iterations[1].Why; !strings.Contains(why, "constant x of a.py is now called y") {
		t.Errorf("the second target was chosen for %q", why)
	}
	if m, err := c.DB.Memory(t.Context(), c.Dir); err != nil || m.Text != "- x of a.py is two" || m.Iteration != 1 {
		t.Errorf("memory %+v, %v", m, err)
	}
	if q, err := c.DB.Queue(t.Context(), c.Dir); err != nil || len(q) != 0 {
		t.Errorf("the queue is %v, %v", q, err)
	}
	if h, err := c.DB.History(t.Context(), c.Dir, 9); err != nil || len(h) != 1 {
		t.Errorf("the history is %v, %v", h, err)
	}
}

// Between two iterations, a link replaces the workspace: the loop does not continue where it leads.
func TestALoopStaysInItsDirectory(t *testing.T) {
	t.Parallel()
	c := school(t, runtest.Says(verify.Pass), map[string]string{
		"1 target": "a.py", "1 propose/1": runtest.Only("x = 1", "x = 2"), "1 memory/UM": "-", "2 target": "a.py", "2 propose/1": runtest.Only("x = 2", "x = 3"),
	})
	aside, elsewhere := c.Dir+"-aside", t.TempDir()
	t.Cleanup(func() { os.RemoveAll(aside) })
	c.loop.Study = func(context.Context, string, func([]ledger.Ripple) error) error {
		return errors.Join(os.Rename(c.Dir, aside), os.CopyFS(elsewhere, os.DirFS(aside)), os.Symlink(elsewhere, c.Dir))
	}
	res := c.sail(t.Context(), loop.Start{Order: loop.Order{Iterations: 2}})
	if res.Promoted != 1 || len(res.Iterations) != 2 || res.Iterations[1].Outcome == "promoted" {
		t.Errorf("exit %d, %d promoted, %s: %s", res.Exit, res.Promoted, outcomes(res), res.Stopped)
	}
	for _, dir := range []string{aside, elsewhere} {
		if text, err := os.ReadFile(filepath.Join(dir, "a.py")); err != nil || string(text) != "x = 2\n" {
			t.Errorf("%s has %q, %v", dir, text, err)
		}
	}
}

// TestAKilledLoopPaysForNothingTwice stops the loop after each answer, and another process resumes it.
func TestAKilledLoopPaysForNothingTwice(t *testing.T) {
	t.Parallel()
	steps := []string{"1 target", "1 propose/1", "1 memory/UM", "2 propose/1", "2 memory/UM", "2 memory/RM"}
	for _, at := range steps {
		t.Run(strings.ReplaceAll(at, "/", "-"), func(t *testing.T) {
			t.Parallel()
			c := school(t, runtest.Says(verify.Pass), map[string]string{
				"1 target": "a.py", "1 propose/1": runtest.Only("x = 1", "x = 2"), "1 memory/UM": "- x of a.py is two",
				"2 target": "b.py", "2 propose/1": strings.ReplaceAll(runtest.Only("import a", "import a  # used"), "a.py", "b.py"),
				"2 memory/UM": "- x of a.py is two, b.py uses it", "2 memory/RM": "- a.py: x is two; b.py uses it",
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c.onAsk = func(step string) error {
				if step != at {
					return nil
				}
				cancel()
				return ctx.Err()
			}
			first := c.sail(ctx, loop.Start{Order: loop.Order{Iterations: 2}})
			if first.Exit != run.ExitCancelled {
				t.Fatalf("stopped at %s: exit %d, %s", at, first.Exit, first.Stopped)
			}
			c.onAsk = nil
			second := c.sail(t.Context(), loop.Start{Resume: true})
			if second.Exit != run.ExitDone || second.Stopped != "all of 2 iterations done" {
				t.Errorf("resumed: exit %d, %s", second.Exit, second.Stopped)
			}
			if got := strings.Join(c.paid, ", "); got != strings.Join(steps, ", ") {
				t.Errorf("paid for %s", got)
			}
			if tree := c.Tree(t); tree["a.py"] != "x = 2\n" || tree["b.py"] != "import a  # used\n" {
				t.Errorf("the tree is %q", tree)
			}
			if m, err := c.DB.Memory(t.Context(), c.Dir); err != nil || m.Text != "- a.py: x is two; b.py uses it" || m.Iteration != 2 {
				t.Errorf("memory %+v, %v", m, err)
			}
		})
	}
}

func TestAPlanIsMadeAnewWhenItsFileWasEdited(t *testing.T) {
	t.Parallel()
	c := school(t, runtest.Says(verify.Pass), map[string]string{"1 target": "a.py", "1 propose/1": runtest.Only("x = 3", "x = 4"), "1 memory/UM": "- four"})
	ctx, cancel := context.WithCancel(t.Context())
	c.onAsk = func(step string) error {
		if step == "1 propose/1" {
			cancel()
		}
		return ctx.Err()
	}
	c.sail(ctx, loop.Start{Order: loop.Order{Iterations: 1}})
	c.Write(t, "a.py", "x = 3\n") // a person's own edit
	c.onAsk = nil
	res := c.sail(t.Context(), loop.Start{Resume: true})
	if res.Exit != run.ExitDone || c.Tree(t)["a.py"] != "x = 4\n" {
		t.Errorf("exit %d, %s, a.py is %q", res.Exit, res.Stopped, c.Tree(t)["a.py"])
	}
}

func TestFailuresInARowEndALoop(t *testing.T) {
	t.Parallel()
	answers := map[string]string{}
	for n := 1; n <= 9; n++ {
		answers[fmt.Sprintf("%d target", n)] = []string{"a.py", "b.py"}[n%2]
		answers[fmt.Sprintf("%d propose/1", n)] = "I cannot say."
		answers[fmt.Sprintf("%d memory/UM", n)] = "- nothing worked on a.py and b.py"
		answers[fmt.Sprintf("%d memory/RM", n)] = "- nothing worked on a.py and b.py"
		for h := 1; h <= 3; h++ {
			answers[fmt.Sprintf("%d heal/1.%d", n, h)] = "Still not."
		}
	}
	c := school(t, runtest.Says(verify.Pass), answers)
	res := c.sail(t.Context(), loop.Start{})
	if res.Exit != run.ExitFail || len(res.Iterations) != 3 || res.Stopped != "3 iterations failed in a row" {
		t.Errorf("exit %d after %d iterations: %s", res.Exit, len(res.Iterations), res.Stopped)
	}
	c.untouchedBut(t, "b.py")
}

// untouchedBut checks that nothing was written except what the test wrote.
func (c *course) untouchedBut(t *testing.T, name string) {
	t.Helper()
	if tree := c.Tree(t); tree["a.py"] != "x = 1\n" || len(tree) != 2 || tree[name] == "" {
		t.Errorf("the tree is %q", tree)
	}
}

// An iteration that only proposes a feature has found nothing. One that takes up a proposal keeps that in its plan, so a process that
// resumes it does the same.
func TestALoopTakesUpWhatItProposed(t *testing.T) {
	t.Parallel()
	c := school(t, runtest.Says(verify.Pass), map[string]string{
		"1 target": "a.py", "1 propose/1": "NOTHING", "1 feature/1": runtest.Wish, "1 implement/1": runtest.Only("x = 1", "x = 2"), "1 memory/UM": "- a.py",
	})
	c.Runner.Proposals = c.DB
	res := c.loop.Run(t.Context(), run.Request{Workspace: c.Dir, Approver: runtest.Decide(run.Unattended)}, loop.Start{Order: loop.Order{Iterations: 1}})
	list, names := c.Open(t)
	if outcomes(res) != "a.py proposed" || res.Exit != run.ExitDone || names != "FEATURE a.py" {
		t.Fatalf("%s, exit %d, open are %q", outcomes(res), res.Exit, names)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.onAsk = func(string) error { cancel(); return ctx.Err() }
	req := list[0].Resume(run.Request{Workspace: c.Dir, Approver: runtest.Decide(run.Apply)})
	c.loop.Run(ctx, req, loop.Start{Order: loop.Order{Single: true, Scope: req.Scope, Iterations: 1}})
	c.onAsk = nil
	res = c.sail(t.Context(), loop.Start{Resume: true})
	if outcomes(res) != "a.py promoted" || c.Tree(t)["a.py"] != "x = 2\n" || c.State(t, list[0].ID) != run.ProposalDone {
		t.Errorf("%s, the proposal is %s after %v", outcomes(res), c.State(t, list[0].ID), c.paid)
	}
}

// If a model finds nothing and would propose features without end, each file is reviewed once, and nothing is written.
func TestALoopThatFindsOnlyFeaturesEnds(t *testing.T) {
	t.Parallel()
	answers := map[string]string{}
	for n := 1; n <= 9; n++ {
		answers[fmt.Sprintf("%d target", n)] = []string{"a.py", "b.py"}[n%2]
		answers[fmt.Sprintf("%d propose/1", n)] = "NOTHING"
		answers[fmt.Sprintf("%d feature/1", n)] = strings.ReplaceAll(runtest.Wish, "two", fmt.Sprint(n))
		answers[fmt.Sprintf("%d implement/1", n)] = runtest.Only("x = 1", "x = 2")
		answers[fmt.Sprintf("%d memory/UM", n)] = "- a.py and b.py"
	}
	yes := runtest.Person(run.Answer{Decision: run.Apply, By: "--yes"})
	yes.List = yes.List[:1]
	for name, c := range map[string]struct {
		order  loop.Order
		rounds string
		open   string
	}{
		"no bound":         {loop.Order{}, "b.py proposed, a.py proposed", "FEATURE b.py, FEATURE a.py"},
		"a bound":          {loop.Order{Iterations: 9}, "b.py proposed, a.py proposed", "FEATURE b.py, FEATURE a.py"},
		"a file":           {loop.Order{Scope: []string{"a.py"}}, "a.py proposed", "FEATURE a.py"},
		"until clean":      {loop.Order{UntilClean: true}, "b.py clean, a.py clean", ""},
		"one of two files": {loop.Order{Iterations: 1}, "b.py proposed", "FEATURE b.py"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := school(t, runtest.Says(verify.Pass), answers)
			s.Runner.Proposals = s.DB
			ask := *yes
			run1 := func() loop.Result {
				return s.loop.Run(t.Context(), run.Request{Workspace: s.Dir, Approver: &ask}, loop.Start{Order: c.order})
			}
			res := run1()
			_, names := s.Open(t)
			if outcomes(res) != c.rounds || res.Exit != run.ExitDone || names != c.open {
				t.Fatalf("%s, exit %d, %s; open are %q", outcomes(res), res.Exit, res.Stopped, names)
			}
			s.untouchedBut(t, "b.py")
			// Another loop reviews again, but asks for no feature that is still open.
			paid := len(s.paid)
			if res := run1(); outcomes(res) != c.rounds {
				t.Errorf("again: %s, %s", outcomes(res), res.Stopped)
			}
			for _, step := range s.paid[paid:] {
				if strings.HasSuffix(step, "feature/1") {
					t.Errorf("paid again for %s", step)
				}
			}
		})
	}
}

// A file that has changed since its review is reviewed again, and a resumed loop remembers what was reviewed.
func TestALoopReviewsAgainWhatChanged(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"1 target": "a.py", "1 propose/1": "NOTHING", "2 propose/1": strings.ReplaceAll(runtest.Only("import a", "import a  # used"), "a.py", "b.py"),
		"2 memory/UM": "- b.py", "3 propose/1": "NOTHING", "4 propose/1": "NOTHING",
	}
	c := school(t, runtest.Says(verify.Pass), answers)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.onAsk = func(step string) error {
		if step == "2 memory/UM" {
			cancel()
		}
		return ctx.Err()
	}
	c.sail(ctx, loop.Start{})
	c.onAsk = nil
	res := c.sail(t.Context(), loop.Start{Resume: true})
	// a.py was found clean before the loop stopped; b.py has changed since.
	if outcomes(res) != "b.py promoted, b.py clean" || res.Exit != run.ExitDone || !strings.HasPrefix(res.Stopped, "clean: every file") {
		t.Errorf("%s, exit %d: %s", outcomes(res), res.Exit, res.Stopped)
	}
}

// A loop with a goal or directives ends successfully if nothing is left to change, and says so. Each file is considered once for the
// current goal; a directive that needs no change is dealt with and does not count as a failure.
func TestALoopWithAGoalEndsWhenNothingIsLeft(t *testing.T) {
	t.Parallel()
	nothing := func(from, to int) map[string]string {
		answers := map[string]string{"1 target": "a.py", "2 target": "b.py", "3 target": "b.py", "4 target": "a.py", "5 target": "a.py"}
		for n := from; n <= to; n++ {
			answers[fmt.Sprintf("%d propose/1", n)] = "NOTHING"
		}
		return answers
	}
	first := nothing(2, 5)
	first["1 propose/1"], first["1 memory/UM"] = runtest.Only("x = 1", "x = 2"), "- x is two"
	for name, c := range map[string]struct {
		answers    map[string]string
		order      loop.Order
		directives string
		explores   bool
		rounds     string
		stopped    string
	}{
		"every file": {answers: first, order: loop.Order{Goal: "numbers are even"}, rounds: "a.py promoted, b.py clean, a.py clean", stopped: "clean: every file was reviewed for the goal"},
		"nothing at all": {
			answers: nothing(1, 5), order: loop.Order{Goal: "g", UntilClean: true, Candidates: 2}, rounds: "a.py clean, b.py clean", stopped: "clean: every file was reviewed for the goal",
		},
		"a file":   {answers: first, order: loop.Order{Goal: "x is two", Scope: []string{"a.py"}, UntilClean: true}, rounds: "a.py promoted, a.py clean", stopped: "clean: every file was reviewed for the goal"},
		"by tools": {answers: first, order: loop.Order{Goal: "x is two", UntilClean: true}, explores: true, rounds: "promoted, clean", stopped: "clean: the model sees nothing left to change for the goal"},
		"directives": {
			answers: nothing(1, 5), order: loop.Order{UntilClean: true}, directives: "- a.py: x is one\n- b.py: import a\n- a.py: no y\n",
			rounds: "a.py clean, b.py clean, a.py clean, b.py clean, a.py clean", stopped: "clean: every file was reviewed since it last changed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for step, text := range c.answers {
				if n, propose := strings.CutSuffix(step, " propose/1"); propose && c.order.Candidates > 1 {
					c.answers[n+" propose/2"] = text
				}
			}
			s := school(t, runtest.Says(verify.Pass), c.answers)
			if c.directives != "" {
				if err := os.Mkdir(filepath.Join(s.Dir, ".agent"), 0o755); err != nil {
					t.Fatal(err)
				}
				s.Write(t, tournament.DirectivesFile, c.directives)
			}
			crew := s.loop.Crew
			s.loop.Crew = func(it loop.Iteration, emit func(agent.Progress)) tournament.Crew {
				made := crew(it, emit)
				scout := made.Planner.(*loop.Scout)
				scout.Orders, scout.Explores = s.DB, c.explores
				made.Workbench = func(context.Context, *workspace.Manifest, agent.Task) (tournament.Workbench, error) {
					return explorer{pupil{s, it}}, nil
				}
				return made
			}
			res := s.sail(t.Context(), loop.Start{Order: c.order})
			if res.Exit != run.ExitDone || res.Error != nil || outcomes(res) != c.rounds || !strings.HasPrefix(res.Stopped, c.stopped) {
				t.Errorf("exit %d, %s: %s", res.Exit, outcomes(res), res.Stopped)
			}
		})
	}
}

// An explorer stands for a workbench and answers like a pupil.
type explorer struct{ pupil }

func (e explorer) On(workspace.Changeset, gate.Stage, *gate.Gate) agent.Model { return e.pupil }

// A single run was asked for a change, so it fails if there is none.
func TestASingleRunForAGoalWithoutAChangeFails(t *testing.T) {
	t.Parallel()
	c := school(t, runtest.Says(verify.Pass), map[string]string{"1 target": "a.py", "1 propose/1": "NOTHING"})
	res := c.sail(t.Context(), loop.Start{Order: loop.Order{Goal: "g", Single: true, Iterations: 1}})
	if res.Exit != run.ExitFail || res.Error == nil || outcomes(res) != "a.py rejected" {
		t.Errorf("exit %d, %s: %s", res.Exit, outcomes(res), res.Stopped)
	}
}

func TestALoopEndsWhenItMust(t *testing.T) {
	t.Parallel()
	nothing := map[string]string{"1 target": "a.py", "1 propose/1": "NOTHING", "2 target": "b.py", "2 propose/1": "NOTHING"}
	edits := map[string]string{"1 target": "a.py", "1 propose/1": runtest.Only("x = 1", "x = 2"), "1 memory/UM": "- x"}
	for name, tc := range map[string]struct {
		answers map[string]string
		verdict verify.Verdict
		order   loop.Order
		lone    bool // nobody may approve
		exit    int
		stopped string
		rounds  int
	}{
		"until clean":       {nothing, verify.Pass, loop.Order{UntilClean: true}, false, run.ExitDone, "clean: every file was reviewed", 2},
		"nobody approves":   {edits, verify.Pass, loop.Order{}, true, run.ExitApproval, "awaiting approval: ", 1},
		"the model is away": {nil, verify.Pass, loop.Order{}, false, run.ExitInfra, "3 iterations failed in a row", 3},
		"the engine is away": {
			edits, verify.Infra, loop.Order{}, false, run.ExitInfra, "3 iterations failed in a row", 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := school(t, runtest.Says(tc.verdict), tc.answers)
			req := run.Request{Workspace: c.Dir, Approver: runtest.Decide(run.Apply)}
			if tc.lone {
				c.loop.Attended, req.Approver = false, runtest.Decide(run.Unattended)
			}
			res := c.loop.Run(t.Context(), req, loop.Start{Order: tc.order})
			if res.Exit != tc.exit || !strings.Contains(res.Stopped, tc.stopped) || len(res.Iterations) != tc.rounds {
				t.Errorf("exit %d after %d iterations: %s", res.Exit, len(res.Iterations), res.Stopped)
			}
			seen := map[string]bool{}
			for _, step := range c.paid {
				if seen[step] {
					t.Errorf("paid for %s twice", step)
				}
				seen[step] = true
			}
		})
	}
}

// The time limit of a loop counts from its start, across all its processes, and also ends it within an iteration. With a higher limit it
// can be resumed, and no question is asked twice.
func TestTheTimeOfALoopIsBounded(t *testing.T) {
	t.Parallel()
	c := school(t, runtest.Says(verify.Pass), map[string]string{"1 target": "a.py", "1 propose/1": "NOTHING", "2 propose/1": "NOTHING"})
	c.loop.MaxWall = time.Nanosecond
	for _, start := range []loop.Start{{Order: loop.Order{UntilClean: true}}, {Resume: true}} {
		res := c.sail(t.Context(), start)
		if res.Exit != run.ExitBudget || res.Error == nil || !strings.Contains(res.Stopped, "time of the loop is reached: 1ns") || !strings.Contains(res.Error.Next, "--max-wall") {
			t.Fatalf("exit %d: %s, %+v", res.Exit, res.Stopped, res.Error)
		}
	}
	c.loop.MaxWall = 100 * time.Hour
	if res := c.sail(t.Context(), loop.Start{Resume: true}); res.Exit != run.ExitDone || !strings.HasPrefix(res.Stopped, "clean: every file") {
		t.Errorf("exit %d: %s", res.Exit, res.Stopped)
	}
}

func TestAnInterruptedIterationIsNotPassedOver(t *testing.T) {
	t.Parallel()
	c := school(t, runtest.Says(verify.Pass), map[string]string{"1 target": "a.py"})
	ctx, cancel := context.WithCancel(t.Context())
	c.onAsk = func(string) error { cancel(); return ctx.Err() }
	c.sail(ctx, loop.Start{Order: loop.Order{Iterations: 1}})
	c.onAsk = nil
	c.answers["1 propose/1"] = "NOTHING"
	for _, start := range []loop.Start{{}, {Order: loop.Order{Single: true, Iterations: 1}}} {
		res := c.sail(t.Context(), start)
		if res.Exit != run.ExitConflict || res.Error == nil || !strings.Contains(res.Error.Next, "--resume") {
			t.Errorf("exit %d: %s", res.Exit, res.Stopped)
		}
	}
	res := c.sail(t.Context(), loop.Start{Fresh: true, Order: loop.Order{Iterations: 1}})
	if res.Exit != run.ExitDone || outcomes(res) != "a.py clean" {
		t.Errorf("begun anew: exit %d, %s", res.Exit, res.Stopped)
	}
	if res := c.sail(t.Context(), loop.Start{Resume: true}); len(res.Iterations) != 0 || res.Exit != run.ExitDone {
		t.Errorf("there was nothing to resume: exit %d, %s", res.Exit, res.Stopped)
	}
}

func TestWhatCannotBeLearntIsNoted(t *testing.T) {
	t.Parallel()
	c := school(t, runtest.Says(verify.Pass), map[string]string{"1 target": "a.py", "1 propose/1": runtest.Only("x = 1", "x = 2")})
	c.loop.Study = func(context.Context, string, func([]ledger.Ripple) error) error {
		return errors.New("the scanner is away")
	}
	c.loop.Export = func(context.Context, string) error { return errors.New("the disk is full") }
	res := c.sail(t.Context(), loop.Start{Order: loop.Order{Iterations: 1}})
	notes := strings.Join(res.Iterations[0].Notes, "\n")
	for _, want := range []string{"the scanner is away", "the disk is full", "nobody answers 1 memory/UM"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not noted in:\n%s", want, notes)
		}
	}
	if res.Exit != run.ExitDone || res.Promoted != 1 {
		t.Errorf("exit %d, %d promoted", res.Exit, res.Promoted)
	}
}
