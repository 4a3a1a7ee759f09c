package tournament_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/sandbox"
	"agent/verify"
)

// race is a judge of three candidates of a.py. The first one passes as soon as the others are known to be larger; these go on until they
// are cancelled. After that, all are judged by says.
type race struct {
	says runtest.Judge
	mu   sync.Mutex
	// How often each candidate was judged, by rank.
	asked   map[int]int
	settled sync.WaitGroup
}

func newRace(says runtest.Judge) *race {
	r := &race{says: says, asked: map[int]int{}}
	r.settled.Add(2)
	return r
}

func (r *race) verify(ctx context.Context, req verify.Request) (verify.Report, error) {
	r.mu.Lock()
	r.asked[req.Rank]++
	again := r.asked[req.Rank] > 1
	r.mu.Unlock()
	switch {
	case again:
	case req.Rank == 1:
		r.settled.Wait()
	default:
		req.Settled(req.Changeset)
		r.settled.Done()
		<-ctx.Done()
		return verify.Report{}, ctx.Err()
	}
	return r.says(ctx, req)
}

// raced has three candidates judged in a race; told are a person's answers.
func raced(t *testing.T, says runtest.Judge, more map[string]string, told ...run.Answer) (*runtest.Bench, run.Document, *race) {
	t.Helper()
	r := newRace(says)
	answers := map[string]string{
		"propose/1": runtest.Only("x = 1", "x = 2"), "propose/2": runtest.Only("x = 1", "x = 2\ny = 3"), "propose/3": runtest.Only("x = 1", "x = 3\ny = 3\nz = 4"),
	}
	for step, text := range more {
		answers[step] = text
	}
	b, m := runtest.Hunt(t, r.verify, answers)
	b.Runner.Proposals = b.DB
	req := b.Goal()
	req.Candidates, req.Approver = 3, runtest.Person(told...)
	doc := b.Run(t.Context(), req)
	if got := m.Steps(); strings.Contains(got, "heal") {
		t.Errorf("asked %s", got)
	}
	return b, doc, r
}

// verdicts returns the verdicts of the candidates in recorded order.
func verdicts(doc run.Document) (list []verify.Verdict) {
	for _, c := range doc.Candidates {
		list = append(list, c.Verdict)
	}
	return list
}

func TestLosersAreCancelledAndRecorded(t *testing.T) {
	t.Parallel()
	b, doc, r := raced(t, runtest.Says(verify.Pass), nil)
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if got := b.Tree(t)["a.py"]; got != "x = 2\n" || len(r.asked) != 3 {
		t.Errorf("promoted %q of those of ranks %v", got, r.asked)
	}
	got, err := b.DB.Run(t.Context(), doc.Run)
	if err != nil || len(got.Candidates) != 3 {
		t.Fatalf("%d candidates recorded, %v", len(got.Candidates), err)
	}
	for i, c := range got.Candidates[1:] {
		if len(c.Gates) != 1 || c.Verdict != verify.Cancelled || c.Gates[0].Name != "contest" || !strings.HasPrefix(c.Gates[0].Detail, "candidate 1 has passed") {
			t.Errorf("candidate %d is recorded as %+v", i+2, c)
		}
	}
	// Their answers were paid for, and nothing is known against them.
	if len(doc.Proposals) != 2 || !strings.Contains(doc.Proposals[0].Reason, "not judged completely") {
		t.Errorf("kept %+v", doc.Proposals)
	}
}

// TestAPersonChoosesAmongAll checks that once the winner is sent back or changed, the candidates cancelled because of it are judged too.
func TestAPersonChoosesAmongAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first run.Answer
		more  map[string]string
	}{
		"another answer": {first: run.Answer{Decision: run.Regenerate}, more: map[string]string{"propose/1.1": runtest.Only("x = 1", "x = 2\n# a longer line than all of the others have")}},
		"an edit":        {first: run.Answer{Decision: run.Amend, Response: []byte(runtest.Only("x = 2", "x = 2\n# a longer line than all of the others have"))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, doc, r := raced(t, runtest.Says(verify.Pass), c.more, c.first)
			b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
			if got := b.Tree(t)["a.py"]; got != "x = 2\ny = 3\n" || r.asked[2] != 2 || r.asked[3] != 2 {
				t.Errorf("promoted %q, judged %v times", got, r.asked)
			}
			got := verdicts(doc)
			if slices.Sort(got); len(got) != 6 || got[0] != verify.Cancelled || got[1] != verify.Cancelled || got[2] != verify.Pass {
				t.Errorf("recorded %v", got)
			}
		})
	}
}

// TestAsManyBoxesAreReadyAsWillBeUsed checks the number of boxes, which is known once the answers are.
func TestAsManyBoxesAreReadyAsWillBeUsed(t *testing.T) {
	t.Parallel()
	w := &wishes{}
	b, _ := runtest.Hunt(t, runtest.Says(verify.Pass), map[string]string{"propose/1": runtest.Only("x = 1", "x = 2"), "propose/2": runtest.Only("x = 1", "x = 3")})
	b.Runner.Boxes = w
	req := b.Goal()
	req.Candidates = 2
	req.Config.Gates = []verify.CustomGate{{Name: "own", Command: []string{"true"}}, {Name: "other", Command: []string{"true"}}}
	b.Ended(t, b.Run(t.Context(), req), run.Promoted, verify.Pass, run.ExitDone)
	// Static gates, imports and the workspace's own two gates, for two candidates.
	if got := strings.Join(w.noted, ", "); got != "want 6, want 8, want 0, want 0" {
		t.Errorf("in this order: %s", got)
	}
	if w.specs[1].Run != w.specs[0].Run || w.specs[1].Limits != w.specs[0].Limits || w.specs[1].Limits == (sandbox.Limits{}) {
		t.Errorf("wanted %+v, then %+v", w.specs[0], w.specs[1])
	}
}
