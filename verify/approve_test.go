package verify

import (
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy"
)

// Findings that tests prove less than before pass if their kind is approved, and only if all of them are.
func TestFewerProofsPassWithTheirApproval(t *testing.T) {
	t.Parallel()
	gone, helped := check.Finding{File: "a.py", Rule: compare.RuleTestRemoved, Message: "m"}, check.Finding{File: "b.py", Rule: compare.RuleTestHelper}
	for name, c := range map[string]struct {
		findings []check.Finding
		verdict  check.Verdict
		allow    []string
		want     check.Verdict
	}{
		"approved":             {[]check.Finding{gone}, check.Policy, []string{policy.WeakerTest}, check.Pass},
		"by another kind":      {[]check.Finding{gone}, check.Policy, []string{policy.ChangedTest, policy.Dependencies}, check.Policy},
		"one of two":           {[]check.Finding{gone, helped}, check.Policy, []string{policy.WeakerTest}, check.Policy},
		"both":                 {[]check.Finding{gone, helped}, check.Policy, []string{policy.WeakerTest, policy.ChangedTest}, check.Pass},
		"a failure beside it":  {[]check.Finding{gone}, check.Fail, []string{policy.WeakerTest}, check.Fail},
		"a rule without a way": {[]check.Finding{{Rule: compare.RuleTestFailed}}, check.Policy, policy.Kinds(), check.Policy},
		"nothing to approve":   {nil, check.Policy, policy.Kinds(), check.Policy},
	} {
		r := newResults(nil, Request{Base: &workspace.Manifest{}, Allow: c.allow})
		g := r.approve("pytest", check.Gate{Verdict: c.verdict, Findings: c.findings})
		if holds := r.approved["pytest"]; g.Verdict != c.want || g.Verdict == check.Pass && (len(holds) != len(c.findings) || len(g.Findings) > 0 || holds[0].Path != "a.py") {
			t.Errorf("%s: %+v, held %+v", name, g, holds)
		}
	}
}
