package trial

import (
	"testing"

	"agent/sandbox/workspace"
)

func TestOnlyValuesOfCodeAreData(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, before, after string
		want                bool
	}{
		{"tests/conftest.py", "PROPS = (\n    \"a\",\n    \"b\",\n)\n", "PROPS = (\n    \"a\",\n    \"x\",  # new\n    \"b\",\n)\n", true},
		{"tests/conftest.py", "LIMIT = 3\n", "LIMIT = 4\n", true},
		{"tests/conftest.py", "ON: bool = True\n", "ON: bool = False\n", true},
		{"tests/conftest.py", "def cases():\n    return [(1, \"a\"), (2, \"b\")]\n", "def cases():\n    return [(1, \"a\")]\n", true},
		{"tests/conftest.py", "T = {\"a\": [1, 2], \"b\": None}\n", "T = {\"a\": [1, 2, 3], \"c\": {\"d\": 1}}\n", true},
		{"test/helpers/table.js", "const t = [1, 'a'];\nmodule.exports = t;\n", "const t = [1, 'a', 'b'];\nmodule.exports = t;\n", true},
		{"tests/conftest.py", "LIMIT = 3\n", "LIMIT = price()\n", false},
		{"tests/conftest.py", "LIMIT = [3]\n", "LIMIT = [price()]\n", false},
		{"tests/conftest.py", "LIMIT = 3\n", "LIMIT = 3\nimport shop\n", false},
		{"tests/conftest.py", "patch(\"shop.rate\", 3)\n", "patch(\"shop.price\", 3)\n", false},
		{"tests/conftest.py", "x = patch([\"shop.rate\"])\n", "x = patch([\"shop.price\"])\n", false},
		{"tests/conftest.py", "x = f\"{a}\"\n", "x = f\"{b}\"\n", false},
		{"tests/conftest.py", "x = \"\"\"a\nb\"\"\"\n", "x = \"\"\"a\nc\"\"\"\n", false},
		{"tests/conftest.py", "pytest_plugins = [\"a\"]\n", "pytest_plugins = [\"b\"]\n", false},
		{"tests/conftest.py", "collect_ignore = []\n", "collect_ignore = [\"test_a.py\"]\n", false},
		{"tests/conftest.py", "if shop.rate() == 3:\n    x = 1\n", "if shop.rate() == 4:\n    x = 1\n", false},
		{"tests/conftest.py", "for n in (1, 2):\n    check(n)\n", "for n in ():\n    check(n)\n", false},
		{"tests/conftest.py", "x = 1\n", "x = 1 if shop.rate() else 2\n", false},
		{"test/helpers/table.js", "const t = `${a}`;\n", "const t = `${b}`;\n", false},
		{"test/helpers/same.js", "module.exports = (a, b) => a === b;\n", "module.exports = (a, b) => true;\n", false},
		{"vitest.config.js", "export const exclude = [];\n", "export const exclude = ['a.test.js'];\n", false},
		{"test/same.go", "package test\n\nvar Limit = 3\n", "package test\n\nvar Limit = 4\n", false},
	} {
		if got := onlyValues(workspace.Change{Op: workspace.Modify, Path: c.path, Before: []byte(c.before), After: []byte(c.after)}); got != c.want {
			t.Errorf("%q to %q: %v", c.before, c.after, got)
		}
	}
}
