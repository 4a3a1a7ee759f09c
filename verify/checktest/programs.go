package checktest

import (
	"testing"

	"agent/verify/check"
)

// Recorded output of runtimes.
const (
	CrashRejected = `/work/rej.js:1
async function f(){ throw new RangeError("no 1"); }
                          ^

RangeError: no 1
    at f (/work/rej.js:1:27)
    at node:internal/main/run_main_module:28:49

Node.js v20.20.2
`
	CrashReason = `node:internal/process/promises:389
      new UnhandledPromiseRejection(reason);
      ^

UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block. The promise rejected with the reason "plain".
    at throwUnhandledRejectionsMode (node:internal/process/promises:389:7) {
  code: 'ERR_UNHANDLED_REJECTION'
}

Node.js v20.20.2
`
	CrashObject = `
/work/obj.js:1
throw {a: 1}
^
{ a: 1 }

Node.js v20.20.2
`
	CrashModule = `file:///work/a.mjs:1
import {x} from './b.mjs'; x;
        ^
SyntaxError: The requested module './b.mjs' does not provide an export named 'x'
    at ModuleJob._instantiate (node:internal/modules/esm/module_job:213:21)

Node.js v20.20.2
`
	CrashImport = `node:internal/modules/esm/resolve:283
    throw new ERR_MODULE_NOT_FOUND(
          ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/work/c.mjs' imported from /work/d.mjs
    at finalizeResolution (node:internal/modules/esm/resolve:283:11) {
  code: 'ERR_MODULE_NOT_FOUND',
  url: 'file:///work/c.mjs'
}

Node.js v20.20.2
`
	CrashRequire = `node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module './nowhere'
Require stack:
- /work/req.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at Object.<anonymous> (/work/req.js:1:1) {
  code: 'MODULE_NOT_FOUND',
  requireStack: [ '/work/req.js' ]
}

Node.js v20.20.2
`
	CrashGo = `panic: runtime error: index out of range [5] with length 1

goroutine 1 [running]:
slices.Insert(...)
	/usr/lib/go-1.26/src/slices/slices.go:133 +0x1
main.at(...)
	/work/p.go:3
main.main()
	/work/p.go:4 +0xa
exit status 2
`
	CrashDeadlock = `fatal error: all goroutines are asleep - deadlock!

goroutine 1 [chan receive]:
main.main()
	/work/dl.go:2 +0x25
`
	CrashThread = `Exception in thread Thread-1 (f):
Traceback (most recent call last):
  File "/work/th.py", line 4, in f
    {}["k"]
    ~~^^^^^
KeyError: 'k'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/usr/lib/python3.13/threading.py", line 1045, in _bootstrap_inner
    self.run()
  File "/work/th.py", line 6, in f
    raise ValueError("second") from e
ValueError: second
`
	CrashTask = `Task exception was never retrieved
future: <Task finished name='Task-2' coro=<m.<locals>.g() done, defined at /work/th.py:11> exception=OSError('task')>
Traceback (most recent call last):
  File "/work/th.py", line 11, in g
    async def g(): raise OSError("task")
                   ^^^^^^^^^^^^^^^^^^^^^
OSError: task
`
	CrashChild = `Process Process-1:
Traceback (most recent call last):
  File "/work/th.py", line 4, in f
    {}["k"]
KeyError: 'k'
`
	CrashUnparsed = `  File "/work/se.py", line 1
    def f(:
          ^
SyntaxError: invalid syntax
`
	CrashCut    = "Traceback (most recent call last):\n  File \"/work/a.py\", line 3, in run\n"
	CrashOwn    = CrashCut + "shop.Closed: at night\n"
	CrashLogged = "ERROR:root:no answer\n" + CrashOwn + "INFO:root:goes on\n"
)

const Guard = "if __name__ == \"__main__\":\n    pass\n"

// Single returns the only finding of a gate and checks its place.
func Single(t *testing.T, g check.Gate, rule, file string, line int) check.Finding {
	t.Helper()
	if len(g.Findings) != 1 {
		t.Fatalf("gate %s has %d findings: %+v", g.Name, len(g.Findings), g.Findings)
	}
	f := g.Findings[0]
	if f.Rule != rule || f.File != file || f.Line != line {
		t.Errorf("finding %+v, want %s at %s:%d", f, rule, file, line)
	}
	return f
}
