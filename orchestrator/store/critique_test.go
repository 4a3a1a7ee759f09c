package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/agent/critic"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
)

// critique returns a critique with a value in every field, and with bytes that no column accepts.
func critique(outcome critic.Outcome) critic.Critique {
	return critic.Critique{
		Subject: "d1", Agree: 2, Outcome: outcome,
		Opinions: []critic.Opinion{
			{Critic: "a/1", Model: "a/1", Partial: "9 of the 10 bytes of the diff fit", Findings: []critic.Finding{{Severity: critic.Major, File: "a.py", Line: 3, Text: "wrong"}}},
			{Critic: "b/2", Unreviewed: "the cap is reached", Findings: []critic.Finding{}},
		},
		Findings: []critic.Finding{{Severity: critic.Major, File: "a.py", Line: 3, Text: "wrong", By: []string{"a/1"}}, {Severity: critic.Nit, Text: "slow", By: []string{"a/1", "b/2"}, Agreed: true}},
	}
}

// Critiques are read back unchanged, and the view shows them.
func TestCritiquesAreRecorded(t *testing.T) {
	t.Parallel()
	a, b, dsn := two(t)
	must(t, a.Create(t.Context(), record("01run")))
	first, second := critique(critic.SentBack), critic.Critique{Subject: "d2", Agree: 1, Outcome: critic.Clean, Opinions: []critic.Opinion{}, Findings: []critic.Finding{}}
	must(t, a.SaveCritique(t.Context(), "01run", 1, first))
	must(t, a.SaveCritique(t.Context(), "01run", 1, second))
	d, err := b.Run(t.Context(), "01run")
	must(t, err)
	if diff := cmp.Diff([]critic.Critique{first, second}, d.Critiques); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := value(t, dsn, `select string_agg(critique || ' ' || outcome || ' ' || coalesce(severity || ' ' || agreed || ' ' || found_by, 'none'), ', ' order by critique, severity)
		from v_critiques`); got != "1 sent back major false a/1, 1 sent back nit true a/1 b/2, 2 clean none" {
		t.Errorf("the view shows %s", got)
	}
	if got := value(t, dsn, `select max(not_reviewed) from v_critiques`); got != "a/1: 9 of the 10 bytes of the diff fit; b/2: the cap is reached" {
		t.Errorf("not reviewed: %s", got)
	}
	// Neither a foreign token nor a finished run may write.
	if err := a.SaveCritique(t.Context(), "01run", 7, first); !errors.Is(err, run.ErrFenced) {
		t.Errorf("with a foreign token: %v", err)
	}
	must(t, a.Finish(t.Context(), "01run", 1, run.Ending{State: run.Done, Verdict: "pass"}))
	if err := a.SaveCritique(t.Context(), "01run", 1, first); !errors.Is(err, store.ErrFinished) {
		t.Errorf("after the end: %v", err)
	}
}

// Subjects other than candidates have reviews too, each recorded once, however often it is written.
func TestOtherThingsAreReviewedToo(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	c := critique(critic.Kept)
	for range 2 {
		must(t, a.AddCritique(t.Context(), "plan 7\x00", 1, c))
	}
	list, err := b.Critiques(t.Context(), "plan 7\x00")
	must(t, err)
	if diff := cmp.Diff([]critic.Critique{c}, list); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
