package testform

import (
	"fmt"
	"testing"

	"agent/sandbox/workspace/lang"
)

func TestEachLanguageOfTestsIsRead(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"a_test.py": true, "a.test.ts": true, "a_test.go": true, "a.sh": false, "a.rs": false, "a": false, "": false} {
		if got := Known(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	for family, f := range forms {
		if f.Assertion == nil || f.Always == nil || f.Maybe == nil || f.Empty == nil {
			t.Errorf("%s lacks an expression", family)
		}
	}
}

func TestABenchmarkIsNoTest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"func BenchmarkA(b *testing.B) {\n\tx()\n}\nfunc TestA(t *testing.T) {\n\tx()\n}": "[true true true false false false]",
		"func BenchmarkA(t *testing.T) {\n\tx()\n}":                                       "[false false false]",
		"func (s *S) BenchmarkA(b *testing.B) {\n}":                                       "[false false]",
		"func BenchmarkA(b *testing.B) { }; func TestA(t *testing.T) {\n\tx()":            "[false false]",
		"func BenchmarkA(b *testing.B) {\n} ; func (S) TestA(t *testing.T) {\n\tx()":      "[true false false]",
		"func BenchmarkA(b *testing.B) {\n\tb.Run(x, func(b *testing.B) {\n\t\tx()":       "[true true true]",
		"func TestA(t *testing.T) {\n/*\nfunc BenchmarkA(b *testing.B) {\n*/\n\tx()":      "[false false false false false]",
		"func TestA(t *testing.T) {\n\t_ = `\nfunc BenchmarkA(b *testing.B) {\n`\n\tx()":  "[false false false false false]",
		"": "[]",
	} {
		lines := lang.Named("go").Lex(text)
		measures := Measures(lang.Go, lines)
		got := make([]bool, len(lines))
		for i := range lines {
			got[i] = measures(i)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
		if len(lines) > 0 && Measures(lang.Python, lines)(0) {
			t.Errorf("%q measures in Python", text)
		}
	}
}

// skip is in two parts, since no test of this repository may be skipped.
const skip = "t.Ski" + "p"

func TestASkipElsewhereDependsOnTheVersionOrTheSystemAlone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"@skipIf(version_info >= (3, 14), 'in 3.14+ this is a SyntaxError')":                true,
		"@unittest.skipUnless(sys.version_info > (3, 9), \"old\")":                          true,
		"    @pytest.mark.skipif(sys.platform == 'win32', reason='no fork',)":               true,
		"@pytest.mark.skipif(sys.implementation.name != 'cpython', reason='slow')":          true,
		"@pytest.mark.skipif(sys.version_info >= (3, 8))":                                   true,
		"@pytest.mark.skipif(sys.version_info >= (3, 8) or True, reason='')":                false,
		"@pytest.mark.skipif(sys.version_info >= MIN, reason='')":                           false,
		"@pytest.mark.skipif(os.environ.get('CI'), reason='')":                              false,
		"@pytest.mark.skipif(\n    sys.platform == 'win32',\n    reason='no fork',\n)":      true,
		"@pytest.mark.skipif(\n    sys.platform == 'win32' or x,\n    reason='no fork',\n)": false,
		"@skipIf(True, 'later')":                  false,
		"@pytest.mark.skip(reason='later')":       false,
		"@skipIf(version_info >= (3, 14), why())": false,
		"@skipIf(version_info >= (3, 14), 'a'); pytestmark = pytest.mark.skipif(x, reason='b')": false,
	} {
		lines := lang.Named("python").Lex(text)
		if got := SkipsElsewhere(lang.Python, lines, 0); got != want {
			t.Errorf("%s: %v", text, got)
		}
		if SkipsElsewhere(lang.Script, lines, 0) {
			t.Errorf("%s is one of another language", text)
		}
	}
	for _, c := range []struct {
		language, text string // the last line is asked about
		want           bool
	}{
		{"go", "if runtime.GOOS == \"windows\" {\n\t" + skip + "(\"no links\")", true},
		{"go", "if runtime.GOOS == \"windows\" || runtime.GOARCH != \"amd64\" {\n\t" + skip + "f(\"no %s\", x)", true},
		{"go", "if runtime.GOOS == \"windows\" || true {\n\t" + skip + "(\"no links\")", false},
		{"go", "if testing.Short() {\n\t" + skip + "(\"slow\")", true},
		{"go", "if n > 1000 && testing.Short() {\n\t" + skip + "(\"slow\")", true},
		{"go", "if n > 1000 || testing.Short() {\n\t" + skip + "(\"slow\")", false},
		{"go", "if !testing.Short() {\n\t" + skip + "(\"slow\")", false},
		{"go", "if runtime.GOOS == name() {\n\t" + skip + "(\"no links\")", false},
		{"go", skip + "(\"later\")", false},
		{"go", "if runtime.GOOS == \"windows\" {\n\t" + skip + "(why())", false},
		{"python", "if sys.platform == 'win32':\n    pytest.skip('no fork')", true},
		{"python", "if x:\n    pytest.skip('no fork')", false},
		{"python", "if sys.platform == 'win32' or 1:\n    pytest.skip('no fork')", false},
		{"javascript", "it.skipIf(process.platform === 'win32')('links', () => {", true},
		{"javascript", "test.concurrent.runIf(process.platform !== \"win32\")('links', () => {", true},
		{"javascript", "it.skipIf(process.platform === 'win32' || x)('links', () => {", false},
		{"javascript", "it.skipIf(process.platform === 'win32')('links', f); it.only('x', g);", false},
		{"javascript", "it.skipIf(process.env.CI)('links', () => {", false},
		{"javascript", "const it2 = process.platform === 'win32' ? it.skip : it;", true},
		{"javascript", "const it2 = process.env.CI ? it.skip : it;", false},
		{"javascript", "it.skip('links', () => {", false},
		{"javascript", "if (process.platform === 'win32') {\n  this.skip();", true},
		{"javascript", "if (process.platform === 'win32') return t.skip('no links');", true},
		{"javascript", "if (slow) {\n  this.skip();", false},
		{"typescript", "describe.skipIf(process.arch === `arm64`)('links', () => {", true},
	} {
		lines := lang.Named(c.language).Lex(c.text)
		if got := SkipsElsewhere(lang.Named(c.language).Family, lines, len(lines)-1); got != c.want {
			t.Errorf("%s: %v; %q", c.text, got, lines[len(lines)-1].Code)
		}
	}
}
