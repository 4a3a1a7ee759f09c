package tournament

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/orchestrator/agent"
	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
	"agent/verify"
)

// sized returns a changeset with a diff that grows with n; with 0 it changes nothing.
func sized(n int) workspace.Changeset {
	if n == 0 {
		return workspace.Changeset{}
	}
	return workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "a", After: []byte(strings.Repeat("x\n", n)), Mode: 0o644}}}
}

// judgedAs returns the candidate as it would be if it were judged to the end.
func judgedAs(n, found int, v verify.Verdict) gate.Candidate {
	cs := sized(n)
	return gate.Candidate{Verdict: v, Changeset: cs, Diff: cs.Diff(), Gates: []verify.Gate{{Name: "lint", Verdict: v, Findings: make([]verify.Finding, found)}}}
}

// started starts a round with n entrants.
func started(ctx context.Context, n int) (*round, []context.Context, func()) {
	var live []*entrant
	for i := range n {
		live = append(live, &entrant{variant: agent.Variant{N: i + 1, Of: n}})
	}
	return newRound(ctx, live)
}

// TestAHeatIsWonAsIfAllWereJudged draws the results of candidates, and the order in which they become known. Whichever are cancelled, the
// best of the rest is the best of all.
func TestAHeatIsWonAsIfAllWereJudged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		verdicts := []verify.Verdict{verify.Pass, verify.Pass, verify.Pass, verify.Fail, verify.Timeout, verify.Policy, verify.Infra}
		full, cut := &tournament{}, &tournament{}
		n := rapid.IntRange(1, 8).Draw(t, "candidates")
		h, each, stop := started(ctx, n)
		defer stop()
		var events []int // which candidate makes progress next
		for i := range n {
			cand := judgedAs(rapid.IntRange(0, 3).Draw(t, "size"), rapid.IntRange(0, 1).Draw(t, "findings"), rapid.SampledFrom(verdicts).Draw(t, "verdict"))
			full.all = append(full.all, &entrant{cand: cand})
			cut.all = append(cut.all, &entrant{})
			events = append(events, i, i, i)
		}
		known := make([]int, n)
		for _, i := range rapid.Permutation(events).Draw(t, "order") {
			k, cand := cut.all[i], full.all[i].cand
			if each[i].Err() != nil && rapid.Bool().Draw(t, "hears of it") || k.cand.Verdict == verify.Cancelled {
				k.cand.Verdict = verify.Cancelled
				continue
			}
			switch known[i]++; known[i] {
			case 1:
				h.settled(i, cand.Changeset)
			case 2:
				h.told(i, verify.Event{Gate: "lint", Done: true, Verdict: cand.Verdict})
			case 3:
				k.cand = cand
				h.ended(i, cand)
			}
		}
		place := func(c *tournament) int {
			for i, k := range c.all {
				if k == c.best() {
					return i
				}
			}
			return -1
		}
		if got, want := place(cut), place(full); got != want {
			t.Fatalf("candidate %d wins, and %d if all are judged", got, want)
		}
	})
}

func TestWhoCannotWinIsCancelledAtOnce(t *testing.T) {
	t.Parallel()
	fails := verify.Event{Gate: "types", Done: true, Verdict: verify.Fail}
	for name, c := range map[string]struct {
		before, after func(h *round) // of candidates 2 and 3, while the first is being judged
		first         gate.Candidate
		want          string
	}{
		"a larger one": {first: judgedAs(2, 0, verify.Pass), before: func(h *round) { h.settled(1, sized(3)) }, want: "candidate 1 has passed without a finding, and its diff is no larger"},
		"one as large": {first: judgedAs(2, 0, verify.Pass), after: func(h *round) { h.settled(1, sized(2)) }, want: "candidate 1 has passed without a finding, and its diff is no larger"},
		"one that fails": {
			first: judgedAs(2, 1, verify.Pass), before: func(h *round) { h.told(1, fails) }, want: "types does not pass, and candidate 1 has passed",
		},
		"a smaller one":              {first: judgedAs(2, 0, verify.Pass), before: func(h *round) { h.settled(1, sized(1)) }},
		"one that may be formatted":  {first: judgedAs(2, 0, verify.Pass)},
		"one with fewer findings":    {first: judgedAs(2, 1, verify.Pass), before: func(h *round) { h.settled(1, sized(3)) }},
		"a baseline that fails":      {first: judgedAs(2, 0, verify.Pass), after: func(h *round) { e := fails; e.Baseline = true; h.told(1, e) }},
		"a gate that could not work": {first: judgedAs(2, 0, verify.Pass), after: func(h *round) { e := fails; e.Verdict = verify.Infra; h.told(1, e) }},
		"while none has passed":      {first: judgedAs(2, 0, verify.Fail), before: func(h *round) { h.settled(1, sized(3)); h.told(1, fails) }},
		"and one changes nothing":    {first: judgedAs(0, 0, verify.Pass), before: func(h *round) { h.settled(1, sized(3)); h.told(1, fails) }},
	} {
		h, each, stop := started(t.Context(), 3)
		for _, do := range []func(*round){c.before, func(h *round) { h.ended(0, c.first) }, c.after} {
			if do != nil {
				do(h)
			}
		}
		var eliminated *eliminatedError
		if cut := errors.As(context.Cause(each[1]), &eliminated); cut != (c.want != "") || cut && eliminated.why != c.want {
			t.Errorf("%s: %v, want %q", name, context.Cause(each[1]), c.want)
		}
		if got := fmt.Sprint(each[0].Err(), each[2].Err()); got != "<nil> <nil>" {
			t.Errorf("%s: the others end with %s", name, got)
		}
		stop()
	}
}
