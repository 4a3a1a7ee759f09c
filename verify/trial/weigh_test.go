package trial

import (
	"slices"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy"
	"agent/verify/verifytest"
)

const (
	weighedProgram = "def grade(points):\n    if points >= 90:\n        return 'good'\n    return 'poor'\n"
	weighedTest    = "from grade import grade\n\n\ndef test_one():\n    assert grade(90) == 'good'\n\n\ndef test_two():\n    assert grade(0) == 'poor'\n"
	one, two       = "test_grade.py::test_one", "test_grade.py::test_two"
)

// A weighedPatch is a patch to the program and the test, and how its tests end.
type weighedPatch struct {
	program, test string
	old           []string // in their old form on the patched program; both pass if empty
	earlier       string
	now           []string // in their new form on it; both pass if empty
	late          bool
}

// weighing prepares the measurement of a patch.
func (p weighedPatch) weighing(t *testing.T) (*Trial, *Weighing) {
	t.Helper()
	both := []string{one + " passed", two + " passed"}
	base := verifytest.Scan(t, map[string]string{"grade.py": weighedProgram, "test_grade.py": weighedTest})
	files := map[string]string{}
	for name, text := range map[string]string{"grade.py": p.program, "test_grade.py": p.test} {
		if text != "" {
			files[name] = text
		}
	}
	cs := verifytest.Change(t, base, files)
	v := check.NewView(base, cs)
	before, cand, old := ended(both...), ended(both...), ended(both...)
	if p.now != nil {
		cand = ended(p.now...)
	}
	if p.old != nil {
		old = ended(p.old...)
	}
	tried := &Trial{Old: old, Before: check.OnBase(base)}
	if p.earlier != "" {
		tried.Earlier = map[string][]byte{"test_grade.py": []byte(p.earlier)}
	}
	d := compare.NewDiff(cs, v)
	if tried.Ask(check.Gate{Verdict: check.Pass}, *before, *cand, d) {
		tried.New = ended(both...) // it passes with either program
	}
	tried.Judge(check.Gate{Verdict: check.Pass}, *before, *cand, d)
	return tried, tried.Weigh(*before, *cand, d, cs, v)
}

// measure runs a measurement. fails says which test fails on a text of the program, "" for none, "?" if the text does not compile.
func measure(w *Weighing, late bool, fails func(side Side, program string) string) {
	measureOf(w, late, check.Lines{"grade.py": {2}}, fails) // with the patch the tests do not get past the second line
}

// measureOf does the same for tests that execute the lines in now with the patch.
func measureOf(w *Weighing, late bool, now check.Lines, fails func(side Side, program string) string) {
	traced := map[Side]*check.Trace{AsWas: {Ran: check.Lines{"grade.py": {2, 3}}}, AsIs: {Ran: now}}
	for _, side := range []Side{AsWas, Earlier, AsIs} {
		if len(w.Tests[side]) == 0 || side == AsIs && !w.Wanted() {
			continue
		}
		sound := ended()
		for _, id := range w.Tests[side] {
			sound.Tests = append(sound.Tests, check.TestResult{ID: id, Outcome: "passed"})
		}
		sound.Traced = traced[side]
		w.Began(*sound, side)
		for _, i := range w.Due(side) {
			cs, _ := w.Change(i, side)
			out := check.Outcome{Tests: slices.Clone(sound.Tests)}
			switch id := fails(side, string(cs.Changes[0].After)); id {
			case "?":
				out.Tests = ended("test_grade.py error SyntaxError").Tests
			default:
				for k := range out.Tests {
					if out.Tests[k].ID == id {
						out.Tests[k].Outcome = "failed"
					}
				}
			}
			w.Tried(i, side, out)
		}
		if late && side == AsWas {
			w.Late()
		}
	}
}

// A patch is held by a mutant that fails the old tests and not the new ones, if the mutant can tell, and by nothing else.
func TestAMutantShowsThatATestIsWeaker(t *testing.T) {
	t.Parallel()
	easier := strings.Replace(weighedTest, "grade(90)", "grade(95)", 1)
	shorter := strings.Replace(weighedProgram, "'poor'", "'bad'", 1)
	boundary := func(side Side, program string) string {
		if side != AsIs && strings.Contains(program, "points > 90") {
			return one
		}
		return ""
	}
	for name, c := range map[string]struct {
		weighedPatch
		fails func(Side, string) string
		held  string // part of the reason; "" for no hold
		said  string
	}{
		"weaker":    {weighedPatch{test: easier}, boundary, "test_one proves less than before: grade.py:2 with `>` for `>=`: the old test failed, the new one passes", "1 fail the old versions, 0 of these"},
		"as strong": {weighedPatch{test: easier}, func(_ Side, program string) string { return boundary(AsWas, program) }, "", "1 fail the old versions, 1 of these"},
		"another test fails": {weighedPatch{test: easier}, func(side Side, program string) string {
			if side == AsIs && strings.Contains(program, "points > 90") {
				return two
			}
			return boundary(side, program)
		}, "", "1 of these also the new ones"},
		"does not compile": {weighedPatch{test: easier}, func(side Side, program string) string {
			if side == AsIs {
				return "?"
			}
			return boundary(side, program)
		}, "", "0 of these"},
		"never compiles": {weighedPatch{test: easier}, func(Side, string) string { return "?" }, "", "0 fail the old versions"},
		"earlier, in two steps": {weighedPatch{test: strings.Replace(easier, "95", "96", 1), earlier: weighedTest + "# then\n"}, func(side Side, program string) string {
			if side == AsWas {
				return ""
			}
			return boundary(side, program)
		}, "the test from before the last promotions failed", "1 fail"},
		"with the program": {weighedPatch{program: shorter, test: easier}, boundary, "grade.py:2 with `>` for `>=`", "1 fail"},
		"of another promise": {
			weighedPatch{program: strings.Replace(weighedProgram, "    if points", "    points += 1\n    if points", 1), test: strings.Replace(easier, "95", "89", 1), old: []string{one + " failed AssertionError: x", two + " passed"}},
			boundary, "", "0 of these",
		},
	} {
		tried, w := c.weighing(t)
		if w == nil {
			t.Errorf("%s: not weighed", name)
			continue
		}
		measure(w, c.late, c.fails)
		tried.Weighed(w)
		var held []string
		for _, h := range tried.Holds {
			if h.Kind == policy.ChangedTest && strings.Contains(h.Reason, "proves less than before") && h.Block {
				held = append(held, h.Path+" "+h.Reason)
			}
		}
		if (len(held) == 1) != (c.held != "") || len(held) > 1 || len(held) == 1 && !strings.Contains(held[0], c.held) || !strings.Contains(w.Said(), c.said) {
			t.Errorf("%s: %q, want %q; %s", name, held, c.held, w.Said())
		}
	}
}

// A test that fails on a mutant by chance shows nothing.
func TestAMutantShowsItTwice(t *testing.T) {
	t.Parallel()
	tried, w := weighedPatch{test: strings.Replace(weighedTest, "grade(90)", "grade(95)", 1)}.weighing(t)
	measure(w, false, func(side Side, program string) string {
		if side == AsWas && strings.Contains(program, "points > 90") {
			return one
		}
		return ""
	})
	i, found := w.Weaker()
	w.Confirmed(i, *ended(one+" passed", two+" passed"))
	if _, still := w.Weaker(); !found || still {
		t.Errorf("found %v, still %v", found, still)
	}
	if tried.Weighed(w); len(tried.Holds) > 0 {
		t.Errorf("%+v", tried.Holds)
	}
}

// Only tests that a patch rewrites are weighed, and only if their text does not already show a weakening.
func TestWhatIsWeighed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch weighedPatch
		want  []string
	}{
		"a test":          {weighedPatch{test: strings.Replace(weighedTest, "90", "95", 1)}, []string{one}},
		"what both use":   {weighedPatch{test: weighedTest + "\n\ndef grade(points):\n    return 'good' if points else 'poor'\n"}, []string{one, two}},
		"a comment":       {weighedPatch{test: strings.Replace(weighedTest, "== 'good'", "== 'good'  # the best", 1)}, nil},
		"a new test":      {weighedPatch{test: "import os\n" + weighedTest + "\n\nclass TestMore:\n    def test_x(self):\n        assert grade(91) == 'good'\n"}, nil},
		"the program":     {weighedPatch{program: strings.Replace(weighedProgram, "90", "91", 1)}, nil},
		"what lists hold": {weighedPatch{test: strings.Replace(weighedTest, " == 'good'", "", 1)}, nil},
	} {
		_, w := c.patch.weighing(t)
		if (w != nil) != (c.want != nil) || w != nil && (!slices.Equal(w.Tests[AsWas], c.want) || len(w.Lines) != 1 || len(w.Lines["grade.py"]) != 5) {
			t.Errorf("%s: %+v, want %q", name, w, c.want)
		}
	}
}

// Mutants vouch for a test that passes with either program only if it fails on all mutants of what the patch writes, and the measurement
// reached its end.
func TestATestThatAcceptsBothIsSpokenFor(t *testing.T) {
	t.Parallel()
	patch := weighedPatch{
		program: strings.Replace(weighedProgram, "if points >= 90:\n        return 'good'", "if points + 0 >= 90:\n        return 'good' + ''", 1),
		test:    strings.Replace(weighedTest, "grade(90) == 'good'", "grade(90)[:4] == 'good'", 1), old: []string{one + " failed AssertionError: x", two + " passed"},
	}
	all := func(Side, string) string { return one }
	for name, c := range map[string]struct {
		late  bool
		fails func(Side, string) string
		block bool
	}{
		"all": {false, all, false},
		"all but one": {false, func(side Side, program string) string {
			if strings.Contains(program, "> 90") {
				return ""
			}
			return all(side, program)
		}, true},
		"one does not compile": {false, func(side Side, program string) string {
			if strings.Contains(program, "> 90") {
				return "?"
			}
			return all(side, program)
		}, false},
		"another test fails": {false, func(Side, string) string { return two }, true},
		"none":               {false, func(Side, string) string { return "" }, true},
		"the time is up":     {true, all, true},
	} {
		tried, w := patch.weighing(t)
		if w == nil || len(tried.Holds) != 1 || !tried.Holds[0].Block {
			t.Fatalf("%s: %+v, %+v", name, w, tried.Holds)
		}
		measure(w, c.late, c.fails)
		if tried.Weighed(w); len(tried.Holds) != 1 || tried.Holds[0].Block != c.block {
			t.Errorf("%s: %+v: %s", name, tried.Holds, w.Said())
		}
	}
}

// Mutants vouch for a test that needs code of the patch next to it, whether its own file changed or not, if it fails on those that it
// failed on before, and passes on the program with one more empty line.
func TestMutantsSpeakForATestThatNeedsAnAid(t *testing.T) {
	t.Parallel()
	const helper = "def best():\n    return 'good'\n"
	test := "from conftest import best\n" + strings.Replace(weighedTest, "'good'", "best()", 1)
	base := verifytest.Scan(t, map[string]string{"grade.py": weighedProgram, "test_grade.py": test, "conftest.py": helper})
	cs := verifytest.Change(t, base, map[string]string{
		"grade.py": strings.Replace(weighedProgram, "'good'", "'excellent'", 1), "conftest.py": "def best():\n    word = 'excellent'\n    return word\n",
	})
	for name, c := range map[string]struct {
		new    string // how it ends with the aid on the old program
		misses int    // number of mutants that it failed on and passes on with the patch
		fresh  bool   // fails on mutants of the lines that the patch writes
		text   bool   // fails if the text of the program differs at all
		late   bool
		block  bool
	}{
		"as strong":              {new: one + " failed x"},
		"misses one":             {new: one + " failed x", misses: 1, block: true},
		"goes by the text":       {new: one + " failed x", text: true, fresh: true, block: true},
		"too late":               {new: one + " failed x", late: true, block: true},
		"a name, and as strong":  {new: "test_grade.py error ImportError: x", fresh: true},
		"a name, and less":       {new: "test_grade.py error ImportError: x", block: true},
		"a name, and the text's": {new: "test_grade.py error ImportError: x", fresh: true, text: true, block: true},
	} {
		both := ended(one+" passed", two+" passed")
		v := check.NewView(base, cs)
		d := compare.NewDiff(cs, v)
		tried := &Trial{Old: ended(one+" failed AssertionError: x", two+" passed"), Aids: []string{"conftest.py"}, Before: check.OnBase(base)}
		if !tried.Ask(check.Gate{Verdict: check.Pass}, *both, *both, d) {
			t.Fatal("nothing is asked")
		}
		tried.New = ended(c.new)
		if g := tried.Judge(check.Gate{Verdict: check.Pass}, *both, *both, d); g.Verdict != check.Pass || len(tried.Holds) != 1 || !tried.Holds[0].Block {
			t.Fatalf("%s: %+v %+v", name, g, tried.Holds)
		}
		w := tried.Weigh(*both, *both, d, cs, v)
		if w == nil || !slices.Equal(w.Tests[AsWas], []string{one}) || !slices.Equal(w.Tests[AsIs], []string{one}) {
			t.Fatalf("%s: %+v", name, w)
		}
		missed := 0
		measureOf(w, c.late, check.Lines{"grade.py": {2, 3}}, func(side Side, program string) string {
			mutant := strings.TrimSpace(program) != strings.TrimSpace(v.Text("grade.py"))
			switch {
			case side != AsIs || c.text:
				return one
			case !mutant, !c.fresh && !strings.Contains(program, "'excellent'"):
				return ""
			case missed < c.misses:
				missed++
				return ""
			}
			return one
		})
		tried.Weighed(w)
		if h := tried.Holds; len(h) == 0 || h[0].Block != c.block {
			t.Errorf("%s: %+v\n%s", name, h, w.Said())
		}
	}
}

// Touching the file of a test does not make the aid next to it vouch for it: mutants show that the test proves less.
func TestATouchedTestThatAnAidHollowsOutIsHeld(t *testing.T) {
	t.Parallel()
	test := "from conftest import best\n" + strings.Replace(weighedTest, "'good'", "best()", 1)
	base := verifytest.Scan(t, map[string]string{"grade.py": weighedProgram, "test_grade.py": test, "conftest.py": "def best():\n    return 'good'\n"})
	cs := verifytest.Change(t, base, map[string]string{
		"grade.py": strings.Replace(weighedProgram, "'good'", "'bad'", 1), "test_grade.py": test + "# touched\n", "conftest.py": "def best():\n    return Anything()\n",
	})
	both, v := ended(one+" passed", two+" passed"), check.NewView(base, cs)
	d := compare.NewDiff(cs, v)
	for _, hollow := range []bool{true, false} {
		tried := &Trial{Old: ended(one+" failed AssertionError: x", two+" passed"), Aids: []string{"conftest.py"}, Before: check.OnBase(base), New: ended(one + " failed x")}
		if tried.Judge(check.Gate{Verdict: check.Pass}, *both, *both, d); len(tried.Holds) != 1 || tried.Holds[0].Block {
			t.Fatalf("%+v", tried.Holds)
		}
		w := tried.Weigh(*both, *both, d, cs, v)
		if w == nil {
			t.Fatal("not weighed")
		}
		measureOf(w, false, check.Lines{"grade.py": {2, 3}}, func(side Side, _ string) string {
			if side == AsIs && hollow {
				return ""
			}
			return one
		})
		if tried.Weighed(w); tried.Holds[0].Block != hollow || hollow && !strings.Contains(tried.Holds[0].Reason, "proves less than before") {
			t.Errorf("hollow %v: %+v", hollow, tried.Holds)
		}
	}
}
