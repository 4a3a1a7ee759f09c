package guard

import (
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/parse"
)

// keptOf removes the line gone from a file, and returns the imports that are put back.
func keptOf(name, before, gone string) []string {
	_, kept := KeepImports(name, before, strings.Replace(before, gone, "", 1))
	for i, k := range kept {
		kept[i] = strings.TrimSpace(k)
	}
	return kept
}

func TestImportsThatAreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, gone, want string }{
		{"a.py", "import os.path as p\nx = p.sep\n", "import os.path as p\n", "import os.path as p"},
		{"a.py", "import os.path\nx = os.sep\n", "import os.path\n", "import os.path"},
		{"a.py", "import os  # noqa\nx = os.sep\n", "import os  # noqa\n", "import os  # noqa"},
		{"a.py", "import os, re\nx = os.sep\n", ", re", ""},
		{"a.py", "import os, re\nx = os.sep\n", "os, ", "import os"},
		{"a.py", "from . import a\nx = a\n", "from . import a\n", "from . import a"},
		{"a.py", "from a import *\nx = b\n", "from a import *\n", ""},
		{"a.py", "from a import b\nfrom c import *\nx = b\n", "from a import b\n", ""},
		{"a.py", "from __future__ import annotations\nx = annotations\n", "from __future__ import annotations\n", ""},
		{"a.py", "import os; import re\nx = os\n", "import os; ", ""},
		{"a.py", "def f():\n    import os\n    return os\n", "    import os\n", ""},
		{"a.py", "import os\nx = (os\n", "import os\n", ""},
		{"a.ts", "import a, { type B, c as d } from 'e'\nlet x: B = d(a)\n", "import a, { type B, c as d } from 'e'\n", "import a from 'e'|import { type B } from 'e'|import { c as d } from 'e'"},
		{"a.ts", "import type { A } from \"b\";\nlet x: A;\n", "import type { A } from \"b\";\n", "import type { A } from \"b\";"},
		{"a.ts", "import {a,b} from 'c'\na(b)\n", "a,", "import {a} from 'c'"},
		{"a.js", "import 'a.css'\na()\n", "import 'a.css'\n", ""},
		{"a.js", "import a from './a.json' with { type: 'json' }\na()\n", "import a from './a.json' with { type: 'json' }\n", ""},
		{"a.js", "const x = await import('x')\nx()\n", "const x = await import('x')\n", ""},
		{"a.go", "package a\n\nimport \"os\"\n\nvar x = os.Args\n", "import \"os\"\n", `"os"`},
		{"a.go", "package a\n\nimport \"a.org/b/v2\"\n\nvar x = b.C\n", "import \"a.org/b/v2\"\n", `"a.org/b/v2"`},
		{"a.go", "package a\n\nimport \"a.org/go-b\"\n\nvar x = b.C\n", "import \"a.org/go-b\"\n", ""},
		{"a.go", "package a\n\nimport . \"b\"\n\nvar x = b.C\n", "import . \"b\"\n", ""},
		{"a.go", "package a\n\nimport \"C\"\n\nvar x = C.int(1)\n", "import \"C\"\n", ""},
		{"a.go", "package a\n\nimport \"os\"\n\nvar os = T{}\n\nvar x = os.Args\n", "import \"os\"\n", ""},
		{"a.go", "package a\n\nimport \"os\"\n\nvar x = os.Args(\n", "import \"os\"\n", ""},
		{"a.rb", "import os\nx = os\n", "import os\n", ""},
	} {
		if got := strings.Join(keptOf(c.name, c.before, c.gone), "|"); got != c.want {
			t.Errorf("%s %q without %q: %q, want %q", c.name, c.before, c.gone, got, c.want)
		}
	}
}

// An import is put back where it was: removing any one of the imports gives the original file.
func TestAKeptImportStandsWhereItStood(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"a.py":  "#!/usr/bin/python\n\"\"\"Doc.\n\nMore.\n\"\"\"\nfrom __future__ import annotations\nimport ab\nimport cd\nfrom ef import gh\n\nfrom .ij import kl\n\nab, cd, gh, kl\n",
		"a.tsx": "'use client'\nimport ab from 'ab'\nimport { cd } from './cd'\nimport * as ef from 'ef'\n\nab(cd, <ef.G />)\n",
		"a.go":  "package a\n\nimport (\n\t\"ab\"\n\tx \"cd\"\n\t\"ef\"\n)\n\nvar _ = ab.A + x.B + ef.C\n",
		"b.py":  "# -*- coding: utf-8 -*-\r\n\"\"\"Doc.\"\"\"\r\nimport ab\r\n\r\nab\r\n",
		"c.py":  "\ufeffimport ab\n\nab\n",
	} {
		for line := range strings.Lines(file) {
			imports := strings.HasPrefix(strings.TrimPrefix(line, lex.BOM), "import ") || strings.HasPrefix(line, "from ") || strings.HasPrefix(line, "\t")
			if !imports || strings.Contains(line, "__future__") || strings.HasSuffix(line, "(\n") {
				continue
			}
			without := strings.Replace(file, strings.TrimPrefix(line, lex.BOM), "", 1)
			got, kept := KeepImports(name, file, without)
			if len(kept) != 1 || got != file && !strings.HasPrefix(line, "from .") {
				t.Errorf("%s without %q: kept %q in\n%s", name, line, kept, got)
			}
			if again, more := KeepImports(name, file, got); again != got || len(more) > 0 {
				t.Errorf("%s without %q: put back twice", name, line)
			}
		}
	}
}

func TestDefinitionsAreListed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"a.py": {"class A:\n    @x\n    async def b(self):\n        def c(): ...\n    class D(E):\n        def f(self): ...\ndef g(): ...\ny = 1\n", "A A.b A.b.c A.D A.D.f g"},
		"a.ts": {"export const a = () => { const no = 1 };\nfunction* b() {}\nexport default class C { no() {} }\ntype D = 1; interface E {}\nexport const enum F {}\n", "a b C D E F"},
		"a.go": {"package a\n\nfunc A() {}\n\nfunc (x *B[T]) C() {}\n\ntype (\n\tB[T any] struct{}\n\tD int\n)\n", "A B.C B D"},
	} {
		list, _ := definitions(name, c.text)
		var names []string
		for _, d := range list {
			names = append(names, d.name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A definition counts as lost only if a bare name refers to it and nothing in the file binds that name.
func TestDefinitionsThatMayGo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before, after string
		refused             bool
	}{
		{"a.py", "def f(): ...\nf()\n", "f()\n", true},
		{"a.py", "def f(): ...\nf()\n", "f = g\nf()\n", false},
		{"a.py", "def f(): ...\nf()\n", "from g import f\nf()\n", false},
		{"a.py", "def f(): ...\nf()\n", "from g import *\nf()\n", false},
		{"a.py", "def f(): ...\nf()\n", "class A:\n    def f(self): ...\nf()\n", false},
		{"a.py", "def f(): ...\nf()\n", "g.f()\n", false},
		{"a.py", "class A:\n    def f(self): ...\nf()\n", "class A: ...\nf()\n", false},
		{"a.ts", "type A = 1\nlet b: A\n", "let b: A\n", true},
		{"a.ts", "type A = 1\nlet b: A\n", "import { A } from 'c'\nlet b: A\n", false},
		{"a.js", "const a = require('a')\na.b()\n", "import a from 'a'\na.b()\n", false},
		{"a.js", "const a = require('a')\na.b()\n", "import * as a from 'a'\na.b()\n", false},
		{"a.py", "def sum(a): ...\nsum(1)\n", "sum(1)\n", false},
		{"a.js", "function structuredClone() { }\nstructuredClone()\n", "structuredClone()\n", false},
		{"a.js", "const a = require('a').b\na()\n", "import { b as a } from 'a'\na()\n", false},
		{"a.ts", "const a = require('a')\na.b()\n", "import a = require('a')\na.b()\n", false},
		{"a.js", "const a = require('a')\na.b()\n", "import b from 'a'\na.b()\n", true},
		{"a.js", "const a = require('a')\na.b()\n", "import 'a'\na.b()\n", true},
		{"a.go", "package a\n\ntype A int\n\nvar b A\n", "package a\n\nvar b A\n", true},
		{"a.go", "package a\n\nfunc (x T) A() {}\n\nvar b = x.A\n", "package a\n\nvar b = x.A\n", false},
		{"a.rb", "def f\nend\nf\n", "f\n", false},
	} {
		d := document.New(c.name, []byte(c.before))
		p := CheckDefinitions(d, []*parse.Operation{{Block: 3}}, c.after, false, nil)
		if (p != nil) != c.refused || p != nil && (p.Block != 3 || !slices.Equal(p.Lines, []int{strings.Count(c.after, "\n")})) {
			t.Errorf("%s %q to %q: %+v", c.name, c.before, c.after, p)
		}
	}
}
