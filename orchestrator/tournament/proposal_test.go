package tournament_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/store"
	"agent/orchestrator/tournament"
	"agent/verify"
)

func TestAReviewThatFindsNothingImplementsAFeature(t *testing.T) {
	t.Parallel()
	b, m := runtest.Keeping(t, runtest.Wants("x = 2\n"), map[string]string{
		"propose/1": "NOTHING", "feature/1": runtest.Wish, "implement/1": runtest.Only("x = 1", "x = 3"), "heal/1.1": runtest.Only("x = 3", "x = 2"),
	})
	runtest.Reviews(b)
	who := runtest.Person(run.Answer{Decision: run.Apply, By: run.ByTerminal})
	doc := b.Run(t.Context(), b.Review(who))
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if m.Steps() != "propose/1 feature/1 implement/1 heal/1.1" || !strings.Contains(m.Asked[2].Text, "x may be two as well") {
		t.Errorf("asked %s", m.Steps())
	}
	if len(who.Seen) != 2 || who.Seen[0].Feature == nil || who.Seen[1].Feature != nil || !strings.Contains(who.Seen[0].Feature.Text, "x = 2") {
		t.Errorf("the checkpoints saw %+v", who.Seen)
	}
	want := "queued analyzing planning proposing awaiting_approval proposing verifying proposing verifying awaiting_approval promoting promoted promoted"
	if got := states(b); got != want {
		t.Errorf("went through %s", got)
	}
	if _, names := b.Open(t); names != "" || b.State(t, who.Seen[0].Feature.ID) != run.ProposalDone {
		t.Errorf("open are %s, the feature is %s", names, b.State(t, who.Seen[0].Feature.ID))
	}
}

// states lists the states of the run.
func states(b *runtest.Bench) string {
	var names []string
	for _, s := range b.States {
		names = append(names, string(s))
	}
	return strings.Join(names, " ")
}

// Without a yes, the feature stays open, or is dropped.
func TestAFeatureIsTheCheckpointsToDecide(t *testing.T) {
	t.Parallel()
	for decision, want := range map[run.Decision]run.ProposalState{
		run.Skip: run.ProposalOpen, run.Unattended: run.ProposalOpen, run.Drop: run.ProposalDropped,
	} {
		t.Run(string(decision), func(t *testing.T) {
			t.Parallel()
			b, m := runtest.Keeping(t, runtest.Says(verify.Pass), map[string]string{"propose/1": "NOTHING", "feature/1": runtest.Wish})
			runtest.Reviews(b)
			who := runtest.Person(run.Answer{Decision: decision})
			doc := b.Run(t.Context(), b.Review(who))
			b.Ended(t, doc, run.Done, verify.Pass, run.ExitDone)
			b.Untouched(t)
			if got := b.State(t, who.Seen[0].Feature.ID); got != want || m.Steps() != "propose/1 feature/1" {
				t.Errorf("the feature is %s after %s", got, m.Steps())
			}
			if told := len(doc.Proposals) == 1; told != (want == run.ProposalOpen) {
				t.Errorf("the document tells of %+v", doc.Proposals)
			}
		})
	}
}

// An approval that does not come from a person does not start the implementation of a feature.
func TestOnlyAPersonHasAFeatureWritten(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"--yes", "countdown", "policy", ""} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			b, m := runtest.Keeping(t, runtest.Says(verify.Pass), map[string]string{
				"propose/1": "NOTHING", "feature/1": runtest.Wish, "implement/1": runtest.Only("x = 1", "x = 2"),
			})
			runtest.Reviews(b)
			doc := b.Run(t.Context(), b.Review(runtest.Person(run.Answer{Decision: run.Apply, By: by})))
			b.Ended(t, doc, run.Done, verify.Pass, run.ExitDone)
			b.Untouched(t)
			_, names := b.Open(t)
			if m.Steps() != "propose/1 feature/1" || names != "FEATURE a.py" {
				t.Errorf("open are %q after %s", names, m.Steps())
			}
			if doc.Outcome != "proposed" || !strings.Contains(doc.Next, "agent sandbox run --proposal ") {
				t.Errorf("the document says %q, next %q", doc.Outcome, doc.Next)
			}
		})
	}
}

// A file with an open feature gets no other one, and a person is asked about the open one. Once it is settled, the next review proposes
// again.
func TestAnOpenFeatureIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	b, m := runtest.Keeping(t, runtest.Says(verify.Pass), map[string]string{
		"propose/1": "NOTHING", "feature/1": runtest.Wish, "implement/1": runtest.Only("x = 1", "x = 2"),
	})
	runtest.Reviews(b)
	nobody := runtest.Decide(run.Unattended)
	first := b.Run(t.Context(), b.Review(nobody))
	second := b.Run(t.Context(), b.Review(nobody))
	if m.Steps() != "propose/1 feature/1 propose/1" || len(second.Proposals) != 1 || second.Proposals[0].ID != first.Proposals[0].ID {
		t.Fatalf("asked %s, told of %+v", m.Steps(), second.Proposals)
	}
	b.Ended(t, second, run.Done, verify.Pass, run.ExitDone)
	b.Run(t.Context(), b.Review(runtest.Person(run.Answer{Decision: run.Drop})))
	b.Ended(t, b.Run(t.Context(), b.Review(runtest.Person(run.Answer{Decision: run.Apply, By: run.ByTerminal}))), run.Promoted, verify.Pass, run.ExitDone)
	if want := "propose/1 feature/1 propose/1 propose/1 propose/1 feature/1 implement/1"; m.Steps() != want {
		t.Errorf("asked %s, want %s", m.Steps(), want)
	}
}

// Only a review that found nothing asks for a feature, and only if that is allowed.
func TestWhenNoFeatureIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*runtest.Bench, *run.Request)
		before func(context.Context, agent.Question) (agent.Question, error)
		answer string
		steps  string
	}{
		"--no-feature":   {change: func(_ *runtest.Bench, r *run.Request) { r.NoFeature = true }},
		"nobody keeps":   {change: func(b *runtest.Bench, _ *run.Request) { b.Runner.Proposals = nil }},
		"a goal":         {change: func(b *runtest.Bench, r *run.Request) { r.Goal = "make x two" }},
		"a cascade":      {change: cascade},
		"no proposal":    {answer: "I would like a pony.", steps: "propose/1 feature/1"},
		"it was skipped": {before: skip("feature/1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, m := runtest.Keeping(t, runtest.Says(verify.Pass), map[string]string{"propose/1": "NOTHING", "feature/1": c.answer})
			m.Before = c.before
			runtest.Reviews(b)
			req := b.Review(runtest.Decide(run.Apply))
			if c.change != nil {
				c.change(b, &req)
			}
			doc := b.Run(t.Context(), req)
			if doc.State != run.Rejected {
				t.Errorf("ended %s: %+v", doc.State, doc.Error)
			}
			if c.steps == "" {
				c.steps = "propose/1"
			}
			if _, names := b.Open(t); m.Steps() != c.steps || names != "" {
				t.Errorf("asked %s, open are %q", m.Steps(), names)
			}
		})
	}
}

// cascade makes the plan one for a file that must follow a change.
func cascade(b *runtest.Bench, _ *run.Request) {
	crew := b.Crew
	b.Crew = func(id string, emit func(agent.Progress)) tournament.Crew {
		c := crew(id, emit)
		p := c.Planner.(runtest.Plans)
		p.Task.Brief.Cascade = "b.py: y renamed to z"
		c.Planner = p
		return c
	}
}

// skip returns a person's decision not to send one question.
func skip(step string) func(context.Context, agent.Question) (agent.Question, error) {
	return func(_ context.Context, q agent.Question) (agent.Question, error) {
		if q.Step == step {
			return q, agent.ErrSkipped
		}
		return q, nil
	}
}

func TestAFeatureThatCannotBeRecordedEndsTheRun(t *testing.T) {
	t.Parallel()
	b, _ := runtest.Keeping(t, runtest.Says(verify.Pass), map[string]string{"propose/1": "NOTHING", "feature/1": runtest.Wish})
	runtest.Reviews(b)
	b.Runner.Proposals = deaf{}
	b.Ended(t, b.Run(t.Context(), b.Review(runtest.Decide(run.Apply))), run.Failed, verify.Infra, run.ExitInfra)
	b.Untouched(t)
}

// deaf is a store that keeps nothing.
type deaf struct{}

func (deaf) AddProposal(context.Context, run.KeptProposal) (int64, error) {
	return 0, errors.New("nobody hears")
}

func (deaf) Proposals(context.Context, string) ([]run.KeptProposal, error) { return nil, nil }

func (deaf) SettleProposal(context.Context, int64, run.ProposalState) error {
	return errors.New("nobody hears")
}

func TestWhatPassedAndWasNotPromotedIsKept(t *testing.T) {
	t.Parallel()
	two := map[string]string{"propose/1": runtest.Only("x = 1", "x = 2\ny = 3"), "propose/2": runtest.Only("x = 1", "x = 2"), "propose/3": "nonsense"}
	for i := range 3 {
		two["heal/3."+string(rune('1'+i))] = "nonsense"
	}
	for name, c := range map[string]struct {
		who    run.Approver
		no     bool
		n      int
		end    run.State
		open   string
		reason string
	}{
		"a person skipped": {runtest.Decide(run.Skip), false, 1, run.Rejected, "PEER_REVIEW a.py", "skipped by the test"},
		"nobody was there": {runtest.Decide(run.Unattended), false, 1, run.Rejected, "PEER_REVIEW a.py", "awaiting approval"},
		"another one won":  {runtest.Decide(run.Apply), false, 3, run.Promoted, "PEER_REVIEW a.py", "candidate 2 has fewer findings or a smaller diff"},
		"it was promoted":  {runtest.Decide(run.Apply), false, 1, run.Promoted, "", ""},
		"--no-promote":     {runtest.Decide(run.Apply), true, 1, run.Done, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := runtest.Keeping(t, runtest.Says(verify.Pass), two)
			req := b.Goal()
			req.Approver, req.NoPromote, req.Candidates = c.who, c.no, c.n
			doc := b.Run(t.Context(), req)
			list, names := b.Open(t)
			if doc.State != c.end || names != c.open || len(doc.Proposals) != len(list) {
				t.Fatalf("ended %s, open are %q, told %+v", doc.State, names, doc.Proposals)
			}
			if c.open == "" {
				return
			}
			p := list[0]
			if p.Goal != "make x two" || !strings.Contains(string(p.Patch), "+y = 3") || !strings.Contains(p.Reason, c.reason) || p.Run != doc.Run {
				t.Errorf("kept %+v", p)
			}
			if doc.Error != nil && !strings.Contains(doc.Error.Next, "--proposal") {
				t.Errorf("the ending does not say how to take it up: %s", doc.Error.Next)
			}
		})
	}
}

// A kept patch that passed is proved again before it is used, and is settled when it is promoted. If the base has changed, it may be
// refused.
func TestAKeptPatchIsProvedAgain(t *testing.T) {
	t.Parallel()
	b, m := runtest.Keeping(t, runtest.Wants("x = 2\n"), map[string]string{"propose/1": runtest.Only("x = 1", "x = 2")})
	req := b.Goal()
	req.Approver = runtest.Decide(run.Skip)
	b.Run(t.Context(), req)
	list, _ := b.Open(t)
	p := list[0]
	again := p.Resume(run.Request{Workspace: b.Dir, Approver: runtest.Decide(run.Apply)})
	if !p.Proven() || again.Patch == nil {
		t.Fatalf("the request is %+v", again)
	}
	b.Write(t, "a.py", "x = 9\n")
	b.Ended(t, b.Run(t.Context(), again), run.Rejected, verify.Fail, run.ExitFail)
	if b.State(t, p.ID) != run.ProposalOpen {
		t.Error("a patch that does not apply today is settled")
	}
	b.Write(t, "a.py", "x = 1\n")
	b.Ended(t, b.Run(t.Context(), again), run.Promoted, verify.Pass, run.ExitDone)
	if b.State(t, p.ID) != run.ProposalDone || m.Steps() != "propose/1" {
		t.Errorf("the proposal is %s after %s", b.State(t, p.ID), m.Steps())
	}
}

// A change that fails after all repairs is kept with the first gate that it did not pass. The next run starts from it, and its result
// replaces it.
func TestAFailedChangeIsKeptAndRepairedLater(t *testing.T) {
	t.Parallel()
	b, m := runtest.Keeping(t, runtest.Wants("x = 2\n"), map[string]string{
		"propose/1": runtest.Only("x = 1", "x = 5"), "heal/1.1": runtest.Only("x = 5", "x = 6"), "heal/1.2": runtest.Only("x = 6", "x = 7"), "heal/1.3": "nonsense",
	})
	doc := b.Run(t.Context(), b.Goal())
	list, names := b.Open(t)
	if doc.State != run.Rejected || names != "FAILED_PEER_REVIEW a.py" {
		t.Fatalf("ended %s, open are %q", doc.State, names)
	}
	p := list[0]
	if !strings.Contains(string(p.Patch), "+x = 7") || !strings.HasPrefix(p.Reason, "lint\n") || !strings.Contains(p.Reason, "not as wanted") || p.Proven() {
		t.Errorf("kept %+v", p)
	}
	m.Asked, m.Answers = nil, map[string]string{"heal/1.1": runtest.Only("x = 7", "x = 8"), "heal/1.2": "no", "heal/1.3": "no"}
	again := p.Resume(run.Request{Workspace: b.Dir, Approver: runtest.Decide(run.Apply)})
	b.Run(t.Context(), again)
	list, names = b.Open(t)
	if names != "FAILED_PEER_REVIEW a.py" || !strings.Contains(string(list[0].Patch), "+x = 8") || b.State(t, p.ID) != run.ProposalDropped {
		t.Fatalf("open are %q, the old one is %s", names, b.State(t, p.ID))
	}
	first := m.Asked[0]
	for _, want := range []string{"make x two", "not as wanted", " a.py\nx = 7\n"} {
		if first.Step != "heal/1.1" || !strings.Contains(first.Text, want) {
			t.Errorf("%s does not hold %q:\n%s", first.Step, want, first.Text)
		}
	}
	m.Answers = map[string]string{"heal/1.1": runtest.Only("x = 8", "x = 2")}
	doc = b.Run(t.Context(), list[0].Resume(run.Request{Workspace: b.Dir, Approver: runtest.Decide(run.Apply)}))
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if b.State(t, list[0].ID) != run.ProposalDone {
		t.Error("what was promoted is still open")
	}
}

// A failed patch that no longer applies is shown with its earlier failure.
func TestAFailedPatchOfAnotherDayIsToldWithItsFailure(t *testing.T) {
	t.Parallel()
	b, m := runtest.Keeping(t, runtest.Wants("x = 2\n"), map[string]string{"heal/1.1": runtest.Only("x = 4", "x = 2")})
	b.Write(t, "a.py", "x = 4\n")
	p := run.KeptProposal{
		ID: 7, Kind: run.FailedFeature, Path: "a.py", Text: "let x be two", Reason: "types\nincompatible with yesterday",
		Patch: []byte("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 5\n"),
	}
	doc := b.Run(t.Context(), p.Resume(run.Request{Workspace: b.Dir, Approver: runtest.Decide(run.Apply)}))
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	for _, want := range []string{"let x be two", "incompatible with yesterday", "+x = 5", " a.py\nx = 4\n"} {
		if !strings.Contains(m.Asked[0].Text, want) {
			t.Errorf("the repair does not hold %q:\n%s", want, m.Asked[0].Text)
		}
	}
}

func TestNonsenseIsNoProposal(t *testing.T) {
	t.Parallel()
	b, _ := runtest.Keeping(t, runtest.Says(verify.Pass), map[string]string{"propose/1": "a", "heal/1.1": "b", "heal/1.2": "c", "heal/1.3": runtest.Only("x = 9", "x = 2")})
	doc := b.Run(t.Context(), b.Goal())
	b.Ended(t, doc, run.Rejected, verify.Fail, run.ExitFail)
	if _, names := b.Open(t); names != "" {
		t.Errorf("kept %s", names)
	}
}

// A failed feature replaces the idea, and so does one that was written and then skipped, with its patch.
func TestAFeatureIsReplacedByWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	for want, c := range map[run.ProposalKind]struct {
		wanted string
		second run.Decision
	}{
		run.FailedFeature: {"x = 9\n", run.Apply}, run.Feature: {"x = 2\n", run.Skip},
	} {
		b, _ := runtest.Keeping(t, runtest.Wants(c.wanted), map[string]string{
			"propose/1": "NOTHING", "feature/1": runtest.Wish, "implement/1": runtest.Only("x = 1", "x = 2"), "heal/1.1": "no", "heal/1.2": "no", "heal/1.3": "no",
		})
		runtest.Reviews(b)
		who := runtest.Person(run.Answer{Decision: run.Apply, By: run.ByTerminal}, run.Answer{Decision: c.second})
		b.Run(t.Context(), b.Review(who))
		list, names := b.Open(t)
		if names != string(want)+" a.py" || b.State(t, who.Seen[0].Feature.ID) != run.ProposalDropped {
			t.Fatalf("%s: open are %q", want, names)
		}
		if p := list[0]; !strings.Contains(p.Text, "x may be two") || !strings.Contains(string(p.Patch), "+x = 2") {
			t.Errorf("%s: kept %+v", want, p)
		}
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	long := "x = 2\n" + strings.Repeat("y = 123456789012345678901234567890\n", 10_000)
	b, _ := runtest.Keeping(t, runtest.Says(verify.Pass), map[string]string{"propose/1": "<THOUGHT>" + strings.Repeat("so it is, and so it was before\n", 3_000) + "</THOUGHT>" + runtest.Only("x = 1", long)})
	req := b.Goal()
	req.Approver = runtest.Decide(run.Skip)
	doc := b.Run(t.Context(), req)
	list, names := b.Open(t)
	if names != "PEER_REVIEW a.py" {
		t.Fatalf("open are %q after %+v", names, doc.Error)
	}
	if p := list[0]; p.Patch != nil || !strings.Contains(p.Reason, "agent runs show "+doc.Run) || len(p.Text) > 17<<10 || p.Proven() {
		t.Errorf("kept a patch of %d bytes and a text of %d: %s", len(p.Patch), len(p.Text), p.Reason)
	}
}

// A store that cannot keep proposals does not change how a run ends.
func TestARunEndsAlsoWhenNothingCanBeKept(t *testing.T) {
	t.Parallel()
	b, _ := runtest.Keeping(t, runtest.Says(verify.Pass), map[string]string{"propose/1": runtest.Only("x = 1", "x = 2")})
	b.Runner.Proposals = deaf{}
	req := b.Goal()
	req.Approver = runtest.Decide(run.Skip)
	doc := b.Run(t.Context(), req)
	b.Ended(t, doc, run.Rejected, verify.Pass, run.ExitApproval)
	if len(doc.Proposals) > 0 {
		t.Errorf("told of %+v", doc.Proposals)
	}
}

var _ run.Proposals = (*store.DB)(nil)

// Candidates that pass are ordered by their own findings, then by the size of the diff, and finally by the order of asking.
func TestFindingsComeBeforeSize(t *testing.T) {
	t.Parallel()
	b, _ := runtest.Keeping(t, func(_ context.Context, req verify.Request) (verify.Report, error) {
		gate := verify.Gate{Name: "lint", Verdict: verify.Pass}
		if strings.Contains(string(req.Changeset.Changes[0].After), "z = 1") {
			gate.Findings = []verify.Finding{{File: "a.py", Line: 1, Rule: "W1", Message: "unusual"}}
		}
		return verify.Report{Verdict: verify.Pass, Gates: []verify.Gate{gate}, Changeset: req.Changeset}, nil
	}, map[string]string{
		"propose/1": runtest.Only("x = 1", "z = 1"), "propose/2": runtest.Only("x = 1", "x = 2\ny = 3"), "propose/3": runtest.Only("x = 1", "x = 2\ny = 4"),
	})
	req := b.Goal()
	req.Candidates = 3
	b.Ended(t, b.Run(t.Context(), req), run.Promoted, verify.Pass, run.ExitDone)
	list, _ := b.Open(t)
	var kept []string
	for _, p := range list {
		kept = append(kept, string(p.Patch))
	}
	if got := b.Tree(t)["a.py"]; got != "x = 2\ny = 3\n" || len(kept) != 2 || !slices.ContainsFunc(kept, func(d string) bool { return strings.Contains(d, "+z = 1") }) {
		t.Errorf("promoted %q, kept %q", got, kept)
	}
}
