package verify

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/python"
	"agent/verify/smoke"
)

// diffOf describes a patch that modifies or renames one file.
func diffOf(t *testing.T, op workspace.Op, before, after string) check.Diff {
	t.Helper()
	c := workspace.Change{Op: op, Path: "a.py", Before: []byte(before), After: []byte(after)}
	if op == workspace.Rename {
		c.From = "old.py"
	}
	cs := workspace.Changeset{Changes: []workspace.Change{c}}
	return compare.NewDiff(cs, check.NewView(&workspace.Manifest{}, cs))
}

func TestFindingsAreComparedByContent(t *testing.T) {
	t.Parallel()
	old := check.Finding{File: "a.py", Line: 2, Rule: "F811", Message: "Redefinition of `f` from line 1", Source: "def f():"}
	moved := old
	moved.Line, moved.Message = 9, "Redefinition of `f` from line 8"
	other := old
	other.Source = "def f(x):"
	for _, c := range []struct {
		name       string
		base, cand []check.Finding
		fresh      int
		old, fixed int
	}{
		{"moved with its line numbers", []check.Finding{old}, []check.Finding{moved}, 0, 1, 0},
		{"second of a kind", []check.Finding{old}, []check.Finding{old, moved}, 1, 1, 0},
		{"one of two gone", []check.Finding{old, moved}, []check.Finding{old}, 0, 1, 1},
		{"other source, not rewritten", []check.Finding{old}, []check.Finding{other}, 1, 0, 1},
		{"nothing", nil, nil, 0, 0, 0},
	} {
		fresh, n, fixed := compare.Findings(c.base, c.cand, check.Diff{})
		if len(fresh) != c.fresh || n != c.old || fixed != c.fixed {
			t.Errorf("%s: %d new, %d old, %d fixed", c.name, len(fresh), n, fixed)
		}
	}
}

func TestOldFindingOnARewrittenLineStaysOld(t *testing.T) {
	t.Parallel()
	d := diffOf(t, workspace.Modify, "a\nl = f(x)\nb\n", "new\na\nl = f(y)\nb\nl = 2\n")
	base := []check.Finding{{File: "a.py", Line: 2, Rule: "E741", Message: "Ambiguous", Source: "l = f(x)"}}
	cand := []check.Finding{
		{File: "a.py", Line: 3, Rule: "E741", Message: "Ambiguous", Source: "l = f(y)"},
		{File: "a.py", Line: 5, Rule: "E741", Message: "Ambiguous", Source: "l = 2"},
	}
	fresh, old, fixed := compare.Findings(base, cand, d)
	if len(fresh) != 1 || fresh[0].Line != 5 || old != 1 || fixed != 0 {
		t.Errorf("%+v %d %d", fresh, old, fixed)
	}
	// Elsewhere in the file the same message is a new finding, even though another one is gone.
	fresh, _, fixed = compare.Findings(base, cand[1:], d)
	if len(fresh) != 1 || fixed != 1 {
		t.Errorf("%+v %d", fresh, fixed)
	}
}

// If all findings are alike, the new one is the one on the patch's own line.
func TestTheLineOfThePatchIsTheNewOne(t *testing.T) {
	t.Parallel()
	d := diffOf(t, workspace.Modify, "a\nx = 1\nb\nx = 1\n", "a\nx = 1\nb\nx = 1\nc\nx = 1\n")
	at := func(line int) check.Finding {
		return check.Finding{File: "a.py", Line: line, Rule: "F841", Source: "x = 1"}
	}
	fresh, old, _ := compare.Findings([]check.Finding{at(2), at(4)}, []check.Finding{at(2), at(4), at(6)}, d)
	if len(fresh) != 1 || fresh[0].Line != 6 || old != 2 {
		t.Errorf("behind the old ones: %+v, %d old", fresh, old)
	}
	d = diffOf(t, workspace.Modify, "a\nx = 1\nb\nx = 1\n", "c\nx = 1\nd\na\nx = 1\nb\nx = 1\n")
	fresh, old, _ = compare.Findings([]check.Finding{at(2), at(4)}, []check.Finding{at(2), at(5), at(7)}, d)
	if len(fresh) != 1 || fresh[0].Line != 2 || old != 2 {
		t.Errorf("before the old ones: %+v, %d old", fresh, old)
	}
}

func TestRenamesAreFollowed(t *testing.T) {
	t.Parallel()
	d := diffOf(t, workspace.Rename, "x\n", "x\n")
	fresh, old, _ := compare.Findings([]check.Finding{{File: "old.py", Line: 1, Rule: "F821", Source: "x"}}, []check.Finding{{File: "a.py", Line: 1, Rule: "F821", Source: "x"}}, d)
	if len(fresh) != 0 || old != 1 {
		t.Errorf("%+v %d", fresh, old)
	}
}

func TestModuleThatIsNotInstalledIsOneFact(t *testing.T) {
	t.Parallel()
	at := func(file string, module string) check.Finding {
		return check.Finding{File: file, Line: 1, Rule: "import-not-found", Message: "no module " + module, Source: "import " + module}
	}
	fresh, old, _ := compare.Findings([]check.Finding{at("a.py", "flask")}, []check.Finding{at("a.py", "flask"), at("b.py", "flask"), at("b.py", "evil")}, check.Diff{})
	if len(fresh) != 1 || fresh[0].Message != "no module evil" || old != 2 {
		t.Errorf("%+v %d", fresh, old)
	}
}

func TestTestsAreComparedOneByOne(t *testing.T) {
	t.Parallel()
	d := check.Diff{
		Moved: map[string]string{"old.py": "new.py"}, Deleted: map[string]bool{"gone.py": true},
		Touched: map[string]bool{"new.py": true, "a.py": true}, Sources: check.NewSources(check.NewView(&workspace.Manifest{}, workspace.Changeset{})),
	}
	res := func(id, outcome string) check.TestResult {
		return check.TestResult{ID: id, Outcome: outcome, Message: "m"}
	}
	for _, c := range []struct {
		name       string
		base, cand []check.TestResult
		verdict    check.Verdict
		rule       string
	}{
		{"same", []check.TestResult{res("a.py::t", "passed")}, []check.TestResult{res("a.py::t", "passed")}, check.Pass, ""},
		{"broken", []check.TestResult{res("a.py::t", "passed")}, []check.TestResult{res("a.py::t", "failed")}, check.Fail, compare.RuleTestFailed},
		{"fixture broken", []check.TestResult{res("a.py::t", "passed")}, []check.TestResult{res("a.py::t", "error")}, check.Fail, compare.RuleTestError},
		{"new and failing", nil, []check.TestResult{res("a.py::t", "failed")}, check.Fail, compare.RuleTestFailed},
		{"failed before", []check.TestResult{res("a.py::t", "failed")}, []check.TestResult{res("a.py::t", "failed")}, check.Pass, ""},
		{"skipped now", []check.TestResult{res("a.py::t", "passed")}, []check.TestResult{res("a.py::t", "skipped")}, check.Policy, compare.RuleTestSkipped},
		{"expected to fail now", []check.TestResult{res("a.py::t", "passed")}, []check.TestResult{res("a.py::t", "xfailed")}, check.Policy, compare.RuleTestSkipped},
		{"new and skipped", nil, []check.TestResult{res("a.py::t", "skipped")}, check.Pass, ""},
		{"file renamed", []check.TestResult{res("old.py::t[1]", "passed")}, []check.TestResult{res("new.py::t[1]", "passed")}, check.Pass, ""},
		{"file deleted", []check.TestResult{res("gone.py::t", "passed")}, nil, check.Policy, compare.RuleTestRemoved},
		{"failing test removed", []check.TestResult{res("a.py::t", "failed")}, nil, check.Policy, compare.RuleTestRemoved},
		{"parameters that read otherwise", []check.TestResult{res("a.py::t[1-x]", "passed"), res("a.py::t[2-x]", "passed")}, []check.TestResult{res("a.py::t[1-y]", "passed"), res("a.py::t[2-y]", "passed")}, check.Pass, ""},
		{"fewer parameters", []check.TestResult{res("a.py::t[1]", "passed"), res("a.py::t[2]", "passed")}, []check.TestResult{res("a.py::t[3]", "passed")}, check.Policy, compare.RuleTestRemoved},
		{"subtests with other numbers, far away", []check.TestResult{res("far_test.go::T/#01", "passed"), res("far_test.go::T/case_7", "passed")}, []check.TestResult{res("far_test.go::T/#02", "passed"), res("far_test.go::T/case_8", "passed")}, check.Pass, ""},
		{"one subtest less, far away", []check.TestResult{res("far_test.go::T/#01", "passed"), res("far_test.go::T/#02", "passed")}, []check.TestResult{res("far_test.go::T/#01", "passed")}, check.Fail, compare.RuleTestLost},
		{"renamed and split", []check.TestResult{res("a.py::t", "passed")}, []check.TestResult{res("a.py::u", "passed"), res("a.py::v", "passed")}, check.Pass, ""},
		{"moved to a file that the patch wrote", []check.TestResult{res("gone.py::t", "passed")}, []check.TestResult{res("new.py::t", "passed")}, check.Pass, ""},
		{"renamed, and skipped", []check.TestResult{res("a.py::t", "passed")}, []check.TestResult{res("a.py::u", "skipped")}, check.Policy, compare.RuleTestRemoved},
		{"a new one where nobody wrote", []check.TestResult{res("a.py::t", "passed")}, []check.TestResult{res("far.py::u", "passed")}, check.Policy, compare.RuleTestRemoved},
		{"lost without a touch", []check.TestResult{res("far.py::t", "passed")}, nil, check.Fail, compare.RuleTestLost},
		{"module does not import", []check.TestResult{res("far.py::t", "passed")}, []check.TestResult{res("far.py", "error")}, check.Fail, compare.RuleTestError},
		{"module skips itself", []check.TestResult{res("far.py::t", "passed")}, []check.TestResult{res("far.py", "skipped")}, check.Policy, compare.RuleTestRemoved},
		{"new, and cannot begin as others could not", []check.TestResult{res("far.py::t", "error")}, []check.TestResult{res("far.py::t", "error"), res("a.py::u", "error")}, check.Pass, ""},
		{"new, and cannot begin", []check.TestResult{res("far.py::t", "failed")}, []check.TestResult{res("far.py::t", "failed"), res("a.py::u", "error")}, check.Fail, compare.RuleTestError},
		{"renamed, and neither can begin", []check.TestResult{res("a.py::t", "error")}, []check.TestResult{res("a.py::u", "error")}, check.Pass, ""},
		{"one of two that cannot begin removed", []check.TestResult{res("a.py::t", "error"), res("a.py::u", "error")}, []check.TestResult{res("a.py::v", "error")}, check.Policy, compare.RuleTestRemoved},
		{"passed, and its successor cannot begin as others could not", []check.TestResult{res("far.py::t", "error"), res("a.py::t", "passed")}, []check.TestResult{res("far.py::t", "error"), res("a.py::u", "error")}, check.Policy, compare.RuleTestRemoved},
		{"passed, and its fixture fails as another did", []check.TestResult{res("far.py::t", "error"), res("a.py::t", "passed")}, []check.TestResult{res("far.py::t", "error"), res("a.py::t", "error")}, check.Fail, compare.RuleTestError},
		{"module does not import as another did not", []check.TestResult{res("old.py", "error"), res("far.py::t", "passed")}, []check.TestResult{res("new.py", "error"), res("far.py", "error")}, check.Fail, compare.RuleTestError},
		{"package does not build as another did not", []check.TestResult{res("x", "error"), res("far/a_test.go::t", "passed")}, []check.TestResult{res("x", "error"), res("far", "error")}, check.Fail, compare.RuleTestError},
		{"new module that does not import as another did not", []check.TestResult{res("far.py", "error")}, []check.TestResult{res("far.py", "error"), res("a.py", "error")}, check.Pass, ""},
		{"module imports again", []check.TestResult{res("far.py", "error")}, []check.TestResult{res("far.py::t", "passed")}, check.Pass, ""},
	} {
		g := compare.JudgeTests(check.Outcome{Tests: c.base}, check.Outcome{Tests: c.cand}, d)
		rule := ""
		if len(g.Findings) > 0 {
			rule = g.Findings[0].Rule
		}
		if g.Verdict != c.verdict || rule != c.rule || len(g.Findings) > 1 {
			t.Errorf("%s: %s %+v", c.name, g.Verdict, g.Findings)
		}
	}
}

func TestModuleThatFailsForAnotherReasonIsNewTrouble(t *testing.T) {
	t.Parallel()
	d := check.Diff{Sources: check.NewSources(check.NewView(&workspace.Manifest{}, workspace.Changeset{}))}
	base := check.Outcome{Tests: []check.TestResult{{ID: "a.py", Outcome: "error", Message: "No module named 'flask'"}}}
	same := compare.JudgeTests(base, base, d)
	other := compare.JudgeTests(base, check.Outcome{Tests: []check.TestResult{{ID: "a.py", Outcome: "error", Message: "invalid syntax"}}}, d)
	if same.Verdict != check.Pass || same.Old != 1 || other.Verdict != check.Fail {
		t.Errorf("%+v %+v", same, other)
	}
}

func TestSmokeIsJudgedNextToTheUnpatchedProgram(t *testing.T) {
	t.Parallel()
	end := func(e check.Ending) check.Outcome { return check.Outcome{Ending: &e} }
	crash := check.Ending{Exit: 1, Crashes: []string{"KeyError: 'HOME'"}, Where: check.Finding{Message: "KeyError: 'HOME'"}}
	running := check.Ending{Running: true}
	for _, c := range []struct {
		name       string
		base, cand check.Outcome
		want       check.Verdict
	}{
		{"ends well", check.Outcome{}, end(check.Ending{}), check.Pass},
		{"keeps running", end(running), end(running), check.Pass},
		{"crashes, nothing before", check.Outcome{}, end(crash), check.Fail},
		{"crashes as before", end(crash), end(crash), check.Pass},
		{"crashes otherwise", end(crash), end(check.Ending{Exit: 1, Crashes: []string{"NameError: x"}}), check.Fail},
		{"exit 1 where it was 2", end(check.Ending{Exit: 2}), end(check.Ending{Exit: 1}), check.Fail},
		{"exit 2 as before", end(check.Ending{Exit: 2}), end(check.Ending{Exit: 2}), check.Pass},
		{"server dies quietly", end(running), end(check.Ending{Exit: 1}), check.Fail},
		{"signal", end(check.Ending{}), end(check.Ending{Exit: -1, Signal: "SIGSEGV"}), check.Fail},
		{"same signal", end(check.Ending{Exit: -1, Signal: "SIGSEGV"}), end(check.Ending{Exit: -1, Signal: "SIGSEGV"}), check.Pass},
		{"report, then exit 0", end(check.Ending{}), end(check.Ending{Crashes: []string{"OSError: x"}, Where: check.Finding{Message: "OSError: x"}}), check.Fail},
		{"report while running", end(running), end(check.Ending{Running: true, Crashes: []string{"OSError: x"}}), check.Fail},
		{"endless loop", end(check.Ending{}), end(check.Ending{Running: true, Busy: true}), check.Timeout},
		{"now a quiet server", end(check.Ending{}), end(check.Ending{Running: true, Ports: []guest.Port{{Port: 80}}}), check.Pass},
		{"only waits now", end(check.Ending{}), end(running), check.Fail},
		{"has waited for a quarter", end(check.Ending{}), end(check.Ending{Running: true, Wall: 4 * time.Second, Rested: time.Second}), check.Fail},
		{"is slow", end(check.Ending{}), end(check.Ending{Running: true, Wall: 4 * time.Second, Rested: time.Second - 1}), check.Pass},
		{"command not found, ever", end(check.Ending{Exit: 127}), end(check.Ending{Exit: 127}), check.Infra},
		{"command not found now", end(check.Ending{}), end(check.Ending{Exit: 127}), check.Fail},
		{"out of memory", end(check.Ending{}), check.Outcome{Verdict: check.OOM}, check.OOM},
	} {
		if g := smoke.Program.Judge(c.base, c.cand, check.Diff{}); g.Verdict != c.want || (g.Verdict == check.Fail) != (len(g.Findings) == 1 && c.want == check.Fail) {
			t.Errorf("%s: %s, want %s: %+v", c.name, g.Verdict, c.want, g.Findings)
		}
	}
}

func TestWhatCouldNotBeJudgedBeforeIsSkipped(t *testing.T) {
	t.Parallel()
	static := check.Check{Name: python.MypyName, Gate: check.GateTypes, Group: check.GroupStatic, Judge: compare.JudgeFindings}
	blocked := check.Outcome{Blocked: "bad.py: invalid syntax", Findings: []check.Finding{{File: "bad.py", Rule: "syntax"}}}
	late := check.Outcome{Verdict: check.Timeout, Detail: "mypy did not finish within 5m0s"}
	trouble := check.Outcome{Verdict: check.Infra, Detail: "gone"}
	for _, c := range []struct {
		name       string
		base, cand check.Outcome
		unproven   string
		verdict    check.Verdict // "" for skipped
	}{
		{"blocked on both sides", blocked, blocked, "", ""},
		{"blocked before only", blocked, check.Outcome{Findings: []check.Finding{{Rule: "x"}}}, "", ""},
		{"blocked by the patch", check.Outcome{}, blocked, "", check.Fail},
		{"blocked by the patch as well", blocked, check.Outcome{Blocked: "new.py: invalid syntax", Findings: []check.Finding{{File: "new.py", Rule: "syntax"}}}, "", check.Fail},
		{"blocked without a finding", check.Outcome{}, check.Outcome{Blocked: "usage"}, "", check.Fail},
		{"late on both sides", late, late, "", ""},
		{"late now", check.Outcome{}, late, "", check.Timeout},
		{"late before", late, check.Outcome{}, "", ""},
		{"trouble now", check.Outcome{}, trouble, "", check.Infra},
		{"trouble before", trouble, check.Outcome{}, "", check.Infra},
		{"trouble on both sides", trouble, trouble, "", check.Infra},
		{"not proved", check.Outcome{}, check.Outcome{}, "ruff sees nothing", check.Infra},
		{"fine", check.Outcome{}, check.Outcome{}, "", check.Pass},
	} {
		g, reason := judge(static, c.base, c.cand, c.unproven, check.Diff{})
		if g.Verdict != c.verdict || (reason != "") != (c.verdict == "") {
			t.Errorf("%s: %q, skipped %q", c.name, g.Verdict, reason)
		}
	}
}

func TestOverallVerdictIsTheWeightiest(t *testing.T) {
	t.Parallel()
	order := []check.Verdict{check.Fail, check.OOM, check.Timeout, check.Infra, check.Policy, check.Pass}
	rapid.Check(t, func(t *rapid.T) {
		var gates []check.Gate
		best := len(order) - 1
		for i := range rapid.IntRange(0, 6).Draw(t, "gates") {
			k := rapid.IntRange(0, len(order)-1).Draw(t, fmt.Sprint("verdict", i))
			gates = append(gates, check.Gate{Verdict: order[k]})
			best = min(best, k)
		}
		if got := compare.Overall(gates); got != order[best] {
			t.Fatalf("%v of %+v, want %v", got, gates, order[best])
		}
	})
}

// A program whose disk is full reports that in its own words, or not at all.
func TestAReachedLimitIsNamedBesideTheVerdict(t *testing.T) {
	t.Parallel()
	out := check.AddCost(check.AddCost(check.Outcome{Detail: "two modules"}, check.Outcome{Reached: []string{guest.ReachedTmp}}), check.Outcome{Reached: []string{guest.ReachedProcesses, guest.ReachedTmp}})
	g := compare.JudgeFindings(check.Outcome{}, out, check.Diff{})
	if want := "two modules; it reached the box's limit on the size of /tmp and on processes"; g.Verdict != check.Pass || g.Detail != want {
		t.Errorf("%s: %q, want %q", g.Verdict, g.Detail, want)
	}
}
