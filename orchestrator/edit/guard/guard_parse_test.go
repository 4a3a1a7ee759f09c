package guard

import (
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

func TestSoundFilesParse(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"a.py", "if a:\n\tb\nelse:\n\tc\n"},
		{"a.py", "class A:\n  def f(self): return 1\n\n  x = [\n1,\n  2]\n"},
		{"a.py", "def f():\n    '''\ndoc\n'''\n# comment\n    return (1 +\n2)\n"},
		{"a.py", "x = 1 + \\\n        2\ny = 3\n"},
		{"a.py", "try:\n    a\nexcept B:  # why\n\n        # deep\n    c\nfinally: d\n"},
		{"a.py", "if a:\n\tb\nif c:\n    d\n"}, // tabs and spaces, each where nothing compares them
		{"a.py", ""},
		{"a.py", "x: int = {1: 2}[1:2]\nf = lambda: 0"},
		{"a.js", "const a = b => ({ c: `${b}}` });\nif (a < 1 && b > 2) { c() }\n"},
		{"a.jsx", "export default () => <A b=\"it's\" {...c}>don't {d ? <e/> : null} {/* ) */}</A>\n"},
		{"a.ts", "let f = <T,>(x: Array<T>): x is T => x as unknown as T;\n"},
		{"a.tsx", "const f = <T,>(x: T) => <b>{x}</b>;\ntype G = Map<string, Array<T>>;\n"},
		{"a.go", "package a\n"},
		{"a.json", "[1, {\"a\": null}]\n"},
		{"a.toml", "a = [1,\n2]\n[b]\nc = '''x'''\n"},
		{"a.yaml", "a: b\n---\n- c\n"},
		{"a.svg", "<?xml version=\"1.0\" encoding=\"latin1\"?>\n<a b='c'>&nbsp;</a>\n"},
		{"a.sh", "case $a in b) c ;; esac\ncat <<E\nit's (\nE\n"},
		{"a.css", "a::after { content: \"}\"; b: url(x'y) }\n"},
	} {
		if f := parserOf(c[0])(c[1]); f != nil {
			t.Errorf("%s %q: %d %s", c[0], c[1], f.At, f.Why)
		}
	}
}

func TestBrokenFilesAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		at         int
		why        string
	}{
		{"a.py", "a\n  b\n", 4, "unexpected indentation"},
		{"a.py", "if a:\nb\n", 6, "an indented block is missing"},
		{"a.py", "if a:\n    b\n  c\n", 14, "indented like no block"},
		{"a.py", "if a:\n", 6, "missing at the end"},
		{"a.py", "x = 'a\n", 4, "not closed on its line"},
		{"a.py", "x = \"\"\"a\n", 4, "never closed"},
		{"a.py", "x = f'{a'\n", 8, "not closed on its line"},
		{"a.ts", "f(() => {\n)\n", 10, `")" does not close "{" of line 1`},
		{"a.js", "x = `a", 4, "never closed"},
		{"a.jsx", "x = <a>{b", 7, "never closed"},
		{"a.css", "a { } }", 6, "closes nothing"},
		{"a.go", "package a\nfunc {", 15, "expected 'IDENT'"},
		{"a.json", "{\"a\" 1}", 5, "invalid character '1'"},
		{"a.toml", "a = 1\nb =\n", 0, ""},
		{"a.yml", "a: [1\nb: 2\n", 0, ""},
		{"a.xml", "<a></b>", 0, "element"},
		{"a.bash", "if a; then\n", 6, "then"},
	} {
		f := parserOf(c.name)(c.text)
		if f == nil || c.at > 0 && f.At != c.at || !strings.Contains(f.Why, c.why) {
			t.Errorf("%s %q: %+v, want %d %s", c.name, c.text, f, c.at, c.why)
		}
	}
}

func TestFilesWithoutAParserAreNotJudged(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.txt", "a.md", "a.rb", "a.html", "tsconfig.base.json", ".vscode/x.json", "a.scss", "Makefile"} {
		if parserOf(name) != nil {
			t.Errorf("%s is parsed", name)
		}
	}
}

// A model's text can neither crash the process nor delay it: deep nesting and long chains are read without recursion, or by parsers that
// bound it.
func TestDeepTextDoesNotEndTheProcess(t *testing.T) {
	t.Parallel()
	ends := map[string]string{".go": "package a\nvar x = "}
	for _, ext := range []string{".py", ".js", ".tsx", ".css", ".go", ".json", ".toml", ".yaml", ".xml", ".sh"} {
		for _, unit := range []string{"(", "[", "{", "<a>", "a?(b):c=>(", "`${", "f'{", "f'{a:{", "!", "if(a)", "- ", "$(", "{\"a\":", "a=[", "/", "\\"} {
			text := ends[ext] + strings.Repeat(unit, maxShell/len(unit))
			before := []byte("\n")
			if ext == ".go" {
				before = []byte("package a\n")
			}
			d := document.New("a"+ext, before)
			p := CheckSyntax(d, []*parse.Operation{{Block: 1}}, text)
			if p != nil && (p.Block != 1 || p.Kind != problem.KindRefused || len(p.Lines) != 1) {
				t.Errorf("%s, %q: %+v", ext, unit, p)
			}
			KeepImports("a"+ext, "import a\n", text)
			CheckDefinitions(d, []*parse.Operation{{Block: 1}}, text, true, nil)
		}
	}
}

func TestAPanicOfAParserIsNoObjection(t *testing.T) {
	t.Parallel()
	if f := contained(func(string) *lex.Fault { var none []int; return &lex.Fault{At: none[1]} })(""); f != nil {
		t.Errorf("%+v", f)
	}
}

func TestLargeFilesAreLeftToTheGates(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("# line\n", maxParsed/7+1) + "x = (\n"
	if p := CheckSyntax(document.New("a.py", []byte("x = 1\n")), []*parse.Operation{{Block: 1}}, text); p != nil {
		t.Errorf("%+v", p)
	}
	if p := CheckSyntax(document.New("a.py", []byte("x = 1\n")), []*parse.Operation{{Block: 1}}, text[len(text)-20:]); p == nil {
		t.Error("the same in small is not refused")
	}
}

func TestThePlaceIsALineAndAColumn(t *testing.T) {
	t.Parallel()
	d := document.New("", []byte("ab\r\nc\n\nd"))
	for at, want := range map[int]string{0: "1:1", 1: "1:2", 4: "2:1", 6: "3:1", 7: "4:1", 8: "4:2", 99: "4:2", -1: "1:1"} {
		line, column := position(d, at)
		if got := fmt.Sprintf("%d:%d", line, column); got != want {
			t.Errorf("%d: %s, want %s", at, got, want)
		}
	}
}
