package smoke

import (
	"strings"
	"testing"

	"agent/sandbox/guest"
	"agent/verify/checktest"
	"agent/verify/crash"
	"agent/verify/verifytest"
)

func TestOnlyTheRuntimesLastWordIsACrash(t *testing.T) {
	t.Parallel()
	runs := guest.Result{TimedOut: true, Exit: -1, Signal: "SIGTERM"}
	for name, c := range map[string]struct {
		res  guest.Result
		text string
		want string // the crashes; "" for none
	}{
		"uncaught":                      {guest.Result{Exit: 1}, checktest.CrashOwn, "shop.Closed: at night"},
		"a chain":                       {guest.Result{Exit: 1}, string(verifytest.Golden(t, "../../crash/testdata/crash-python.txt")), "RuntimeError: no configuration at N"},
		"node":                          {guest.Result{Exit: 1}, checktest.CrashRequire, "Error: Cannot find module './nowhere'"},
		"go":                            {guest.Result{Exit: 2}, checktest.CrashGo, "panic: runtime error: index out of range [N] with length N"},
		"a signal after it":             {guest.Result{Exit: -1, Signal: "SIGABRT"}, checktest.CrashOwn, "shop.Closed: at night"},
		"words at the exit":             {guest.Result{Exit: 1}, checktest.CrashOwn + strings.Repeat("bye\n", crash.MaxAfter), "shop.Closed: at night"},
		"caught, and much later an end": {guest.Result{Exit: 1}, checktest.CrashOwn + strings.Repeat("on\n", crash.MaxAfter+1), ""},
		"caught, then a crash":          {guest.Result{Exit: 1}, checktest.CrashLogged + checktest.CrashUnparsed, "SyntaxError: invalid syntax"},
		"logged, and ended well":        {guest.Result{}, checktest.CrashLogged, ""},
		"logged by a server":            {runs, checktest.CrashLogged, ""},
		"a thread of a server":          {runs, checktest.CrashThread + "GET / 200\n", "KeyError: 'k' ValueError: second"},
		"a task":                        {guest.Result{}, checktest.CrashTask, "OSError: task"},
		"a child":                       {runs, checktest.CrashChild, "KeyError: 'k'"},
		"a thread, then the program":    {guest.Result{Exit: 1}, checktest.CrashOwn + checktest.CrashTask, "shop.Closed: at night OSError: task"},
	} {
		c.res.Stderr.Head = []byte(c.text)
		if got := strings.Join(readEnding(c.res).Crashes, " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
