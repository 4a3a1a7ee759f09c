package compare

import (
	"testing"

	"agent/verify/check"
)

// Annotations are required where the project has them, and not where it already breaks the rule. For faults, that is no excuse.
func TestAnnotationsAreAskedForWhereTheProjectHasThem(t *testing.T) {
	t.Parallel()
	base := []check.Finding{
		{File: "tests/test_a.py", Rule: "no-untyped-def", Message: "m", Source: "def test_a():"},
		{File: "tests/test_a.py", Rule: "attr-defined", Message: "m", Source: "a.b"},
		{File: "src/a.py", Rule: "type-arg", Message: "m", Source: "x: list"},
	}
	whole := []check.Region{{OldFrom: 1, OldTo: 1, NewFrom: 1, NewTo: 9}}
	d := check.Diff{Hunks: map[string][]check.Region{"tests/test_new.py": whole, "src/new.py": whole, "tests/test_a.py": {{OldFrom: 5, OldTo: 5, NewFrom: 5, NewTo: 9}}, "src/clean.py": {{OldFrom: 5, OldTo: 5, NewFrom: 5, NewTo: 9}}}}
	for _, c := range []struct {
		file, rule string
		want       check.Verdict
	}{
		{"tests/test_a.py", "no-untyped-def", check.Pass},
		{"tests/test_new.py", "no-untyped-def", check.Pass},
		{"tests/test_a.py", "attr-defined", check.Fail},
		{"tests/test_a.py", "type-arg", check.Fail},
		{"src/new.py", "no-untyped-def", check.Fail},
		{"src/new.py", "type-arg", check.Pass},
		{"src/clean.py", "type-arg", check.Fail},
	} {
		g := JudgeFindings(check.Outcome{Findings: base}, check.Outcome{Findings: append(base[:3:3], check.Finding{File: c.file, Line: 6, Rule: c.rule, Message: "m", Source: "def f(x: list):"})}, d)
		if g.Verdict != c.want || g.Verdict == check.Pass && g.Old != 4 {
			t.Errorf("%s in %s: %+v", c.rule, c.file, g)
		}
	}
}
