package store_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/knowledge"
	"agent/orchestrator/store/storetest"
	"agent/orchestrator/tournament"
	"agent/verify"
)

func TestProposalsWaitForADecision(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	first := run.KeptProposal{Workspace: shop, Kind: run.PeerReview, Path: "a.py", Text: "do it\x00", Reason: "why\xff", Run: "01run"}
	second := run.KeptProposal{Workspace: shop, Kind: run.FailedFeature, Text: "button"}
	ids := make([]int64, 4)
	for i, p := range []run.KeptProposal{first, second, {Workspace: shop, Kind: run.Feature}, {Workspace: "/other", Kind: run.FailedPeerReview}} {
		id, err := a.AddProposal(t.Context(), p)
		must(t, err)
		ids[i] = id
	}
	must(t, b.SettleProposal(t.Context(), ids[2], run.ProposalDone))
	must(t, a.SettleProposal(t.Context(), ids[2], run.ProposalDone))
	wantError(t, "settled otherwise", a.SettleProposal(t.Context(), ids[2], run.ProposalDropped), knowledge.ErrSettled)
	wantError(t, "unknown", a.SettleProposal(t.Context(), 0, run.ProposalDropped), knowledge.ErrSettled)
	got, err := b.Proposals(t.Context(), shop)
	must(t, err)
	for i := range got {
		if got[i].At.IsZero() {
			t.Errorf("proposal %d has no time", got[i].ID)
		}
		got[i].At = first.At
	}
	first.ID, first.Text, first.Reason, second.ID = ids[0], "do it\uFFFD", "why\uFFFD", ids[1]
	first.State, second.State = run.ProposalOpen, run.ProposalOpen
	if d := cmp.Diff([]run.KeptProposal{first, second}, got); d != "" {
		t.Errorf("open proposals (-want +got):\n%s", d)
	}
	must(t, a.SettleProposal(t.Context(), ids[0], run.ProposalDropped))
	want(t, a, `select kind, state, path, reason, run from v_proposals order by proposal`,
		"PEER_REVIEW|dropped|a.py|why\uFFFD|01run", "FAILED_FEATURE|open|∅|∅|∅", "FEATURE|done|∅|∅|∅", "FAILED_PEER_REVIEW|open|∅|∅|∅")
	for what, err := range map[string]error{
		"an unknown kind":  func() error { _, err := a.AddProposal(t.Context(), run.KeptProposal{Kind: "WISH"}); return err }(),
		"an unknown state": a.SettleProposal(t.Context(), ids[1], "dancing"),
	} {
		if err == nil || !strings.Contains(err.Error(), "check constraint") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// An open proposal is not recorded twice, whoever proposes it. Once settled, it may be proposed again.
func TestAProposalIsOpenOnce(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	p := run.KeptProposal{
		Workspace: shop, Kind: run.PeerReview, Path: "a.py", Goal: "faster", Text: "loop", Patch: []byte("+x\xff\x00"), Reason: "skipped", Run: "01run",
	}
	add := func(db *store.DB, p run.KeptProposal) int64 {
		id, err := db.AddProposal(t.Context(), p)
		must(t, err)
		return id
	}
	id := add(a, p)
	p.Reason, p.Run = "another", "02run"
	if got := add(b, p); got != id {
		t.Errorf("recorded as %d and again as %d", id, got)
	}
	other := p
	other.Patch = nil
	if got := add(b, other); got == id {
		t.Error("an idea is taken for a patch")
	}
	must(t, a.SettleProposal(t.Context(), id, run.ProposalDropped))
	if got := add(b, p); got == id {
		t.Error("a proposal that was dropped is taken for an open one")
	}
	got, err := b.Proposal(t.Context(), id)
	must(t, err)
	p.ID, p.State, p.Reason, p.Run, p.At = id, run.ProposalDropped, "skipped", "01run", got.At
	if d := cmp.Diff(p, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	_, err = b.Proposal(t.Context(), id+100)
	wantError(t, "unknown", err, database.ErrNotFound)
}

// A directive is dealt with if its run promoted or was rejected, except by policy without a candidate.
func TestDirectivesAreAttendedToOnce(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	for id, c := range map[string]struct {
		directive string
		candidate bool
		promotes  run.PromotionStatus
		end       run.Ending
	}{
		"01": {directive: "promoted", promotes: run.Committed, end: run.Ending{State: run.Promoted, Verdict: verify.Pass}},
		"02": {directive: "rolled back", promotes: run.RolledBack, end: run.Ending{State: run.Failed, Verdict: verify.Infra}},
		"03": {directive: "failed its gates", candidate: true, end: run.Ending{State: run.Rejected, Verdict: verify.Fail}},
		"04": {directive: "nobody approved", candidate: true, end: run.Ending{State: run.Rejected, Verdict: verify.Policy}},
		"05": {directive: "never sent", end: run.Ending{State: run.Rejected, Verdict: verify.Policy}},
		"06": {directive: "nothing to do", end: run.Ending{State: run.Rejected, Verdict: verify.Fail}},
		"07": {directive: "proved only", candidate: true, end: run.Ending{State: run.Done, Verdict: verify.Pass}},
		"08": {directive: "no model", end: run.Ending{State: run.Failed, Verdict: verify.Budget}},
		"09": {end: run.Ending{State: run.Rejected, Verdict: verify.Fail}},
	} {
		must(t, db.Create(t.Context(), record(id)))
		plan, err := json.Marshal(tournament.Plan{Why: "a \x00 in it", Directive: c.directive})
		must(t, err)
		must(t, db.SavePlan(t.Context(), id, 1, plan))
		if c.candidate {
			must(t, db.SaveCandidate(t.Context(), id, 1, gate.Candidate{Verdict: verify.Pass}))
		}
		if c.promotes != "" {
			must(t, db.SavePromotion(t.Context(), id, 1, run.Promotion{Status: c.promotes}))
		}
		must(t, db.Finish(t.Context(), id, 1, c.end))
	}
	got, err := db.Attended(t.Context(), record("").Workspace)
	must(t, err)
	slices.Sort(got)
	if want := []string{"failed its gates", "nobody approved", "nothing to do", "promoted"}; !slices.Equal(got, want) {
		t.Errorf("attended to are %q, want %q", got, want)
	}
	if other, err := db.Attended(t.Context(), "/other"); err != nil || len(other) > 0 {
		t.Errorf("another workspace: %q, %v", other, err)
	}
}
