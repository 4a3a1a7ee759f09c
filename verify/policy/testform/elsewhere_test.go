package testform

import (
	"strings"
	"testing"

	"agent/sandbox/workspace/lang"
)

func leftIn(path, before, after string) []int {
	l := lang.Of(path)
	return LeftElsewhere(l.Family, l.Lex(before), l.Lex(after))
}

func TestAssertionsThatRunElsewhere(t *testing.T) {
	t.Parallel()
	python := "def test_tax():\n    x = tax()\n    assert x == 14\n"
	golang := "func TestTax(t *testing.T) {\n\tx := tax()\n\tif x != 14 {\n\t\tt.Error(x)\n\t}\n}\n"
	script := "it('tax', () => {\n  const x = tax();\n  expect(x).toBe(14);\n});\n"
	for _, c := range []struct {
		path, before, what string
		held               bool
	}{
		{"test_a.py", python, "    if os.environ.get(\"CI\"):\n        return\n", true},
		{"test_a.py", python, "    if os.getenv(\"CI\"): return\n", true},
		{"test_a.py", python, "    ci = os.environ.get(\"CI\")\n    if ci:\n        print(\"later\")\n        return\n", true},
		{"test_a.py", python, "    if sys.platform == \"linux\":\n        return\n", true},
		{"test_a.py", python, "    if sys.platform != \"win32\":\n        return\n", true},
		{"test_a.py", python, "    if sys.version_info >= (3, 8):\n        return\n", true},
		{"test_a.py", python, "    if time.time() > 1e9:\n        return None\n", true},
		{"test_a.py", python, "    if socket.gethostname() != \"home\":\n        return\n", true},
		{"test_a.py", python, "    if sys.platform == \"win32\":\n        return\n", false},
		{"test_a.py", python, "    if sys.version_info < (3, 8):\n        return\n", false},
		{"test_a.py", python, "    if os.name == \"nt\" and x:\n        return\n", false},
		{"test_a.py", python, "    if error:\n        return\n", false},
		{"test_a.py", python, "    if os.environ.get(\"DEBUG\"):\n        print(x)\n", false},
		{"test_a.py", python, "    if os.environ.get(\"FAST\"):\n        assert x\n        return\n", false},
		{"a_test.go", golang, "\tif os.Getenv(\"CI\") != \"\" {\n\t\treturn\n\t}\n", true},
		{"a_test.go", golang, "\tif _, ok := os.LookupEnv(\"CI\"); ok {\n\t\treturn\n\t}\n", true},
		{"a_test.go", golang, "\tif runtime.GOOS == \"linux\" {\n\t\treturn\n\t}\n", true},
		{"a_test.go", golang, "\tif runtime.GOOS == \"windows\" {\n\t\treturn\n\t}\n", false},
		{"a_test.go", golang, "\tfor range 3 {\n\t\tif time.Now().After(end) {\n\t\t\treturn\n\t\t}\n\t}\n", false},
		{"a.test.js", script, "  if (process.env.CI) return;\n", true},
		{"a.test.ts", script, "  if (process.env.CI) {\n    return;\n  }\n", true},
		{"a.test.js", script, "  if (process.env.CI)\n    return;\n", true},
		{"a.test.js", script, "  if (Date.now() > 1) { return; }\n", true},
		{"a.test.js", script, "  if (process.platform === 'win32') return;\n", false},
		{"a.test.js", script, "  if (skip) return;\n", false},
	} {
		first, rest, _ := strings.Cut(c.before, "\n")
		after := first + "\n" + c.what + rest
		if got := leftIn(c.path, c.before, after); (len(got) == 1) != c.held {
			t.Errorf("%s: %s: %v", c.path, c.what, got)
		}
		if got := leftIn(c.path, "", after); len(got) > 0 {
			t.Errorf("%s: %s, with nothing before it: %v", c.path, c.what, got)
		}
	}
}

func TestBranchesAroundAssertions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, before, after string
		held                bool
	}{
		{"test_a.py", "def test_a():\n    assert x == 1\n", "def test_a():\n    if not os.environ.get(\"CI\"):\n        assert x == 1\n", true},
		{"test_a.py", "def test_a():\n    assert x == 1\n", "CI = \"CI\" in os.environ\ndef test_a():\n    if not CI:\n        assert x == 1\n    assert y\n", true},
		{"test_a.py", "def test_a():\n    assert x == 1\n", "def test_a():\n    if sys.platform == \"win32\":\n        assert x == 1\n", true},
		{"test_a.py", "def test_a():\n    assert x == 1\n", "def test_a():\n    if sys.platform != \"win32\":\n        assert x == 1\n", false},
		{"test_a.py", "def test_a():\n    assert x == 1\n", "def test_a():\n    if os.environ.get(\"FAST\"):\n        assert x == 1\n    else:\n        assert x == 2\n", false},
		{"test_a.py", "def test_a():\n    assert x == 1\n", "def test_a():\n    assert x == 1\n    if os.environ.get(\"SLOW\"):\n        assert y == 1\n", false},
		{"test_a.py", "def test_a():\n    if CI:\n        assert x == 1\n", "def test_a():\n    y = 1\n    if CI:\n        assert x == 1\n", false},
		{"a_test.go", "func TestA(t *testing.T) {\n\tassert.Equal(t, 1, x)\n}\n", "func TestA(t *testing.T) {\n\tif os.Getenv(\"CI\") == \"\" {\n\t\tassert.Equal(t, 1, x)\n\t}\n}\n", true},
		{"a.test.js", "it('a', () => {\n  expect(x).toBe(1);\n});\n", "it('a', () => {\n  if (!process.env.CI) {\n    expect(x).toBe(1);\n  }\n});\n", true},
		{"a.test.js", "it('a', () => {\n  expect(x).toBe(1);\n});\n", "it('a', () => {\n  if (ready) {\n    expect(x).toBe(1);\n  }\n});\n", false},
	} {
		if got := leftIn(c.path, c.before, c.after); (len(got) == 1) != c.held {
			t.Errorf("%s: %q: %v", c.path, c.after, got)
		}
	}
}

// A text that never ends its branches, or consists of branches alone, is read to its end.
func TestHostileBranches(t *testing.T) {
	t.Parallel()
	for path, line := range map[string]string{"test_a.py": "if os.environ:\n", "a_test.go": "if os.Getenv() {\n", "a.test.js": "if (process.env.CI) {\n", "b.test.js": "if (process.env.CI)\n"} {
		text := strings.Repeat(line, 5000)
		leftIn(path, text, text)
	}
}
