package contrary

import (
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
	"agent/verify/verifytest"
)

// If an expectation has several values, one that is not the first is changed. In a table, the values that tests compare with and do not
// pass to the program are changed.
func TestFurtherValues(t *testing.T) {
	t.Parallel()
	compares := "def test_f(a, want):\n    assert f(a) == want\n"
	for name, cases := range map[string][]string{
		// A text, and what remains of it: each "…" stands for a changed expected value; "=" means that nothing changes.
		"a_test.py": {
			"    assert f(2) == Line(\"pen\", 5)\n|    assert f(2) == Line(\"pen\", …)\n",
			"    assert f(2) == [Line(3)]\n    assert g(1, 2) == 7, \"of 3\"\n|=",
			"    assert f(2) == {\n        \"a\": 1,\n    }\n|=",
			"    assert f(2) == {\"a\": 1}, \"for 7\"\n|    assert f(2) == {\"a\": …}, \"for 7\"\n",
			"@pytest.mark.parametrize((\"a\", \"want\"), [(1, 2), (\"x,)\", 4)])\n" + compares + "|@pytest.mark.parametrize((\"a\", \"want\"), [(1, …), (\"x,)\", …)])\n" + compares,
			"@pytest.mark.parametrize(\n    \"a, want\",\n    [\n        (1, 2),\n        pytest.param(3, 4, id=\"5\"),\n        (g(6), h(7)),\n        made,\n        (8, 9, 10),\n    ],\n)\n" + compares +
				"|@pytest.mark.parametrize(\n    \"a, want\",\n    [\n        (1, …),\n        pytest.param(3, …, id=\"5\"),\n        (g(6), h(…)),\n        made,\n        (8, 9, 10),\n    ],\n)\n" + compares,
			// A value that is passed to the program stays, even if it comes last.
			"@pytest.mark.parametrize((\"want\", \"a\"), [(1, 2)])\n" + compares + "|@pytest.mark.parametrize((\"want\", \"a\"), [(…, 2)])\n" + compares,
			"@pytest.mark.parametrize((\"n\", \"unit\"), [(1, \"EUR\")])\ndef test_f(n, unit):\n    assert Money(n, unit)\n|=",
			"@pytest.mark.parametrize((\"n\", \"text\"), [(1, \"EUR\")])\ndef test_f(n, text):\n    assert read(text) == text\n|=",
		},
		"a_test.go": {
			"var cases = []struct {\n\tin, n int\n\tout string\n}{\n\t{1, 2, \"3\"},\n\t{4, 5, \"6\"},\n}\n\tif got := F(c.in, c.n); got != c.out {\n\t\tt.Errorf(\"got %s, not %s\", got, c.out)\n" +
				"|var cases = []struct {\n\tin, n int\n\tout string\n}{\n\t{1, 2, \"…3\"},\n\t{4, 5, \"…6\"},\n}\n\tif got := F(c.in, c.n); got != c.out {\n\t\tt.Errorf(\"got %s, not %s\", got, c.out)\n",
			"var cases = []struct {\n\tin int\n\tunit string\n}{\n\t{1, \"2\"},\n}\n\tif err := F(c.in, c.unit); err != nil {\n|=",
		},
		"a.test.ts": {
			"test.each([\n  [1, 2],\n  [3, 4],\n])('f', (a, b) => {\n  expect(f(a)).toBe(b);\n});\n|test.each([\n  [1, …],\n  [3, …],\n])('f', (a, b) => {\n  expect(f(a)).toBe(b);\n});\n",
			"test.each([[1, 2]])('f', (a, b) => {\n  expect(f(a, b)).toBeTruthy();\n});\n|=",
			"  expect(f(2)).toEqual({ a: 1, b: 2 });\n|  expect(f(2)).toEqual({ a: 1, b: … });\n",
		},
	} {
		for _, c := range cases {
			was, want, _ := strings.Cut(c, "|")
			now := further(lang.Of(name), was, 0)
			if want == "=" {
				want = was
			}
			rest := now
			for i, part := range strings.Split(want, "…") {
				at := strings.Index(rest, part)
				if at < 0 || i == 0 && at > 0 || i > 0 && (at == 0 || at > drawnLetters) && part != "" {
					t.Errorf("%s: %q became %q", name, was, now)
					break
				}
				rest = rest[at+len(part):]
			}
			if rest != "" || (now == was) != (want == was) {
				t.Errorf("%s: %q became %q", name, was, now)
			}
		}
	}
}

// If changing the first value of each expectation shows nothing, another value is asked about, in three runs of its own.
func TestAnotherValueIsAskedOf(t *testing.T) {
	t.Parallel()
	const id = "test_line.py::test_line"
	test := "from line import Line, parse\n\n\ndef test_line():\n    assert parse('pen: 3') == Line('pen', 3)\n"
	base := verifytest.Scan(t, map[string]string{"line.py": "COST = 1\n", "test_line.py": test})
	cs := verifytest.Change(t, base, map[string]string{"line.py": "COST = 2\n"})
	for name, c := range map[string]struct {
		runs []string
		held bool
	}{
		"the second is not looked at": {[]string{"failed", "passed", "failed", "passed"}, true},
		"both are":                    {[]string{"failed", "failed"}, false},
		"by chance":                   {[]string{"failed", "passed", "failed", "failed"}, false},
		"nor was it before":           {[]string{"failed", "passed", "passed"}, false},
		"nor is the first":            {[]string{"passed", "failed", "passed"}, true},
	} {
		q := Ask(check.NewView(base, workspace.Changeset{}), check.NewView(base, cs), []check.TestResult{{ID: id, Outcome: "passed"}}, cs)
		for i, outcome := range c.runs {
			_, now, ok := q.Next()
			if !ok {
				t.Fatalf("%s: run %d is not due", name, i)
			}
			if text := string(now.Changes[0].After); strings.Contains(text, "== Line('pen',") == (c.runs[0] == "passed" || i == 0) || strings.Contains(text, ", 3)") != (c.runs[0] == "passed" || i == 0) {
				t.Errorf("%s: run %d has %q", name, i, text)
			}
			q.Ended(ended(map[string]string{id: outcome}))
		}
		if _, _, more := q.Next(); more || (len(q.Holds()) > 0) != c.held {
			t.Errorf("%s: more %v, %+v", name, more, q.Holds())
		}
	}
}

// With other values, the rows of a table have other names. They are asked about by the name of their test, which passes if all rows do.
func TestRowsGoByTheNameOfTheirTest(t *testing.T) {
	t.Parallel()
	test := "import pytest\nfrom line import f\n\n\n@pytest.mark.parametrize((\"a\", \"want\"), [(1, 2), (3, 4)])\ndef test_f(a, want):\n    assert f(a) == want\n"
	base := verifytest.Scan(t, map[string]string{"line.py": "COST = 1\n", "test_line.py": test})
	cs := verifytest.Change(t, base, map[string]string{"line.py": "COST = 2\n"})
	for name, c := range map[string]struct {
		runs []map[string]string
		held bool
	}{
		"all rows pass": {[]map[string]string{
			{"test_line.py::test_f[1-70]": "passed", "test_line.py::test_f[3-80]": "passed"}, {"test_line.py::test_f[1-70]": "failed", "test_line.py::test_f[3-80]": "failed"}, {"test_line.py::test_f[1-90]": "passed", "test_line.py::test_f[3-91]": "passed"},
		}, true},
		"one does not": {[]map[string]string{{"test_line.py::test_f[1-70]": "passed", "test_line.py::test_f[3-80]": "failed"}}, false},
	} {
		tests := []check.TestResult{{ID: "test_line.py::test_f[1-2]", Outcome: "passed"}, {ID: "test_line.py::test_f[3-4]", Outcome: "passed"}}
		q := Ask(check.NewView(base, workspace.Changeset{}), check.NewView(base, cs), tests, cs)
		for i, ends := range c.runs {
			if _, _, ok := q.Next(); !ok || len(q.Tests) != 1 || q.Tests[0] != "test_line.py::test_f" {
				t.Fatalf("%s: run %d: %v, %q", name, i, ok, q.Tests)
			}
			q.Ended(ended(ends))
		}
		if _, _, more := q.Next(); more || (len(q.Holds()) > 0) != c.held {
			t.Errorf("%s: more %v, %+v", name, more, q.Holds())
		}
	}
}
