package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/compare"
)

// someFindings draws findings on the lines of a file of ten lines.
func someFindings(t *rapid.T, label string) []check.Finding {
	one := rapid.Custom(func(t *rapid.T) check.Finding {
		line := rapid.IntRange(1, 10).Draw(t, "line")
		return check.Finding{
			File: rapid.SampledFrom([]string{"a.py", "b.py"}).Draw(t, "file"), Line: line,
			Rule:    rapid.SampledFrom([]string{"F811", "E741"}).Draw(t, "rule"),
			Message: fmt.Sprintf("Redefinition from line %d", rapid.IntRange(1, 3).Draw(t, "from")), Source: fmt.Sprint("x", line%4),
		}
	})
	return rapid.SliceOfN(one, 0, 8).Draw(t, label)
}

func TestWithoutRewrittenLinesFindingsMatchAsMultisets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, cand := someFindings(t, "base"), someFindings(t, "cand")
		// The model: how often each identity occurs on each side.
		type identity struct{ file, rule, source string }
		count := map[identity][2]int{}
		for side, list := range [][]check.Finding{base, cand} {
			for _, f := range list {
				k := identity{f.File, f.Rule, f.Source}
				n := count[k]
				n[side]++
				count[k] = n
			}
		}
		var fresh, old, fixed int
		for _, n := range count {
			old += min(n[0], n[1])
			fresh += max(n[1]-n[0], 0)
			fixed += max(n[0]-n[1], 0)
		}
		gotFresh, gotOld, gotFixed := compare.Findings(base, cand, check.Diff{})
		if len(gotFresh) != fresh || gotOld != old || gotFixed != fixed {
			t.Fatalf("%d new, %d old, %d fixed, want %d, %d, %d", len(gotFresh), gotOld, gotFixed, fresh, old, fixed)
		}
	})
}

func TestOldFindingsSurviveRenamesAndInsertedLines(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("line\n", 10)
	rapid.Check(t, func(t *rapid.T) {
		base := someFindings(t, "base")
		at, n := rapid.IntRange(1, 11).Draw(t, "at"), rapid.IntRange(0, 4).Draw(t, "lines")
		after := strings.Repeat("line\n", at-1) + strings.Repeat("new\n", n) + strings.Repeat("line\n", 11-at)
		cs := workspace.Changeset{Changes: []workspace.Change{
			{Op: workspace.Rename, From: "a.py", Path: "z.py", Before: []byte(text), After: []byte(after)},
		}}
		cand := slices.Clone(base)
		for i, f := range cand {
			if f.File == "a.py" {
				cand[i].File = "z.py"
				cand[i].Message = fmt.Sprintf("Redefinition from line %d", 100+i)
				if f.Line >= at {
					cand[i].Line += n
				}
			}
		}
		// The tools sort files by name, so a rename also changes the order.
		cand = rapid.Permutation(cand).Draw(t, "order")
		fresh, old, fixed := compare.Findings(base, cand, compare.NewDiff(cs, check.NewView(&workspace.Manifest{}, cs)))
		if len(fresh) != 0 || old != len(base) || fixed != 0 {
			t.Fatalf("%+v %d %d", fresh, old, fixed)
		}
	})
}

func TestFindingOfAFileThatTookAnOldNameIsNew(t *testing.T) {
	t.Parallel()
	// a.py becomes b.py, and a new a.py has the same fault.
	cs := workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Create, Path: "a.py", After: []byte("x\n")},
		{Op: workspace.Rename, From: "a.py", Path: "b.py", Before: []byte("x\n"), After: []byte("x\n")},
	}}
	f := check.Finding{File: "a.py", Line: 1, Rule: "F821", Message: "Undefined name `x`", Source: "x"}
	g := f
	g.File = "b.py"
	fresh, old, fixed := compare.Findings([]check.Finding{f}, []check.Finding{f, g}, compare.NewDiff(cs, check.NewView(&workspace.Manifest{}, cs)))
	if d := cmp.Diff([]check.Finding{f}, fresh); d != "" || old != 1 || fixed != 0 {
		t.Error(d, old, fixed)
	}
}

func TestRewrittenPlaceExcusesOnlyWhatItHad(t *testing.T) {
	t.Parallel()
	cs := workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Modify, Path: "a.py", Before: []byte("1\nold\n3\n4\nold\n"), After: []byte("1\nnew\nnew\n3\n4\nnew\n")},
	}}
	d := compare.NewDiff(cs, check.NewView(&workspace.Manifest{}, cs))
	at := func(line int, rule, message, source string) check.Finding {
		return check.Finding{File: "a.py", Line: line, Rule: rule, Message: message, Source: source}
	}
	was := at(2, "E1", "from line 9", "old")
	for _, c := range []struct {
		name       string
		base, cand []check.Finding
		fresh      int
	}{
		{"same place", []check.Finding{was}, []check.Finding{at(3, "E1", "from line 10", "new")}, 0},
		{"twice in the place", []check.Finding{was}, []check.Finding{at(2, "E1", "from line 10", "new"), at(3, "E1", "from line 10", "new")}, 1},
		{"other rule", []check.Finding{was}, []check.Finding{at(2, "E2", "from line 9", "new")}, 1},
		{"other message", []check.Finding{was}, []check.Finding{at(2, "E1", "worse", "new")}, 1},
		{"other place", []check.Finding{was}, []check.Finding{at(6, "E1", "from line 9", "new")}, 1},
		{"line that was not rewritten", []check.Finding{was}, []check.Finding{at(4, "E1", "from line 9", "3")}, 1},
		{"just behind the old place", []check.Finding{at(3, "E1", "m", "3")}, []check.Finding{at(2, "E1", "m", "new")}, 1},
		{"each place its own", []check.Finding{was, at(5, "E1", "from line 9", "old")}, []check.Finding{at(2, "E1", "from line 1", "new"), at(6, "E1", "from line 1", "new")}, 0},
	} {
		fresh, old, _ := compare.Findings(c.base, c.cand, d)
		if len(fresh) != c.fresh || old != len(c.cand)-c.fresh {
			t.Errorf("%s: %d old, new %+v", c.name, old, fresh)
		}
	}
}

func TestTestThatIsSwitchedOffIsMissedWhateverItSaid(t *testing.T) {
	t.Parallel()
	d := check.Diff{Sources: check.NewSources(check.NewView(&workspace.Manifest{}, workspace.Changeset{}))}
	for _, c := range []struct {
		id, before, now string
		want            check.Verdict
	}{
		{"a.py::t", "passed", "skipped", check.Policy},
		{"a.py::t", "failed", "skipped", check.Policy},
		{"a.py::t", "failed", "xfailed", check.Policy},
		{"a.py::t", "error", "skipped", check.Policy},
		{"a.py::t", "skipped", "xfailed", check.Pass},
		{"a.py::t", "xfailed", "skipped", check.Pass},
		{"a.py", "error", "skipped", check.Pass}, // no test of the module ran
	} {
		g := compare.JudgeTests(check.Outcome{Tests: []check.TestResult{{ID: c.id, Outcome: c.before}}}, check.Outcome{Tests: []check.TestResult{{ID: c.id, Outcome: c.now}}}, d)
		if g.Verdict != c.want {
			t.Errorf("%s, %s before and %s now: %s %+v", c.id, c.before, c.now, g.Verdict, g.Findings)
		}
	}
}

func TestTestThatPassedIsNeverForgotten(t *testing.T) {
	t.Parallel()
	d := check.Diff{Sources: check.NewSources(check.NewView(&workspace.Manifest{}, workspace.Changeset{}))}
	ids := []string{"a.py::t", "a.py::u[1]", "b.py::t", "b.py::C::t"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (list []check.TestResult) {
			for _, id := range ids {
				end := rapid.SampledFrom([]string{"passed", "failed", "error", "skipped", "xfailed", ""}).Draw(t, label+id)
				if end != "" {
					list = append(list, check.TestResult{ID: id, Outcome: end})
				}
			}
			return list
		}
		base, cand := draw("base"), draw("cand")
		g := compare.JudgeTests(check.Outcome{Tests: base}, check.Outcome{Tests: cand}, d)
		if g.Verdict != check.Pass {
			return
		}
		for _, old := range base {
			still := slices.ContainsFunc(cand, func(r check.TestResult) bool { return r.ID == old.ID && r.Outcome == "passed" })
			if old.Outcome == "passed" && !still {
				t.Fatalf("a pass without %s: %+v", old.ID, cand)
			}
		}
	})
}

func TestMessageOfATestIsBoundedHoweverLongItsNameIs(t *testing.T) {
	t.Parallel()
	d := check.Diff{Sources: check.NewSources(check.NewView(&workspace.Manifest{}, workspace.Changeset{}))}
	long := "a.py::t[" + strings.Repeat("x", 1<<20) + "\x1b[2J\nb.py::u passed]"
	for name, sides := range map[string][2]string{"fails": {"", "failed"}, "is skipped": {"passed", "skipped"}, "is gone": {"passed", ""}} {
		tests := [2][]check.TestResult{}
		for side, end := range sides {
			if end != "" {
				tests[side] = []check.TestResult{{ID: long, Outcome: end, Message: "m"}}
			}
		}
		g := compare.JudgeTests(check.Outcome{Tests: tests[0]}, check.Outcome{Tests: tests[1]}, d)
		if len(g.Findings) != 1 {
			t.Fatalf("%s: %d findings", name, len(g.Findings))
		}
		if m := g.Findings[0].Message; len(m) > 2*check.MaxMessage || strings.ContainsAny(m, "\x1b\n") {
			t.Errorf("%s: a message of %d bytes: %.60q", name, len(m), m)
		}
	}
	// Two tests whose names begin alike are still two tests.
	g := compare.JudgeTests(check.Outcome{}, check.Outcome{Tests: []check.TestResult{{ID: long + "1", Outcome: "failed"}, {ID: long + "2", Outcome: "failed"}}}, d)
	if len(g.Findings) != 2 {
		t.Errorf("%d findings of two tests", len(g.Findings))
	}
}

func TestConfigurationThatBecomesSourceIsCheckedAsSource(t *testing.T) {
	t.Parallel()
	both := workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Rename, Path: "lib.py", From: "setup.cfg", Before: []byte("[mypy]\n"), After: []byte("x = nothing\n"), Mode: 0o755, OldMode: 0o644},
		{Op: workspace.Rename, Path: "mypy.ini", From: "sub/mypy.ini", Before: []byte("a"), After: []byte("b")},
		{Op: workspace.Rename, Path: "ruff.toml", From: "old.py", Before: []byte("x = 1\n"), After: []byte("select = []\n"), Mode: 0o644},
	}}
	config, rest := splitConfig(both)
	wantConfig := []workspace.Change{
		{Op: workspace.Rename, Path: "mypy.ini", From: "sub/mypy.ini", Before: []byte("a"), After: []byte("b")},
		{Op: workspace.Create, Path: "ruff.toml", After: []byte("select = []\n"), Mode: 0o644},
		{Op: workspace.Delete, Path: "setup.cfg", Before: []byte("[mypy]\n"), Mode: 0o644},
	}
	wantRest := []workspace.Change{
		{Op: workspace.Create, Path: "lib.py", After: []byte("x = nothing\n"), Mode: 0o755},
		{Op: workspace.Delete, Path: "old.py", Before: []byte("x = 1\n"), Mode: 0o644},
	}
	if d := cmp.Diff(wantConfig, config.Changes); d != "" {
		t.Error("configuration", d)
	}
	if d := cmp.Diff(wantRest, rest.Changes); d != "" {
		t.Error("rest", d)
	}
}

func TestSplitPatchHasTheSameFilesAsTheWhole(t *testing.T) {
	t.Parallel()
	name := rapid.SampledFrom([]string{"a.py", "b/ruff.toml", "c.txt", "mypy.ini", "d/pyproject.toml", "e.py", "setup.cfg"})
	rapid.Check(t, func(t *rapid.T) {
		var cs workspace.Changeset
		names := rapid.SliceOfNDistinct(name, 0, 6, rapid.ID).Draw(t, "names")
		for len(names) > 0 {
			c := workspace.Change{Op: rapid.SampledFrom([]workspace.Op{workspace.Create, workspace.Modify, workspace.Delete, workspace.Rename}).Draw(t, "op"), Path: names[0]}
			names = names[1:]
			if c.Op == workspace.Rename {
				if len(names) == 0 {
					break
				}
				c.From, names = names[0], names[1:]
			}
			cs.Changes = append(cs.Changes, c)
		}
		whole := check.NewView(&workspace.Manifest{}, cs)
		config, rest := splitConfig(cs)
		c, r := check.NewView(&workspace.Manifest{}, config), check.NewView(&workspace.Manifest{}, rest)
		for _, p := range []string{"a.py", "b/ruff.toml", "c.txt", "mypy.ini", "d/pyproject.toml", "e.py", "setup.cfg"} {
			part, other := c, r
			if !staticConfig(p) {
				part, other = r, c
			}
			if part.Has(p) != whole.Has(p) || part.Gone[p] != whole.Gone[p] || other.Has(p) || other.Gone[p] {
				t.Fatalf("%s is on the wrong side of %+v", p, cs.Changes)
			}
		}
	})
}
