package run_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/verify"
)

// wish answers the question for a feature.
const wish = "<THOUGHT>\nx may be two as well\n</THOUGHT>\n<SNIPPET>\nx = 2\n</SNIPPET>"

// keeping is a hunt whose runs keep proposals.
func keeping(t *testing.T, j judge, answers map[string]string) (*bench, *script) {
	t.Helper()
	b, m := hunt(t, j, answers)
	b.runner.Proposals = b.db
	return b, m
}

// review is a run without a goal.
func (b *bench) review(who run.Approver) run.Request {
	return run.Request{Workspace: b.dir, Approver: who}
}

// reviews makes the plans of a hunt reviews.
func reviews(b *bench) {
	crew := b.runner.Crew
	b.runner.Crew = func(id string, emit func(agent.Progress)) run.Crew {
		c := crew(id, emit)
		p := c.Planner.(plans)
		p.Task.Kind = agent.Patch
		c.Planner = p
		return c
	}
}

// open lists the open proposals as "KIND path".
func (b *bench) open(t *testing.T) ([]run.KeptProposal, string) {
	t.Helper()
	list, err := b.db.Proposals(t.Context(), b.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list {
		names = append(names, string(p.Kind)+" "+p.Path)
	}
	return list, strings.Join(names, ", ")
}

// state returns what became of a proposal.
func (b *bench) state(t *testing.T, id int64) run.ProposalState {
	t.Helper()
	p, err := b.db.Proposal(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return p.State
}

func TestAReviewThatFindsNothingImplementsAFeature(t *testing.T) {
	t.Parallel()
	b, m := keeping(t, wants("x = 2\n"), map[string]string{
		"propose/1": "NOTHING", "feature/1": wish, "implement/1": only("x = 1", "x = 3"), "heal/1.1": only("x = 3", "x = 2"),
	})
	reviews(b)
	who := person(run.Answer{Decision: run.Apply, By: run.ByTerminal})
	doc := b.runner.Run(t.Context(), b.review(who))
	b.ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if m.steps() != "propose/1 feature/1 implement/1 heal/1.1" || !strings.Contains(m.asked[2].Text, "x may be two as well") {
		t.Errorf("asked %s", m.steps())
	}
	if len(who.seen) != 2 || who.seen[0].Feature == nil || who.seen[1].Feature != nil || !strings.Contains(who.seen[0].Feature.Text, "x = 2") {
		t.Errorf("the checkpoints saw %+v", who.seen)
	}
	want := "queued analyzing planning proposing awaiting_approval proposing verifying proposing verifying awaiting_approval promoting promoted promoted"
	if got := states(b); got != want {
		t.Errorf("went through %s", got)
	}
	if _, names := b.open(t); names != "" || b.state(t, who.seen[0].Feature.ID) != run.ProposalDone {
		t.Errorf("open are %s, the feature is %s", names, b.state(t, who.seen[0].Feature.ID))
	}
}

// states lists what the run went through.
func states(b *bench) string {
	var names []string
	for _, s := range b.states {
		names = append(names, string(s))
	}
	return strings.Join(names, " ")
}

// Whoever does not say yes leaves the feature as it was: open, or dropped.
func TestAFeatureIsTheCheckpointsToDecide(t *testing.T) {
	t.Parallel()
	for decision, want := range map[run.Decision]run.ProposalState{
		run.Skip: run.ProposalOpen, run.Unattended: run.ProposalOpen, run.Drop: run.ProposalDropped,
	} {
		t.Run(string(decision), func(t *testing.T) {
			t.Parallel()
			b, m := keeping(t, says(verify.Pass), map[string]string{"propose/1": "NOTHING", "feature/1": wish})
			reviews(b)
			who := person(run.Answer{Decision: decision})
			doc := b.runner.Run(t.Context(), b.review(who))
			b.ended(t, doc, run.Done, verify.Pass, run.ExitDone)
			b.untouched(t)
			if got := b.state(t, who.seen[0].Feature.ID); got != want || m.steps() != "propose/1 feature/1" {
				t.Errorf("the feature is %s after %s", got, m.steps())
			}
			if told := len(doc.Proposals) == 1; told != (want == run.ProposalOpen) {
				t.Errorf("the document tells of %+v", doc.Proposals)
			}
		})
	}
}

// An approval that no person gave has nothing written, whoever it comes from.
func TestOnlyAPersonHasAFeatureWritten(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"--yes", "countdown", "policy", ""} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			b, m := keeping(t, says(verify.Pass), map[string]string{
				"propose/1": "NOTHING", "feature/1": wish, "implement/1": only("x = 1", "x = 2"),
			})
			reviews(b)
			doc := b.runner.Run(t.Context(), b.review(person(run.Answer{Decision: run.Apply, By: by})))
			b.ended(t, doc, run.Done, verify.Pass, run.ExitDone)
			b.untouched(t)
			_, names := b.open(t)
			if m.steps() != "propose/1 feature/1" || names != "FEATURE a.py" {
				t.Errorf("open are %q after %s", names, m.steps())
			}
			if doc.Outcome != "proposed" || !strings.Contains(doc.Next, "agent sandbox run --proposal ") {
				t.Errorf("the document says %q, next %q", doc.Outcome, doc.Next)
			}
		})
	}
}

// A file for which a feature is open gets no other, and a person is asked about
// the open one; once it is settled the next review proposes again.
func TestAnOpenFeatureIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	b, m := keeping(t, says(verify.Pass), map[string]string{
		"propose/1": "NOTHING", "feature/1": wish, "implement/1": only("x = 1", "x = 2"),
	})
	reviews(b)
	nobody := decide(run.Unattended)
	first := b.runner.Run(t.Context(), b.review(nobody))
	second := b.runner.Run(t.Context(), b.review(nobody))
	if m.steps() != "propose/1 feature/1 propose/1" || len(second.Proposals) != 1 || second.Proposals[0].ID != first.Proposals[0].ID {
		t.Fatalf("asked %s, told of %+v", m.steps(), second.Proposals)
	}
	b.ended(t, second, run.Done, verify.Pass, run.ExitDone)
	b.runner.Run(t.Context(), b.review(person(run.Answer{Decision: run.Drop})))
	b.ended(t, b.runner.Run(t.Context(), b.review(person(run.Answer{Decision: run.Apply, By: run.ByTerminal}))), run.Promoted, verify.Pass, run.ExitDone)
	if want := "propose/1 feature/1 propose/1 propose/1 propose/1 feature/1 implement/1"; m.steps() != want {
		t.Errorf("asked %s, want %s", m.steps(), want)
	}
}

// Only a review that found nothing asks for a feature, and only when it may.
func TestWhenNoFeatureIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*bench, *run.Request)
		before func(context.Context, agent.Question) (agent.Question, error)
		answer string
		steps  string
	}{
		"--no-feature":   {change: func(_ *bench, r *run.Request) { r.NoFeature = true }},
		"nobody keeps":   {change: func(b *bench, _ *run.Request) { b.runner.Proposals = nil }},
		"a goal":         {change: func(b *bench, r *run.Request) { r.Goal = "make x two" }},
		"a cascade":      {change: cascade},
		"no proposal":    {answer: "I would like a pony.", steps: "propose/1 feature/1"},
		"it was skipped": {before: skip("feature/1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, m := keeping(t, says(verify.Pass), map[string]string{"propose/1": "NOTHING", "feature/1": c.answer})
			m.before = c.before
			reviews(b)
			req := b.review(decide(run.Apply))
			if c.change != nil {
				c.change(b, &req)
			}
			doc := b.runner.Run(t.Context(), req)
			if doc.State != run.Rejected {
				t.Errorf("ended %s: %+v", doc.State, doc.Error)
			}
			if c.steps == "" {
				c.steps = "propose/1"
			}
			if _, names := b.open(t); m.steps() != c.steps || names != "" {
				t.Errorf("asked %s, open are %q", m.steps(), names)
			}
		})
	}
}

// cascade makes the plan one for a file that has to follow a change.
func cascade(b *bench, _ *run.Request) {
	crew := b.runner.Crew
	b.runner.Crew = func(id string, emit func(agent.Progress)) run.Crew {
		c := crew(id, emit)
		p := c.Planner.(plans)
		p.Task.Brief.Cascade = "b.py: y renamed to z"
		c.Planner = p
		return c
	}
}

// skip is a person who would not have one question sent.
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
	b, _ := keeping(t, says(verify.Pass), map[string]string{"propose/1": "NOTHING", "feature/1": wish})
	reviews(b)
	b.runner.Proposals = deaf{}
	b.ended(t, b.runner.Run(t.Context(), b.review(decide(run.Apply))), run.Failed, verify.Infra, run.ExitInfra)
	b.untouched(t)
}

// deaf keeps nothing.
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
	two := map[string]string{"propose/1": only("x = 1", "x = 2\ny = 3"), "propose/2": only("x = 1", "x = 2"), "propose/3": "nonsense"}
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
		"a person skipped": {decide(run.Skip), false, 1, run.Rejected, "PEER_REVIEW a.py", "skipped by the test"},
		"nobody was there": {decide(run.Unattended), false, 1, run.Rejected, "PEER_REVIEW a.py", "nobody is there"},
		"another one won":  {decide(run.Apply), false, 3, run.Promoted, "PEER_REVIEW a.py", "candidate 2 has fewer findings or a smaller diff"},
		"it was promoted":  {decide(run.Apply), false, 1, run.Promoted, "", ""},
		"--no-promote":     {decide(run.Apply), true, 1, run.Done, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := keeping(t, says(verify.Pass), two)
			req := b.goal()
			req.Approver, req.NoPromote, req.Candidates = c.who, c.no, c.n
			doc := b.runner.Run(t.Context(), req)
			list, names := b.open(t)
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

// A patch that passed once is proved again where it is taken up, and is done
// when it is promoted; a base that changed meanwhile may refuse it.
func TestAKeptPatchIsProvedAgain(t *testing.T) {
	t.Parallel()
	b, m := keeping(t, wants("x = 2\n"), map[string]string{"propose/1": only("x = 1", "x = 2")})
	req := b.goal()
	req.Approver = decide(run.Skip)
	b.runner.Run(t.Context(), req)
	list, _ := b.open(t)
	p := list[0]
	again := p.Resume(run.Request{Workspace: b.dir, Approver: decide(run.Apply)})
	if !p.Proven() || again.Patch == nil {
		t.Fatalf("the request is %+v", again)
	}
	b.write(t, "a.py", "x = 9\n")
	b.ended(t, b.runner.Run(t.Context(), again), run.Rejected, verify.Fail, run.ExitFail)
	if b.state(t, p.ID) != run.ProposalOpen {
		t.Error("a patch that does not apply today is settled")
	}
	b.write(t, "a.py", "x = 1\n")
	b.ended(t, b.runner.Run(t.Context(), again), run.Promoted, verify.Pass, run.ExitDone)
	if b.state(t, p.ID) != run.ProposalDone || m.steps() != "propose/1" {
		t.Errorf("the proposal is %s after %s", b.state(t, p.ID), m.steps())
	}
}

// What failed after all repairs is kept with the first gate that it did not
// pass, begins the next run as it stands, and is replaced by what becomes of it.
func TestAFailedChangeIsKeptAndRepairedLater(t *testing.T) {
	t.Parallel()
	b, m := keeping(t, wants("x = 2\n"), map[string]string{
		"propose/1": only("x = 1", "x = 5"), "heal/1.1": only("x = 5", "x = 6"), "heal/1.2": only("x = 6", "x = 7"), "heal/1.3": "nonsense",
	})
	doc := b.runner.Run(t.Context(), b.goal())
	list, names := b.open(t)
	if doc.State != run.Rejected || names != "FAILED_PEER_REVIEW a.py" {
		t.Fatalf("ended %s, open are %q", doc.State, names)
	}
	p := list[0]
	if !strings.Contains(string(p.Patch), "+x = 7") || !strings.HasPrefix(p.Reason, "lint\n") || !strings.Contains(p.Reason, "not as wanted") || p.Proven() {
		t.Errorf("kept %+v", p)
	}
	m.asked, m.answers = nil, map[string]string{"heal/1.1": only("x = 7", "x = 8"), "heal/1.2": "no", "heal/1.3": "no"}
	again := p.Resume(run.Request{Workspace: b.dir, Approver: decide(run.Apply)})
	b.runner.Run(t.Context(), again)
	list, names = b.open(t)
	if names != "FAILED_PEER_REVIEW a.py" || !strings.Contains(string(list[0].Patch), "+x = 8") || b.state(t, p.ID) != run.ProposalDropped {
		t.Fatalf("open are %q, the old one is %s", names, b.state(t, p.ID))
	}
	first := m.asked[0]
	for _, want := range []string{"make x two", "not as wanted", " a.py\nx = 7\n"} {
		if first.Step != "heal/1.1" || !strings.Contains(first.Text, want) {
			t.Errorf("%s does not hold %q:\n%s", first.Step, want, first.Text)
		}
	}
	m.answers = map[string]string{"heal/1.1": only("x = 8", "x = 2")}
	doc = b.runner.Run(t.Context(), list[0].Resume(run.Request{Workspace: b.dir, Approver: decide(run.Apply)}))
	b.ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if b.state(t, list[0].ID) != run.ProposalDone {
		t.Error("what was promoted is still open")
	}
}

// A failed patch that does not even apply any more is told with what was wrong
// with it when it did.
func TestAFailedPatchOfAnotherDayIsToldWithItsFailure(t *testing.T) {
	t.Parallel()
	b, m := keeping(t, wants("x = 2\n"), map[string]string{"heal/1.1": only("x = 4", "x = 2")})
	b.write(t, "a.py", "x = 4\n")
	p := run.KeptProposal{
		ID: 7, Kind: run.FailedFeature, Path: "a.py", Text: "let x be two", Reason: "types\nincompatible with yesterday",
		Patch: []byte("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 5\n"),
	}
	doc := b.runner.Run(t.Context(), p.Resume(run.Request{Workspace: b.dir, Approver: decide(run.Apply)}))
	b.ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	for _, want := range []string{"let x be two", "incompatible with yesterday", "+x = 5", " a.py\nx = 4\n"} {
		if !strings.Contains(m.asked[0].Text, want) {
			t.Errorf("the repair does not hold %q:\n%s", want, m.asked[0].Text)
		}
	}
}

func TestNonsenseIsNoProposal(t *testing.T) {
	t.Parallel()
	b, _ := keeping(t, says(verify.Pass), map[string]string{"propose/1": "a", "heal/1.1": "b", "heal/1.2": "c", "heal/1.3": only("x = 9", "x = 2")})
	doc := b.runner.Run(t.Context(), b.goal())
	b.ended(t, doc, run.Rejected, verify.Fail, run.ExitFail)
	if _, names := b.open(t); names != "" {
		t.Errorf("kept %s", names)
	}
}

// A feature that failed takes the place of the idea; one that was written and
// skipped does too, with its patch.
func TestAFeatureIsReplacedByWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	for want, c := range map[run.ProposalKind]struct {
		wanted string
		second run.Decision
	}{
		run.FailedFeature: {"x = 9\n", run.Apply}, run.Feature: {"x = 2\n", run.Skip},
	} {
		b, _ := keeping(t, wants(c.wanted), map[string]string{
			"propose/1": "NOTHING", "feature/1": wish, "implement/1": only("x = 1", "x = 2"), "heal/1.1": "no", "heal/1.2": "no", "heal/1.3": "no",
		})
		reviews(b)
		who := person(run.Answer{Decision: run.Apply, By: run.ByTerminal}, run.Answer{Decision: c.second})
		b.runner.Run(t.Context(), b.review(who))
		list, names := b.open(t)
		if names != string(want)+" a.py" || b.state(t, who.seen[0].Feature.ID) != run.ProposalDropped {
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
	b, _ := keeping(t, says(verify.Pass), map[string]string{"propose/1": "<THOUGHT>" + strings.Repeat("so it is, and so it was before\n", 3_000) + "</THOUGHT>" + only("x = 1", long)})
	req := b.goal()
	req.Approver = decide(run.Skip)
	doc := b.runner.Run(t.Context(), req)
	list, names := b.open(t)
	if names != "PEER_REVIEW a.py" {
		t.Fatalf("open are %q after %+v", names, doc.Error)
	}
	if p := list[0]; p.Patch != nil || !strings.Contains(p.Reason, "agent runs show "+doc.Run) || len(p.Text) > 17<<10 || p.Proven() {
		t.Errorf("kept a patch of %d bytes and a text of %d: %s", len(p.Patch), len(p.Text), p.Reason)
	}
}

// A store that keeps no proposals changes nothing about how a run ends.
func TestARunEndsAlsoWhenNothingCanBeKept(t *testing.T) {
	t.Parallel()
	b, _ := keeping(t, says(verify.Pass), map[string]string{"propose/1": only("x = 1", "x = 2")})
	b.runner.Proposals = deaf{}
	req := b.goal()
	req.Approver = decide(run.Skip)
	doc := b.runner.Run(t.Context(), req)
	b.ended(t, doc, run.Rejected, verify.Pass, run.ExitApproval)
	if len(doc.Proposals) > 0 {
		t.Errorf("told of %+v", doc.Proposals)
	}
}

var _ run.Proposals = (*store.DB)(nil)

// The order among candidates that pass: the findings of their own before the
// size of the diff, and the order of asking at last.
func TestFindingsComeBeforeSize(t *testing.T) {
	t.Parallel()
	b, _ := keeping(t, func(_ context.Context, req verify.Request) (verify.Report, error) {
		gate := verify.Gate{Name: "lint", Verdict: verify.Pass}
		if strings.Contains(string(req.Changeset.Changes[0].After), "z = 1") {
			gate.Findings = []verify.Finding{{File: "a.py", Line: 1, Rule: "W1", Message: "unusual"}}
		}
		return verify.Report{Verdict: verify.Pass, Gates: []verify.Gate{gate}, Changeset: req.Changeset}, nil
	}, map[string]string{
		"propose/1": only("x = 1", "z = 1"), "propose/2": only("x = 1", "x = 2\ny = 3"), "propose/3": only("x = 1", "x = 2\ny = 4"),
	})
	req := b.goal()
	req.Candidates = 3
	b.ended(t, b.runner.Run(t.Context(), req), run.Promoted, verify.Pass, run.ExitDone)
	list, _ := b.open(t)
	var kept []string
	for _, p := range list {
		kept = append(kept, string(p.Patch))
	}
	if got := b.tree(t)["a.py"]; got != "x = 2\ny = 3\n" || len(kept) != 2 || !slices.ContainsFunc(kept, func(d string) bool { return strings.Contains(d, "+z = 1") }) {
		t.Errorf("promoted %q, kept %q", got, kept)
	}
}
