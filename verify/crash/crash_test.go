package crash

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

func TestCrashReportsAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []check.Finding
	}{
		{"python", string(verifytest.Golden(t, "crash-python.txt")), []check.Finding{
			{File: "crash.py", Line: 6, Rule: "json.decoder.JSONDecodeError", Message: "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
			{File: "crash.py", Line: 8, Rule: "RuntimeError", Message: "RuntimeError: no configuration at 0x7f12"},
		}},
		{"python's own exception", checktest.CrashOwn, []check.Finding{{File: "a.py", Line: 3, Rule: "shop.Closed", Message: "shop.Closed: at night"}}},
		{"python, cut off", checktest.CrashCut, []check.Finding{{File: "a.py", Line: 3, Rule: "traceback", Message: "Traceback (most recent call last):"}}},
		{"python that does not parse", checktest.CrashUnparsed, []check.Finding{{File: "se.py", Line: 1, Rule: "SyntaxError", Message: "SyntaxError: invalid syntax"}}},
		{"python's thread", checktest.CrashThread, []check.Finding{
			{File: "th.py", Line: 4, Rule: "KeyError", Message: "KeyError: 'k'"}, {File: "th.py", Line: 6, Rule: "ValueError", Message: "ValueError: second"},
		}},
		{"python's task", checktest.CrashTask, []check.Finding{{File: "th.py", Line: 11, Rule: "OSError", Message: "OSError: task"}}},
		{"node", string(verifytest.Golden(t, "crash-node.txt")), []check.Finding{{File: "crash.js", Line: 2, Rule: "TypeError", Message: "TypeError: planted 42"}}},
		{"node, a rejection", checktest.CrashRejected, []check.Finding{{File: "rej.js", Line: 1, Rule: "RangeError", Message: "RangeError: no 1"}}},
		{"node, a reason", checktest.CrashReason, []check.Finding{{Rule: "uncaught", Message: "UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block. The promise rejected with the reason \"plain\"."}}},
		{"node, an object", checktest.CrashObject, []check.Finding{{File: "obj.js", Line: 1, Rule: "uncaught", Message: "{ a: 1 }"}}},
		{"node, no such export", checktest.CrashModule, []check.Finding{{File: "a.mjs", Line: 1, Rule: "SyntaxError", Message: "SyntaxError: The requested module './b.mjs' does not provide an export named 'x'"}}},
		{"node, no such module", checktest.CrashImport, []check.Finding{{File: "d.mjs", Rule: "Error [ERR_MODULE_NOT_FOUND]", Message: "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/work/c.mjs' imported from /work/d.mjs"}}},
		{"node, nothing to require", checktest.CrashRequire, []check.Finding{{File: "req.js", Line: 1, Rule: "Error", Message: "Error: Cannot find module './nowhere'"}}},
		{"go", checktest.CrashGo, []check.Finding{{File: "p.go", Line: 3, Rule: "panic", Message: "panic: runtime error: index out of range [5] with length 1"}}},
		{"go, a deadlock", checktest.CrashDeadlock, []check.Finding{{File: "dl.go", Line: 2, Rule: "fatal error", Message: "fatal error: all goroutines are asleep - deadlock!"}}},
		{"two", checktest.CrashRejected + checktest.CrashOwn, []check.Finding{
			{File: "rej.js", Line: 1, Rule: "RangeError", Message: "RangeError: no 1"}, {File: "a.py", Line: 3, Rule: "shop.Closed", Message: "shop.Closed: at night"},
		}},
		{"help text", "usage: tool [-h]\n  --strict   Error: is shown for each\nINFO no Error: here\nErrors are listed below\nError: is what it says then\npanic: is another word\nNode.js v20.1.0 or newer\nTypeError: of a log\n", nil},
	} {
		var got []check.Finding
		for _, r := range Find(c.text) {
			got = append(got, r.Finding)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}
