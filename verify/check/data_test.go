package check_test

import (
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

func TestDataOfTestsIsToldFromPrograms(t *testing.T) {
	t.Parallel()
	v := check.NewView(verifytest.Scan(t, map[string]string{
		"tests/data/invalid/a.toml": "", "tests/data/bad_syntax.py": "", "tests/data/helper.py": "", "tests/data/test_it.py": "", "tests/data/conftest.py": "",
		"tests/data/one.py": "from two import x\n", "tests/data/two.py": "", "tests/data/kit/__init__.py": "", "tests/test_a.py": "from data.helper import x\nfrom data import (\n    kit,\n)\n",
		"testdata/x.json": "", "pkg/data/a.py": "", "data/a.json": "", "tests/odd/a.py": "", "examples/a.py": "",
		"pyproject.toml": "[tool.ruff]\nextend-exclude = ['tests/odd', 'examples']\n[tool.mypy]\nexclude = 'x'\n",
	}), workspace.Changeset{})
	for p, want := range map[string]bool{
		"tests/data/invalid/a.toml": true, "tests/data/bad_syntax.py": true, "testdata/x.json": true, "tests/odd/a.py": true, "tests/data/two.py": true,
		// Files that a test or a test runner imports, and files inside the program, are not data.
		"tests/data/helper.py": false, "tests/data/kit/__init__.py": false, "tests/data/test_it.py": false, "tests/data/conftest.py": false,
		"pkg/data/a.py": false, "data/a.json": false, "tests/test_a.py": false, "pyproject.toml": false, "examples/a.py": false,
	} {
		if got := check.IsTestData(v, p); got != want {
			t.Errorf("%s: %t", p, got)
		}
	}
}
