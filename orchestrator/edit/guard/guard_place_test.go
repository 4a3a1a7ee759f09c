package guard

import (
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/parse"
)

// A kept import goes next to its old neighbours, however the file around it has changed.
func TestAKeptImportFindsItsPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, name, before, after, want string }{
		{
			"behind what is left of its statement", "a.py",
			"import a\nfrom m import b, c\nb, c\n", "from m import c\nimport a\nb, c\n",
			"from m import c\nfrom m import b\nimport a\nb, c\n",
		},
		{
			"behind the one above", "a.py",
			"import a\nimport b\nimport c\na, b, c\n", "import c\n\nimport a\na, b, c\n",
			"import c\n\nimport a\nimport b\na, b, c\n",
		},
		{
			"before the one below", "a.py",
			"import a\nimport b\na, b\n", "x = 1\nimport b\na, b\n",
			"x = 1\nimport a\nimport b\na, b\n",
		},
		{
			"behind a directive", "a.js",
			"'use client';\nimport a from 'a'\na()\n", "'use client';\na()\n",
			"'use client';\nimport a from 'a'\na()\n",
		},
		{
			"from several lines, as one", "a.py",
			"from m import (\n    a,\n)\na()\n", "a()\n",
			"from m import a\na()\n",
		},
		{
			"with the line ends of the file", "a.js",
			"import a from 'a'\r\nimport b from 'b'\r\na(b)\r\n", "import a from 'a'\r\na(b)\r\n",
			"import a from 'a'\r\nimport b from 'b'\r\na(b)\r\n",
		},
		{
			"in the order of a list", "a.go",
			"package a\n\nimport (\n\t\"b\"\n\t\"c\"\n)\n\nvar _ = b.B + c.C + d.D\n", "package a\n\nimport (\n\t\"a\"\n\t\"d\"\n)\n\nvar _ = b.B + c.C + d.D\n",
			"package a\n\nimport (\n\t\"a\"\n\t\"b\"\n\t\"c\"\n\t\"d\"\n)\n\nvar _ = b.B + c.C + d.D\n",
		},
		{
			"behind the last without a list", "a.go",
			"package a\n\nimport \"b\"\nimport \"c\"\n\nvar _ = b.B + c.C\n", "package a\n\nimport \"c\"\n\nvar _ = b.B + c.C\n",
			"package a\n\nimport \"c\"\nimport \"b\"\n\nvar _ = b.B + c.C\n",
		},
		{
			"nowhere in a list on one line", "a.go",
			"package a\n\nimport (\"b\"; \"c\")\n\nvar _ = b.B + c.C\n", "package a\n\nimport (\"c\")\n\nvar _ = b.B + c.C\n",
			"package a\n\nimport (\"c\")\n\nvar _ = b.B + c.C\n",
		},
	} {
		got, kept := KeepImports(c.name, c.before, c.after)
		if got != c.want || (got != c.after) != (len(kept) > 0) {
			t.Errorf("%s: kept %q in\n%s\nwant\n%s", c.what, kept, got, c.want)
		}
	}
}

func TestALineIsInsertedAtAnyPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		at   int
		want string
	}{
		{"a\nb\n", 0, "x\na\nb\n"},
		{"a\nb\n", 1, "a\nx\nb\n"},
		{"a\nb\n", 2, "a\nb\nx\n"},
		{"a\nb", 2, "a\nb\nx"},
		{"a\r\nb", 2, "a\r\nb\r\nx"},
	} {
		if got := insert(document.New("", []byte(c.text)), c.at, "x"); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.text, c.at, got, c.want)
		}
	}
}

func TestAnImportThatWasReplacedIsNotPutBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, after string }{
		{"a.go", "package a\n\nimport \"x/b\"\n\nvar _ = b.B\n", "package a\n\nimport \"y/b\"\n\nvar _ = b.B\n"},
		{"a.go", "package a\n\nimport \"x/b\"\n\nvar _ = b.B\n", "package a\n\nimport c \"x/b\"\n\nvar _ = b.B + c.C\n"},
		{"a.py", "from x import b\nb()\n", "from y import b\nb()\n"},
		{"a.ts", "import b from 'x'\nb()\n", "import { c as b } from 'y'\nb()\n"},
		{"a.py", "from x import open\nopen()\n", "open()\n"},
		{"a.py", "from x import TimeoutError\nraise TimeoutError\n", "raise TimeoutError\n"},
		{"a.py", "from x import b as zip\nzip()\n", "zip()\n"},
		{"a.js", "import fetch from 'x'\nfetch()\n", "fetch()\n"},
		{"a.ts", "import { URL } from 'url'\nnew URL('')\n", "new URL('')\n"},
	} {
		if got, kept := KeepImports(c.name, c.before, c.after); got != c.after || len(kept) > 0 {
			t.Errorf("%q: kept %q", c.after, kept)
		}
	}
}

// A file sent as a whole may drop unused definitions, but not most of them.
func TestMostOfAFileDoesNotGoUnnoticed(t *testing.T) {
	t.Parallel()
	all := []string{"def a(): ...\n", "def b(): ...\n", "def c(): ...\n", "def d(): ...\n", "def e(): ...\n", "def f(): ...\n"}
	for _, c := range []struct {
		had, keeps int
		whole      bool
		reason     string
	}{
		{6, 2, true, "4 of 6 definitions would go, def c the first"},
		{6, 3, true, ""},
		{6, 2, false, ""},
		{5, 1, true, ""},
	} {
		d := document.New("x.py", []byte(strings.Join(all[:c.had], "")))
		p := CheckDefinitions(d, []*parse.Operation{{Block: 1}}, strings.Join(all[:c.keeps], ""), c.whole, nil)
		if p == nil && c.reason != "" || p != nil && p.Reason != c.reason {
			t.Errorf("%d of %d kept, whole %v: %+v", c.keeps, c.had, c.whole, p)
		}
	}
}

func TestTheBlockThatHoldsTheDefinitionIsAtFault(t *testing.T) {
	t.Parallel()
	d := document.New("x.py", []byte("def f(): ...\nf()\n"))
	ops := []*parse.Operation{{Block: 1, Search: []string{"f()"}}, {Block: 2, Search: []string{"def f(): ..."}}}
	p := CheckDefinitions(d, ops, "f()\n", false, nil)
	if p == nil || p.Block != 2 || !strings.Contains(p.Reason, "drops `def f`, which line 1") {
		t.Errorf("%+v", p)
	}
}

func TestReceiversAreNamedByTheirType(t *testing.T) {
	t.Parallel()
	list, _ := goDefinitions("package a\n\nfunc (a A) F() {}\nfunc (a *A) G() {}\nfunc (b B[T]) H() {}\nfunc (c *C[K, V]) I() {}\nfunc init() {}\n")
	var out []string
	for _, d := range list {
		if d.plain {
			t.Errorf("%s is taken for a name of the top level", d.name)
		}
		out = append(out, d.name)
	}
	if got, want := strings.Join(out, " "), "A.F A.G B.H C.I init"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAFileThatWasBrokenIsNotJudged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before, after string
		refused       bool
	}{
		{"x = 1\n", "x = (\n", true},
		{"x = [\n", "x = (\n", false},
		{"x = [\n", "x = 1\n", false},
	} {
		p := CheckSyntax(document.New("x.py", []byte(c.before)), []*parse.Operation{{Block: 4}, {Block: 5}}, c.after)
		if (p != nil) != c.refused || p != nil && p.Block != 0 {
			t.Errorf("%q to %q: %+v", c.before, c.after, p)
		}
	}
}

func TestALineOfATextHasItsOffset(t *testing.T) {
	t.Parallel()
	for line, want := range map[int]int{0: 0, 1: 0, 2: 3, 3: 4, 4: 5, 9: 5} {
		if got := offsetOf("ab\n\n\nc", line); got != want {
			t.Errorf("line %d begins at %d, want %d", line, got, want)
		}
	}
}

func TestATemplateOfYAMLIsNotJudged(t *testing.T) {
	t.Parallel()
	for text, broken := range map[string]bool{"a: [1\n": true, "a: [1\nb: {{ .c }}\n": false, "{% if a %}\na: [1\n": false} {
		if f := yamlFault(text); (f != nil) != broken {
			t.Errorf("%q: %+v", text, f)
		}
	}
}
