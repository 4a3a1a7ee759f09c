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
	"agent/orchestrator/run/runtest"
	"agent/verify"
)

func TestAnotherAnswerIsAskedForAndJudged(t *testing.T) {
	t.Parallel()
	b, m := runtest.Hunt(t, runtest.Says(verify.Pass), map[string]string{"propose/1": runtest.Only("x = 1", "x = 2"), "propose/1.1": runtest.Only("x = 1", "x = 3")})
	req, who := b.Goal(), runtest.Person(run.Answer{Decision: run.Regenerate})
	req.Approver = who
	b.Ended(t, b.Run(t.Context(), req), run.Promoted, verify.Pass, run.ExitDone)
	if got := b.Tree(t)["a.py"]; got != "x = 3\n" || m.Steps() != "propose/1 propose/1.1" {
		t.Errorf("a.py is %q after %s", got, m.Steps())
	}
	// An approver may build on what was judged.
	after := who.Seen[0].Base.With(who.Seen[0].Candidate.Changeset)
	if e, ok := after.Lookup("a.py"); !ok || e.Digest != fmt.Sprintf("%x", sha256.Sum256([]byte("x = 2\n"))) {
		t.Errorf("what was judged is %+v", e)
	}
	if m.Asked[0].Temperature >= m.Asked[1].Temperature || !strings.Contains(m.Asked[1].Text, "a different approach from the obvious one") {
		t.Errorf("the model is not asked for something else:\n%s", m.Asked[1].Text)
	}
}

// A person's edit of the candidate is a new candidate for the whole gate.
func TestWhatAPersonEditedIsJudgedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first      run.Answer
		want, says string
	}{
		"the edits": {run.Answer{Decision: run.Reword, Response: []byte(runtest.Only("x = 1", "x = 4"))}, "x = 4\n", "x = 1 to x = 4"},
		"the code":  {run.Answer{Decision: run.Amend, Response: []byte(runtest.Only("x = 2", "x = 5"))}, "x = 5\n", "x = 2 to x = 5"},
	} {
		for mode, goal := range map[string]bool{"of a goal": true, "of a patch": false} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				b, _ := runtest.Hunt(t, runtest.Says(verify.Pass), map[string]string{"propose/1": runtest.Only("x = 1", "x = 2")})
				req, who := b.Goal(), runtest.Person(c.first)
				if !goal {
					req.Patch, req.Goal = []byte(runtest.Only("x = 1", "x = 2")), ""
				}
				req.Approver = who
				doc := b.Run(t.Context(), req)
				b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
				if got := b.Tree(t)["a.py"]; got != c.want || len(doc.Candidates) != 2 || who.Seen[0].Again != goal {
					t.Errorf("a.py is %q after %d candidates, %+v", got, len(doc.Candidates), who.Seen[0].Again)
				}
				if first := string(who.Seen[0].Response); first != runtest.Only("x = 1", "x = 2") {
					t.Errorf("the checkpoint shows the response %q", first)
				}
			})
		}
	}
}

// A failed edit by hand is recorded, and the person is asked about the previous candidate again, with the error and the text of the edit.
func TestAnEditThatFailsReturnsToTheQuestion(t *testing.T) {
	t.Parallel()
	// A change that no approval can allow counts as a failed edit too.
	forbidden := ""
	for file, text := range map[string]string{"docs/HEAD": "ref: refs/heads/main", "docs/objects/a": "a", "docs/refs/a": "a"} {
		forbidden += "<EDIT file=\"" + file + "\"><SEARCH>\n</SEARCH><REPLACE>\n" + text + "\n</REPLACE></EDIT>\n"
	}
	for name, edit := range map[string]run.Answer{
		"a gate":     {Decision: run.Amend, Response: []byte(runtest.Only("x = 2", "x = 7"))},
		"no place":   {Decision: run.Amend, Response: []byte(runtest.Only("x = 9", "x = 7"))},
		"the edits":  {Decision: run.Reword, Response: []byte(runtest.Only("x = 9", "x = 7"))},
		"no edit":    {Decision: run.Reword, Response: []byte("nothing")},
		"not at all": {Decision: run.Amend, Response: []byte(forbidden)},
	} {
		for mode, goal := range map[string]bool{"of a goal": true, "of a patch": false} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				b, m := runtest.Hunt(t, runtest.Wants("x = 2\n"), map[string]string{"propose/1": runtest.Only("x = 1", "x = 2")})
				req, who := b.Goal(), runtest.Person(edit)
				if !goal {
					req.Patch, req.Goal = []byte(runtest.Only("x = 1", "x = 2")), ""
				}
				req.Approver = who
				doc := b.Run(t.Context(), req)
				b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
				if got := b.Tree(t)["a.py"]; got != "x = 2\n" || len(doc.Candidates) != 2 || len(who.Seen) != 2 || strings.Contains(m.Steps(), "heal") {
					t.Fatalf("a.py is %q after %d candidates, %d questions and %s", got, len(doc.Candidates), len(who.Seen), m.Steps())
				}
				first, again := who.Seen[0], who.Seen[1]
				if first.Failed != nil || again.Candidate.Digest != first.Candidate.Digest || string(again.Response) != string(first.Response) {
					t.Errorf("asked about %+v, then %+v", first, again)
				}
				if again.Failed == nil || again.Failed.Why == "" || again.Failed.Answer.Decision != edit.Decision || string(again.Failed.Answer.Response) != string(edit.Response) {
					t.Errorf("the second question says of the edit %+v", again.Failed)
				}
			})
		}
	}
}

// An undecided run ends as awaiting approval, and says how to apply it later.
func TestARunWithoutADecisionAwaitsApproval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  run.Answer
		message string
		left    bool
	}{
		"nobody is there": {run.Answer{Decision: run.Unattended, By: "there is no terminal and no --yes"}, "awaiting approval: there is no terminal and no --yes", false},
		"nobody answered": {run.Answer{Decision: run.Unattended, By: "nobody answered in time", Expired: true}, "awaiting approval: nobody answered in time", true},
		"a person leaves": {run.Answer{Decision: run.Leave, By: run.ByTerminal}, "awaiting approval: it was left open at the terminal", true},
		// Without a model there is nothing to ask again.
		"no other answer": {run.Answer{Decision: run.Regenerate, By: "nobody"}, "awaiting approval: nobody", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := runtest.Setup(t, runtest.Says(verify.Pass))
			req := b.Request()
			req.Patch, req.Approver = []byte(runtest.Only("x = 1", "x = 2")), runtest.Person(c.answer)
			doc := b.Run(t.Context(), req)
			b.Ended(t, doc, run.Rejected, verify.Policy, run.ExitApproval)
			b.Untouched(t)
			if doc.Outcome != "awaiting_approval" || doc.Left != c.left || doc.Error.Message != c.message {
				t.Errorf("%+v with the error %+v", doc, doc.Error)
			}
			if want := "apply it later: `agent runs apply " + doc.Run + " --yes`"; doc.Next != want || doc.Error.Next != want {
				t.Errorf("next: %q and %q", doc.Next, doc.Error.Next)
			}
		})
	}
}

func TestAQuestionThatIsSkippedIsNotSent(t *testing.T) {
	t.Parallel()
	b, m := runtest.Hunt(t, runtest.Says(verify.Pass), map[string]string{"propose/2": runtest.Only("x = 1", "x = 2")})
	m.Before = func(_ context.Context, q agent.Question) (agent.Question, error) {
		if q.Step == "propose/1" {
			return q, agent.ErrSkipped
		}
		q.Text += "and hurry"
		return q, nil
	}
	req := b.Goal()
	req.Candidates = 2
	b.Ended(t, b.Run(t.Context(), req), run.Promoted, verify.Pass, run.ExitDone)
	if m.Steps() != "propose/2" || !strings.HasSuffix(m.Asked[0].Text, "and hurry") {
		t.Errorf("asked %s", m.Steps())
	}
	other, n := runtest.Hunt(t, runtest.Says(verify.Pass), nil)
	n.Before = func(_ context.Context, q agent.Question) (agent.Question, error) { return q, agent.ErrSkipped }
	other.Ended(t, other.Run(t.Context(), other.Goal()), run.Rejected, verify.Policy, run.ExitApproval)
	other.Untouched(t)
}

// Candidates are judged concurrently. The watcher receives one event at a time, with the candidate that it belongs to.
func TestTheWatcherIsToldOneAtATime(t *testing.T) {
	t.Parallel()
	b, _ := runtest.Hunt(t, nil, map[string]string{"propose/1": runtest.Only("x = 1", "x = 2"), "propose/2": runtest.Only("x = 1", "x = 3")})
	var both sync.WaitGroup
	both.Add(2)
	b.Runner.Verifier = loud(func(emit func(verify.Event)) {
		both.Done()
		both.Wait() // both candidates are being judged now
		for range 100 {
			emit(verify.Event{Gate: "lint"})
		}
	})
	told := map[int]int{} // no lock: the race detector and the map would notice two events at a time
	b.Runner.Emit = func(e run.Event) {
		if e.Gate != nil {
			told[e.Candidate]++
		}
	}
	req := b.Goal()
	req.Candidates = 2
	b.Ended(t, b.Run(t.Context(), req), run.Promoted, verify.Pass, run.ExitDone)
	if told[1] != 100 || told[2] != 100 || len(told) != 2 {
		t.Errorf("told of %v", told)
	}
}

// loud passes everything, and emits the events of its function.
type loud func(emit func(verify.Event))

func (l loud) Verify(_ context.Context, req verify.Request, emit func(verify.Event)) (verify.Report, error) {
	l(emit)
	return verify.Report{Verdict: verify.Pass, Gates: []verify.Gate{{Name: "lint", Verdict: verify.Pass}}, Changeset: req.Changeset}, nil
}
