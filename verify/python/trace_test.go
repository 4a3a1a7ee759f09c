package python

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/checktest"
)

// traced is a program in which each line ends with what happens to it in tracedTests: "yes", "no", or "none" if nothing can be executed.
const traced = `"""A shop."""                        # none
from __future__ import annotations         # yes
import os, sys                             # yes
from typing import Protocol, overload      # yes

# A comment.                               # none
RATES = {                                  # yes
    "vat": 1,                              # yes
    "odd": lambda n: n + 1,                # no
}                                          # yes
total: int                                 # none

class Shape(Protocol):                     # yes
    def area(self) -> int: ...             # none

@overload                                  # none
def price(n: int) -> int: ...              # none
def price(                                 # yes
    n,                                     # yes
    tax=1,                                 # yes
):                                         # yes
    """The price."""                       # none
    if n:                                  # yes
        return n + tax                     # yes
    elif tax:                              # no
        return (                           # no
            tax                            # no
        )                                  # no
    else:                                  # no
        return 0                           # no

def never(                                 # no
    n=1,                                   # no
):                                         # no
    return n                               # no

async def later(): return 1                # no

def numbers():                             # no
    yield 1                                # no

def checked(text):                         # yes
    try:                                   # yes
        return int(text)                   # yes
    except TypeError:                      # yes
        return 1                           # no
    except ValueError as e:                # yes
        raise KeyError(text) from e        # yes
    finally:                               # yes
        os.getpid()                        # yes

def forked():                              # yes
    pid = os.fork()                        # yes
    if pid == 0:                           # yes
        sys.stdout.flush()                 # yes
        os._exit(0)                        # yes
    os.waitpid(pid, 0)                     # yes

def killed():                              # yes
    os.closerange(3, 256)                  # yes
    n = 1                                  # yes
    os.kill(os.getpid(), 9)                # yes
    n = 2                                  # no

if __name__ == "__main__":                 # yes
    globals()[sys.argv[1]]()               # yes
`

// tracedTests run it in the process of pytest, in other processes that know nothing of it, and in one that does not end by itself.
const tracedTests = `import inspect, pickle, subprocess, sys
import pytest
import shop

HERE = shop.__file__.rpartition("/")[0]

def start(*args, **more):
    return subprocess.run([sys.executable, "-W", "error", *args], cwd="/", capture_output=True, text=True, **more)

def test_calls():
    assert shop.price(2) == 3
    shop.numbers()  # which nobody asks for one
    with pytest.raises(KeyError) as e:
        shop.checked("x")
    assert e.traceback[-1].lineno + 1 == inspect.getsourcelines(shop.checked)[1] + 6
    assert pickle.loads(pickle.dumps(shop.price)) is shop.price
    assert "n + tax" in inspect.getsource(shop.price) and sys.gettrace() is None
    exec(compile("def never():\n    return 1\nnever()\n", "made", "exec"))

def test_forks():
    shop.forked()

def test_processes():
    done = start("-m", "shop", "killed", env={"PYTHONPATH": HERE})
    assert done.returncode == -9 and done.stderr == ""
    assert start(shop.__file__, "forked", env={}).returncode == 0
`

// marked reads the marks at the ends of the lines.
func marked(text string) (trace *check.Trace, asked []int) {
	code, ran := []int{}, []int{}
	for i, line := range strings.Split(text, "\n") {
		asked = append(asked, i+1)
		if strings.HasSuffix(line, "# yes") {
			ran = append(ran, i+1)
		}
		if strings.HasSuffix(line, "# yes") || strings.HasSuffix(line, "# no") {
			code = append(code, i+1)
		}
	}
	return &check.Trace{Code: check.Lines{"src/shop.py": code}, Ran: check.Lines{"src/shop.py": ran}}, asked
}

func TestLinesThatTestsExecuteAreTold(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{
		"src/shop.py": traced, "test_shop.py": tracedTests, "src/broken.py": "def f(:\n", "src/types.pyi": "x: int\n", "src/notes.py": "# A note.\n",
		"src/alone.py": "x = 1\n", "tool": "#!/usr/bin/env python3\nx = 1\n", "own/setup.py": "", "own/in.py": "x = 1\n", "own/test_in.py": "import in_\n",
		"own/in_.py": "\nx = 1\nif not x:\n    x = 2\n", "a.js": "1;\n",
	}, sandbox.Limits{})
	want, asked := marked(traced)
	b.Lines = check.Lines{
		"src/shop.py": asked, "src/broken.py": {1}, "src/types.pyi": {1}, "src/notes.py": {1}, "src/alone.py": {1}, "tool": {1, 2}, "own/in_.py": {1, 2, 3, 4}, "a.js": {1},
	}
	out := runTests(t.Context(), b)
	if out.Verdict != "" || out.AnyBlocked() || slices.ContainsFunc(out.Tests, check.TestResult.Bad) {
		t.Fatalf("%+v", out)
	}
	want = want.With(&check.Trace{
		Code: check.Lines{"src/types.pyi": {}, "src/notes.py": {}, "src/alone.py": {1}, "tool": {2}, "own/in_.py": {2, 3, 4}},
		Ran:  check.Lines{"src/types.pyi": {}, "src/notes.py": {}, "src/alone.py": {}, "tool": {}, "own/in_.py": {2, 3}},
	})
	if d := cmp.Diff(want, out.Traced); d != "" {
		t.Error(d)
	}
}

func TestNothingIsMeasuredThatNobodyAsksFor(t *testing.T) {
	t.Parallel()
	for _, lines := range []check.Lines{nil, {"a.js": {1}}} {
		b := checktest.NewBench(t, map[string]string{
			"a.js":      "1;\n",
			"test_a.py": "import os, sys\n\ndef test_nobody():\n    assert sys.monitoring.get_tool(4) is None\n    assert not [f for f in os.listdir('/tmp') if 'trace' in f]\n",
		}, sandbox.Limits{})
		b.Lines = lines
		if out := runTests(t.Context(), b); out.Traced != nil || len(out.Tests) != 1 || out.Tests[0].Bad() {
			t.Errorf("%v: %+v", lines, out)
		}
	}
}

func TestTestsThatAreCutOffAreMeasured(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{"killed": "os.kill(os.getpid(), 9)", "gone": "os._exit(0)"} {
		b := checktest.NewBench(t, map[string]string{
			"a.py": "import os\ndef f():\n    x = 1\n    " + end + "\n    return x\n", "test_a.py": "import a\ndef test_a():\n    a.f()\n",
		}, sandbox.Limits{})
		b.Lines = check.Lines{"a.py": {1, 2, 3, 4, 5}}
		out := runTests(t.Context(), b)
		if out.Traced == nil || fmt.Sprint(out.Traced.Ran["a.py"]) != "[1 2 3 4]" || out.Blocked == "" {
			t.Errorf("%s: %+v", name, out)
		}
	}
}
