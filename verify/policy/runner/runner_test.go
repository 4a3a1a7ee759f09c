package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace/lang"
)

// written has a file name for each family that has rows.
var written = map[lang.Family]string{lang.Python: "a.py", lang.Go: "a.go", lang.Script: "a.ts"}

// lex splits a text of a family into lines.
func lex(family lang.Family, text string) []lang.Line {
	return lang.ByExtension(written[family]).Lex(text)
}

// whats lists what a text does, each sentence once.
func whats(family lang.Family, text string) []string { return whatsOf(family, lex(family, text)) }

// whatsOf lists what lines do, each sentence once.
func whatsOf(family lang.Family, lines []lang.Line) (found []string) {
	for _, r := range Rows(family) {
		if slices.ContainsFunc(lines, r.Found) {
			found = append(found, r.What)
		}
	}
	return found
}

func TestEachFamilyHasEachSentenceOnce(t *testing.T) {
	t.Parallel()
	want := []string{asks, boxed, reaches, ends, inspects, replaces, evals, beyond}
	total := 0
	for family := range written {
		var got []string
		for _, r := range Rows(family) {
			got = append(got, r.What)
			if r.Helpers != (r.What == reaches) || r.code == nil && r.text == nil {
				t.Errorf("%s: %s", family, r.What)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", family, got)
		}
		total += len(got)
	}
	if total != len(table) {
		t.Errorf("%d of %d rows", total, len(table))
	}
	for _, family := range []lang.Family{"", lang.Rust, lang.Shell, "other"} {
		if got := Rows(family); len(got) != 0 {
			t.Errorf("%q has rows", family)
		}
	}
	clear(Rows(lang.Go)) // the caller owns the list
	if len(Rows(lang.Go)) != len(want) {
		t.Error("the table is not as it was")
	}
}

func TestOnlyCodeIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		family lang.Family
		text   string
		want   string
	}{
		{lang.Python, "os . _exit (0)", ends},
		{lang.Python, "\t\tos._exit(0)  # it is over", ends},
		{lang.Python, "x = 1; os.abort(); y = 2", ends},
		{lang.Python, "s = f\"{os._exit(0)}\"", ""},
		{lang.Python, "# os._exit(0)", ""},
		{lang.Python, "x = 1  # os._exit(0)", ""},
		{lang.Python, "s = 'os._exit(0)'", ""},
		{lang.Python, "\"\"\"\nos._exit(0)\n\"\"\"", ""},
		{lang.Python, "import os, pytest_like", ""},
		{lang.Python, "from unittest.mock import Mock", ""},
		{lang.Python, "sys.exit == f", ""},
		{lang.Python, "os.environ == x", ""},
		{lang.Python, "setattr(sys, 'exit', f)", replaces},
		{lang.Python, "оs._exit(0)", ends}, // its first letter is Cyrillic
		{lang.Go, "//go:linkname fail testing.(*common).Fail", beyond},
		{lang.Go, " //go:linkname fail testing.(*common).Fail", ""},
		{lang.Go, "// go:linkname fail testing.(*common).Fail", ""},
		{lang.Go, "//go:noinline", ""},
		{lang.Go, "/* testing.Testing() */", ""},
		{lang.Go, "s := `testing.Testing()`", ""},
		{lang.Go, "import t \"testing\"", reaches},
		{lang.Go, "\t_ \"testing/internal/testdeps\"", reaches},
		{lang.Go, "\t\"testing/fstest\"", ""},
		{lang.Go, "os.Args == nil", ""},
		{lang.Go, "if testing.Testing() { syscall.Exit(0) }", asks + ", " + ends},
		{lang.Script, "process['exit'] = f", ends},
		{lang.Script, "process.exit == f", ""},
		{lang.Script, "process.exit => f", ""},
		{lang.Script, "import('vitest')", reaches},
		{lang.Script, "import { x } from \"chai\";", reaches},
		{lang.Script, "import x from './mocha';", ""},
		{lang.Script, "// require('vitest')", ""},
		{lang.Script, "/* process.abort() */ x()", ""},
		{lang.Script, "x() /* a\nprocess.abort()\n*/", ""},
		{lang.Script, "process.abort() // it is over", ends},
		{lang.Script, "", ""},
	} {
		if got := strings.Join(whats(c.family, c.text+"\n"), ", "); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.family, c.text, got, c.want)
		}
	}
}

func TestATextAsAWholeIsFoundWithCommentsAndStrings(t *testing.T) {
	t.Parallel()
	for _, r := range Rows(lang.Python) {
		text := []byte("x = 1\n# import pytest\n'''\nimport pytest\n'''\n")
		if got := r.In(text); got != (r.What == reaches) {
			t.Errorf("%s: %v", r.What, got)
		}
		if r.In(nil) || r.In([]byte("\xff\xfe\x00")) || r.Found(lang.Line{}) || r.In([]byte(strings.Repeat("(", 1<<16))) {
			t.Errorf("%s is found in nothing", r.What)
		}
	}
}

// equalLines lists the lines on which a text makes a value that is equal to anything.
func equalLines(t *testing.T, family lang.Family, text string) string {
	t.Helper()
	at, what := EqualsAnything(family, lex(family, text))
	if what != equals {
		t.Errorf("%q", what)
	}
	return fmt.Sprint(at)
}

func TestWhatIsEqualToAnythingIsFoundWhereItBegins(t *testing.T) {
	t.Parallel()
	const head = "def __eq__(self, other):\n"
	for text, want := range map[string]string{
		head + "    return True\n":                                              "[0]",
		head + "    return not (False);\n":                                      "[0]",
		head + "    return bool(1)\n":                                           "[0]",
		head + "\n\n    # why\n    pass\n    return True\n":                     "[0]",
		head + "    '''Compare.\n\n    With all.\n    '''\n    return True\n":   "[0]",
		head + "    ...\n    return True\n":                                     "[0]",
		head + strings.Repeat("    # why\n", farthest-1) + "    return True\n":  "[0]",
		head + strings.Repeat("    # why\n", longestBody) + "    return True\n": "[]",
		head:                                    "[]",
		head + "    return other is not None\n": "[]",
		head + "    return True and self.x == other.x\n":                                                                   "[]",
		head + "    return 'True'\n":                                                                                       "[0]",
		head + "    ok = True\n    return ok\n":                                                                            "[0]",
		head + "    return self is self\n":                                                                                 "[0]",
		head + "    return not None\n":                                                                                     "[0]",
		head + "    return isinstance(other, object)\n":                                                                    "[0]",
		head + "    del other\n    return other == other\n":                                                                "[0]",
		head + "    return NotImplemented\n":                                                                               "[]",
		head + "    raise TypeError\n":                                                                                     "[]",
		head + "    log(self)\n    return same(self, other)\n":                                                             "[]",
		"def __eq__(self, *args):\n    return self.x\n":                                                                    "[0]",
		"def __eq__(self, /, other): return self.x == other.x\n":                                                           "[]",
		"def __eq__(self, /, other): return self.x\n":                                                                      "[0]",
		"class A:\n    __eq__ = always\n":                                                                                  "[1]",
		"class A:\n    __ne__ = object.__ne__\n":                                                                           "[]",
		"A = type('A', (int,), dict(__eq__=lambda *_: True))\n":                                                            "[0]",
		"def __eq__(\n    self,\n    other: object,\n) -> bool:\n    return True\n":                                        "[0]",
		"def __eq__(\n    self, other,  # any\n): return True\n":                                                           "[0]",
		"def __eq__(\n    self,\n    other,\n):\n    return self.x == other.x\n":                                           "[]",
		"def __eq__(\n    self,\n    other,\n":                                                                             "[]",
		"def f(\n    self,\n):\n    return True\n":                                                                         "[]",
		"x = 1\n" + head + "    return 1\n\n\nasync def __ge__(a, b) -> 'bool': return 0\n":                                "[1 5]",
		"def __eq__(self, other):\n    return isinstance(other, int)\n":                                                    "[0]",
		"def __eq__(self, other):\n    return isinstance(other, (int, float)) and self > 0\n":                              "[0]",
		"def __eq__(self, other):\n    return type(other) is int\n":                                                        "[0]",
		"def __eq__(self, other):\n    return type(other) in (int, str)\n":                                                 "[0]",
		"def __eq__(self, other):\n    return hasattr(other, 'real')\n":                                                    "[0]",
		"def __eq__(self, other):\n    return isinstance(other, self.__class__)\n":                                         "[]",
		"def __eq__(self, other):\n    return type(self) is type(other)\n":                                                 "[]",
		"def __eq__(self, other):\n    return isinstance(other, int) and self.x == other\n":                                "[]",
		"def __eq__(self, other):\n    return type(other)(self) == 1\n":                                                    "[]",
		"def __eq__(self, other):\n    if not isinstance(other, str):\n        return NotImplemented\n    return self.x\n": "[]",
		"def __eq__(self, other): return True  # as it is\n":                                                               "[0]",
		"'''\n" + head + "    return True\n'''\n":                                                                          "[]",
		"s = '__eq__ = lambda a, b: True'\n":                                                                               "[]",
		"ns = {'__lt__': lambda *a: not False}\n":                                                                          "[0]",
		"assert x == mock . ANY\n":                                                                                         "[0]",
		"from unittest.mock import (ANY)  # mock.ANY\n":                                                                    "[0]",
		"x = 1  # mock.ANY\n":                                                                                              "[]",
		"def __equal__(self, other):\n    return True\n":                                                                   "[]",
	} {
		if got := equalLines(t, lang.Python, text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"const p = { asymmetricMatch() { return true } };\n":                                                 "[0]",
		"const p = {\n  asymmetricMatch(\n    other: unknown,\n  ): boolean {\n    return true;\n  },\n};\n": "[1]",
		"const p = {\n  asymmetricMatch(\n    other,\n  ) {\n    return other === 1;\n  },\n};\n":            "[]",
		"const p = { ['asymmetricMatch'](o) {\n  // why\n  return !!1;\n} };\n":                              "[0]",
		"const p = { asymmetricMatch: (o) => { return o > 1; } };\n":                                         "[]",
		"// asymmetricMatch() { return true }\n":                                                             "[]",
		"expect.any(Number);\nexpect . anything();\nexpect.anywhere();\n":                                    "[0 1]",
		"": "[]",
	} {
		if got := equalLines(t, lang.Script, text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"func (p P) Equal(o P) bool { return true }\n":              "[0]",
		"func (e *E) Is(target error) bool {\n\treturn true\n}\n":   "[0]",
		"func (e *E) Is(target error) bool {\n\treturn e == t\n}\n": "[]",
		"func Equal(a, b any) bool { return true }\n":               "[]",
		"func (p P) Less(o P) bool { return true }\n":               "[]",
	} {
		if got := equalLines(t, lang.Go, text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if at, _ := EqualsAnything(lang.Shell, lang.ByExtension("a.sh").Lex("equal() { return 0; }\n")); at != nil {
		t.Errorf("a family without such operators has them at %v", at)
	}
}

// replacedLines lists the lines on which a text replaces functions of its language.
func replacedLines(t *testing.T, family lang.Family, text string) string {
	t.Helper()
	at, what := Replaced(family, lex(family, text))
	if what != replaces {
		t.Errorf("%q", what)
	}
	return fmt.Sprint(at)
}

func TestWhatTheLanguageHasIsNotReplaced(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"import json\njson.loads = f\n":                                                                                       "[1]",
		"import json as j\nsetattr(j, 'loads', f)\n":                                                                          "[1]",
		"import os as system\nsystem.listdir = f\n":                                                                           "[1]",
		"import builtins as b\nb.sum = f\n":                                                                                   "[1]",
		"import math, random as r\nr.random, x = f, 1\nmath.pi = 3\n":                                                         "[1 2]",
		"import xml.etree.ElementTree as E\nE.parse = f\n":                                                                    "[1]",
		"import json\ndef f():\n    json.decoder.scan = f\n":                                                                  "[2]",
		"import json\n(json.loads,) = [f]\n":                                                                                  "[1]",
		"import json\n[\n    json.loads,\n    x,\n] = f, 1\n":                                                                 "[1]",
		"import json, math\nfor math.floor in [f]: pass\nwith g() as json.loads: pass\ndel json.dumps\n":                      "[1 2 3]",
		"import json\nx = json.loads = f\nif x: json.dumps = f\njson.loads: Any = f\n":                                        "[1 2 3]",
		"import json\nx = f(y, json.loads, key=1)\nx[json.loads] = 1\nf(json.loads).y = 2\n":                                  "[]",
		"import json\nx = f(\n    y,\n    type=json.loads, key=json.dumps,\n)\n":                                              "[]",
		"import math\nfor x in math.pi, math.e: pass\nwith f(math.pi) as x: pass\nx = [math.pi for y in z]\ndel x[math.pi]\n": "[]",
		"import json\nf = lambda s: json.loads\nd = {json.loads: 1}\nassert x == json.loads\nx: json.JSONDecoder = y\n":       "[]",
		"import json\nif json.loads == f: pass\nx = json.loads\njson = 1\n":                                                   "[]",
		"import json\n# json.loads = f\ns = 'json.loads = f'\n":                                                               "[]",
		"import stock\nstock.count = 1\n":                                                                                     "[]",
		"from json import loads\nloads.x = 1\n":                                                                               "[]",
		"json.loads = f\n":                                                                                                    "[]",
		"import json\nself.json.loads = f\n":                                                                                  "[]",
		"import logging\nlog = logging.getLogger()\nlog.level = logging.INFO\n":                                               "[]",
		"\"\"\"\nimport json\njson.loads = f\n\"\"\"\n":                                                                       "[]",
	} {
		if got := replacedLines(t, lang.Python, text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"import a from 'node:assert';\na.equal = () => {};\n":                                                                               "[1]",
		"import a from 'node:assert';\n[a.equal] = [f];\n({ x: a.ok, ...a.y } = z);\nfor (a.x of b) {}\n":                                   "[1 2 3]",
		"import a from 'node:assert';\n[a['equal']] = [f];\ndelete a.ok;\na.x ||= f;\n":                                                     "[1 2 3]",
		"import fs from 'fs';\nfunction f({ x }: { x?: fs.Stats } = {}) {}\nclass A<T extends { x: fs.Stats } = B> {}\n":                    "[]",
		"import fs from 'fs';\nconst { x = fs.read } = y;\nz[fs.x] = 1;\nconst d = { fs: fs.x }, e = [fs.y];\nfor (const k of fs.all) {}\n": "[]",
		"import * as util from 'util';\nutil['isDeepStrictEqual'] = f;\n":                                                                   "[1]",
		"const a = require('assert').strict;\nObject.assign(a, { equal() {} });\n":                                                          "[1]",
		"const fs = require(\"fs\");\nReflect.set(fs, 'readFileSync', f);\n":                                                                "[1]",
		"import fs, { readFile } from 'fs';\nObject.defineProperty(fs, 'x', {});\n":                                                         "[1]",
		"import process from 'node:process';\nprocess.exitCode = 1;\n":                                                                      "[]",
		"import assert from 'node:assert';\nassert.equal(a, b);\nif (assert.x === 1) f();\n":                                                "[]",
		"import assert from 'node:assert';\n// assert.equal = f;\n":                                                                         "[]",
		"import chalk from 'chalk';\nchalk.level = 0;\n":                                                                                    "[]",
		"import fs from 'fs';\nthis.fs.promises = f;\n":                                                                                     "[]",
		"import type fs from 'fs';\nlet type = {}; type.x = 1;\n":                                                                           "[]",
	} {
		if got := replacedLines(t, lang.Script, text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := replacedLines(t, lang.Go, "package a\n"); got != "[]" {
		t.Error(got)
	}
}
