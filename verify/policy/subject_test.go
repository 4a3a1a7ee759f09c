package policy

import (
	"strings"
	"testing"
)

func TestATestSpeaksOnlyOfWhatIsGone(t *testing.T) {
	t.Parallel()
	const python = "import pytest\nfrom lib import keep, strip\n\nclass TestText:\n    def test_a(self, s):\n%s\n\ndef test_b():\n    assert keep(1)\n"
	const golang = "package x\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n%s\n}\n\nfunc TestB(t *testing.T) {\n\tt.Error(Keep())\n}\n"
	const script = "import { keep, strip } from './a.js';\n\ndescribe('all', () => {\n  test('a', () => {\n%s\n  });\n  test('b', () => {\n    assert.ok(keep());\n  });\n});\n"
	for name, c := range map[string]struct {
		form, body, test string
		want             bool
	}{
		"asserted":                   {python, "        assert strip(s) == ''", "", true},
		"with parameters":            {python, "        assert strip(s) == ''", "TestText::test_a[x-1]", true},
		"by a variable":              {python, "        out = strip(s)\n        size = len(out)\n        assert size == 1", "", true},
		"by one of two":              {python, "        first, last = strip(s)\n        assert last == 1", "", true},
		"by an item":                 {python, "        for x in strip(s):\n            assert x", "", true},
		"by a context":               {python, "        with strip(s) as x:\n            assert x.y", "", true},
		"raising":                    {python, "        with pytest.raises(ValueError):\n            strip(s)", "", true},
		"in brackets":                {python, "        assert (\n            strip(s) == 1\n        )", "", true},
		"over lines":                 {python, "        out = [\n            strip(s),\n        ]\n        assert out == 1", "", true},
		"another one beside it":      {python, "        assert strip(s)\n        assert keep(s)", "", false},
		"another one first":          {python, "        self.assertEqual(keep(s), 1)\n        assert strip(s)", "", false},
		"another variable":           {python, "        out = strip(s)\n        kept = keep(s)\n        assert kept", "", false},
		"compared only":              {python, "        kept == strip(s)\n        assert kept", "", false},
		"in a comment":               {python, "        assert keep(s)  # strip", "", false},
		"in a string":                {python, "        assert keep('strip')", "", false},
		"a longer name":              {python, "        assert strip_all(s)", "", false},
		"a helper that asserts":      {python, "        assert strip(s)\n        check_keep(s)", "", false},
		"nothing asserted":           {python, "        strip(s)", "", false},
		"nothing":                    {python, "        pass", "", false},
		"another test":               {python, "        assert strip(s)", "test_b", false},
		"no such test":               {python, "        assert strip(s)", "test_c", false},
		"of another class":           {python, "        assert strip(s)", "TestMore::test_b", false},
		"its own name":               {python + "def test_strip():\n    assert keep(2)\n", "        pass", "test_strip", false},
		"of Go":                      {golang, "\tif got := strip(\"\"); got != \"\" {\n\t\tt.Errorf(\"got %s\", got)\n\t}", "", true},
		"of Go, a subtest":           {golang, "\tgot := strip(\"\")\n\tassert.Equal(t, got, 1)", "TestA/one", true},
		"of Go, with no word of it":  {golang, "\tif strip(\"\") != \"\" {\n\t\tt.Error(\"no\")\n\t}", "", false},
		"of Go, beside another":      {golang, "\trequire.Equal(t, strip(\"\"), 1)\n\trequire.Equal(t, Keep(), 1)", "", false},
		"of Go, a helper":            {golang, "\trequire.Equal(t, strip(\"\"), 1)\n\tprove(t, Keep())", "", false},
		"of JavaScript":              {script, "    const { x } = strip(' ');\n    assert.equal(x, '');", "", true},
		"of JavaScript, throwing":    {script, "    assert.throws(() => {\n      strip();\n    });", "", true},
		"of JavaScript, expected":    {script, "    expect(strip(' ')).toBe('');", "", true},
		"of JavaScript, with others": {script, "    expect(strip(' ')).toBe('');\n    expect(keep(1)).toBe(1);", "", false},
	} {
		file, test := "tests/test_a.py", "TestText::test_a"
		switch c.form {
		case golang:
			file, test = "a_test.go", "TestA"
		case script:
			file, test = "a.test.js", "all > a"
		}
		if c.test != "" {
			test = c.test
		}
		if got := SpeaksOnlyOf(file, strings.Replace(c.form, "%s", c.body, 1), test, map[string]bool{"strip": true}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if SpeaksOnlyOf("a_test.zig", "test \"a\" { expect(strip()); }", "a", map[string]bool{"strip": true}) {
		t.Error("a language whose tests nobody reads")
	}
}

func TestReaderOfSubjectsTakesAnything(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "def test_a(", "def test_a():\n" + strings.Repeat("    assert (", 3000), "def test_a():\n    assert f(\n" + strings.Repeat("\n", 3000)} {
		SpeaksOnlyOf("test_a.py", text, "test_a", map[string]bool{"f": true})
	}
}
