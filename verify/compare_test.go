package verify

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
)

// diffOf describes a patch that modifies or renames one file.
func diffOf(t *testing.T, op workspace.Op, before, after string) diff {
	t.Helper()
	c := workspace.Change{Op: op, Path: "a.py", Before: []byte(before), After: []byte(after)}
	if op == workspace.Rename {
		c.From = "old.py"
	}
	cs := workspace.Changeset{Changes: []workspace.Change{c}}
	return newDiff(cs, newView(&workspace.Manifest{}, cs))
}

func TestFindingsAreComparedByContent(t *testing.T) {
	t.Parallel()
	old := Finding{File: "a.py", Line: 2, Rule: "F811", Message: "Redefinition of `f` from line 1", Source: "def f():"}
	moved := old
	moved.Line, moved.Message = 9, "Redefinition of `f` from line 8"
	other := old
	other.Source = "def f(x):"
	for _, c := range []struct {
		name       string
		base, cand []Finding
		fresh      int
		old, fixed int
	}{
		{"moved with its line numbers", []Finding{old}, []Finding{moved}, 0, 1, 0},
		{"second of a kind", []Finding{old}, []Finding{old, moved}, 1, 1, 0},
		{"one of two gone", []Finding{old, moved}, []Finding{old}, 0, 1, 1},
		{"other source, not rewritten", []Finding{old}, []Finding{other}, 1, 0, 1},
		{"nothing", nil, nil, 0, 0, 0},
	} {
		fresh, n, fixed := compare(c.base, c.cand, diff{})
		if len(fresh) != c.fresh || n != c.old || fixed != c.fixed {
			t.Errorf("%s: %d new, %d old, %d fixed", c.name, len(fresh), n, fixed)
		}
	}
}

func TestOldFindingOnARewrittenLineStaysOld(t *testing.T) {
	t.Parallel()
	d := diffOf(t, workspace.Modify, "a\nl = f(x)\nb\n", "new\na\nl = f(y)\nb\nl = 2\n")
	base := []Finding{{File: "a.py", Line: 2, Rule: "E741", Message: "Ambiguous", Source: "l = f(x)"}}
	cand := []Finding{
		{File: "a.py", Line: 3, Rule: "E741", Message: "Ambiguous", Source: "l = f(y)"},
		{File: "a.py", Line: 5, Rule: "E741", Message: "Ambiguous", Source: "l = 2"},
	}
	fresh, old, fixed := compare(base, cand, d)
	if len(fresh) != 1 || fresh[0].Line != 5 || old != 1 || fixed != 0 {
		t.Errorf("%+v %d %d", fresh, old, fixed)
	}
	// Elsewhere in the file the same message is new trouble, though another one went.
	fresh, _, fixed = compare(base, cand[1:], d)
	if len(fresh) != 1 || fixed != 1 {
		t.Errorf("%+v %d", fresh, fixed)
	}
}

// Of findings that are all alike the one on the patch's own line is the new one.
func TestTheLineOfThePatchIsTheNewOne(t *testing.T) {
	t.Parallel()
	d := diffOf(t, workspace.Modify, "a\nx = 1\nb\nx = 1\n", "a\nx = 1\nb\nx = 1\nc\nx = 1\n")
	at := func(line int) Finding { return Finding{File: "a.py", Line: line, Rule: "F841", Source: "x = 1"} }
	fresh, old, _ := compare([]Finding{at(2), at(4)}, []Finding{at(2), at(4), at(6)}, d)
	if len(fresh) != 1 || fresh[0].Line != 6 || old != 2 {
		t.Errorf("behind the old ones: %+v, %d old", fresh, old)
	}
	d = diffOf(t, workspace.Modify, "a\nx = 1\nb\nx = 1\n", "c\nx = 1\nd\na\nx = 1\nb\nx = 1\n")
	fresh, old, _ = compare([]Finding{at(2), at(4)}, []Finding{at(2), at(5), at(7)}, d)
	if len(fresh) != 1 || fresh[0].Line != 2 || old != 2 {
		t.Errorf("before the old ones: %+v, %d old", fresh, old)
	}
}

func TestRenamesAreFollowed(t *testing.T) {
	t.Parallel()
	d := diffOf(t, workspace.Rename, "x\n", "x\n")
	fresh, old, _ := compare([]Finding{{File: "old.py", Line: 1, Rule: "F821", Source: "x"}}, []Finding{{File: "a.py", Line: 1, Rule: "F821", Source: "x"}}, d)
	if len(fresh) != 0 || old != 1 {
		t.Errorf("%+v %d", fresh, old)
	}
}

func TestModuleThatIsNotInstalledIsOneFact(t *testing.T) {
	t.Parallel()
	at := func(file string, module string) Finding {
		return Finding{File: file, Line: 1, Rule: "import-not-found", Message: "no module " + module, Source: "import " + module}
	}
	fresh, old, _ := compare([]Finding{at("a.py", "flask")}, []Finding{at("a.py", "flask"), at("b.py", "flask"), at("b.py", "evil")}, diff{})
	if len(fresh) != 1 || fresh[0].Message != "no module evil" || old != 2 {
		t.Errorf("%+v %d", fresh, old)
	}
}

func TestRegionsMapOldLinesToNewOnes(t *testing.T) {
	t.Parallel()
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "", "\n"})
	rapid.Check(t, func(t *rapid.T) {
		before, after := "", ""
		for i := range rapid.IntRange(0, 12).Draw(t, "lines") {
			same := rapid.Bool().Draw(t, "same")
			text := line.Draw(t, "old")
			before += text
			if same {
				after += text
			} else {
				after += line.Draw(t, "new")
			}
			_ = i
		}
		before += rapid.SampledFrom([]string{"", "end"}).Draw(t, "end")
		// Outside the regions, line for line, both texts are equal.
		shiftOld, shiftNew := 1, 1
		oldLines, newLines := splitLines(before), splitLines(after)
		check := func(oldTo, newTo int) {
			if oldTo-shiftOld != newTo-shiftNew {
				t.Fatalf("regions do not line up: %q %q", before, after)
			}
			for i := 0; i < oldTo-shiftOld; i++ {
				if oldLines[shiftOld-1+i] != newLines[shiftNew-1+i] {
					t.Fatalf("line %d differs outside the regions: %q %q", shiftOld+i, before, after)
				}
			}
		}
		for _, r := range regions([]byte(before), []byte(after)) {
			check(r.oldFrom, r.newFrom)
			shiftOld, shiftNew = r.oldTo, r.newTo
		}
		check(len(oldLines)+1, len(newLines)+1)
	})
}

// splitLines cuts text after each newline.
func splitLines(text string) []string {
	var lines []string
	for len(text) > 0 {
		i := 0
		for i < len(text)-1 && text[i] != '\n' {
			i++
		}
		lines = append(lines, text[:i+1])
		text = text[i+1:]
	}
	return lines
}

func TestTestsAreComparedOneByOne(t *testing.T) {
	t.Parallel()
	d := diff{
		moved: map[string]string{"old.py": "new.py"}, deleted: map[string]bool{"gone.py": true},
		touched: map[string]bool{"new.py": true, "a.py": true}, sources: newSources(newView(&workspace.Manifest{}, workspace.Changeset{})),
	}
	res := func(id, outcome string) testResult { return testResult{ID: id, Outcome: outcome, Message: "m"} }
	for _, c := range []struct {
		name       string
		base, cand []testResult
		verdict    Verdict
		rule       string
	}{
		{"same", []testResult{res("a.py::t", "passed")}, []testResult{res("a.py::t", "passed")}, Pass, ""},
		{"broken", []testResult{res("a.py::t", "passed")}, []testResult{res("a.py::t", "failed")}, Fail, ruleTestFailed},
		{"fixture broken", []testResult{res("a.py::t", "passed")}, []testResult{res("a.py::t", "error")}, Fail, ruleTestError},
		{"new and failing", nil, []testResult{res("a.py::t", "failed")}, Fail, ruleTestFailed},
		{"failed before", []testResult{res("a.py::t", "failed")}, []testResult{res("a.py::t", "failed")}, Pass, ""},
		{"skipped now", []testResult{res("a.py::t", "passed")}, []testResult{res("a.py::t", "skipped")}, Policy, ruleTestSkipped},
		{"expected to fail now", []testResult{res("a.py::t", "passed")}, []testResult{res("a.py::t", "xfailed")}, Policy, ruleTestSkipped},
		{"new and skipped", nil, []testResult{res("a.py::t", "skipped")}, Pass, ""},
		{"file renamed", []testResult{res("old.py::t[1]", "passed")}, []testResult{res("new.py::t[1]", "passed")}, Pass, ""},
		{"file deleted", []testResult{res("gone.py::t", "passed")}, nil, Policy, ruleTestRemoved},
		{"failing test removed", []testResult{res("a.py::t", "failed")}, nil, Policy, ruleTestRemoved},
		{"lost without a touch", []testResult{res("far.py::t", "passed")}, nil, Fail, ruleTestLost},
		{"module does not import", []testResult{res("far.py::t", "passed")}, []testResult{res("far.py", "error")}, Fail, ruleTestError},
		{"module skips itself", []testResult{res("far.py::t", "passed")}, []testResult{res("far.py", "skipped")}, Policy, ruleTestRemoved},
		{"module imports again", []testResult{res("far.py", "error")}, []testResult{res("far.py::t", "passed")}, Pass, ""},
	} {
		g := judgeTests(outcome{Tests: c.base}, outcome{Tests: c.cand}, d)
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
	d := diff{sources: newSources(newView(&workspace.Manifest{}, workspace.Changeset{}))}
	base := outcome{Tests: []testResult{{ID: "a.py", Outcome: "error", Message: "No module named 'flask'"}}}
	same := judgeTests(base, base, d)
	other := judgeTests(base, outcome{Tests: []testResult{{ID: "a.py", Outcome: "error", Message: "invalid syntax"}}}, d)
	if same.Verdict != Pass || same.Old != 1 || other.Verdict != Fail {
		t.Errorf("%+v %+v", same, other)
	}
}

func TestSmokeIsJudgedNextToTheUnpatchedProgram(t *testing.T) {
	t.Parallel()
	end := func(e ending) outcome { return outcome{Ending: &e} }
	crash := ending{Exit: 1, Crashes: []string{"KeyError: 'HOME'"}, Where: Finding{Message: "KeyError: 'HOME'"}}
	running := ending{Running: true}
	for _, c := range []struct {
		name       string
		base, cand outcome
		want       Verdict
	}{
		{"ends well", outcome{}, end(ending{}), Pass},
		{"keeps running", end(running), end(running), Pass},
		{"crashes, nothing before", outcome{}, end(crash), Fail},
		{"crashes as before", end(crash), end(crash), Pass},
		{"crashes otherwise", end(crash), end(ending{Exit: 1, Crashes: []string{"NameError: x"}}), Fail},
		{"exit 1 where it was 2", end(ending{Exit: 2}), end(ending{Exit: 1}), Fail},
		{"exit 2 as before", end(ending{Exit: 2}), end(ending{Exit: 2}), Pass},
		{"server dies quietly", end(running), end(ending{Exit: 1}), Fail},
		{"signal", end(ending{}), end(ending{Exit: -1, Signal: "SIGSEGV"}), Fail},
		{"same signal", end(ending{Exit: -1, Signal: "SIGSEGV"}), end(ending{Exit: -1, Signal: "SIGSEGV"}), Pass},
		{"report, then exit 0", end(ending{}), end(ending{Crashes: []string{"OSError: x"}, Where: Finding{Message: "OSError: x"}}), Fail},
		{"report while running", end(running), end(ending{Running: true, Crashes: []string{"OSError: x"}}), Fail},
		{"endless loop", end(ending{}), end(ending{Running: true, Busy: true}), Timeout},
		{"now a quiet server", end(ending{}), end(ending{Running: true, Ports: []guest.Port{{Port: 80}}}), Pass},
		{"only waits now", end(ending{}), end(running), Fail},
		{"has waited for a quarter", end(ending{}), end(ending{Running: true, Wall: 4 * time.Second, Rested: time.Second}), Fail},
		{"is slow", end(ending{}), end(ending{Running: true, Wall: 4 * time.Second, Rested: time.Second - 1}), Pass},
		{"command not found, ever", end(ending{Exit: 127}), end(ending{Exit: 127}), Infra},
		{"command not found now", end(ending{}), end(ending{Exit: 127}), Fail},
		{"out of memory", end(ending{}), outcome{Verdict: OOM}, OOM},
	} {
		if g := judgeSmoke(c.base, c.cand, diff{}); g.Verdict != c.want || (g.Verdict == Fail) != (len(g.Findings) == 1 && c.want == Fail) {
			t.Errorf("%s: %s, want %s: %+v", c.name, g.Verdict, c.want, g.Findings)
		}
	}
}

func TestVolatilePartsOfACrashDoNotMakeItNew(t *testing.T) {
	t.Parallel()
	a := readEnding(ended(1, nil, []byte("Traceback (most recent call last):\nValueError: <X at 0x7f00aa> port 4711\n")))
	b := readEnding(ended(1, nil, []byte("Traceback (most recent call last):\nValueError: <X at 0x7fffbb> port 815\n")))
	if d := cmp.Diff(a.Crashes, b.Crashes); d != "" || len(a.Crashes) != 1 {
		t.Error(d, a.Crashes)
	}
}

func TestWhatCouldNotBeJudgedBeforeIsSkipped(t *testing.T) {
	t.Parallel()
	static := check{name: checkMypy, gate: gateTypes, group: groupStatic, judge: judgeFindings}
	blocked := outcome{Blocked: "bad.py: invalid syntax", Findings: []Finding{{File: "bad.py", Rule: "syntax"}}}
	late := outcome{Verdict: Timeout, Detail: "mypy did not end within 5m0s"}
	trouble := outcome{Verdict: Infra, Detail: "gone"}
	for _, c := range []struct {
		name       string
		base, cand outcome
		unproven   string
		verdict    Verdict // "" means skipped
	}{
		{"blocked on both sides", blocked, blocked, "", ""},
		{"blocked before only", blocked, outcome{Findings: []Finding{{Rule: "x"}}}, "", ""},
		{"blocked by the patch", outcome{}, blocked, "", Fail},
		{"blocked by the patch as well", blocked, outcome{Blocked: "new.py: invalid syntax", Findings: []Finding{{File: "new.py", Rule: "syntax"}}}, "", Fail},
		{"blocked without a finding", outcome{}, outcome{Blocked: "usage"}, "", Fail},
		{"late on both sides", late, late, "", ""},
		{"late now", outcome{}, late, "", Timeout},
		{"late before", late, outcome{}, "", ""},
		{"trouble now", outcome{}, trouble, "", Infra},
		{"trouble before", trouble, outcome{}, "", Infra},
		{"trouble on both sides", trouble, trouble, "", Infra},
		{"not proved", outcome{}, outcome{}, "ruff sees nothing", Infra},
		{"fine", outcome{}, outcome{}, "", Pass},
	} {
		g, reason := judge(static, c.base, c.cand, c.unproven, diff{})
		if g.Verdict != c.verdict || (reason != "") != (c.verdict == "") {
			t.Errorf("%s: %q, skipped %q", c.name, g.Verdict, reason)
		}
	}
}

func TestOverallVerdictIsTheWeightiest(t *testing.T) {
	t.Parallel()
	order := []Verdict{Fail, OOM, Timeout, Infra, Policy, Pass}
	rapid.Check(t, func(t *rapid.T) {
		var gates []Gate
		best := len(order) - 1
		for i := range rapid.IntRange(0, 6).Draw(t, "gates") {
			k := rapid.IntRange(0, len(order)-1).Draw(t, fmt.Sprint("verdict", i))
			gates = append(gates, Gate{Verdict: order[k]})
			best = min(best, k)
		}
		if got := overall(gates); got != order[best] {
			t.Fatalf("%v of %+v, want %v", got, gates, order[best])
		}
	})
}

// A program whose disk is full says so in its own words, or in none.
func TestAReachedLimitIsNamedBesideTheVerdict(t *testing.T) {
	t.Parallel()
	out := add(add(outcome{Detail: "two modules"}, outcome{Reached: []string{guest.ReachedTmp}}), outcome{Reached: []string{guest.ReachedProcesses, guest.ReachedTmp}})
	g := judgeFindings(outcome{}, out, diff{})
	if want := "two modules; it reached the box's limit on the size of /tmp and on processes"; g.Verdict != Pass || g.Detail != want {
		t.Errorf("%s: %q, want %q", g.Verdict, g.Detail, want)
	}
}
