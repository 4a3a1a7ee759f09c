package run_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/verify"
)

// answers are what a person says at one checkpoint after the other; the last
// one stays.
type answers struct {
	list []run.Answer
	seen []run.Proposal
}

func (a *answers) Approve(_ context.Context, p run.Proposal) (run.Answer, error) {
	a.seen = append(a.seen, p)
	return a.list[min(len(a.seen), len(a.list))-1], nil
}

func person(list ...run.Answer) *answers {
	return &answers{list: append(list, run.Answer{Decision: run.Apply, By: run.ByTerminal})}
}

func TestAnotherAnswerIsAskedForAndJudged(t *testing.T) {
	t.Parallel()
	b, m := hunt(t, says(verify.Pass), map[string]string{"propose/1": only("x = 1", "x = 2"), "propose/1.1": only("x = 1", "x = 3")})
	req, who := b.goal(), person(run.Answer{Decision: run.Regenerate})
	req.Approver = who
	b.ended(t, b.runner.Run(t.Context(), req), run.Promoted, verify.Pass, run.ExitDone)
	if got := b.tree(t)["a.py"]; got != "x = 3\n" || m.steps() != "propose/1 propose/1.1" {
		t.Errorf("a.py is %q after %s", got, m.steps())
	}
	// An approver may build from what was judged.
	after := who.seen[0].Base.With(who.seen[0].Candidate.Changeset)
	if e, ok := after.Lookup("a.py"); !ok || e.Digest != fmt.Sprintf("%x", sha256.Sum256([]byte("x = 2\n"))) {
		t.Errorf("what was judged is %+v", e)
	}
	if m.asked[0].Temperature >= m.asked[1].Temperature || !strings.Contains(m.asked[1].Text, "another one than the obvious") {
		t.Errorf("the model is not asked for something else:\n%s", m.asked[1].Text)
	}
}

// What a person made of the candidate is a new candidate for the whole gate.
func TestWhatAPersonEditedIsJudgedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first      run.Answer
		want, says string
	}{
		"the edits": {run.Answer{Decision: run.Reword, Response: []byte(only("x = 1", "x = 4"))}, "x = 4\n", "x = 1 to x = 4"},
		"the code":  {run.Answer{Decision: run.Amend, Response: []byte(only("x = 2", "x = 5"))}, "x = 5\n", "x = 2 to x = 5"},
	} {
		for mode, goal := range map[string]bool{"of a goal": true, "of a patch": false} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				b, _ := hunt(t, says(verify.Pass), map[string]string{"propose/1": only("x = 1", "x = 2")})
				req, who := b.goal(), person(c.first)
				if !goal {
					req.Patch, req.Goal = []byte(only("x = 1", "x = 2")), ""
				}
				req.Approver = who
				doc := b.runner.Run(t.Context(), req)
				b.ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
				if got := b.tree(t)["a.py"]; got != c.want || len(doc.Candidates) != 2 || who.seen[0].Again != goal {
					t.Errorf("a.py is %q after %d candidates, %+v", got, len(doc.Candidates), who.seen[0].Again)
				}
				if first := string(who.seen[0].Response); first != only("x = 1", "x = 2") {
					t.Errorf("the checkpoint shows the response %q", first)
				}
			})
		}
	}
}

func TestAnEditThatFailsIsNotPromoted(t *testing.T) {
	t.Parallel()
	b, m := hunt(t, wants("x = 2\n"), map[string]string{"propose/1": only("x = 1", "x = 2"), "heal/1.1": only("x = 7", "x = 2")})
	req := b.goal()
	req.Approver = person(run.Answer{Decision: run.Amend, Response: []byte(only("x = 2", "x = 7"))})
	doc := b.runner.Run(t.Context(), req)
	b.ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if got := b.tree(t)["a.py"]; got != "x = 2\n" || m.steps() != "propose/1 heal/1.1" || len(doc.Candidates) != 3 {
		t.Errorf("a.py is %q after %s and %d candidates", got, m.steps(), len(doc.Candidates))
	}
	// Without a model there is nobody to mend it.
	other := setup(t, wants("x = 2\n"))
	patch := other.request()
	patch.Patch = []byte(only("x = 1", "x = 2"))
	patch.Approver = person(run.Answer{Decision: run.Amend, Response: []byte(only("x = 9", "x = 7"))})
	other.ended(t, other.runner.Run(t.Context(), patch), run.Rejected, verify.Fail, run.ExitFail)
	other.untouched(t)
	// Nor to be asked once more: the answer counts as none.
	patch.Approver = person(run.Answer{Decision: run.Regenerate, By: "nobody"})
	other.ended(t, other.runner.Run(t.Context(), patch), run.Rejected, verify.Policy, run.ExitApproval)
}

func TestAQuestionThatIsSkippedIsNotSent(t *testing.T) {
	t.Parallel()
	b, m := hunt(t, says(verify.Pass), map[string]string{"propose/2": only("x = 1", "x = 2")})
	m.before = func(_ context.Context, q agent.Question) (agent.Question, error) {
		if q.Step == "propose/1" {
			return q, agent.ErrSkipped
		}
		q.Text += "and hurry"
		return q, nil
	}
	req := b.goal()
	req.Candidates = 2
	b.ended(t, b.runner.Run(t.Context(), req), run.Promoted, verify.Pass, run.ExitDone)
	if m.steps() != "propose/2" || !strings.HasSuffix(m.asked[0].Text, "and hurry") {
		t.Errorf("asked %s", m.steps())
	}
	other, n := hunt(t, says(verify.Pass), nil)
	n.before = func(_ context.Context, q agent.Question) (agent.Question, error) { return q, agent.ErrSkipped }
	other.ended(t, other.runner.Run(t.Context(), other.goal()), run.Rejected, verify.Policy, run.ExitApproval)
	other.untouched(t)
}

// Candidates are judged at the same time; the watcher is told of one event at
// a time, and which candidate it belongs to.
func TestTheWatcherIsToldOneAtATime(t *testing.T) {
	t.Parallel()
	b, _ := hunt(t, nil, map[string]string{"propose/1": only("x = 1", "x = 2"), "propose/2": only("x = 1", "x = 3")})
	var both sync.WaitGroup
	both.Add(2)
	b.runner.Verifier = loud(func(emit func(verify.Event)) {
		both.Done()
		both.Wait() // both candidates are being judged now
		for range 100 {
			emit(verify.Event{Gate: "lint"})
		}
	})
	told := map[int]int{} // no lock: the race detector would see two at a time, and so does the map
	b.runner.Emit = func(e run.Event) {
		if e.Gate != nil {
			told[e.Candidate]++
		}
	}
	req := b.goal()
	req.Candidates = 2
	b.ended(t, b.runner.Run(t.Context(), req), run.Promoted, verify.Pass, run.ExitDone)
	if told[1] != 100 || told[2] != 100 || len(told) != 2 {
		t.Errorf("told of %v", told)
	}
}

// loud passes everything, and tells of it as its function does.
type loud func(emit func(verify.Event))

func (l loud) Verify(_ context.Context, req verify.Request, emit func(verify.Event)) (verify.Report, error) {
	l(emit)
	return verify.Report{Verdict: verify.Pass, Gates: []verify.Gate{{Name: "lint", Verdict: verify.Pass}}, Changeset: req.Changeset}, nil
}
