package python

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/images/dependencies"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

// Tests that use fixtures of plugins, or are asynchronous, run if the workspace has the plugins installed. The workspace's own metadata
// loads nothing, and a plugin with which pytest does not start is left out.
func TestInstalledPluginsAreLoaded(t *testing.T) {
	t.Parallel()
	l := verifytest.Open(t)
	image, err := l.Builder.Install(t.Context(), l.Toolchain, dependencies.Set{}.WithDebian([]string{"python3-pytest-mock", "python3-pytest-asyncio", "python3-pytest-cov"}))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"pytest.ini":               "[pytest]\naddopts = --strict-markers --asyncio-mode=auto\n",
		"test_a.py":                "import sys\n\ndef test_mock(mocker):\n    mocker.patch('os.getcwd', return_value='x')\n\nasync def test_async():\n    assert 'pytest_cov' not in sys.modules\n",
		"own-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: own\nVersion: 1\n", "own-1.dist-info/entry_points.txt": "[pytest11]\nown = own\n", "own.py": "raise SystemExit(9)\n",
	}
	for name, c := range map[string]struct{ conftest, want string }{
		"loaded":  {"", "test_a.py::test_async passed, test_a.py::test_mock passed"},
		"refused": {"import pytest\n\ndef pytest_configure(config):\n    if config.pluginmanager.hasplugin('pytest_mock'):\n        raise pytest.UsageError('no')\n", "test_a.py::test_async skipped, test_a.py::test_mock error"},
	} {
		files["conftest.py"] = c.conftest
		base := verifytest.Scan(t, files)
		b := checktest.NewBenchOn(t, l.Snapshot(t, image, base).ID, base, workspace.Changeset{}, sandbox.Limits{})
		out := runTests(t.Context(), b)
		var got []string
		for _, r := range out.Tests {
			got = append(got, fmt.Sprint(r.ID, " ", r.Outcome))
		}
		slices.Sort(got)
		if text := strings.Join(got, ", "); text != c.want || out.Blocked != "" {
			t.Errorf("%s: %s, want %s: %s\n%s", name, text, c.want, out.Blocked, out.Output)
		}
	}
}
