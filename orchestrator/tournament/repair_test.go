package tournament_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/tournament"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A linter stands for the linters of a box: it repairs the values of x that it knows.
type linter struct {
	known map[string]string
	err   error
}

// Repair implements gate.Repairer.
func (l linter) Repair(_ context.Context, req verify.Request, gates []verify.Gate) (cs workspace.Changeset, what string, err error) {
	if l.err != nil || len(gates) != 1 || gates[0].Verdict != verify.Fail {
		return cs, "", l.err
	}
	ch := req.Changeset.Changes[0]
	after, ok := l.known[string(ch.After)]
	if !ok {
		return cs, "", nil
	}
	ch.After = []byte(after)
	return workspace.Changeset{Changes: []workspace.Change{ch}}, "the linter repaired X1 by itself", nil
}

// A linter's own repair is judged and recorded before any model is asked. If it repairs nothing, or the result does not pass, the model
// is asked.
func TestAModelIsNotAskedForWhatALinterRepairs(t *testing.T) {
	t.Parallel()
	answers := map[string]string{"propose/1": runtest.Only("x = 1", "x = 3"), "heal/1.1": runtest.Only("x = 3", "x = 2"), "propose/2": runtest.Only("x = 1", "x = 4")}
	after := map[string]string{"propose/1": answers["propose/1"], "heal/1.1": runtest.Only("x = 5", "x = 2")}
	for name, c := range map[string]struct {
		linter     linter
		answers    map[string]string
		off        bool
		candidates int
		asked      string
		verdicts   string
	}{
		"it repairs":        {linter: linter{known: map[string]string{"x = 3\n": "x = 2\n"}}, answers: answers, asked: "propose/1", verdicts: "fail pass"},
		"the second of two": {linter: linter{known: map[string]string{"x = 4\n": "x = 2\n"}}, answers: answers, candidates: 2, asked: "propose/1 propose/2", verdicts: "fail fail pass"},
		"it does not":       {answers: answers, asked: "propose/1 heal/1.1", verdicts: "fail pass"},
		"it is in trouble":  {linter: linter{err: errors.New("no box")}, answers: answers, asked: "propose/1 heal/1.1", verdicts: "fail pass"},
		"it repairs a part": {linter: linter{known: map[string]string{"x = 3\n": "x = 5\n"}}, answers: after, asked: "propose/1 heal/1.1", verdicts: "fail fail pass"},
		"recorded without":  {linter: linter{known: map[string]string{"x = 3\n": "x = 2\n"}}, answers: answers, off: true, asked: "propose/1 heal/1.1", verdicts: "fail pass"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, m := runtest.Hunt(t, runtest.Wants("x = 2\n"), c.answers)
			b.Runner.Repairer = c.linter
			crew := b.Crew
			b.Crew = func(id string, emit func(agent.Progress)) tournament.Crew {
				made := crew(id, emit)
				made.Repairs = !c.off
				return made
			}
			req := b.Goal()
			req.Candidates = c.candidates
			doc := b.Run(t.Context(), req)
			b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
			found, err := b.DB.Run(t.Context(), doc.Run)
			if err != nil {
				t.Fatal(err)
			}
			var verdicts []string
			for _, cand := range found.Candidates {
				verdicts = append(verdicts, string(cand.Verdict))
			}
			if m.Steps() != c.asked || strings.Join(verdicts, " ") != c.verdicts || b.Tree(t)["a.py"] != "x = 2\n" {
				t.Errorf("asked %s, recorded %s, a.py is %q", m.Steps(), verdicts, b.Tree(t)["a.py"])
			}
			last := found.Candidates[len(found.Candidates)-1].Gates[0].Detail
			if said := strings.Contains(last, "the linter repaired X1 by itself"); said != strings.HasSuffix(c.asked, "propose/1") && c.candidates == 0 {
				t.Errorf("the record says %q", last)
			}
		})
	}
}
