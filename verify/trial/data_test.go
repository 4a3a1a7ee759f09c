package trial

import (
	"slices"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/verifytest"
)

func TestWhoReadsTheDataThatAPatchChanges(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{
		"grade.py": weighedProgram, "tests/cases.json": "[1]\n", "tests/data/one.txt": "1\n", "tests/none.json": "[]\n",
		"tests/conftest.py":   "import pytest\n\n\n@pytest.fixture\ndef lines():\n    return open('tests/data/one.txt')\n",
		"tests/test_cases.py": "CASES = open('tests/cases.json')\n", "tests/test_lines.py": "def test_lines(lines):\n    pass\n", "tests/test_other.py": "def test_other():\n    pass\n",
		"tests/test_all.py": "FILES = (HERE / 'data').glob('*')\n",
		"a/a_test.go":       "package a\n\nvar golden = \"testdata/x.golden\"\n", "a/testdata/x.golden": "1\n", "b/b_test.go": "package b\n\nvar golden = \"testdata/x.golden\"\n",
		"web/__snapshots__/b.test.js.snap": "exports[`b 1`] = `1`;\n", "web/b.test.js": "test('b', () => {});\n",
	})
	for p, want := range map[string][]string{
		"tests/cases.json": {"tests/test_cases.py"}, "tests/data/one.txt": {"tests/test_all.py", "tests/test_lines.py"}, "tests/none.json": nil, "a/testdata/x.golden": {"a/a_test.go"},
		"web/__snapshots__/b.test.js.snap": {"web/b.test.js"}, "tests/conftest.py": nil, "tests/test_cases.py": nil, "grade.py": nil, "tests/data/two.txt": nil,
	} {
		cs := verifytest.Change(t, base, map[string]string{p: "other\n"})
		if got := readsData(check.OnBase(base), SplitPatch(base, cs).Tests); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
}

// A test that loops over data proves nothing if the data is emptied, even though its text is unchanged.
func TestATestWithoutItsDataIsWeaker(t *testing.T) {
	t.Parallel()
	const loop = "tests/test_loop.py::test_loop"
	base := verifytest.Scan(t, map[string]string{"grade.py": weighedProgram, "tests/cases.json": "[[90, \"good\"]]\n", "tests/test_loop.py": "CASES = open('cases.json')\n", "tests/test_b.py": "def test_b():\n    pass\n"})
	for name, c := range map[string]struct {
		fails func(Side, string) string
		held  bool
	}{
		"emptied": {func(side Side, program string) string {
			if side == AsWas && strings.Contains(program, "points > 90") {
				return loop
			}
			return ""
		}, true},
		"other cases": {func(_ Side, program string) string {
			if strings.Contains(program, "points > 90") {
				return loop
			}
			return ""
		}, false},
	} {
		cs := verifytest.Change(t, base, map[string]string{"tests/cases.json": "[]\n"})
		v := check.NewView(base, cs)
		d := compare.NewDiff(cs, v)
		both := ended(loop+" passed", "tests/test_b.py::test_b passed")
		tried := &Trial{Old: both, Before: check.OnBase(base), Aids: []string{"tests/cases.json"}}
		tried.Judge(check.Gate{Verdict: check.Pass}, *both, *both, d)
		w := tried.Weigh(*both, *both, d, cs, v)
		if w == nil || !slices.Equal(w.Tests[AsWas], []string{loop}) || !slices.Equal(w.Tests[AsIs], []string{loop}) || len(w.Lines["grade.py"]) == 0 {
			t.Fatalf("%s: %+v", name, w)
		}
		measure(w, false, c.fails)
		if tried.Weighed(w); (len(tried.Holds) > 0) != c.held {
			t.Errorf("%s: %+v", name, tried.Holds)
		}
	}
}
