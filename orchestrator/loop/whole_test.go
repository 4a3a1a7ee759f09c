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

	"agent/orchestrator/loop"
	"agent/orchestrator/loop/quiet"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/tournament"
	"agent/verify"
)

// kept stores a proposal for path, with a patch that turns x = 1 into x = 5 if patch is set, and returns its number.
func (c *course) kept(t *testing.T, kind run.ProposalKind, path string, patch bool) int64 {
	t.Helper()
	p := run.KeptProposal{Workspace: c.Dir, Kind: kind, Path: path, Text: "change " + path, Reason: "a test", Run: ""}
	if patch {
		p.Patch = fmt.Appendf(nil, "diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1 @@\n-x = 1\n+x = 5\n", path)
	}
	id, err := c.DB.AddProposal(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// pending returns a course whose loop takes up stored proposals.
func pending(t *testing.T, answers map[string]string) *course {
	t.Helper()
	c := school(t, runtest.Says(verify.Pass), answers)
	c.Runner.Proposals, c.loop.Pending, c.loop.Orders = c.DB, c.DB, c.DB
	return c
}

// Pending proposals come before other targets, once each. A passed change is judged again without asking a model. An unwritten feature is
// left alone unless it is wanted, and so is what the loop itself leaves behind.
func TestPendingProposalsComeFirst(t *testing.T) {
	t.Parallel()
	c := pending(t, map[string]string{
		"1 memory/UM": "- x is five", "2 target": "b.py", "2 propose/1": "NOTHING", "2 feature/1": runtest.Wish, "3 target": "a.py", "3 propose/1": "NOTHING", "3 feature/1": runtest.Wish,
	})
	first := c.kept(t, run.PeerReview, "a.py", true)
	c.kept(t, run.Feature, "b.py", false)
	gone := c.kept(t, run.FailedPeerReview, "gone.py", true)
	res := c.sail(t.Context(), loop.Start{Order: loop.Order{Iterations: 3}})
	if res.Exit != run.ExitDone || !strings.HasPrefix(outcomes(res), "a.py promoted, ") || len(res.Iterations) != 3 {
		t.Fatalf("exit %d, %s: %s %+v", res.Exit, outcomes(res), res.Stopped, res.Error)
	}
	if why := res.Iterations[0].Why; why != fmt.Sprintf("proposal %d", first) {
		t.Errorf("the first is done for %q", why)
	}
	for _, why := range []string{res.Iterations[1].Why, res.Iterations[2].Why} {
		if strings.Contains(why, "proposal") {
			t.Errorf("taken up: %q", why)
		}
	}
	if got := c.Tree(t)["a.py"]; got != "x = 5\n" {
		t.Errorf("a.py holds %q", got)
	}
	list, _ := c.Open(t)
	for _, p := range list {
		if p.ID == first {
			t.Error("it is still open")
		}
	}
	if len(list) == 0 || list[1].ID != gone {
		t.Errorf("open are %+v", list)
	}
	if strings.Contains(strings.Join(c.paid, " "), "1 propose") || strings.Contains(strings.Join(c.paid, " "), "1 target") {
		t.Errorf("paid for %v", c.paid)
	}
}

// A loop leaves its own failures to a person or another loop, because the same models would only fail again.
func TestALoopLeavesItsOwnFailures(t *testing.T) {
	t.Parallel()
	answers := map[string]string{}
	for n := 1; n <= 3; n++ {
		answers[fmt.Sprintf("%d target", n)], answers[fmt.Sprintf("%d propose/1", n)] = "a.py", runtest.Only("x = 1", fmt.Sprintf("x = %d", n+1))
		for h := 1; h <= 3; h++ {
			answers[fmt.Sprintf("%d heal/1.%d", n, h)] = runtest.Only("x = 1", fmt.Sprintf("x = %d%d", n, h))
		}
	}
	c := pending(t, answers)
	c.Runner.Verifier = runtest.Says(verify.Fail)
	if err := os.Remove(filepath.Join(c.Dir, "b.py")); err != nil {
		t.Fatal(err)
	}
	res := c.sail(t.Context(), loop.Start{Order: loop.Order{Iterations: 2}})
	for _, r := range res.Iterations {
		if r.Outcome != "rejected" || strings.Contains(r.Why, "proposal") {
			t.Errorf("%s for %q", r.Outcome, r.Why)
		}
	}
	if _, names := c.Open(t); !strings.Contains(names, "FAILED_PEER_REVIEW a.py") || len(res.Iterations) != 2 {
		t.Errorf("%s; open are %q", outcomes(res), names)
	}
	// Another loop begins with the failed one.
	if res = c.sail(t.Context(), loop.Start{Order: loop.Order{Iterations: 1}}); len(res.Iterations) != 1 || !strings.HasPrefix(res.Iterations[0].Why, "proposal ") {
		t.Errorf("%+v", res.Iterations)
	}
}

// A person accepts, skips or deletes a proposal, and is asked about each one once.
func TestAPersonDecidesAboutPendingProposals(t *testing.T) {
	t.Parallel()
	c := pending(t, map[string]string{"1 memory/UM": "- x is five", "2 target": "b.py", "2 propose/1": "NOTHING"})
	decisions := map[int64]run.Decision{
		c.kept(t, run.PeerReview, "b.py", true): run.Skip, c.kept(t, run.FailedPeerReview, "b.py", true): run.Drop, c.kept(t, run.FailedPeerReview, "a.py", true): run.Apply,
	}
	var asked []int64
	c.loop.Ask = func(_ context.Context, p run.KeptProposal) (run.Decision, error) {
		asked = append(asked, p.ID)
		return decisions[p.ID], nil
	}
	res := c.sail(t.Context(), loop.Start{Order: loop.Order{Iterations: 2, UntilClean: true}})
	list, names := c.Open(t)
	if outcomes(res) != "a.py promoted, b.py clean" || len(asked) != 3 || names != "PEER_REVIEW b.py" || len(list) != 1 {
		t.Errorf("%s; asked about %v, open are %q", outcomes(res), asked, names)
	}
}

// A person's directive comes before every pending proposal, and so does a goal.
func TestADirectiveComesBeforeWhatIsPending(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]loop.Order{"directive": {Iterations: 1}, "goal": {Iterations: 1, Goal: "x is two", Scope: []string{"a.py"}}, "file": {Iterations: 1, Scope: []string{"a.py"}}} {
		c := pending(t, map[string]string{"1 propose/1": runtest.Only("x = 1", "x = 2"), "1 memory/UM": "- x is two"})
		c.kept(t, run.PeerReview, "a.py", true)
		if name == "directive" {
			if err := os.Mkdir(filepath.Join(c.Dir, ".agent"), 0o755); err != nil {
				t.Fatal(err)
			}
			c.Write(t, tournament.DirectivesFile, "- a.py: x is two\n")
		}
		res := c.sail(t.Context(), loop.Start{Order: order})
		if outcomes(res) != "a.py promoted" || c.Tree(t)["a.py"] != "x = 2\n" {
			t.Errorf("%s: %s, a.py holds %q: %+v", name, outcomes(res), c.Tree(t)["a.py"], res.Error)
		}
	}
}

// A killed loop takes up the same proposal again.
func TestAPendingProposalIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	c := pending(t, map[string]string{"1 memory/UM": "- x is five"})
	c.kept(t, run.PeerReview, "a.py", true)
	ctx, cancel := context.WithCancel(t.Context())
	judge := c.Runner.Verifier
	c.Runner.Verifier = runtest.Judge(func(context.Context, verify.Request) (verify.Report, error) {
		cancel()
		return verify.Report{}, context.Canceled
	})
	if res := c.sail(ctx, loop.Start{Order: loop.Order{Iterations: 1}}); res.Exit != run.ExitCancelled {
		t.Fatalf("exit %d: %s", res.Exit, res.Stopped)
	}
	c.Runner.Verifier = judge
	if res := c.sail(t.Context(), loop.Start{Resume: true}); outcomes(res) != "a.py promoted" || c.Tree(t)["a.py"] != "x = 5\n" {
		t.Errorf("%s: %+v", outcomes(res), res.Error)
	}
}

// A loop that promoted enough ends and lists it all, earlier processes' work too. Resuming it counts as having looked at it.
func TestALoopWrapsUp(t *testing.T) {
	t.Parallel()
	answers := map[string]string{}
	for n := 1; n <= 4; n++ {
		answers[fmt.Sprintf("%d target", n)] = "a.py"
		answers[fmt.Sprintf("%d propose/1", n)] = runtest.Only(fmt.Sprintf("x = %d", n), fmt.Sprintf("x = %d", n+1))
		answers[fmt.Sprintf("%d memory/UM", n)], answers[fmt.Sprintf("%d memory/RM", n)] = "- a.py", "- a.py"
	}
	c := school(t, runtest.Says(verify.Pass), answers)
	if err := os.Remove(filepath.Join(c.Dir, "b.py")); err != nil {
		t.Fatal(err)
	}
	c.loop.WrapUp = 2
	ctx, cancel := context.WithCancel(t.Context())
	c.onAsk = func(step string) error {
		if step == "2 propose/1" {
			cancel()
		}
		return ctx.Err()
	}
	c.sail(ctx, loop.Start{Order: loop.Order{Iterations: 4}})
	c.onAsk = nil
	res := c.sail(t.Context(), loop.Start{Resume: true})
	if res.Exit != run.ExitDone || len(res.WrapUp) != 2 || res.Stopped != "wrapped up: 2 promotions not looked at yet" || len(res.Iterations) != 1 {
		t.Fatalf("exit %d, %s: %s, %+v", res.Exit, outcomes(res), res.Stopped, res.WrapUp)
	}
	if want := fmt.Sprintf("agent pr open --run %s --run %s", res.WrapUp[0].Run, res.WrapUp[1].Run); !strings.Contains(res.Next, want) {
		t.Errorf("next is %q, without %s", res.Next, want)
	}
	if res = c.sail(t.Context(), loop.Start{Resume: true}); len(res.Iterations) != 2 || c.Tree(t)["a.py"] != "x = 5\n" {
		t.Errorf("%s: %s", outcomes(res), res.Stopped)
	}
}

// Targets rotate: no file gets another turn before the others had theirs.
func TestTargetsGoRound(t *testing.T) {
	t.Parallel()
	answers := map[string]string{}
	for n := 1; n <= 6; n++ {
		// A model that always names the same file gets it only when that file's turn comes.
		answers[fmt.Sprintf("%d target", n)] = "a.py"
		answers[fmt.Sprintf("%d propose/1", n)] = "I cannot say."
		for h := 1; h <= 3; h++ {
			answers[fmt.Sprintf("%d heal/1.%d", n, h)] = "Still not."
		}
	}
	c := school(t, runtest.Says(verify.Pass), answers)
	c.Write(t, "c.py", "import b\n")
	c.loop.MaxFailures = 9
	res := c.sail(t.Context(), loop.Start{Order: loop.Order{Iterations: 6}})
	var got []string
	for _, r := range res.Iterations {
		got = append(got, r.Target)
	}
	if len(got) != 6 {
		t.Fatalf("%v: %s", got, res.Stopped)
	}
	for i := 0; i < 6; i += 3 {
		if got[i] == got[i+1] || got[i+1] == got[i+2] || got[i] == got[i+2] {
			t.Errorf("the targets are %v", got)
		}
	}
}

// During quiet hours a loop starts nothing, says until when, and can be cancelled.
func TestALoopWaitsInQuietHours(t *testing.T) {
	t.Parallel()
	answers := map[string]string{"1 target": "a.py", "1 propose/1": runtest.Only("x = 1", "x = 2"), "1 memory/UM": "- x is two"}
	for _, cancelled := range []bool{false, true} {
		c := school(t, runtest.Says(verify.Pass), answers)
		var err error
		if c.loop.Quiet, err = quiet.Parse("22:00-07:00"); err != nil {
			t.Fatal(err)
		}
		var notes []string
		c.Runner.Emit = func(e run.Event) { notes = append(notes, e.Note) }
		now := time.Date(2026, 5, 1, 23, 0, 0, 0, time.UTC)
		ctx, cancel := context.WithCancel(t.Context())
		c.loop.Now = func() time.Time { return now }
		c.loop.Sleep = func(ctx context.Context, d time.Duration) error {
			if len(c.paid) > 0 {
				t.Error("something was begun")
			}
			if now = now.Add(d); cancelled && now.Hour() == 3 {
				cancel()
			}
			return ctx.Err()
		}
		res := c.sail(ctx, loop.Start{Order: loop.Order{Iterations: 1}})
		cancel()
		if told := strings.Count(strings.Join(notes, "\n"), "quiet hours: nothing starts until 07:00"); told != 1 {
			t.Errorf("told %d times:\n%s", told, strings.Join(notes, "\n"))
		}
		switch {
		case cancelled && (res.Exit != run.ExitCancelled || len(c.paid) > 0 || !errors.Is(ctx.Err(), context.Canceled)):
			t.Errorf("exit %d, paid for %v", res.Exit, c.paid)
		case !cancelled && (outcomes(res) != "a.py promoted" || now.Hour() != 7):
			t.Errorf("%s at %s", outcomes(res), now)
		}
		if cancelled {
			// It is resumed from where it stopped.
			c.loop.Quiet = quiet.Hours{}
			if res = c.sail(t.Context(), loop.Start{Resume: true}); outcomes(res) != "a.py promoted" {
				t.Errorf("resumed: %s, %s", outcomes(res), res.Stopped)
			}
		}
	}
}

// From elsewhere a person can pause a loop, which ends after the current iteration, or cancel it, which ends now; both can be resumed.
func TestALoopIsSteeredFromElsewhere(t *testing.T) {
	t.Parallel()
	for wanted, promoted := range map[string]int{"pause": 1, "cancel": 0} {
		c := school(t, nil, map[string]string{
			"1 target": "a.py", "1 propose/1": runtest.Only("x = 1", "x = 2"), "1 memory/UM": "- x is two", "2 target": "b.py", "2 propose/1": "NOTHING",
		})
		c.loop.Steering, c.loop.Rest = c.DB, time.Hour
		asked := false
		c.Runner.Verifier = runtest.Judge(func(ctx context.Context, req verify.Request) (verify.Report, error) {
			if !asked {
				asked = true
				it, _, err := c.DB.LastIteration(ctx, c.Dir)
				if err == nil {
					err = c.DB.WantLoop(ctx, it.Order.Loop, wanted)
				}
				if err != nil {
					t.Error(err)
				}
				if wanted == "cancel" { // wait until it is noticed
					<-ctx.Done()
					return verify.Report{}, ctx.Err()
				}
			}
			return runtest.Says(verify.Pass)(ctx, req)
		})
		// Only the pause ends the hour's rest.
		res := c.sail(t.Context(), loop.Start{Order: loop.Order{Iterations: 2, UntilClean: true}})
		if res.Exit != run.ExitCancelled || res.Promoted != promoted || len(res.Iterations) != 1 || !strings.Contains(res.Stopped, "from elsewhere") {
			t.Fatalf("%s: exit %d, %s: %s", wanted, res.Exit, outcomes(res), res.Stopped)
		}
		c.loop.Rest = 0
		if res = c.sail(t.Context(), loop.Start{Resume: true}); res.Exit != run.ExitDone || c.Tree(t)["a.py"] != "x = 2\n" {
			t.Errorf("%s, resumed: exit %d, %s: %s", wanted, res.Exit, outcomes(res), res.Stopped)
		}
	}
}

// The work around each run of a loop is done once per run. If it fails, the loop ends, and what was written is on record.
func TestAroundTheRunsOfALoop(t *testing.T) {
	t.Parallel()
	c := school(t, runtest.Says(verify.Pass), map[string]string{
		"1 target": "a.py", "1 propose/1": runtest.Only("x = 1", "x = 2"), "1 memory/UM": "- x is two",
		"2 target": "a.py", "2 propose/1": runtest.Only("x = 2", "x = 3"), "2 memory/UM": "- x is three",
	})
	var seen []string
	c.loop.Around = func(_ context.Context, it loop.Iteration, work func() run.Document) (run.Document, *run.Problem) {
		before := c.Tree(t)["a.py"]
		doc := work()
		seen = append(seen, fmt.Sprintf("%s to %s", strings.TrimSpace(before), strings.TrimSpace(c.Tree(t)["a.py"])))
		if len(seen) == 2 {
			return doc, &run.Problem{Kind: run.ProblemPatch, Message: "the image fell ill", Next: "look"}
		}
		return doc, nil
	}
	res := c.sail(t.Context(), loop.Start{Order: loop.Order{Iterations: 5, Goal: "count", Scope: []string{"a.py"}}})
	if strings.Join(seen, ", ") != "x = 1 to x = 2, x = 2 to x = 3" || res.Exit != run.ExitFail || res.Error == nil || res.Error.Message != "the image fell ill" || res.Promoted != 2 {
		t.Fatalf("%q, exit %d: %+v", seen, res.Exit, res.Error)
	}
	it, ok, err := c.DB.LastIteration(t.Context(), c.Dir)
	if err != nil || !ok || it.Outcome != "promoted" || it.Phase != loop.Learn {
		t.Errorf("on record is %+v, %v", it, err)
	}
	// A failure before the run leaves the iteration as it was.
	c.loop.Around = func(context.Context, loop.Iteration, func() run.Document) (run.Document, *run.Problem) {
		return run.Document{}, &run.Problem{Kind: run.ProblemConflict, Message: "another rebuild goes on", Next: "wait"}
	}
	res = c.sail(t.Context(), loop.Start{Resume: true})
	if res.Exit != run.ExitConflict || res.Error.Message != "another rebuild goes on" || c.Tree(t)["a.py"] != "x = 3\n" {
		t.Errorf("exit %d: %+v", res.Exit, res.Error)
	}
}
