package trial

import (
	"slices"

	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy"
	"agent/verify/smoke"
)

// RuleConfigured is the rule of what a check finds under the configuration of the base but not under that of the patch.
const RuleConfigured = "configuration"

// ApprovedBy maps the rule of a finding to the kind of hold whose approval in advance lets tests prove less than
// before, the program do less, or the patch's own configuration count.
var ApprovedBy = map[string]string{
	RuleConfigured:          policy.Tooling,
	compare.RuleTestRemoved: policy.WeakerTest, compare.RuleTestSkipped: policy.WeakerTest, compare.RuleTestHelper: policy.ChangedTest,
	compare.RuleAltered: policy.Runner,
	smoke.RuleIdle:      policy.Idle, smoke.RuleEnded: policy.Idle,
}

// Approvals lists, sorted, the kinds whose approval would let gates with the verdict Policy pass. It returns nil if no approval would.
func Approvals(gates []check.Gate) (kinds []string) {
	for _, g := range gates {
		if g.Verdict != check.Policy {
			continue
		}
		if len(g.Findings) == 0 {
			return nil
		}
		for _, f := range g.Findings {
			kind, ok := ApprovedBy[f.Rule]
			if !ok {
				return nil
			}
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
