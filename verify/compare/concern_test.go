package compare

import (
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

// diffOf describes a change of a.py.
func diffOf(t *testing.T, before, after string) check.Diff {
	t.Helper()
	base := verifytest.Scan(t, map[string]string{"a.py": before, "b.py": "from a import price\n"})
	cs := verifytest.Change(t, base, map[string]string{"a.py": after})
	return NewDiff(cs, check.NewView(base, cs))
}

func TestAFindingInOtherWordsAtItsPlaceIsOld(t *testing.T) {
	t.Parallel()
	d := diffOf(t, "x = 1\ny = f(x)\nz = f(x)\n", "# a comment\nx = 1\ny = f(x)\nz = f(x)\n")
	at := func(line int, message, source string) check.Finding {
		return check.Finding{Rule: "arg-type", File: "a.py", Line: line, Message: message, Source: source}
	}
	const was, is = `Argument 1 to "f" has incompatible type "bool"; expected "str"`, `Argument 1 to "f" has incompatible type "bool | None"; expected "str"`
	for name, c := range map[string]struct {
		base, cand check.Finding
		fresh      int
	}{
		"another type":         {at(2, was, "y = f(x)"), at(3, is, "y = f(x)"), 0},
		"at another line":      {at(2, was, "y = f(x)"), at(4, is, "y = f(x)"), 1},
		"another function":     {at(2, was, "y = f(g(x))"), at(3, `Argument 1 to "g" has incompatible type "bool"; expected "str"`, "y = f(g(x))"), 1},
		"another sentence":     {at(2, was, "y = f(x)"), at(3, `Too many arguments for "f"`, "y = f(x)"), 1},
		"on a line of its own": {at(2, was, "y = f(x)"), at(1, is, "y = f(x)"), 1},
	} {
		if fresh, _, _ := Findings([]check.Finding{c.base}, []check.Finding{c.cand}, d); len(fresh) != c.fresh {
			t.Errorf("%s: %+v", name, fresh)
		}
	}
	// One old finding excuses one new one.
	if fresh, old, _ := Findings([]check.Finding{at(2, was, "y = f(x)")}, []check.Finding{at(3, is, "y = f(x)"), at(4, is, "y = f(x)")}, d); len(fresh) != 1 || old != 1 || fresh[0].Line != 4 {
		t.Errorf("%+v", fresh)
	}
}

func TestWhatNobodyAskedForCountsWhereThePatchIs(t *testing.T) {
	t.Parallel()
	d := diffOf(t, "def price(\n    n,\n    unit=1,\n):\n    return n\n\n\nother = 1\n", "def price(\n    n,\n):\n    return n\n\n\nother = 1\n")
	for name, c := range map[string]struct {
		f     check.Finding
		fails bool
	}{
		"it breaks a caller":    {check.Finding{File: "b.py", Line: 9, Source: "call()", Message: `Too many arguments for "price"`, Unasked: true}, true},
		"it names what is gone": {check.Finding{File: "b.py", Line: 9, Source: "call()", Message: `Unexpected keyword argument "unit" for "x"`, Unasked: true}, true},
		"it names another":      {check.Finding{File: "b.py", Line: 9, Source: "call()", Message: `Too many arguments for "cost" of "int"`, Unasked: true}, false},
		"it uses what changed":  {check.Finding{File: "b.py", Line: 9, Source: "f(unit)", Message: `Argument 1 to "f" has incompatible type "int"; expected "str"`, Unasked: true}, true},
		"its line is unknown":   {check.Finding{File: "b.py", Line: 9, Message: `Too many arguments for "cost"`, Unasked: true}, true},
		"the project asks":      {check.Finding{File: "b.py", Line: 9, Source: "call()", Message: `Too many arguments for "cost"`}, true},
	} {
		g := JudgeFindings(check.Outcome{}, check.Outcome{Findings: []check.Finding{c.f}}, d)
		if (g.Verdict == check.Fail) != c.fails || !c.fails && g.Old != 1 {
			t.Errorf("%s: %+v", name, g)
		}
	}
	d = diffOf(t, "a = 1\n", "a = 1\nb = undefined\n")
	if g := JudgeFindings(check.Outcome{}, check.Outcome{Findings: []check.Finding{{File: "a.py", Line: 2, Message: "x", Unasked: true}}}, d); g.Verdict != check.Fail {
		t.Errorf("%+v", g)
	}
	base := verifytest.Scan(t, map[string]string{"pkg/old.py": ""})
	gone := NewDiff(workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Delete, Path: "pkg/old.py"}}}, check.OnBase(base))
	if !gone.Names["old"] {
		t.Errorf("%v", gone.Names)
	}
}
