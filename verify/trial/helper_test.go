package trial

import (
	"slices"
	"strings"
	"testing"

	"agent/verify/verifytest"
)

func TestWhatOnlyTestsAssertByIsAnAid(t *testing.T) {
	t.Parallel()
	const (
		same   = "def same(got, want):\n    if got != want:\n        raise AssertionError(got)\n"
		usesPy = "from shop.checks import same\nfrom shop.price import reduced\n\n\ndef test_a():\n    same(reduced(1), 1)\n"
		sameGo = "package checks\n\nimport \"testing\"\n\nfunc Same(t *testing.T, a, b int) {}\n"
		usesGo = "package shop\n\nimport (\n\t\"testing\"\n\n\t\"example.com/shop/checks\"\n)\n\nfunc TestA(t *testing.T) { checks.Same(t, 1, 1) }\n"
		sameJS = "export function same(a, b) {\n  if (a !== b) throw new Error('no');\n}\n"
		usesJS = "import test from 'node:test';\nimport { same } from './checks.js';\ntest('a', () => same(1, 1));\n"
	)
	for name, c := range map[string]struct {
		base  map[string]string
		patch string // the files, separated by spaces
		want  string
	}{
		"python":                   {map[string]string{"shop/checks.py": same, "shop/price.py": "x = 1\n", "tests/test_a.py": usesPy}, "shop/checks.py shop/price.py", "shop/checks.py"},
		"python, in several lines": {map[string]string{"shop/checks.py": same, "shop/price.py": "x = 1\n", "tests/test_a.py": "from shop import (\n    price,\n    checks,\n)\n"}, "shop/checks.py shop/price.py", "shop/checks.py"},
		"the program uses it":      {map[string]string{"shop/checks.py": same, "shop/price.py": "from .checks import same\n", "tests/test_a.py": usesPy}, "shop/checks.py shop/price.py", ""},
		"a plugin":                 {map[string]string{"shop/checks.py": same, "shop/price.py": "x = 1\n", "tests/test_a.py": usesPy, "pyproject.toml": "[project.entry-points.pytest11]\nshop = \"shop.checks\"\n"}, "shop/checks.py shop/price.py", ""},
		"nothing else changes":     {map[string]string{"shop/checks.py": same, "shop/price.py": "x = 1\n", "tests/test_a.py": usesPy}, "shop/checks.py", ""},
		"no test uses it":          {map[string]string{"shop/checks.py": same, "shop/price.py": "x = 1\n", "tests/test_a.py": "x = 1\n"}, "shop/checks.py shop/price.py", ""},
		"it asserts nothing":       {map[string]string{"shop/checks.py": "def work():\n    return 1\n", "shop/price.py": "x = 1\n", "tests/test_a.py": usesPy}, "shop/checks.py shop/price.py", ""},
		"new with the patch":       {map[string]string{"shop/price.py": "x = 1\n", "tests/test_a.py": usesPy}, "shop/checks.py shop/price.py", ""},
		"go":                       {map[string]string{"checks/checks.go": sameGo, "price.go": "package shop\n", "price_test.go": usesGo}, "checks/checks.go price.go", "checks/checks.go"},
		"go, beside the program":   {map[string]string{"shop/checks.go": strings.Replace(sameGo, "package checks", "package shop", 1), "shop/price.go": "package shop\n", "a_test.go": strings.ReplaceAll(usesGo, "/checks", "/shop")}, "shop/checks.go shop/price.go", ""},
		"go, at the top":           {map[string]string{"checks.go": sameGo, "price.go": "package shop\n", "price_test.go": usesGo}, "checks.go price.go", ""},
		"javascript":               {map[string]string{"checks.js": sameJS, "price.js": "1;\n", "price.test.js": usesJS}, "checks.js price.js", "checks.js"},
		"javascript, the program":  {map[string]string{"checks.js": sameJS, "price.js": "const { same } = require('./checks');\n", "price.test.js": usesJS}, "checks.js price.js", ""},
		"what is given to others":  {map[string]string{"checks.js": sameJS, "price.js": "1;\n", "price.test.js": usesJS, "package.json": `{"exports": {"./checks": "./checks.js"}}`}, "checks.js price.js", ""},
		"a directory":              {map[string]string{"checks/index.js": sameJS, "price.js": "1;\n", "price.test.js": strings.Replace(usesJS, "checks.js", "checks", 1)}, "checks/index.js price.js", "checks/index.js"},
		"of tests by its place":    {map[string]string{"tests/checks.py": same, "shop/price.py": "x = 1\n", "tests/test_a.py": usesPy}, "tests/checks.py shop/price.py", ""},
		"text":                     {map[string]string{"checks.md": same, "shop/price.py": "x = 1\n", "tests/test_a.py": usesPy}, "checks.md shop/price.py", ""},
	} {
		base := verifytest.Scan(t, c.base)
		change := map[string]string{}
		for _, p := range strings.Fields(c.patch) {
			change[p] = c.base[p] + "\n"
		}
		cs := verifytest.Change(t, base, change)
		if got := assertedBy(base, cs); strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
		if s := SplitPatch(base, cs); c.want != "" && (!slices.Contains(s.Aids, c.want) || !s.Wanted() || len(s.Program.Changes) != 1) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
