package verify

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox/guest"
	"agent/verify/boxtest"
	"agent/verify/check"
	"agent/verify/crash"
)

// What runtimes wrote, recorded.
const (
	crashRejected = `/work/rej.js:1
async function f(){ throw new RangeError("no 1"); }
                          ^

RangeError: no 1
    at f (/work/rej.js:1:27)
    at node:internal/main/run_main_module:28:49

Node.js v20.20.2
`
	crashReason = `node:internal/process/promises:389
      new UnhandledPromiseRejection(reason);
      ^

UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block. The promise rejected with the reason "plain".
    at throwUnhandledRejectionsMode (node:internal/process/promises:389:7) {
  code: 'ERR_UNHANDLED_REJECTION'
}

Node.js v20.20.2
`
	crashObject = `
/work/obj.js:1
throw {a: 1}
^
{ a: 1 }

Node.js v20.20.2
`
	crashModule = `file:///work/a.mjs:1
import {x} from './b.mjs'; x;
        ^
SyntaxError: The requested module './b.mjs' does not provide an export named 'x'
    at ModuleJob._instantiate (node:internal/modules/esm/module_job:213:21)

Node.js v20.20.2
`
	crashImport = `node:internal/modules/esm/resolve:283
    throw new ERR_MODULE_NOT_FOUND(
          ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/work/c.mjs' imported from /work/d.mjs
    at finalizeResolution (node:internal/modules/esm/resolve:283:11) {
  code: 'ERR_MODULE_NOT_FOUND',
  url: 'file:///work/c.mjs'
}

Node.js v20.20.2
`
	crashRequire = `node:internal/modules/cjs/loader:1210
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
	crashGo = `panic: runtime error: index out of range [5] with length 1

goroutine 1 [running]:
slices.Insert(...)
	/usr/lib/go-1.26/src/slices/slices.go:133 +0x1
main.at(...)
	/work/p.go:3
main.main()
	/work/p.go:4 +0xa
exit status 2
`
	crashDeadlock = `fatal error: all goroutines are asleep - deadlock!

goroutine 1 [chan receive]:
main.main()
	/work/dl.go:2 +0x25
`
	crashThread = `Exception in thread Thread-1 (f):
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
	crashTask = `Task exception was never retrieved
future: <Task finished name='Task-2' coro=<m.<locals>.g() done, defined at /work/th.py:11> exception=OSError('task')>
Traceback (most recent call last):
  File "/work/th.py", line 11, in g
    async def g(): raise OSError("task")
                   ^^^^^^^^^^^^^^^^^^^^^
OSError: task
`
	crashChild = `Process Process-1:
Traceback (most recent call last):
  File "/work/th.py", line 4, in f
    {}["k"]
KeyError: 'k'
`
	crashUnparsed = `  File "/work/se.py", line 1
    def f(:
          ^
SyntaxError: invalid syntax
`
	crashCut    = "Traceback (most recent call last):\n  File \"/work/a.py\", line 3, in run\n"
	crashOwn    = crashCut + "shop.Closed: at night\n"
	crashLogged = "ERROR:root:no answer\n" + crashOwn + "INFO:root:goes on\n"
)

func TestCrashReportsAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []check.Finding
	}{
		{"python", string(boxtest.Golden(t, "crash-python.txt")), []check.Finding{
			{File: "crash.py", Line: 6, Rule: "json.decoder.JSONDecodeError", Message: "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
			{File: "crash.py", Line: 8, Rule: "RuntimeError", Message: "RuntimeError: no configuration at 0x7f12"},
		}},
		{"python's own exception", crashOwn, []check.Finding{{File: "a.py", Line: 3, Rule: "shop.Closed", Message: "shop.Closed: at night"}}},
		{"python, cut off", crashCut, []check.Finding{{File: "a.py", Line: 3, Rule: "traceback", Message: "Traceback (most recent call last):"}}},
		{"python that does not parse", crashUnparsed, []check.Finding{{File: "se.py", Line: 1, Rule: "SyntaxError", Message: "SyntaxError: invalid syntax"}}},
		{"python's thread", crashThread, []check.Finding{
			{File: "th.py", Line: 4, Rule: "KeyError", Message: "KeyError: 'k'"}, {File: "th.py", Line: 6, Rule: "ValueError", Message: "ValueError: second"},
		}},
		{"python's task", crashTask, []check.Finding{{File: "th.py", Line: 11, Rule: "OSError", Message: "OSError: task"}}},
		{"node", string(boxtest.Golden(t, "crash-node.txt")), []check.Finding{{File: "crash.js", Line: 2, Rule: "TypeError", Message: "TypeError: planted 42"}}},
		{"node, a rejection", crashRejected, []check.Finding{{File: "rej.js", Line: 1, Rule: "RangeError", Message: "RangeError: no 1"}}},
		{"node, a reason", crashReason, []check.Finding{{Rule: "uncaught", Message: "UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block. The promise rejected with the reason \"plain\"."}}},
		{"node, an object", crashObject, []check.Finding{{File: "obj.js", Line: 1, Rule: "uncaught", Message: "{ a: 1 }"}}},
		{"node, no such export", crashModule, []check.Finding{{File: "a.mjs", Line: 1, Rule: "SyntaxError", Message: "SyntaxError: The requested module './b.mjs' does not provide an export named 'x'"}}},
		{"node, no such module", crashImport, []check.Finding{{File: "d.mjs", Rule: "Error [ERR_MODULE_NOT_FOUND]", Message: "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/work/c.mjs' imported from /work/d.mjs"}}},
		{"node, nothing to require", crashRequire, []check.Finding{{File: "req.js", Line: 1, Rule: "Error", Message: "Error: Cannot find module './nowhere'"}}},
		{"go", crashGo, []check.Finding{{File: "p.go", Line: 3, Rule: "panic", Message: "panic: runtime error: index out of range [5] with length 1"}}},
		{"go, a deadlock", crashDeadlock, []check.Finding{{File: "dl.go", Line: 2, Rule: "fatal error", Message: "fatal error: all goroutines are asleep - deadlock!"}}},
		{"two", crashRejected + crashOwn, []check.Finding{
			{File: "rej.js", Line: 1, Rule: "RangeError", Message: "RangeError: no 1"}, {File: "a.py", Line: 3, Rule: "shop.Closed", Message: "shop.Closed: at night"},
		}},
		{"help text", "usage: tool [-h]\n  --strict   Error: is shown for each\nINFO no Error: here\nErrors are listed below\nError: is what it says then\npanic: is another word\nNode.js v20.1.0 or newer\nTypeError: of a log\n", nil},
	} {
		var got []check.Finding
		for _, r := range crash.Find(c.text) {
			got = append(got, r.Finding)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestOnlyTheRuntimesLastWordIsACrash(t *testing.T) {
	t.Parallel()
	runs := guest.Result{TimedOut: true, Exit: -1, Signal: "SIGTERM"}
	for name, c := range map[string]struct {
		res  guest.Result
		text string
		want string // the crashes, "" for none
	}{
		"uncaught":                      {guest.Result{Exit: 1}, crashOwn, "shop.Closed: at night"},
		"a chain":                       {guest.Result{Exit: 1}, string(boxtest.Golden(t, "crash-python.txt")), "RuntimeError: no configuration at N"},
		"node":                          {guest.Result{Exit: 1}, crashRequire, "Error: Cannot find module './nowhere'"},
		"go":                            {guest.Result{Exit: 2}, crashGo, "panic: runtime error: index out of range [N] with length N"},
		"a signal after it":             {guest.Result{Exit: -1, Signal: "SIGABRT"}, crashOwn, "shop.Closed: at night"},
		"words at the exit":             {guest.Result{Exit: 1}, crashOwn + strings.Repeat("bye\n", crash.MaxAfter), "shop.Closed: at night"},
		"caught, and much later an end": {guest.Result{Exit: 1}, crashOwn + strings.Repeat("on\n", crash.MaxAfter+1), ""},
		"caught, then a crash":          {guest.Result{Exit: 1}, crashLogged + crashUnparsed, "SyntaxError: invalid syntax"},
		"logged, and ended well":        {guest.Result{}, crashLogged, ""},
		"logged by a server":            {runs, crashLogged, ""},
		"a thread of a server":          {runs, crashThread + "GET / 200\n", "KeyError: 'k' ValueError: second"},
		"a task":                        {guest.Result{}, crashTask, "OSError: task"},
		"a child":                       {runs, crashChild, "KeyError: 'k'"},
		"a thread, then the program":    {guest.Result{Exit: 1}, crashOwn + crashTask, "shop.Closed: at night OSError: task"},
	} {
		c.res.Stderr.Head = []byte(c.text)
		if got := strings.Join(readEnding(c.res).Crashes, " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
