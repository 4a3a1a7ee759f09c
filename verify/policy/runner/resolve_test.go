package runner

import (
	"strings"
	"testing"

	"agent/sandbox/workspace/lang"
)

// resolvedWhats lists what a text does once its names are resolved, each sentence once.
func resolvedWhats(family lang.Family, text string) string {
	return strings.Join(whatsOf(family, Resolve(family, lex(family, text))), ", ")
}

// What code does is found whatever names it uses.
func TestAnotherNameHidesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		family lang.Family
		text   string
		want   string
	}{
		{lang.Python, "import os as o\no.abort()", ends},
		{lang.Python, "import re, os as o, json\no.abort()", ends},
		{lang.Python, "import os\no = os\no.abort()", ends},
		{lang.Python, "a = o = __import__('os')\no.abort()", ends},
		{lang.Python, "__import__('os')._exit(0)", ends},
		{lang.Python, "importlib.import_module('os').abort()", ends},
		{lang.Python, "from importlib import import_module\nimport_module('os').abort()", ends},
		{lang.Python, "sys.modules['os'].abort()", ends},
		{lang.Python, "sys.modules.get('os').abort()", ends},
		{lang.Python, "import sys as s\ns.modules['os']._exit(0)", ends},
		{lang.Python, "from os import (\n    _exit as leave,\n)\nleave(0)", ends},
		{lang.Python, "from os import *\nabort()", ends},
		{lang.Python, "from signal import *\nraise_signal(9)", ends},
		{lang.Python, "getattr(o, '_ex' + 'it')(0)", ends},
		{lang.Python, "getattr(o, '_ex' 'it')(0)", ends},
		{lang.Python, "import faulthandler; faulthandler._sigsegv()", ends},
		{lang.Python, "from sys import _getframe\nx = _getframe(1)", inspects},
		{lang.Python, "from sys import (settrace)\nsettrace(f)", inspects},
		{lang.Python, "from inspect import stack as s\nx = s()", inspects},
		{lang.Python, "from inspect import *\nx = stack()", inspects},
		{lang.Python, "import inspect as i\nx = i.currentframe()", inspects},
		{lang.Python, "x = traceback.extract_stack()", inspects},
		{lang.Python, "x = e.f_code.co_filename", inspects},
		{lang.Python, "if 'py' + 'test' in sys.modules: pass", asks},
		{lang.Python, "if 'py' 'test' in sys.modules: pass", asks},
		{lang.Python, "if 'conftest' in sys.modules: pass", asks},
		{lang.Python, "if os.environ.get('PYTEST' + '_CURRENT_TEST'): pass", asks},
		{lang.Python, "m = __import__('py' + 'test')", reaches},
		{lang.Python, "import ctypes as c\nc.CDLL(None)", beyond},
		{lang.Python, "from types import CodeType as C\nC(1)", evals},
		{lang.Python, "import builtins as b\nb.print = f", replaces},
		{lang.Python, "import sys\nL = sys.modules\nx = L.get('_pytest.python').Function", reaches},
		{lang.Python, "import sys\nL: dict[str, Any] = dict(sys.modules)\nx = L['pytest']", reaches},
		{lang.Python, "import sys as s\nL = s.modules\nx = L['_pytest']", reaches},
		{lang.Python, "from sys import modules as m\nL = m\nx = L['unittest']", reaches},
		{lang.Python, "L = getattr(sys, 'modules')\nx = L['pytest']", reaches},
		{lang.Python, "getattr(sys, 'mod' + 'ules')['pytest']", reaches},
		{lang.Python, "class A:\n    def f(self, m=sys.modules):\n        return m['_pytest']", reaches},
		{lang.Python, "self.all = sys.modules\nx = self.all.get('_pytest')", reaches},
		{lang.Python, "(sys.exit,) = [f]", replaces},
		{lang.Python, "for builtins.print in [f]: pass", replaces},
		{lang.Python, "with f() as os.listdir: pass", replaces},
		{lang.Python, "x = [0 for os.listdir in [f]]", replaces},
		{lang.Python, "if x: sys.exit = f", replaces},
		{lang.Script, "[JSON.parse] = [f];", replaces},
		{lang.Script, "({ a: Object.is } = x);", replaces},
		{lang.Script, "for (Math.floor of [f]) ;", replaces},
		{lang.Script, "[\n  a,\n  ...Object.is\n] = x;", replaces},
		{lang.Script, "process.exit ??= f;", replaces},
		{lang.Script, "const p = process;\np.abort()", ends},
		{lang.Script, "import * as p from 'node:process'\np.abort()", ends},
		{lang.Script, "const p = require('process')\np.abort()", ends},
		{lang.Script, "require('node:process').abort()", ends},
		{lang.Script, "const { abort: a } = process;\na()", ends},
		{lang.Script, "import { abort as a } from 'process';\na()", ends},
		{lang.Script, "p.reallyExit(0)", ends},
		{lang.Script, "const a = require('node:assert');\na.strictEqual = () => {}", replaces},
		{lang.Script, "import a from 'assert/strict';\na.ok = f", replaces},
		{lang.Script, "Object.assign(require('assert'), { ok() {} })", replaces},
		{lang.Script, "Object.assign(Array.prototype, x)", replaces},
		{lang.Script, "Object['is'] = f", replaces},
		{lang.Script, "Object.assign(Object, { is: f })", replaces},
		{lang.Script, "Reflect.set(Object, 'is', f)", replaces},
		{lang.Script, "Object.defineProperty(Object, 'is', { value: f })", replaces},
		{lang.Script, "Object.prototype.__defineGetter__.call(Object, 'is', f)", replaces},
		{lang.Script, "(0, Object).is = f", replaces},
		{lang.Script, "[].__proto__.every = f", replaces},
		{lang.Script, "[].constructor.prototype.every = f", replaces},
		{lang.Script, "({}).constructor.is = f", replaces},
		{lang.Script, "Object.getPrototypeOf([]).every = f", replaces},
		{lang.Script, "with (Object) is = f", replaces},
		{lang.Script, "enum Kind {\n  Object = 'object',\n  Array = 'array',\n}", ""},
		{lang.Script, "Dog.prototype.constructor = Dog; this.constructor.count = 1; const key = ['a', name].join('.')", ""},
		{lang.Script, "const { prototype } = Object.getPrototypeOf(a); x = Object.assign({}, Object, y)", ""},
		{lang.Script, "for (const k of Object.keys(globalThis)) globalThis[k] = f", replaces},
		{lang.Script, "global[['exp', 'ect'].join('')] = f", reaches},
		{lang.Script, "global['exp'.concat('ect')] = f", reaches},
		{lang.Script, "expect.extend({ toBe: f })", reaches},
		{lang.Python, "if ''.join(['py', 'test']) in sys.modules: pass", asks},
		{lang.Python, "m = __import__(\"t\".join((\"py\", \"est\")))", reaches},
		{lang.Script, "const O = Object;\nO.defineProperty(Promise.prototype, x)", replaces},
		{lang.Script, "Reflect.set(assert, 'ok', f)", replaces},
		{lang.Script, "Object.setPrototypeOf(assert, x)", replaces},
		{lang.Script, "const g = globalThis;\ng.Promise = f", replaces},
		{lang.Script, "if (process.env['NODE_TEST' + '_CONTEXT']) x()", asks},
		{lang.Script, "if (new Error().stack.includes('.test.')) x()", asks},
		{lang.Script, "if (process.argv[1].includes('mo' + 'cha')) x()", asks},
		{lang.Script, "if ('describe' in globalThis) x()", asks},
		{lang.Script, "globalThis['des' + 'cribe']", reaches},
		{lang.Script, "await import('node:te' + 'st')", reaches},
		{lang.Go, "import o \"os\"\no.Stdout = f", replaces},
		{lang.Go, "import s \"syscall\"\ns.Exit(0)", ends},
		{lang.Go, "\tu \"golang.org/x/sys/unix\"\nu.Kill(1, 9)", ends},
		{lang.Go, "import . \"syscall\"\nfunc f() { Exit(0) }", ends},
		{lang.Go, "if strings.HasSuffix(os.Args[0], \".te\"+\"st\") {", asks},
		{lang.Go, "bytes.Contains(debug.Stack(), []byte(\"testing.tRunner\"))", asks},
		{lang.Go, "flag.VisitAll(func(f *flag.Flag) { x = x || f.Name == \"test.v\" })", asks},
	} {
		if got := resolvedWhats(c.family, c.text+"\n"); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.family, c.text, got, c.want)
		}
	}
}

// A name that only looks like one of these, or that gets another value, is not resolved.
func TestOrdinaryNamesStayThemselves(t *testing.T) {
	t.Parallel()
	for family, texts := range map[lang.Family][]string{
		lang.Python: {
			"from os import path\npath = 'x'\nf(path='y')\nfor path in path.split(): pass",
			"import os as o\nself.o._x()\nno.abort()",
			"'''\nfrom os import *\n'''\nabort(404)",
			"from flask import abort\nabort(404)",
			"x = ''  + ''\ny = \"\"\"a\"\"\" + 'b'",
			"from sys import argv, exit\nexit(1)",
		},
		lang.Script: {
			"const { env, exit } = process;\nexit(env.CODE)",
			"import { strict as assert } from 'node:assert';\nassert.ok(x)",
			"if (error.stack && /\\n\\s{4}at /.test(error.stack)) x()",
			"const o = { ...Object };\nObject.assign({}, x)",
		},
		lang.Go: {"import x \"example.com/os/exec\"\nx.Exit(0)", "import o \"os\"\no.Exit(0)"},
	} {
		for _, text := range texts {
			if got := resolvedWhats(family, text+"\n"); got != "" {
				t.Errorf("%s %q: %q", family, text, got)
			}
		}
	}
	lines := lex(lang.Python, "import os as o\n")
	if Resolve(lang.Python, lines); lines[0].Raw != "import os as o" {
		t.Errorf("the lines given are changed: %q", lines[0].Raw)
	}
	if lines := lex(lang.Go, "x := 1\n"); len(Resolve("other", lines)) != len(lines) || len(Resolve(lang.Go, nil)) != 0 {
		t.Error("lines come or go")
	}
}

// Reading ends even with lines as long as they may be, and with as many names.
func TestHostileNamesAreReadToAnEnd(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("from os import *\n", 20_000), "from os import " + strings.Repeat("a as b, ", 1000), strings.Repeat("'' + ", 100_000), strings.Repeat("'a' 'b' ", 400),
		strings.Repeat("import os as o\no.o.o = o\n", 5_000), "const {" + strings.Repeat("a:b,", 900) + "} = process",
	} {
		for family := range written {
			lines := lex(family, text)
			if got := Resolve(family, lines); len(got) != len(lines) {
				t.Errorf("%.20q: %d lines of %d", text, len(got), len(lines))
			}
		}
	}
}
