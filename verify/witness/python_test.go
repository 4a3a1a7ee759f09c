package witness

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

// endsOf counts the witnesses of a set that fail, and those that pass.
func endsOf(s *Set) (fails, passes int) {
	for _, w := range s.tests {
		if w.Fails {
			fails++
		} else {
			passes++
		}
	}
	return fails, passes
}

// addedTo returns what Python witnesses append to a text, or "" if there are none.
func addedTo(t *testing.T, text string, quiet bool) (string, *Set) {
	t.Helper()
	var s Set
	if !s.Python(NewDraw(), checktest.View(map[string]string{"test_a.py": text}), "test_a.py", quiet) {
		if !s.Empty() || len(s.Changes().Changes) > 0 {
			t.Errorf("%.60q: none, and yet some", text)
		}
		return "", &s
	}
	added, ok := strings.CutPrefix(string(s.Changes().Changes[0].After), text)
	if !ok {
		t.Errorf("%.60q is not as it was", text)
	}
	return added, &s
}

func TestWitnessesOfPythonAreInTheFormOfTheirFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		has  string // a regular expression
		not  string
		n    int
	}{
		"functions":               {"def test_a():\n    assert f() == 1\n", `^\n\ndef test_\w+\(\):\n    \w+ = .*\n    assert .* == .*\n`, "class", 2},
		"no newline at the end":   {"def test_a(): assert 1", `^\n\n\ndef test_`, "class", 2},
		"windows":                 {"def test_a():\r\n    assert 1\r\n", `^\n\ndef test_`, "class", 2},
		"without underscores":     {"def testA():\n    pass\n", `def test[A-Z]\w+\(\)`, "test_", 2},
		"asynchronous":            {"async def test_a():\n    pass\n", `\ndef test_`, "class", 2},
		"forms of pytest":         {"import pytest\n\n\ndef test_a():\n    with pytest.raises(X):\n        f()\n    assert not x\n    assert 1 in y\n", `with pytest\.raises\(ValueError\):\n        if `, "approx", 8},
		"a plain class":           {"class TestA:\n    def test_a(self):\n        assert 1\n", `^\n\nclass Test[A-Z]\w+:\n    def test_\w+\(self\):\n        \w+ = `, "unittest", 2},
		"unittest":                {"import unittest\n\n\nclass PriceTest(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 1)\n", `^\n\nclass [A-Z]\w+\(unittest\.TestCase\):\n    def test_\w+\(self\):\n        .*\n        self\.assertEqual\(`, "assert ", 2},
		"a name of unittest":      {"from unittest import mock, TestCase\n\n\nclass TestA(TestCase):\n    def test_a(self):\n        self.fail()\n", `class Test[A-Z]\w+\(TestCase\):`, "__import__", 2},
		"a class of a framework":  {"class A(web.TestCase):\n    def test_a(self):\n        self.assertIn(1, [])\n", `\(__import__\("unittest"\)\.TestCase\):`, "web", 2},
		"unittest in a text":      {"from harness import TestCase\n\n\nclass TestA(TestCase):\n    def test_a(self):\n        self.flakes(\"\"\"\n        class B(unittest.TestCase): pass\nfrom unittest import TestCase\nimport pytest\n\"\"\")\n", `\(__import__\("unittest"\)\.TestCase\):`, "pytest", 2},
		"both":                    {"import unittest\n\n\ndef test_b():\n    pass\n\n\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        pass\n", `(?s)\n\ndef test_.*\n\nclass Test`, "pytest", 4},
		"methods of no known one": {"class A(Other):\n    def test_a(self):\n        pass\n", ``, "", 0},
		"no tests":                {"def check(): pass\n", ``, "", 0},
		"nothing":                 {"", ``, "", 0},
		"as large as may be":      {"def test_a(): pass\n" + strings.Repeat("#", MaxFile-19), `def test_`, "class", 2},
		"too large":               {"def test_a(): pass\n" + strings.Repeat("#", MaxFile-18), ``, "", 0},
	} {
		added, s := addedTo(t, c.text, false)
		if fails, passes := endsOf(s); fails != passes || fails+passes != c.n {
			t.Errorf("%s: %d fail and %d pass", name, fails, passes)
		}
		if c.n > 0 && (!regexp.MustCompile(c.has).MatchString(added) || strings.Contains(added, c.not)) {
			t.Errorf("%s: %s", name, added)
		}
		if quiet, s := addedTo(t, c.text, true); c.n > 0 {
			if fails, passes := endsOf(s); fails != 0 || passes != c.n/2 || quiet == "" {
				t.Errorf("%s, where none may fail: %d do and %d pass", name, fails, passes)
			}
		}
		for _, w := range s.tests {
			if w.Place != "test_a.py" || strings.Contains(c.text, w.Name) || strings.Count(added, w.Name+"(") != 1 || !s.Names("test_a.py::"+w.Name) {
				t.Errorf("%s: %+v", name, w)
			}
		}
	}
}

func TestEachFormHasWitnessesOnceInARunAndInEachFileOfThePatch(t *testing.T) {
	t.Parallel()
	const text = "import pytest\n\n\ndef test_a():\n    with pytest.raises(X):\n        f()\n    assert not x\n"
	base := verifytest.Scan(t, map[string]string{"test_a.py": text, "test_b.py": text, "test_c.py": text})
	for name, c := range map[string]struct {
		patch workspace.Changeset
		fails int
	}{
		"nothing is touched":  {workspace.Changeset{}, 3 + 1 + 1},
		"one file is touched": {verifytest.Change(t, base, map[string]string{"test_b.py": text + "    assert not y\n"}), 3 + 3 + 1},
	} {
		var s Set
		d, v := NewDraw(), check.NewView(base, c.patch)
		for _, p := range []string{"test_a.py", "test_b.py", "test_c.py"} {
			s.Python(d, v, p, false)
		}
		if fails, passes := endsOf(&s); fails != c.fails || passes != c.fails {
			t.Errorf("%s: %d fail and %d pass", name, fails, passes)
		}
	}
}

func TestWhatPytestSaysOfWitnessesIsHidden(t *testing.T) {
	t.Parallel()
	s := &Set{tests: []Test{{"a.py", "test_sums_rows", true}}}
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                 {"", ""},
		"progress and counts":     {"a.py .F..x [100%]\n..F.\nwarn\n== 1 failed, 2 passed in 0.12s ==\n1 passed in 3.00s", "warn"},
		"a section":               {"=== FAILURES ===\n___ test_sums_rows ___\n\n    assert 1\n\n___ test_own ___\n\n    assert 2", "=== FAILURES ===\n___ test_own ___\n\n    assert 2"},
		"sections of nothing":     {"=== FAILURES ===\n___ test_sums_rows[1] ___\nassert 1\n=== short test summary info ===\nFAILED a.py::test_sums_rows - assert 1\n", ""},
		"the last of a section":   {"=== FAILURES ===\n___ test_own ___\nassert 2\n=== short test summary info ===\nFAILED a.py::test_sums_rows - x", "=== FAILURES ===\n___ test_own ___\nassert 2"},
		"the name of another one": {"FAILED a.py::test_sums_rows_twice - x", "FAILED a.py::test_sums_rows_twice - x"},
		"dots of a sentence":      {"and so on ...\n1 passed the door", "and so on ...\n1 passed the door"},
	} {
		if got := strings.TrimSpace(s.HidePytest(c.text)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got := (&Set{}).HidePytest(c.text); got != c.text {
			t.Errorf("%s, without witnesses: %q", name, got)
		}
	}
}

func TestWitnessesOfGoAreAFileOfThePackage(t *testing.T) {
	t.Parallel()
	const plain = "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Parallel(); t.Fatal() }\n"
	for name, c := range map[string]struct {
		files map[string]string
		pkg   string
	}{
		"one":                    {map[string]string{"x/a_test.go": plain}, "a"},
		"the package outside":    {map[string]string{"x/a_test.go": strings.Replace(plain, "package a", "package a_test", 1)}, "a_test"},
		"of one system":          {map[string]string{"x/a_linux_test.go": plain}, ""},
		"of a system and of all": {map[string]string{"x/a_linux_test.go": plain, "x/b_test.go": strings.Replace(plain, "package a", "package b", 1)}, "b"},
		"a constraint":           {map[string]string{"x/a_test.go": "//go:build linux\n\n" + plain}, ""},
		"an old constraint":      {map[string]string{"x/a_test.go": "// +build linux\n\n" + plain}, ""},
		"a comment above":        {map[string]string{"x/a_test.go": "// Package a is.\n" + plain + "\n//go:build linux\n"}, "a"},
		"with C":                 {map[string]string{"x/a_test.go": strings.Replace(plain, "import", "import \"C\"\nimport", 1)}, ""},
		"cut off":                {map[string]string{"x/a_test.go": "packa" + plain}, ""},
		"only a benchmark":       {map[string]string{"x/a_test.go": "package a\n\nfunc BenchmarkA(b *testing.B) {}\n"}, ""},
		"empty":                  {map[string]string{"x/a_test.go": ""}, ""},
		"none":                   {nil, ""},
	} {
		var s Set
		var files []string
		for p := range c.files {
			files = append(files, p)
		}
		if got := s.Go(NewDraw(), checktest.View(c.files), "x", files); got != (c.pkg != "") || s.Empty() == got {
			t.Errorf("%s: %v", name, got)
			continue
		}
		if c.pkg == "" {
			continue
		}
		change := s.Changes().Changes[0]
		file, err := parser.ParseFile(token.NewFileSet(), change.Path, change.After, 0)
		if err != nil || file.Name.Name != c.pkg || len(file.Decls) != len(s.tests)+1 || !regexp.MustCompile(`^x/[a-z_]+_all_test\.go$`).MatchString(change.Path) {
			t.Errorf("%s: %v: %s\n%s", name, err, change.Path, change.After)
		}
		if fails, passes := endsOf(&s); fails != passes || fails == 0 {
			t.Errorf("%s: %d fail and %d pass", name, fails, passes)
		}
	}
}

// A package that judges its run by whether a test failed gets no failing witness.
func TestNoWitnessFailsWhereTheBaseJudgesTheRun(t *testing.T) {
	t.Parallel()
	var s Set
	v := checktest.View(map[string]string{"a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n", "main_test.go": "package a\n\nfunc TestMain(m *testing.M) { m.Run() }\n"})
	if !s.Go(NewDraw(), v, ".", []string{"a_test.go", "main_test.go"}) {
		t.Fatal("none")
	}
	if fails, passes := endsOf(&s); fails != 0 || passes == 0 {
		t.Errorf("%d fail and %d pass", fails, passes)
	}
}
