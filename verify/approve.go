package verify

import (
	"fmt"
	"slices"

	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy"
)

// approvals are the kinds of hold whose approval in advance lets tests prove less than
// before, by the rule of the finding.
var approvals = map[string]string{
	compare.RuleTestRemoved: policy.WeakerTest, compare.RuleTestSkipped: policy.WeakerTest, compare.RuleTestHelper: policy.ChangedTest,
}

// Approvals lists the kinds that would let gates pass whose verdict is Policy, sorted; nil
// when no approval would.
func Approvals(gates []Gate) (kinds []string) {
	for _, g := range gates {
		if g.Verdict != check.Policy {
			continue
		}
		if len(g.Findings) == 0 {
			return nil
		}
		for _, f := range g.Findings {
			kind, ok := approvals[f.Rule]
			if !ok {
				return nil
			}
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// approve lets a gate pass that only policy speaks against, where all of it was approved in
// advance: the record then has it as holds. It is called with mu held.
func (r *results) approve(name string, g check.Gate) check.Gate {
	kinds := Approvals([]Gate{g})
	if len(kinds) == 0 || slices.ContainsFunc(kinds, func(kind string) bool { return !slices.Contains(r.request.Allow, kind) }) {
		return g
	}
	for i, f := range g.Findings {
		if i == maxChanged {
			g.Detail += fmt.Sprintf("; %d more of which less is proved than before", len(g.Findings)-i)
			break
		}
		r.approved[name] = append(r.approved[name], policy.Hold{Path: f.File, Kind: approvals[f.Rule], Block: true, Reason: f.Message})
	}
	g.Verdict, g.Findings = check.Pass, []check.Finding{}
	return g
}
