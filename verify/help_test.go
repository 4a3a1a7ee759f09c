package verify

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/compare"
)

func TestOldFindingsAreListed(t *testing.T) {
	t.Parallel()
	one := check.Finding{File: "a.py", Line: 1, Rule: "F821", Message: "Undefined name `x`", Source: "x"}
	two := check.Finding{File: "a.py", Line: 9, Rule: "F401", Message: "unused", Source: "import y"}
	g := compare.JudgeFindings(check.Outcome{Findings: []check.Finding{one}}, check.Outcome{Findings: []check.Finding{one, two}}, check.Diff{})
	old := one
	old.Old = true
	if d := cmp.Diff([]check.Finding{old}, g.OldFindings); d != "" || g.Old != 1 {
		t.Error(d, g.Old)
	}
	if d := cmp.Diff([]check.Finding{two}, g.Findings); d != "" {
		t.Error(d)
	}
	// The second of two equal findings is new, and not part of the list.
	g = compare.JudgeFindings(check.Outcome{Findings: []check.Finding{one}}, check.Outcome{Findings: []check.Finding{one, one}}, check.Diff{})
	if len(g.Findings) != 1 || g.Findings[0].Old || len(g.OldFindings) != 1 {
		t.Errorf("%+v", g)
	}
	// All are counted; the first hundred are listed, in order.
	var many []check.Finding
	for i := range 3 * compare.MaxOld {
		many = append(many, check.Finding{File: "a.py", Line: i + 1, Rule: "E501", Message: strconv.Itoa(i)})
	}
	g = compare.JudgeFindings(check.Outcome{Findings: many}, check.Outcome{Findings: many}, check.Diff{})
	if g.Verdict != check.Pass || g.Old != len(many) || len(g.OldFindings) != compare.MaxOld || g.OldFindings[compare.MaxOld-1].Message != "99" {
		t.Errorf("%d counted, %d listed", g.Old, len(g.OldFindings))
	}
	if many[0].Old {
		t.Error("the outcome, which is cached, was written to")
	}
}

func TestOldTestFailuresAreListed(t *testing.T) {
	t.Parallel()
	out := check.Outcome{}
	for i := range compare.MaxOld + 1 {
		out.Tests = append(out.Tests, check.TestResult{ID: "test_a.py::test_" + strconv.Itoa(i), Outcome: "failed", File: "a.py", Line: 3, Message: "boom"})
	}
	g := compare.JudgeTests(out, out, check.Diff{Sources: check.NewSources(check.View{Base: &workspace.Manifest{}})})
	if g.Old != compare.MaxOld+1 || len(g.OldFindings) != compare.MaxOld || len(g.Findings) != 0 {
		t.Fatalf("%d counted, %d listed, %d new", g.Old, len(g.OldFindings), len(g.Findings))
	}
	want := check.Finding{File: "a.py", Line: 3, Rule: compare.RuleTestFailed, Message: "test_a.py::test_0: boom", Old: true}
	if d := cmp.Diff(want, g.OldFindings[0]); d != "" {
		t.Error(d)
	}
}

func TestAFingerprintSurvivesAnEditAbove(t *testing.T) {
	t.Parallel()
	f := check.Finding{File: "a.py", Line: 3, Column: 1, Rule: "F811", Message: "Redefinition of `f` from line 1", Source: "def f():"}
	moved := f
	moved.Line, moved.Column, moved.Message, moved.Old = 9, 5, "Redefinition of `f` from line 7", true
	if f.Fingerprint() != moved.Fingerprint() {
		t.Error("a finding that moved is another")
	}
	for _, other := range []check.Finding{
		{File: "b.py", Rule: f.Rule, Message: f.Message, Source: f.Source},
		{File: f.File, Rule: "F821", Message: f.Message, Source: f.Source},
		{File: f.File, Rule: f.Rule, Message: "x", Source: f.Source},
		{File: f.File, Rule: f.Rule, Message: f.Message, Source: "def g():"},
		{File: f.File + f.Rule, Message: f.Message, Source: f.Source},
	} {
		if other.Fingerprint() == f.Fingerprint() {
			t.Errorf("%+v is the same as %+v", other, f)
		}
	}
}
