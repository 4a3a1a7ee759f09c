package agent_test

import (
	"strings"
	"testing"

	"agent/orchestrator/agent"
)

func TestTheQuestionFollowsTheGate(t *testing.T) {
	for _, c := range []struct {
		gate              string
		downstream, again bool
		want              agent.Purpose
	}{
		{"edit", false, false, agent.Repair},
		{"format", false, false, agent.FixLint},
		{"syntax", false, false, agent.FixLint},
		{"lint", true, false, agent.FixLint},
		{"lint", false, true, agent.Repair},
		{"types", false, false, agent.FixLint},
		{"types", true, false, agent.FixDownstream},
		{"types", true, true, agent.Repair},
		{"smoke", false, false, agent.FixRuntime},
		{"tests", true, false, agent.FixRuntime},
		{"some gate of the workspace", false, false, agent.Repair},
	} {
		if got := (agent.Failure{Gate: c.gate}).Template(c.downstream, c.again); got != c.want {
			t.Errorf("%s, downstream %v, again %v: %s instead of %s", c.gate, c.downstream, c.again, got, c.want)
		}
	}
}

const pythonLog = `Traceback (most recent call last):
  File "/work/main.py", line 3, in <module>
    run()
  File "/work/shop/stock.py", line 12, in run
    return json.loads(x)
  File "/usr/lib/python3.13/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
json.decoder.JSONDecodeError: Expecting value
`

const nodeLog = `/work/lib/cart.js:4
    return items.length
                 ^

TypeError: Cannot read properties of undefined (reading 'length')
    at total (/work/lib/cart.js:4:18)
    at Object.<anonymous> (/work/index.js:2:1)
    at node:internal/modules/cjs/loader:1554:14
`

const goLog = `panic: runtime error: index out of range [3] with length 3

goroutine 1 [running]:
main.pick(...)
	/usr/lib/go/src/slices/sort.go:11 +0x1
example.com/shop/stock.pick({0x1, 0x2})
	/work/stock/pick.go:27 +0x1d
main.main()
	/work/main.go:9 +0x2a
`

func TestTheCulpritIsTheInnermostFrameOfTheWorkspace(t *testing.T) {
	files := map[string]bool{"main.py": true, "shop/stock.py": true, "lib/cart.js": true, "index.js": true, "stock/pick.go": true, "main.go": true, "test_a.py": true}
	for name, c := range map[string]struct {
		log, file string
		line      int
	}{
		"python":                        {pythonLog, "shop/stock.py", 12},
		"node":                          {nodeLog, "lib/cart.js", 4},
		"go":                            {goLog, "stock/pick.go", 27},
		"pytest":                        {"test_a.py:7: in test_x\nE   assert 1 == 2\ntest_a.py:7: AssertionError\n", "test_a.py", 7},
		"a file that is not there":      {`  File "/work/gone.py", line 1, in x`, "", 0},
		"a file outside":                {`  File "/work/../etc/passwd.py", line 1`, "", 0},
		"a neighbour of the workspace":  {`  File "/workshop/main.py", line 1`, "", 0},
		"only the library":              {`  File "/usr/lib/python3.13/json/__init__.py", line 346`, "", 0},
		"a number that is none":         {`  File "/work/main.py", line 99999999999999999999`, "", 0},
		"nothing":                       {"", "", 0},
		"the words of a frame in prose": {"see File main.py, line 3", "", 0},
	} {
		file, line, ok := agent.Culprit(c.log, "/work", func(p string) bool { return files[p] })
		if file != c.file || line != c.line || ok != (c.file != "") {
			t.Errorf("%s: %s:%d, %v", name, file, line, ok)
		}
	}
}

func TestAMissingPackageIsNamedByItsTop(t *testing.T) {
	for log, want := range map[string]string{
		"ModuleNotFoundError: No module named 'yaml.loader'\n": "yaml",
		"Error: Cannot find module 'express/lib/x'\nRequire":   "express",
		"Error: Cannot find package '@scope/tool/sub' from x":  "@scope/tool",
		"Error: Cannot find module './cart'":                   "",
		"Error: Cannot find module '/work/x'":                  "",
		"ImportError: cannot import name 'x' from 'y'":         "",
		strings.Repeat("x\n", 1000):                            "",
	} {
		if got := agent.MissingPackage(log); got != want {
			t.Errorf("%.60q: %q instead of %q", log, got, want)
		}
	}
}
