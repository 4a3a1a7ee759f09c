package python

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/verifytest"
)

func TestTestsRunToTheirEnd(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{
		"pytest.ini": "[pytest]\naddopts = -x --lf\n", // one failure would hide the rest
		"test_a.py": "import os, sys, unittest\n\ndef test_bad():\n    assert 0\n\ndef test_good():\n    print('1 failed')\n\n" +
			"def test_fork():\n    if os.fork() == 0:\n        os._exit(0)\n    os.wait()\n\nclass Case(unittest.TestCase):\n    def test_unit(self):\n        self.assertEqual(1, 2)\n",
		"test_import.py":  "import nosuch\n",
		"test_src.py":     "import subprocess, sys\nimport shelf\n\ndef test_child():\n    subprocess.run([sys.executable, '-m', 'shelf'], check=True)\n",
		"src/shelf.py":    "",
		"sub/test_own.py": "def test_json():\n    import json\n    assert json.loads('1') == 1\n",
	}, sandbox.Limits{})
	out := runTests(t.Context(), b)
	if out.Verdict != "" || out.Blocked != "" {
		t.Fatalf("%+v", out)
	}
	var got []string
	for _, r := range out.Tests {
		got = append(got, r.Outcome+" "+r.ID)
	}
	slices.Sort(got)
	want := []string{
		"error test_import.py", "failed test_a.py::Case::test_unit", "failed test_a.py::test_bad", "passed sub/test_own.py::test_json",
		"passed test_a.py::test_fork", "passed test_a.py::test_good", "passed test_src.py::test_child",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTestsThatEndTheirProcessAreNoResult(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"exit status 0":   "os._exit(0)",
		"exit status 127": "os._exit(127)",
		"signal":          "os.kill(os.getpid(), 9)",
		"pytest.exit":     "pytest.exit('done', returncode=0)",
	} {
		b := checktest.NewBench(t, map[string]string{"test_a.py": "import os, pytest\n\ndef test_one():\n    pass\n\ndef test_two():\n    " + body + "\n"}, sandbox.Limits{})
		out := runTests(t.Context(), b)
		if g := compare.JudgeTests(check.Outcome{}, out, check.Diff{}); out.Blocked == "" || g.Verdict != check.Fail {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestEndlessTestsTimeOut(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{"test_a.py": "def test_one():\n    pass\n\ndef test_two():\n    while True:\n        pass\n"}, sandbox.Limits{})
	b.Timeout = 8 * time.Second // pytest takes seconds to start on a busy machine
	out := runTests(t.Context(), b)
	if out.Verdict != check.Timeout || len(out.Tests) != 1 {
		t.Errorf("%+v", out)
	}
}

func TestTypesAreFoundInEveryLayout(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{
		"src/pkg/__init__.py": "", "src/pkg/a.py": "def f(n: int) -> int:\n    return n\n",
		"src/pkg/b.py":         "from pkg.a import f\n\n\ndef g():\n    return f('x')\n",
		"my-scripts/run.py":    "import sys\nprint(sys.argv)\n",
		"my-scripts/b-c.py":    "x: int = ''\n",
		"one/util.py":          "x = 1\n",
		"two/util.py":          "y: str = 1\n",
		"notes/with space.py":  "z: int = ''\n",
		"src/pkg/stubs.py":     "import requests\n",
		"tests/test_pkg.py":    "from pkg.a import f\n\n\ndef test_f():\n    f()\n",
		"tests/conftest.py":    "",
		"one/conftest.py":      "",
		"src/pkg/sub/thing.py": "from ..a import f\n\nf(1, 2)\n",
	}, sandbox.Limits{})
	out := runTypes(t.Context(), b)
	if out.Verdict != "" || out.Blocked != "" {
		t.Fatalf("%+v", out)
	}
	var got []string
	for _, f := range out.Findings {
		got = append(got, f.File+" "+f.Rule)
	}
	slices.Sort(got)
	want := []string{
		"my-scripts/b-c.py assignment", "notes/with space.py assignment", "src/pkg/b.py arg-type", "src/pkg/sub/thing.py call-arg",
		"tests/test_pkg.py call-arg", "two/util.py assignment",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A file that mypy cannot read does not keep other files from being judged, unless they import it or the patch breaks it: a comment that
// only mypy stumbles over would hide what is wrong in its file.
func TestFilesThatCannotBeReadAreLeftOut(t *testing.T) {
	t.Parallel()
	const wrong = "def f(n):\n    return n\n\n\nf(1, 2)\n"
	before := map[string]string{"docs/old.py": "print 'x'\n", "docs/older.py": "try:\n    pass\nexcept (A), e:\n    pass\n", "a.py": "x = 1\n"}
	for name, c := range map[string]struct {
		patch   map[string]string
		blocked bool
	}{
		"beside it":              {map[string]string{"a.py": wrong}, false},
		"in one of them as well": {map[string]string{"a.py": wrong, "docs/old.py": "print 'x'\nprint 'y'\n"}, false},
		"imported":               {map[string]string{"a.py": wrong, "b.py": "import docs.old\n"}, true},
		"broken by the patch":    {map[string]string{"a.py": wrong + "y = 1  # type: (\n"}, true},
		"a new one":              {map[string]string{"a.py": wrong, "b.py": "print 'z'\n"}, true},
	} {
		base, after := verifytest.Scan(t, before), maps.Clone(before)
		maps.Copy(after, c.patch)
		b := checktest.NewBench(t, after, sandbox.Limits{})
		b.View = check.NewView(base, verifytest.Change(t, base, c.patch))
		out := runTypes(t.Context(), b)
		if c.blocked {
			if out.Blocked == "" {
				t.Errorf("%s: %+v", name, out)
			}
			continue
		}
		if out.Verdict != "" || out.Blocked != "" || len(out.Findings) != 1 || out.Findings[0].Rule != "call-arg" || !strings.Contains(out.Detail, "docs/old.py") || !strings.Contains(out.Detail, "docs/older.py") {
			t.Errorf("%s: %+v", name, out)
		}
	}
}
