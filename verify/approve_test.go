package verify

import (
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy"
)

// What tests prove less than before is approved by its kind, all of it or nothing.
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

// A test under another name or with other parameters no longer says whether the one that was
// there passes: the run with the tests as they were does.
func TestARenamedTestIsAskedAsItWas(t *testing.T) {
	t.Parallel()
	base := check.Outcome{Tests: []check.TestResult{{ID: "a.py::t[1]", Outcome: "passed"}, {ID: "a.py::t[4]", Outcome: "passed"}}}
	cand := check.Outcome{Tests: []check.TestResult{{ID: "a.py::t[0]", Outcome: "passed"}, {ID: "a.py::t[2]", Outcome: "passed"}}}
	asked := &trial{out: &check.Outcome{Tests: []check.TestResult{{ID: "a.py::t[1]", Outcome: "failed", Message: "assert 2 == 1"}, {ID: "a.py::t[4]", Outcome: "passed"}}}}
	d := check.Diff{Touched: map[string]bool{"a.py": true}}
	g := asked.judge(compare.JudgeTests(base, cand, d), base, cand, d)
	if g.Verdict != check.Pass || len(asked.holds) != 1 || asked.holds[0].Kind != policy.ChangedTest || asked.holds[0].Path != "a.py" {
		t.Errorf("%+v, held %+v", g, asked.holds)
	}
}
