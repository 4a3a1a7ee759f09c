package python

import (
	"strings"
	"testing"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

func TestOptionsOfPluginsThatAreNotLoadedAreDropped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files   map[string]string
		unknown []string
		forced  string
		dropped string
	}{
		"coverage":      {map[string]string{"pytest.ini": "[pytest]\naddopts=--verbose --cov-append --cov-report term --cov tinydb -n4 # all\n"}, nil, "-o|addopts=--verbose", "--cov-append --cov-report --cov -n"},
		"a table":       {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\naddopts = ['-m', 'not slow', '--timeout', '5', '--strict-markers', 'tests']\n"}, nil, "-o|addopts=-m 'not slow' tests", "--timeout"},
		"nothing":       {map[string]string{"setup.cfg": "[tool:pytest]\naddopts = -q\n    -ra\n"}, nil, "", ""},
		"it is loaded":  {map[string]string{"pytest.ini": "[pytest]\naddopts = -p pytest_cov --cov\n"}, nil, "", ""},
		"it is refused": {map[string]string{"pytest.ini": "[pytest]\naddopts = -p other --odd value -q tests\n", "tests/a.py": ""}, []string{"--odd", "-p other"}, "-o|addopts=-q tests", "-p --odd"},
		"strict":        {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\nfilterwarnings = ['error']\n"}, nil, "-W|ignore::pytest.PytestConfigWarning|-W|ignore::pytest.PytestUnknownMarkWarning", ""},
		"required":      {map[string]string{"pytest.ini": "[pytest]\nrequired_plugins = pytest-cov\n"}, nil, "-o|required_plugins=", ""},
		"a newer table": {map[string]string{"pyproject.toml": "[tool.pytest]\naddopts = ['-ra']\ntestpaths = ['tests']\n"}, nil, "-o|addopts=-ra|-o|testpaths=tests", ""},
	} {
		o := optionsOf(viewOf(t, c.files), ".", c.unknown)
		if strings.Join(o.forced, "|") != c.forced || strings.Join(o.dropped, " ") != c.dropped {
			t.Errorf("%s: %q, without %q", name, o.forced, o.dropped)
		}
	}
}

func TestDoctestsThatTheProjectRunsAreTests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files        map[string]string
		asked, paths string
	}{
		"places of a command": {
			map[string]string{"tox.ini": "[testenv]\ncommands = pytest --doctest-modules {env_site_packages_dir}/pkg -k x -n auto\n", "src/pkg/a.py": "", "tests/test_a.py": ""},
			"--doctest-modules", "src/pkg tests",
		},
		"configured already": {map[string]string{"pytest.ini": "[pytest]\naddopts = --doctest-modules\n", "tox.ini": "[testenv]\ncommands = pytest --doctest-modules\n"}, "", ""},
		"where tests are":    {map[string]string{"pytest.ini": "[pytest]\ntestpaths = tests\n", "Makefile": "a:\n\tpytest --doctest-glob '*.rst' README.rst\n", "README.rst": ""}, "--doctest-glob=*.rst", "README.rst tests"},
		"paths alone":        {map[string]string{"Makefile": "a:\n\tpytest tests\n", "tests/test_a.py": ""}, "", ""},
		"doctest itself":     {map[string]string{"Makefile": "a:\n\tpython -m doctest pkg/a.py -v\n", "pkg/a.py": ""}, "--doctest-modules", "pkg/a.py"},
		"warnings":           {map[string]string{"Makefile": "a:\n\tpytest -W error -p no:cov -p xdist\n"}, "-pno:cov -Werror", ""},
		"warnings of one":    {map[string]string{"Makefile": "a:\n\tpytest -W error\n\tpytest\n"}, "", ""},
	} {
		o := optionsOf(viewOf(t, c.files), ".", nil)
		if strings.Join(o.asked, " ") != c.asked || strings.Join(o.paths, " ") != c.paths {
			t.Errorf("%s: %q in %q", name, o.asked, o.paths)
		}
	}
	v := viewOf(t, map[string]string{"pkg/a.py": "", "Makefile": "a:\n\tpython -m doctest pkg/a.py\n"})
	if reason := testsApply(v); reason != "" {
		t.Error(reason)
	}
	if reason := testsApply(viewOf(t, map[string]string{"tests/tests_a.py": "", "pytest.ini": "[pytest]\npython_files = tests_*.py\n"})); reason != "" {
		t.Error(reason)
	}
	if testsApply(viewOf(t, map[string]string{"a.py": ""})) == "" {
		t.Error("no test, and tests apply")
	}
}

// Tests run even if the configuration names options of missing plugins. A patch that brings such an option must bear the result.
func TestPytestIsStartedWithTheOptionsThatItKnows(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"pytest.ini":         "[pytest]\naddopts = --cov pkg --cov-report term --odd value\nfilterwarnings = error\ntimeout = 3\nminversion = 6.0\n",
		"tox.ini":            "[testenv]\ncommands = pytest --doctest-modules pkg tests\n",
		"pyproject.toml":     "[tool.hatch]\nbuild.hooks.vcs.version-file = 'pkg/_version.py'\n",
		"pkg/__init__.py":    "from pkg._version import __version__\n\n\ndef one():\n    \"\"\"\n    >>> one()\n    1\n    \"\"\"\n    return 1\n",
		"tests/test_pkg.py":  "import pytest\n\nfrom pkg import one\n\n\n@pytest.mark.asyncio\ndef test_one():\n    assert one() == 1\n",
		"tests/test_mock.py": "def test_mock(mocker):\n    pass\n",
	}
	b := checktest.NewBench(t, files, sandbox.Limits{})
	b.View = viewOf(t, files)
	out := runTests(t.Context(), b)
	got := map[string]string{}
	for _, r := range out.Tests {
		got[r.ID] = r.Outcome
	}
	if out.Blocked != "" || got["pkg/__init__.py::pkg.one"] != "passed" || got["tests/test_pkg.py::test_one"] != "passed" || got["tests/test_mock.py::test_mock"] != "error" {
		t.Errorf("%+v", out)
	}
	for _, told := range []string{"without --cov, --cov-report, --odd", "the version file that a build"} {
		if !strings.Contains(out.Detail, told) {
			t.Errorf("detail %q", out.Detail)
		}
	}
}

func TestAnOptionThatThePatchBringsIsItsOwnAffair(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"pytest.ini": "[pytest]\naddopts = --old\n"})
	v := check.NewView(base, verifytest.Change(t, base, map[string]string{"pytest.ini": "[pytest]\naddopts = --old --new\n"}))
	if !hadOption(v, ".", "--old") || hadOption(v, ".", "--new") {
		t.Error("it is told wrongly which option is old")
	}
	res := guest.Result{Exit: 4, Stderr: guest.Output{Head: []byte("ERROR: usage: pytest\nrun_tests.py: error: unrecognized arguments: --old=3 --new x\n")}}
	if got := refusedOptions(res); strings.Join(got, " ") != "--old --new" {
		t.Errorf("%q", got)
	}
}
