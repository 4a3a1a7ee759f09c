package smoke

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/checktest"
)

func TestLinesThatAProgramExecutesAreTold(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{
		"src/shop/__init__.py": "", "src/shop/__main__.py": "from .till import work\nif __name__ == '__main__':\n    work()\n",
		"src/shop/till.py": "import time\ndef work():\n    n = 1\n    while n:\n        time.sleep(0.01)\n    return 0\n",
		"start.sh":         "exec env -i python3 src/shop/loose.py\n", "src/shop/loose.py": "import os\nos.kill(os.getpid(), 9)\nx = 1\n",
		"still.js": "1;\n",
	}, sandbox.Limits{})
	b.Smoke.Seconds = 5 // it starts late on a busy machine
	code := check.Lines{"src/shop/__main__.py": {1, 2, 3}, "src/shop/till.py": {1, 2, 3, 4, 5, 6}, "src/shop/loose.py": {1, 2, 3}}
	b.Lines = code
	for name, c := range map[string]struct {
		entry check.Entry
		ran   check.Lines
	}{
		"a module that is ended by the watch": {
			startFile(b.View, b.Tools, "src/shop/__main__.py"),
			check.Lines{"src/shop/__main__.py": {1, 2, 3}, "src/shop/till.py": {1, 2, 3, 4, 5}, "src/shop/loose.py": {}},
		},
		"a script behind a shell, killed": {
			check.Entry{Args: []string{b.Tools.Env, "--", "sh", "start.sh"}},
			check.Lines{"src/shop/__main__.py": {}, "src/shop/till.py": {}, "src/shop/loose.py": {1, 2}},
		},
		"a program of another language": {
			startFile(b.View, b.Tools, "still.js"), check.Lines{"src/shop/__main__.py": {}, "src/shop/till.py": {}, "src/shop/loose.py": {}},
		},
	} {
		b.Entry = c.entry
		out := run(t.Context(), b)
		if d := cmp.Diff(&check.Trace{Code: code, Ran: c.ran}, out.Traced); d != "" || out.Verdict != "" {
			t.Errorf("%s: %s %+v", name, d, out)
		}
	}
	b.Lines = nil
	if out := run(t.Context(), b); out.Traced != nil {
		t.Errorf("nobody asks: %+v", out.Traced)
	}
}

func TestLinesThatAProgramOfNodeExecutesAreTold(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{
		"package.json": "{\"type\": \"module\"}\n",
		"index.js":     "import { work } from './lib.js';\nexport function never() {\n  return 2;\n}\nwork();\n",
		"lib.js":       "export function work() {\n  return 1;\n}\nexport function other() {\n  return 3;\n}\n",
		"serve.js":     "import { other } from './lib.js';\nother();\nsetInterval(() => {}, 50);\n",
	}, sandbox.Limits{})
	b.Smoke.Seconds = 5 // it starts late on a busy machine
	b.Lines = check.Lines{"index.js": {2, 3, 5}, "lib.js": {2, 5}}
	for name, c := range map[string]struct {
		file string
		ran  check.Lines
	}{
		"a program that ends":                  {"index.js", check.Lines{"index.js": {5}, "lib.js": {2}}},
		"a program that is ended by the watch": {"serve.js", check.Lines{"index.js": {}, "lib.js": {5}}},
	} {
		b.Entry = startFile(b.View, b.Tools, c.file)
		out := run(t.Context(), b)
		if out.Traced == nil || !cmp.Equal(out.Traced.Ran, c.ran) || out.Verdict != "" {
			t.Errorf("%s: %+v %+v", name, out.Traced, out)
		}
	}
}
