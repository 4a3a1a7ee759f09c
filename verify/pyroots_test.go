package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/python"
	"agent/verify/verifytest"
)

func TestRootsOfPython(t *testing.T) {
	t.Parallel()
	const project, test = "[project]\nname = \"x\"\n", "def test_x():\n    pass\n"
	for _, c := range []struct {
		name        string
		base, patch map[string]string
		want        string
	}{
		{"one", map[string]string{"pyproject.toml": project, "tests/test_a.py": test}, nil, "."},
		{"none", map[string]string{"a.py": ""}, nil, "."},
		{"top and below", map[string]string{"test_a.py": test, "x/setup.py": "", "x/t/test_a.py": test}, nil, ". x"},
		{"below alone", map[string]string{"x/setup.cfg": "[metadata]\n", "x/test_a.py": test, "y/tox.ini": "[testenv:py3]\n", "y/a_test.py": test, "top.py": ""}, nil, "x y"},
		{"within each other", map[string]string{"x/pyproject.toml": project, "x/test_a.py": test, "x/y/pytest.ini": "", "x/y/test_a.py": test}, nil, "x x/y"},
		{"of unittest", map[string]string{"x/pyproject.toml": "[tool.poetry]\n", "x/tests.py": "class A(TestCase):\n"}, nil, "x"},
		{"names of its own", map[string]string{"x/pyproject.toml": " [ tool.pytest.ini_options ]\n", "x/check.py": "", "y/pyproject.toml": project, "y/check.py": ""}, nil, "x"},
		{"other tools", map[string]string{"x/pyproject.toml": "[tool.ruff]\n", "x/setup.cfg": "[flake8]\n", "x/tox.ini": "[pycodestyle]\n", "x/mypy.ini": "[mypy]\n", "x/test_a.py": test}, nil, "."},
		{"no places", map[string]string{
			"tests/fixtures/x/setup.py": "", "tests/fixtures/x/test_a.py": test, "node_modules/x/setup.py": "", "node_modules/x/test_a.py": test,
			"e/site-packages/x/setup.py": "", "e/site-packages/x/test_a.py": test, ".x/setup.py": "", ".x/test_a.py": test,
		}, nil, "."},
		{"tested from the top", map[string]string{"pytest.ini": "[pytest]\ntestpaths = x y\n", "x/setup.py": "", "x/test_a.py": test, "y/pytest.ini": "", "y/test_a.py": test}, nil, ". y"},
		{"configured at the top", map[string]string{"pytest.ini": "[pytest]\naddopts = -q\n", "x/setup.py": "", "x/test_a.py": test}, nil, ". x"},
		{"new project", map[string]string{"test_a.py": test}, map[string]string{"x/pyproject.toml": project, "x/test_a.py": test}, ". x"},
		{"taken away", map[string]string{"test_a.py": test, "x/pytest.ini": "", "x/test_a.py": test}, map[string]string{"x/pytest.ini": "-", "pytest.ini": "[pytest]\ntestpaths = x\n"}, ". x"},
		{"tests taken away", map[string]string{"test_a.py": test, "x/setup.py": "", "x/test_a.py": test}, map[string]string{"x/test_a.py": "-"}, "."},
	} {
		base := verifytest.Scan(t, c.base)
		if got := strings.Join(python.TestRoots(check.NewView(base, verifytest.Change(t, base, c.patch))), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Without projects below the top, the commands are as usual. With such projects, each gets its own.
func TestCommandsOfRoots(t *testing.T) {
	t.Parallel()
	const test = "def test_x():\n    pass\n"
	files := map[string]string{"test_a.py": test, "src/a.py": "", "old_tests.py": "class A(TestCase):\n    pass\n"}
	b, box := checktest.Replayed(works())
	b.View = check.NewView(verifytest.Scan(t, files), workspace.Changeset{})
	alone := func() (string, map[string]string) {
		t.Helper()
		box.Ran = nil
		python.Pytest.Run(t.Context(), b)
		python.Mypy.Run(t.Context(), b)
		if len(box.Ran) != 2 || box.Ran[0].Dir != check.Work || box.Ran[1].Dir != check.Work || !slices.Equal(box.Ran[0].Collect, []string{"/tmp/agent-tests.jsonl"}) {
			t.Fatalf("%+v", box.Ran)
		}
		return strings.Join(append(box.Ran[0].Args, box.Ran[1].Args...), " "), box.Ran[0].Env
	}
	const want = "/usr/bin/python3 -s -B /agent/run_tests.py /tmp/agent-tests.jsonl -q --continue-on-collection-errors --maxfail=0 --color=no --tb=short" +
		" -o cache_dir=/tmp/pytest_cache" +
		" /usr/bin/mypy --output json --error-summary --check-untyped-defs --explicit-package-bases --namespace-packages" +
		" --disable-error-code import-untyped --cache-dir /tmp/mypy --no-sqlite-cache ."
	got, env := alone()
	if _, rooted := env["AGENT_TEST_PATHS"]; got != want || rooted || env["AGENT_TEST_FILES"] != "old_tests.py" || box.Ran[1].Env["MYPYPATH"] != "/work/src" {
		t.Errorf("%s, %v, %v", got, env, box.Ran[1].Env)
	}

	for p, text := range map[string]string{
		"x/pytest.ini": "", "x/mypy.ini": "", "x/test_a.py": test, "x/y/setup.py": "", "x/y/test_a.py": test, "x/y/mypy.ini": "", "x/y/tests.py": files["old_tests.py"], "z/ty.toml": "", "z/b.py": "",
	} {
		files[p] = text
	}
	b.View, box.Ran = check.NewView(verifytest.Scan(t, files), workspace.Changeset{}), nil
	python.Pytest.Run(t.Context(), b)
	python.Mypy.Run(t.Context(), b)
	var ran []string
	for _, cmd := range box.Ran {
		args, env := strings.Join(cmd.Args, " "), cmd.Env
		_, args, _ = strings.Cut(strings.Replace(args, "no-sqlite-cache .", "cache_dir=/tmp/pytest_cache", 1), "cache_dir=/tmp/pytest_cache")
		ran = append(ran, strings.Join([]string{cmd.Dir, strings.ReplaceAll(env["AGENT_TEST_PATHS"], "\n", ":"), env["AGENT_TEST_FILES"], env["MYPYPATH"], strings.Join(cmd.Collect, "") + args}, "|"))
	}
	if d := cmp.Diff([]string{
		"/work||old_tests.py||/tmp/agent-tests.jsonl --ignore=/work/x --ignore=/work/x/y",
		"/work|x:.:src|||/tmp/agent-tests-1.jsonl --rootdir=/work/x --ignore=/work/x/y",
		"/work|x/y:x:.:src|x/y/tests.py||/tmp/agent-tests-2.jsonl --rootdir=/work/x/y --confcutdir=/work",
		"/work|||/work/src| --exclude ^x/ --exclude ^x/y/ --exclude ^z/",
		"/work/x|||/work:/work/src| --show-absolute-path --cache-dir /tmp/mypy/roots/x --exclude ^y/",
		"/work/x|||/work:/work/src| --show-absolute-path --cache-dir /tmp/mypy/rest/roots/x --exclude ^y/",
		"/work/x/y|||/work/x:/work:/work/src| --show-absolute-path --cache-dir /tmp/mypy/roots/x/y",
		"/work/x/y|||/work/x:/work:/work/src| --show-absolute-path --cache-dir /tmp/mypy/rest/roots/x/y",
	}, ran); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	b.Only, box.Ran = []string{"x/-a_test.py::test_x", "test_a.py::test_x"}, nil
	python.Pytest.Run(t.Context(), b)
	if len(box.Ran) != 2 || box.Ran[0].Args[len(box.Ran[0].Args)-1] != "test_a.py::test_x" || box.Ran[1].Args[len(box.Ran[1].Args)-1] != "./-a_test.py::test_x" {
		t.Errorf("%+v", box.Ran)
	}
}

func TestTroubleOfOneRootHidesNothingOfTheOthers(t *testing.T) {
	t.Parallel()
	tests := func(roots map[string]string, results ...string) check.Outcome {
		out := check.Outcome{Roots: roots}
		for _, r := range results {
			id, end, _ := strings.Cut(r, " ")
			out.Tests = append(out.Tests, check.TestResult{ID: id, Outcome: end})
		}
		return out
	}
	sound, broken, other := map[string]string{"a": "", "b": ""}, map[string]string{"a": "gone", "b": ""}, map[string]string{"a": "gone elsewhere", "b": ""}
	both := map[string]string{"a": "gone", "b": "gone"}
	for _, c := range []struct {
		name       string
		base, cand check.Outcome
		want       check.Verdict
		told       string
	}{
		{"sound", tests(sound, "b/t.py::x passed"), tests(sound, "b/t.py::x passed"), check.Pass, ""},
		{"before, and nothing new", tests(broken, "b/t.py::x passed"), tests(broken, "a/t.py::x failed", "b/t.py::x passed"), check.Pass, "a not judged: even before the patch, gone"},
		{"before, and a fault beside it", tests(broken, "b/t.py::x passed"), tests(broken, "b/t.py::x failed"), check.Fail, "b/t.py::x"},
		{"before, lost with it", tests(broken, "a/t.py::x passed"), tests(broken), check.Pass, "a not judged"},
		{"mended", tests(broken), tests(sound, "a/t.py::x failed"), check.Pass, "a not judged"},
		{"with the patch", tests(sound, "b/t.py::x passed"), tests(broken, "b/t.py::x passed"), check.Fail, "a: gone"},
		{"in a new root", check.Outcome{}, tests(broken), check.Fail, "a: gone"},
		{"otherwise than before", tests(broken), tests(other), check.Fail, "a: gone elsewhere"},
		{"in all of them", tests(both), tests(both), "", "b not judged"},
		{"late", tests(broken), check.Outcome{Verdict: check.Timeout, Detail: "late"}, check.Timeout, "late"},
	} {
		g := compare.ByRoot(compare.RuleSession, compare.JudgeTests)(c.base, c.cand, check.Diff{Sources: check.NewSources(check.NewView(&workspace.Manifest{}, workspace.Changeset{}))})
		if told := fmt.Sprint(g.Detail, g.Findings); g.Verdict != c.want || !strings.Contains(told, c.told) {
			t.Errorf("%s: %s, want %s: %s", c.name, g.Verdict, c.want, told)
		}
	}
	// Trouble that the tool itself reported is not reported twice.
	fault := check.Finding{File: "a/x.py", Line: 1, Rule: "syntax", Message: "invalid syntax"}
	blocked := check.Outcome{Roots: map[string]string{"a": "a/x.py: invalid syntax", "b": ""}, Findings: []check.Finding{fault}}
	if g := compare.ByRoot(compare.RuleBlocked, compare.JudgeFindings)(check.Outcome{}, blocked, check.Diff{}); g.Verdict != check.Fail || len(g.Findings) != 1 {
		t.Errorf("%s %+v", g.Verdict, g.Findings)
	}
	count := map[string]compare.Tally{}
	compare.Count(count, tests(broken, "b/t.py::x passed"))
	if len(count) > 0 {
		t.Error("a run with a root that came to no end is counted")
	}
}

// A root keeps only the results of its own files, all roots share one time limit, and whatever ends the box ends the remaining roots.
func TestRootsAreRunOneByOne(t *testing.T) {
	t.Parallel()
	roots := []string{".", "x", "x/y"}
	b, _ := checktest.Replayed(nil)
	b.Timeout = -time.Hour // used up when the first is done
	var ran []string
	do := func(verdict check.Verdict, blocked string) func(b check.Bench, root string) check.Outcome {
		ran = nil
		return func(b check.Bench, root string) check.Outcome {
			ran = append(ran, root)
			if left := b.Timeout; (left == time.Second) != (len(ran) > 1) {
				t.Errorf("%s has %s", root, left)
			}
			out := check.Outcome{Blocked: blocked, Detail: root, Output: "of " + root, Seconds: 1}
			if root == "x" {
				out.Verdict = verdict
			}
			for _, file := range []string{"a.py", "x/a.py", "x/y/a.py", ""} {
				out.Tests = append(out.Tests, check.TestResult{ID: file + "::t", Outcome: "passed"})
				out.Findings = append(out.Findings, check.Finding{File: file, Message: root})
			}
			return out
		}
	}
	out := b.OverRoots(roots, roots, do("", "gone"))
	if ends(out) != "::t passed\na.py::t passed\nx/a.py::t passed\nx/y/a.py::t passed" || len(out.Findings) != 6 || out.Seconds != 3 || out.Output != "of .\nof x\nof x/y" {
		t.Errorf("%+v", out)
	}
	if d := cmp.Diff(map[string]string{".": "gone", "x": "gone", "x/y": "gone"}, out.Roots); d != "" || out.Blocked != "" || !out.AnyBlocked() {
		t.Errorf("%+v", out)
	}
	if out := b.OverRoots(roots, roots, do(check.OOM, "")); out.Verdict != check.OOM || len(ran) != 2 || len(out.Tests) != 3 || out.AnyBlocked() {
		t.Errorf("ran %q: %+v", ran, out)
	}
	if out := b.OverRoots(roots, roots, do(check.Timeout, "")); out.Verdict != check.Timeout || !strings.Contains(out.Detail, "left for x of the time") {
		t.Errorf("%+v", out)
	}
	// If only one root runs, it is judged as a whole.
	if out := b.OverRoots(roots, roots[1:2], do("", "gone")); out.Roots != nil || out.Blocked != "gone" || len(out.Tests) != 1 {
		t.Errorf("%+v", out)
	}
	if out := b.OverRoots(roots[:1], roots[:1], do("", "")); len(out.Tests) != 4 || len(out.Findings) != 4 {
		t.Errorf("%+v", out)
	}
}

// monorepo is a workspace of two services whose files have the same names, with shared code at the top.
func monorepo() map[string]string {
	return map[string]string{
		"shared/money.py":   "def cents(n: int) -> int:\n    return n * 100\n",
		"tests/test_api.py": "from shared.money import cents\n\n\ndef test_cents() -> None:\n    assert cents(1) == 100\n",

		"services/a/pyproject.toml":    "[project]\nname = \"a\"\nversion = \"1\"\n\n[tool.uv.sources]\nrates = { path = \"../../libs/rates\", editable = true }\n\n[tool.pytest.ini_options]\npython_functions = [\"check_*\"]\n\n[tool.mypy]\ndisallow_untyped_defs = true\n",
		"services/a/data.txt":          "2\n",
		"services/a/src/app/core.py":   "from rates import rate\nfrom shared.money import cents\n\n\ndef price(n: int) -> int:\n    return cents(rate(n))\n",
		"libs/rates/pyproject.toml":    "[project]\nname = \"rates\"\n",
		"libs/rates/src/rates.py":      "def rate(n: int) -> int:\n    return n\n",
		"services/a/tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef two() -> int:\n    with open(\"data.txt\") as f:\n        return int(f.read())\n",
		"services/a/tests/test_api.py": "from app.core import price\n\n\ndef check_price(two: int) -> None:\n    assert price(two) == 200\n",

		"services/b/setup.cfg":          "[metadata]\nname = b\n",
		"services/b/ty.toml":            "",
		"services/b/src/app/core.py":    "import shared.money\n\n\ndef rate(n):\n    return n + shared.money.cents(0)\n",
		"services/b/tests/test_api.py":  "from app.core import rate\n\n\ndef test_rate():\n    assert rate(3) == 3\n\n\ndef test_old():\n    assert rate(3) == 4\n",
		"services/b/shop_tests.py":      "import unittest\n\n\nclass Shop(unittest.TestCase):\n    def test_b(self):\n        self.assertTrue(True)\n",
		"services/c/pyrightconfig.json": "{}\n", "services/c/lib.py": "x: int = 1\n",
	}
}

// ends lists tests with their outcomes, sorted.
func ends(out check.Outcome) string {
	var list []string
	for _, r := range out.Tests {
		list = append(list, r.ID+" "+r.Outcome)
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

func TestMonorepoIsTestedProjectByProject(t *testing.T) {
	t.Parallel()
	files := monorepo()
	base := verifytest.Scan(t, files)
	r := rig{checktest.NewBench(t, files, sandbox.Limits{}), base, python.Pytest}
	r.Timeout = defaultTimeout // shared by all roots
	before := r.with(t, workspace.Changeset{}, python.Pytest.Run)
	const a, b = "services/a/tests/test_api.py::check_price", "services/b/tests/test_api.py::test_old"
	const want = a + " passed\nservices/b/shop_tests.py::Shop::test_b passed\n" + b + " failed\nservices/b/tests/test_api.py::test_rate passed\ntests/test_api.py::test_cents passed"
	if got := ends(before); before.Verdict != "" || before.AnyBlocked() || got != want {
		t.Fatalf("%+v ran\n%s", before, got)
	}
	if !strings.Contains(before.Detail, "in 3 directories: 4 passed, 1 failed") {
		t.Errorf("detail %q", before.Detail)
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  check.Verdict
		told  []string
	}{
		{"nothing wrong", map[string]string{"services/a/src/app/core.py": "\n" + files["services/a/src/app/core.py"]}, check.Pass, nil},
		{"faults in one and in what both share", map[string]string{
			"services/b/src/app/core.py": "def rate(n):\n    return n + 2\n", "shared/money.py": "def cents(n: int) -> int:\n    raise ValueError(n)\n",
		}, check.Fail, []string{"shared/money.py:2 test-failed " + a + ": ValueError: 2", "services/b/tests/test_api.py:5 test-failed services/b/tests/test_api.py::test_rate: assert 5 == 3"}},
		{"option that nobody has, and a new project", map[string]string{
			"services/a/pytest.ini":          "[pytest]\naddopts = --no-such-option\n",
			"services/d/e/pyproject.toml":    "[project]\nname = \"d\"\n",
			"services/d/e/tests/test_api.py": "def test_d():\n    assert 0\n",
		}, check.Fail, []string{":0 test-session services/a: pytest ended with exit status 4", "services/d/e/tests/test_api.py:2 test-failed"}},

		// Tests from before the patch are missed, wherever the patch has the tests run from.
		{"tests that are looked for elsewhere or left out", map[string]string{
			"services/a/pyproject.toml": "[tool.uv.sources]\nrates = { path = \"../../libs/rates\" }\n[tool.pytest.ini_options]\ntestpaths = [\"nothing\"]\npython_functions = \"none_*\"\n",
			"services/b/pyproject.toml": "[tool.pytest.ini_options]\naddopts = \"--ignore=tests\"\n",
		}, check.Fail, []string{"test-lost " + a, "test-lost services/b/tests/test_api.py::test_rate"}},
		{"projects in the place of tests", map[string]string{
			"tests/pyproject.toml":        "[project]\nname = \"x\"\n[tool.pytest.ini_options]\naddopts = \"--deselect=test_api.py\"\n",
			"services/b/tests/pytest.ini": "[pytest]\npython_functions = nothing\n",
		}, check.Fail, []string{"test-lost tests/test_api.py::test_cents", "test-lost services/b/tests/test_api.py::test_rate"}},
		{"helper in which all passes", map[string]string{
			"services/a/src/app/core.py": "def price(n: int) -> int:\n    return 0\n",
			"services/a/conftest.py":     "import pytest\n\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_pyfunc_call():\n    try:\n        yield\n    except AssertionError:\n        pass\n    return True\n",
		}, check.Policy, []string{"test-helper " + a}},
	} {
		g, _ := r.judged(t, before, verifytest.Change(t, base, c.files))
		var told []string
		for _, f := range g.Findings {
			told = append(told, fmt.Sprintf("%s:%d %s %s", f.File, f.Line, f.Rule, f.Message))
		}
		all := strings.Join(told, "\n")
		missed := slices.ContainsFunc(c.told, func(text string) bool { return !strings.Contains(all, text) })
		if g.Verdict != c.want || missed || g.Verdict == check.Pass && (g.Old != 1 || all != "") {
			t.Errorf("%s: %s, %d old, want %s by %q: %s\n%s", c.name, g.Verdict, g.Old, c.want, c.told, g.Detail, all)
		}
	}
	r.Only = []string{a, b}
	if got := ends(r.with(t, workspace.Changeset{}, python.Pytest.Run)); got != a+" passed\n"+b+" failed" {
		t.Errorf("asked for two, ran\n%s", got)
	}
}

func TestMonorepoIsTypedAndLintedProjectByProject(t *testing.T) {
	t.Parallel()
	files := monorepo()
	base := verifytest.Scan(t, files)
	b := checktest.NewBench(t, files, sandbox.Limits{})
	// Configuration that would keep the tools from seeing anything does not count yet.
	cs := verifytest.Change(t, base, map[string]string{
		"services/a/pyproject.toml": "[tool.mypy]\nignore_errors = true\n", "services/b/ty.toml": "[src]\nexclude = [\"*\"]\n",
		"services/a/ruff.toml": "exclude = [\"*\"]\n", "services/c/pyrightconfig.json": "{\"ignore\": [\"*\"]}\n", "services/c/ruff.toml": "select = []\n",

		"services/a/src/app/core.py": files["services/a/src/app/core.py"] + "\n\ndef free(n):\n    return price(\"2\") + nothing\n",
		"services/b/src/app/core.py": files["services/b/src/app/core.py"] + "\n\ndef more(n):\n    return shared.money.cents(\"2\")\n",
		"services/c/lib.py":          "import os\n\nx: int = \"\"\n",
		"top.py":                     "import services.a.src.app.core as core\n\n\ndef free(n):\n    y: int = \"\"\n    return core.price(y)\n",
	})
	s := newSession(&Verifier{}, Request{Base: base, Changeset: cs}, nil)
	s.check(t.Context(), b.Box, []check.Check{python.Ruff, python.Ty, python.Pyright, python.Mypy}, false, func() {})
	var got []string
	for _, name := range slices.Sorted(maps.Keys(s.results.cand)) {
		out := s.results.cand[name]
		if out.Verdict != "" || out.AnyBlocked() {
			t.Errorf("%s: %+v", name, out)
		}
		for _, f := range out.Findings {
			got = append(got, fmt.Sprintf("%s %s:%d %s", name, f.File, f.Line, f.Rule))
		}
	}
	slices.Sort(got)
	if d := cmp.Diff([]string{
		"mypy services/a/src/app/core.py:10 arg-type",
		"mypy services/a/src/app/core.py:10 name-defined",
		"mypy services/a/src/app/core.py:9 no-untyped-def",
		"mypy top.py:5 assignment",
		"pyright services/c/lib.py:3 reportAssignmentType",
		"ruff services/a/src/app/core.py:10 F821",
		"ruff services/c/lib.py:1 F401",
		"ty services/b/src/app/core.py:9 invalid-argument-type",
	}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// What mypy knows about a project is kept with what it knows about the workspace.
	row := &checktest.Row{}
	b.Known = row
	b.View = check.NewView(base, cs)
	row.Packed = python.Mypy.Run(t.Context(), b).Learned
	if res, err := b.Box.Run(t.Context(), guest.Command{Args: []string{check.Toolchain.Python, "-c", "import shutil; shutil.rmtree('/tmp/mypy')"}}); err != nil || res.Exit != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	python.Mypy.Run(t.Context(), b)
	// Files that mypy did not write anew have the whole seconds of the row as their times.
	const known = "import glob, os; assert all(any(os.stat(f).st_mtime_ns % 10**9 == 0 for f in glob.glob('/tmp/mypy/' + root + '*/shared/money.data.json')) for root in ('', 'roots/services/a/'))"
	if res, err := b.Box.Run(t.Context(), guest.Command{Args: []string{check.Toolchain.Python, "-c", known}}); err != nil || res.Exit != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

// In projects below the top, mypy's plugins come from the base as well. Configuration of pytest there does not matter to a workspace in
// which pytest runs elsewhere.
func TestWhatAProjectConfiguresIsHeldToo(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{
		"x/mypy.ini": "[mypy]\nplugins = tools/a.py, b\n", "x/tools/a.py": "", "x/src/b.py": "", "tools/a.py": "",
		"x/pytest.ini": "[pytest]\naddopts = -p plug\n", "x/plug.py": "", "y/pyproject.toml": "[tool.mypy]\nplugins = [\"p.py\"]\n", "y/p.py": "", "y/test_p.py": "",
	})
	v := check.NewView(base, workspace.Changeset{})
	if got := python.TypePlugins(v, v); !slices.Equal(got, []string{"x/src/b.py", "x/tools/a.py", "y/p.py"}) {
		t.Errorf("in mypy %q", got)
	}
	if got := python.TestPlugins(v, v); !slices.Equal(got, []string{"x/plug.py"}) {
		t.Errorf("in pytest %q", got)
	}
	if with, ok := python.KeptTypes(v); ok && with == "" {
		t.Error("a plugin below the top is not seen by the types cache")
	}
	s, _ := offline(base, verifytest.NewMemory(), workspace.Changeset{})
	for p, want := range map[string]bool{"y/test_p.py": true, "y/setup.py": false, "x/pytest.ini": false} {
		if got := s.sawAll(python.Pytest, verifytest.Change(t, base, map[string]string{p: "x = 1\n"})); got != want {
			t.Errorf("%s: kept as the next baseline: %v", p, got)
		}
	}
}
