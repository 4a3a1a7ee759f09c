package trial

import (
	"slices"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/verifytest"
)

// A file that a runner does not collect by its name is an aid, and is judged as one.
func TestWhatIsNoTestIsAnAid(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]bool{
		"tests/a.feature": true, "tests/a.e2e.js": true, "tests/a.cy.ts": true, "tests/a_spec.js": true, "tests/data.json": true, "conftest.py": true,
		"tests/test_a.py": false, "tests/a_test.py": false, "tests/a.spec.tsx": false, "tests/a-test.mjs": false, "tests/a_test.go": false, "src/a.py": false,
	} {
		if got := isAid(p); got != want {
			t.Errorf("%s is an aid of tests: %v", p, got)
		}
	}
}

// A file that the script has the runner collect is a test, whatever its name, and what the runner loads besides is an aid. A patch cannot
// turn an aid into a test with its own script.
func TestWhatTheBaseCollectsIsATest(t *testing.T) {
	t.Parallel()
	manifest := `{"devDependencies": {"mocha": "11"}, "scripts": {"test": "mocha --require test/support/env test/"}}`
	base := verifytest.Scan(t, map[string]string{"package.json": manifest, "lib.js": "1\n", "test/res.redirect.js": "1\n", "test/support/env.js": "1\n"})
	change := func(p, before, after string) workspace.Change {
		return workspace.Change{Op: workspace.Modify, Path: p, Before: []byte(before), After: []byte(after), Mode: 0o644}
	}
	cs := workspace.Changeset{Changes: []workspace.Change{
		change("lib.js", "1\n", "2\n"), change("test/res.redirect.js", "1\n", "2\n"),
	}}
	if s := SplitPatch(base, cs); len(s.Aids) != 0 || !s.Old || len(s.Program.Changes) != 1 || len(s.Tests.Changes) != 1 {
		t.Errorf("a test: %+v", s)
	}
	cs.Changes = append([]workspace.Change{change("package.json", manifest, `{"devDependencies": {"mocha": "11"}, "scripts": {"test": "mocha test/**/*.js"}}`)}, cs.Changes...)
	cs.Changes = append(cs.Changes, change("test/support/env.js", "1\n", "2\n"))
	slices.SortFunc(cs.Changes, func(a, b workspace.Change) int { return int(a.Path[0]) - int(b.Path[0]) })
	if s := SplitPatch(base, cs); !slices.Contains(s.Aids, "test/support/env.js") || len(s.Aids) != 2 || len(s.Program.Changes) != 1 {
		t.Errorf("an aid: %+v", s)
	}
}

// A file that is compared with or read is data. A file that runs or configures what runs is not, nor is an unknown one.
func TestWhatRunsBesideTestsIsNoData(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]bool{
		"tests/a.json": true, "testdata/a.yaml": true, "src/__snapshots__/a.js.snap": true, "package.json": false, "tests/conftest.py": false,
		"tests/helpers.py": false, "pyproject.toml": false, "tests/a.so": false, "tests/a": false,
	} {
		if got := isData(p); got != want {
			t.Errorf("%s is data: %v", p, got)
		}
	}
}

// A new test file is an aid if it may change the program for the tests next to it and no other test is touched: rewritten tests tell
// more.
func TestNewTestsThatReachIntoTheProgram(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"go.mod": "module m\n", "a.go": "package a\n", "a_test.go": "package a\n", "tests/test_a.py": "x = 1\n"})
	for name, c := range map[string]struct {
		path, text string
		want       bool
	}{
		"an init":                  {"b_test.go", "package a\n\nfunc init() {\n\timpl = good\n}\n", true},
		"what runs all tests":      {"b_test.go", "package a\n\nfunc TestMain(m *testing.M) {\n\tos.Exit(m.Run())\n}\n", true},
		"an assignment":            {"b_test.go", "package a\n\nfunc TestB(t *testing.T) {\n\timpl = good\n}\n", true},
		"a variable that is run":   {"b_test.go", "package a\n\nvar _ = set()\n", true},
		"a test of Go":             {"b_test.go", "package a\n\nfunc TestB(t *testing.T) {\n\tif got := F(1); got != 2 {\n\t\tt.Error(got)\n\t}\n}\n", false},
		"a module that is set":     {"tests/test_b.py", "import shop\n\nshop.price = good\n", true},
		"by its name":              {"tests/test_b.py", "setattr(shop, 'price', good)\n", true},
		"a test of Python":         {"tests/test_b.py", "from shop import price\n\n\ndef test_b():\n    got = price(2)\n    assert got == 2\n", false},
		"a test of a script":       {"b.test.js", "test('b', () => {\n  const a = f(1);\n  expect(a).toBe(1);\n});\n", false},
		"a prototype":              {"b.test.js", "Shop.prototype.price = good;\n", true},
		"a table of the program":   {"tests/test_b.py", "from shop import RATES, tax\n\nRATES.update(book=7)\n\n\ndef test_b():\n    assert tax('food', 100) == 7\n", true},
		"in the test itself":       {"tests/test_b.py", "from shop import RATES\n\n\ndef test_b():\n    RATES.update(book=7)\n    assert RATES\n", true},
		"by a key":                 {"tests/test_b.py", "from shop import RATES\n\nRATES['book'] = 7\n", true},
		"by an operator":           {"tests/test_b.py", "from shop import RATES\n\nRATES |= {'book': 7}\n", true},
		"by a loop":                {"tests/test_b.py", "from shop import RATES\n\nfor RATES['book'] in (7,):\n    pass\n", true},
		"by a function of its own": {"tests/test_b.py", "import shop\n\n\ndef compile(text):\n    shop.set(text)\n\n\ncompile('x')\n", true},
		"in a default":             {"tests/test_b.py", "from shop import fill\n\n\ndef test_b(\n    a=fill(7),\n):\n    assert a\n", true},
		"within a class":           {"tests/test_b.py", "from shop import fill\n\n\nclass TestB:\n    fill(7)\n\n    def test_b(self):\n        assert 1\n", true},
		"a variable with a call":   {"b_test.go", "package a\n\nvar known = prepared(map[string]int{\"book\": 7})\n", true},
		"a table with a call":      {"b_test.go", "package a\n\nvar cases = []bool{\n\tprepared(7),\n}\n", true},
		"a copy of maps":           {"b_test.go", "package a\n\nfunc TestB(t *testing.T) {\n\tmaps.Copy(Rates, map[string]int{\"book\": 7})\n}\n", true},
		"a call of a script":       {"b.test.js", "import { rates } from './a.js';\n\nObject.entries(rates).forEach(fill);\nfill(rates);\n\ntest('b', () => {});\n", true},
		"marks and patterns": {
			"tests/test_b.py", "import logging\nimport re\n\nimport pytest\n\nfrom shop import price\n\nlog = logging.getLogger(__name__)\nFORM = re.compile(r'\\d+')\nnp = pytest.importorskip('numpy')\n\n\n" +
				"@pytest.mark.parametrize(\n    ('n', 'want'),\n    [(1, 2), pytest.param(3, 4, id='more')],\n)\ndef test_b(n, want):\n    got = price(n)\n    items = []\n    items.append(got)\n    assert got == want\n\n\nif __name__ == '__main__':\n    pytest.main()\n", false,
		},
		"patterns of Go":     {"b_test.go", "package a\n\nvar form = regexp.MustCompile(`\\d+`)\n\nvar update = flag.Bool(\"update\", false, \"write\")\n\ntype fake struct {\n\tf func(int) int\n}\n\nfunc (f *fake) Do(n int) int { return f.f(n) }\n", false},
		"groups of a script": {"b.test.js", "const { f } = require('./f');\n\nconst twice = (n) => f(n) * 2;\n\ndescribe('b', () => {\n  it('is', () => {\n    assert.equal(f(1), twice(1));\n  });\n});\n", false},
		"the program itself": {"b.go", "package a\n\nfunc init() {\n\timpl = good\n}\n", false},
	} {
		cs := verifytest.Change(t, base, map[string]string{c.path: c.text, "a.go": "package a\n\n// Other.\n"})
		if s := SplitPatch(base, cs); s.Wanted() != c.want || slices.Contains(s.Aids, c.path) != c.want {
			t.Errorf("%s: %+v", name, s)
		}
	}
	cs := verifytest.Change(t, base, map[string]string{"b_test.go": "package a\n\nfunc init() {\n\timpl = good\n}\n", "a_test.go": "package a\n\n// Other.\n"})
	if s := SplitPatch(base, cs); len(s.Aids) != 0 || !s.Wanted() {
		t.Errorf("beside a rewritten one: %+v", s)
	}
	cs = verifytest.Change(t, base, map[string]string{"b_test.go": "package a\n\nfunc init() {\n\timpl = good\n}\n"})
	if s := SplitPatch(base, cs); s.Wanted() {
		t.Errorf("with the program as it was: %+v", s)
	}
}
