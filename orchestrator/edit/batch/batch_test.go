package batch

import (
	"testing"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/match"
)

func TestTheLoosestStrategyIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   []match.Strategy
		want match.Strategy
	}{
		{nil, ""},
		{[]match.Strategy{match.Exact}, match.Exact},
		{[]match.Strategy{match.Exact, match.Indentation, match.Stripped}, match.Indentation},
		{[]match.Strategy{match.Creation, match.Exact}, match.Exact},
		{[]match.Strategy{match.Robust, match.Normalised}, match.Robust},
		{[]match.Strategy{match.Robust, "quite new", match.Exact}, "quite new"},
	} {
		var applied []edit.Applied
		for _, s := range c.in {
			applied = append(applied, edit.Applied{Strategy: s})
		}
		if got := loosest(applied); got != c.want {
			t.Errorf("of %q the loosest is %q, want %q", c.in, got, c.want)
		}
	}
}
