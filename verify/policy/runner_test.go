package policy

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
)

// heldBy lists the paths that runnerHolds holds in a changeset to a workspace of files.
func heldBy(t *testing.T, tree files, cs workspace.Changeset) (paths []string) {
	t.Helper()
	for _, h := range runnerHolds(check.OnBase(scan(t, newTree(t, tree))), cs) {
		if h.Kind != Runner || !h.Block || !strings.HasPrefix(h.Reason, "Line ") {
			t.Errorf("%+v", h)
		}
		paths = append(paths, h.Path)
	}
	return paths
}

func TestCodeThatReachesForWhatRunsItIsHeld(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{
		"stock.py": {
			"if os.environ.get('PYTEST_CURRENT_TEST'): x = 1", "if \"pytest\" in sys.modules: x = 1", "import _pytest.reports", "from unittest import TestCase", "import unittest.case",
			"import pytest", "    from _pytest import runner", "importlib.import_module('_pytest.main')", "main = sys.modules['__main__']", "open('/tmp/agent-tests.jsonl', 'w')",
			"os._exit(0)", "from os import _exit", "getattr(os, '_exit')(0)", "os.kill(os.getpid(), 9)", "os.abort()", "for o in gc.get_objects(): pass", "f = sys._getframe(1)",
			"sys.settrace(f)", "sys.addaudithook(f)", "inspect.stack()", "f.__code__ = g.__code__", "sys.meta_path.insert(0, F())", "builtins.compile = f", "sys.exit = f", "os.listdir = f",
			"setattr(builtins, 'x', f)", "os.readlink('/proc/self/fd/3')",
			"os.execv('/bin/true', ['true'])", "from os import execvp", "import posix", "os.killpg(0, 9)", "signal.pthread_kill(x, 9)",
			"getattr(os, '_' + 'exit')(0)", "getattr(os, name)(0)", "vars(os)['_exit'](0)", "os.__dict__['_exit'](0)", "sys.modules['stock'] = fake", "sys.modules[__name__].__class__ = M",
			"os.dup2(a, 1)", "import json\njson.loads = f", "exec(base64.b64decode(text))", "x = eval(text)", "marshal.loads(data)", "ｅxec(text)", "os._ｅxit(0)", "ctypes.CDLL(None)._exit(0)", "from ctypes import memmove",
			"object.__subclasses__()", "().__class__.__base__.__subclasses__()", "e.__traceback__.tb_frame.f_back", "g.gi_frame", "sys._getframemodulename(1)", "list(sys.modules.values())",
			"any(k.startswith('PYTEST') for k in os.environ)", "if 'pytest' in sys.argv[0]: x = 1", "if 'pytest' in ' '.join(sys.orig_argv): x = 1", "open('/proc/' + pid + '/mem')", "open('/proc/%d/mem' % n)", "os.getppid()",
			"if os.path.exists('/.dockerenv'): x = 1", "if Path('/usr/lib/agent').exists(): x = 1", "if sys.gettrace(): x = 1", "s = traceback.format_stack()",
		},
		"stock.go": {
			"var quiet = testing.Testing()", "var f = flag.Lookup(\"test.v\")", "func init() { flag.Set(\"test.run\", \"^$\") }", "import \"testing\"", "\t\"testing\"", "const r = \"\\x16--- PASS\"",
			"func f() { syscall.Exit(0) }", "var x = syscall.Exec", "//go:linkname fail testing.fail", "func init() { os.Stdout = w }", "func init() { syscall.Dup2(3, 1) }", "func f() { syscall.Mprotect(b, 7) }",
			"func f() { testing.Main(nil, nil, nil, nil) }", "func init() { os.Args = append(os.Args, \"x\") }", "var is = strings.HasSuffix(os.Args[0], \".test\")",
			"var is = strings.Contains(os.Args[0], \".test\")", "import \"unsafe\"", "import \"C\"", "//go:linkname exit os.runtime_beforeExit", "func f() { syscall.RawSyscall(231, 0, 0, 0) }",
			"func f() { syscall.Kill(1, 9) }", "var p = unix.Getppid()", "const r = \"\\u0016--- PASS\"", "func f() { runtime.Caller(2) }", "func f() { os.NewFile(1, \"x\") }", "func f() { plugin.Open(\"x\") }",
			"func (p P) Equal(o P) bool { return true }",
			"func f() { os.Stat(\"/.dockerenv\") }", "func f() { os.Stat(`/run/.containerenv`) }", "var is = strings.Contains(string(debug.Stack()), \"_test.go\")",
		},
		"stock.js": {
			"if (process.env.NODE_TEST_CONTEXT) x = 1;", "const quiet = process.env.VITEST_WORKER_ID;", "if (process.env.JEST_WORKER_ID) {}", "if (import.meta.vitest) {}", "import test from 'node:test';",
			"const { expect } = require('vitest');", "globalThis.expect = f;", "process.reallyExit(0);", "process.kill(process.pid);", "delete require.cache[x];", "Module._load = f;",
			"process.exit = () => {};", "assert.strictEqual = () => {};", "assert.strict.equal = f;", "Object.prototype.then = f;", "process.stdout.write = f;", "Object.defineProperty(process, 'exit', {});",
			"const i = require('node:inspector');", "Error.prepareStackTrace = f;",
			"process['reallyExit'](0);", "process['bind' + 'ing']('x');", "process[name](0);", "x = process.ppid;", "process.dlopen(m, 'x');", "import { register } from 'node:module';", "m.registerHooks({});",
			"Array.prototype.includes = () => true;", "String.prototype[Symbol.iterator] = f;", "Object.is = () => true;", "Math.floor = f;", "globalThis.setTimeout = f;", "globalThis['expect'] = f;", "syncBuiltinESMExports();",
			"eval(text);", "ev\\u0061l(text);", "process.re\\u{61}llyExit(0);", "const g = (0, eval)('this');", "new Function('return 1')();", "vm.runInThisContext('x');", "if (typeof describe === 'function') {}", "if (process.argv.includes('--test')) {}",
			"process.getBuiltinModule('assert').equal = f;", "const a = require('node:assert'); a.equal = () => {};", "fs.readFileSync('/proc/' + pid + '/mem');",
			"if (fs.existsSync('/.dockerenv')) x = 1;", "if (require.main.filename.includes('mocha')) x = 1;", "require.extensions['.js'] = f;", "Module.prototype.require = f;", "Date.now = () => 0;",
			"performance.now = f;", "util.isDeepStrictEqual = () => true;",
		},
	} {
		for _, line := range lines {
			before := map[string]string{"stock.py": "x = 0\n", "stock.go": "package stock\n", "stock.js": "let x = 0;\n"}[name]
			if got := heldBy(t, files{name: before}, modify(name, before, before+line+"\n")); !slices.Equal(got, []string{name}) {
				t.Errorf("%s %q: %v", name, line, got)
			}
		}
	}
}

func TestAReviewHoldsCodeThatReachesForWhatRunsIt(t *testing.T) {
	t.Parallel()
	base := scan(t, newTree(t, files{"stock.py": "x = 0\n"}))
	holds := Review(t.Context(), base, modify("stock.py", "x = 0\n", "import os\n\n\ndef price():\n    os._exit(0)\n"), nil, nil)
	if !slices.ContainsFunc(holds, func(h Hold) bool { return h.Kind == Runner && h.Path == "stock.py" && h.Block }) {
		t.Errorf("%+v", holds)
	}
}

func TestWhatOrdinaryProgramsDoIsNotHeld(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"cli.py":                 "import sys, os, gc, atexit, inspect\nfrom unittest.mock import Mock\n\n# see PYTEST_CURRENT_TEST and os._exit(0)\ngc.collect()\natexit.register(print)\nos.environ['A'] = 'b'\nprint(os.getpid(), inspect.signature(print), sys.modules.get(__name__), sys.stdout)\nif __name__ == \"__main__\":\n    sys.exit(print())\n",
		"ordinary.py":            "import ast, json, re, os\n\n\nclass Engine:\n    def eval(self, text):\n        return ast.literal_eval(text)\n\n    def exec(self):\n        return self.eval(getattr(os, 'name')) or frame.eval(1) or json.loads('1') or getattr(self, name)\n\n\njson_loads = {}\nmodules.update(sys.modules.get('x') or {})\nos.path.join('/proc', 'x')\nlog.exec('x')\nre.compile('x')\n",
		"ordinary.go":            "package shop\n\nimport (\n\t\"os\"\n\t\"path/filepath\"\n)\n\nvar name = filepath.Base(os.Args[0])\n\n// Equal compares.\nfunc (p P) Equal(o P) bool { return p == o }\n",
		"ordinary.js":            "import fs from 'node:fs';\nimport path from 'node:path';\nconst options = {};\noptions.eval = true;\nengine.eval('x');\nclass A { eval(x) { return x; } }\nconst mode = process.env['MODE'];\nif (typeof document === 'object') x = 1;\nMath.floor(1);\nArray.from([]);\nconst f = fs.readFileSync;\nError.stackTraceLimit = 50;\n",
		"latest.py":              "\"\"\"What pytest is.\n\nimport pytest\n\"\"\"\nimport testimony\nfrom contest import unittest_like\nsys_exit = 1\nif os.name == 'nt': pass\n",
		"cmd/shop/main.go":       "package main\n\nimport \"os\"\n\nfunc main() {\n\tif len(os.Args) == 1 || os.Stdout == nil {\n\t\tos.Exit(1) // not for testing.Testing()\n\t}\n}\n",
		"internal/testutil/a.go": "package testutil\n\nimport \"testing\"\n\nfunc Must(t *testing.T, err error) { t.Helper() }\n",
		"bin/shop.js":            "#!/usr/bin/env node\nimport process from 'node:process';\nimport assert from 'node:assert';\nassert.strictEqual(1, 1);\nif (process.exitCode === 1 || process.env.NODE_ENV === 'test') process.exit(1);\nprocess.exitCode = 2;\nprocess.on('exit', () => {});\nobj.expect = 1; test(1);\n",
		"vitest.config.ts":       "import { defineConfig } from 'vitest/config';\nexport default defineConfig({});\n",
		"conftest.py":            "import pytest\n",
		"tests/helpers.py":       "import pytest\nimport os\nos._exit(0)\n",
		"src/stock.test.js":      "import test from 'node:test';\n",
		"src/testHelpers.js":     "import { vi } from 'vitest';\n",
		"README.md":              "import pytest\n",
	} {
		if got := heldBy(t, files{"a.txt": "a\n"}, create(name, text)); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	// If the program already does so somewhere, doing it elsewhere is not new.
	plugin := files{"plugin.py": "import pytest\n\n\n@pytest.fixture\ndef f():\n    pass\n", "a.py": "x = 1\n", "tests/test_a.py": "import os\nos._exit(0)\n"}
	if got := heldBy(t, plugin, create("more.py", "from _pytest import config\n")); len(got) > 0 {
		t.Errorf("%v", got)
	}
	// What tests do says nothing about the program.
	if got := heldBy(t, plugin, create("more.py", "import os\nos._exit(0)\n")); !slices.Equal(got, []string{"more.py"}) {
		t.Errorf("%v", got)
	}
	old := "import os\nos._exit(0)\n"
	if got := heldBy(t, files{"a.py": old}, modify("a.py", old, "import os\nx = 1\nos._exit(1)\n")); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

func TestWhatIsEqualToAnythingIsHeld(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"price.py": {
			"class P(int):\n    def __eq__(self, other: object) -> bool:\n        return True\n",
			"class P:\n    def __eq__(self, other):\n        \"\"\"Compare.\"\"\"\n        # as it is\n        return True\n",
			"class P:\n    def __ne__(self, other): return False\n",
			"class P:\n    __eq__ = lambda self, other: True\n",
			"P = type(\"P\", (int,), {\"__eq__\": lambda a, b: True})\n",
			"setattr(P, \"__eq__\", lambda a, b: 1)\n",
			"from unittest.mock import ANY\n", "import unittest.mock\nx = unittest.mock.ANY\n",
			"class P:\n    def __gt__(self, other):\n        return not 0\n",
		},
		"price.js": {
			"const p = { asymmetricMatch() { return true; } };\n", "const p = { asymmetricMatch: () => true };\n", "p.asymmetricMatch = function (x) { return !0 };\n",
			"class P {\n  asymmetricMatch(other) {\n    return true;\n  }\n}\n", "const p = { $$typeof: Symbol.for('jest.asymmetricMatcher') };\n", "return expect.anything();\n",
		},
	} {
		for _, text := range texts {
			if got := heldBy(t, files{name: "x = 0\n"}, modify(name, "x = 0\n", "x = 0\n"+text)); !slices.Equal(got, []string{name}) {
				t.Errorf("%s %q: %v", name, text, got)
			}
		}
	}
}

func TestWhatComparesIsNotHeld(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"price.py":     "class P:\n    def __eq__(self, other):\n        if not isinstance(other, P):\n            return NotImplemented\n        return self.x == other.x\n\n    def __lt__(self, other):\n        return self.x < other.x\n\n    def __bool__(self):\n        return True\n\n    def __contains__(self, x):\n        return x in self.y\n\n\nANY = 1  # mock.ANY\n",
		"empty.py":     "class Nothing:\n    def __eq__(self, other):\n        return isinstance(other, Nothing)\n\n    __hash__ = None\n",
		"price.js":     "const p = { equals() { return true; }, valueOf: () => 1 };\nfunction asymmetric() { return true; }\n",
		"tests/any.py": "class Any:\n    def __eq__(self, other):\n        return True\n",
	} {
		if got := heldBy(t, files{"a.txt": "a\n"}, create(name, text)); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	// What was there before is not new.
	old := "class P:\n    def __eq__(self, other):\n        return True\n"
	if got := heldBy(t, files{"a.py": old}, modify("a.py", old, "x = 1\n"+old)); len(got) > 0 {
		t.Errorf("%v", got)
	}
}
