package verify

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/checktest"
)

func TestSyntaxFaultsOfEveryLanguageAreSeen(t *testing.T) {
	t.Parallel()
	bad := map[string]string{ // file: text, then the rule and the line that must be reported
		"a.py":            "x = 1\ndef f(:\n",
		"indent.py":       "if x:\n    a\n  b\n",
		"return.py":       "return 1\n",
		"null.py":         "x = 1\x00\n",
		"latin.py":        "x = '\xe9'\n",
		"deep.py":         strings.Repeat("(", 5000) + strings.Repeat(")", 5000) + "\n",
		"script":          "#!/usr/bin/env python3\ndef\n",
		"comma.json":      "{\n\"a\": 1,\n}\n",
		"empty.json":      "",
		"nan.json":        "{\"a\": NaN}",
		"latin.json":      "\n{\"a\": \"\xe9\"}",
		"deep.json":       strings.Repeat("[", 200000),
		"tsconfig.json":   "{ // fine\n \"a\": [1,], /* */ \"b\" }\n",
		"a.toml":          "a = 1\na = 2\n",
		"colon.css":       "a {\n  color red;\n}\n",
		"open.css":        "a { color: red;\nb { color: blue }\n",
		"extra.css":       "a { color: red } }\n",
		"paren.css":       "a { width: calc(1px + 2px; }\n",
		"comment.css":     "/* a\nb { }\n",
		"string.css":      "a { content: \"x\n; }\n",
		"media.css":       "@media print {\n a { color red }\n}\n",
		"a.js":            "const a = 1;\nlet = ;\n",
		"module.js":       "import a from \"b\";\nexport const = 1;\n",
		"a.mjs":           "const x = ;\n",
		"a.cjs":           "import a from \"b\";\n",
		"typed/b.js":      "with (a) { b }\n",
		"a.sh":            "if true; then\n",
		"here.sh":         "cat <<END\nx\n",
		"run":             "#!/bin/bash\necho $(\n",
		"quote.sh":        "#!/bin/sh\necho \"open\n",
		"unicode/é ü.py":  "def\n",
		"--option.py":     "def\n",
		"nested/json.py":  "def\n",
		"typed/pyproject": "#!/usr/bin/node\nlet = ;\n",
	}
	sound := map[string]string{
		"ok/a.py":               "# -*- coding: latin-1 -*-\nx = '\xe9'\n",
		"ok/escape.py":          "x = '\\d'\n",
		"ok/json.py":            "raise SystemExit('imported')\n",
		"ok/bom.py":             "\ufeffx = 1\n",
		"ok/crlf.py":            "def f():\r\n    pass\r\n",
		"ok/a.json":             "\ufeff{\"a\": [1, 2], \"a\": null}",
		"ok/tsconfig.base.json": "{ // c\n \"a\": [\"//x,]\",], /* \"b\" */ }\n",
		"ok/a.toml":             "[a]\nb = 1979-05-27\n",
		"ok/a.css":              "@charset \"utf-8\";\n@import url(x.css);\n:root { --x: { a:b }; --y: ; }\na:hover, b > c::before { color: red; &:focus { top: 0 } }\n@media (min-width: 1px) { a:hover { left: 0 } @supports (display: grid) { i { top: 0 } } }\n@font-face { font-family: x; src: url(a.woff) }\n@keyframes k { from { top: 0 } 50% { top: 1px } }\n@layer a, b;\n@page :first { margin: 1in }\n",
		"ok/a.js":               "const a = require('b'); return;\n",
		"ok/module.js":          "import a from 'b';\nexport default await a;\n",
		"ok/a.mjs":              "export const y = await 1;\n",
		"ok/a.cjs":              "with (a) { b }\n",
		"ok/a.sh":               "if [ -f x ]; then echo \"$(cat <<E\nx\nE\n)\"; fi\n",
		"ok/zsh.sh":             "#!/bin/zsh\nif (\n",
		"ok/empty.py":           "",
		"ok/notes.txt":          "def f(:\n",
		"typed/package.json":    "{\"type\": \"module\"}",
	}
	files := map[string]string{}
	for p, text := range bad {
		files[p] = text
	}
	for p, text := range sound {
		files[p] = text
	}
	b := checktest.NewBench(t, files, sandbox.Limits{})
	out := runSyntax(t.Context(), b, b.View.Paths())
	if out.Verdict != "" {
		t.Fatalf("%+v", out)
	}
	seen := map[string][]check.Finding{}
	for _, f := range out.Findings {
		seen[f.File] = append(seen[f.File], f)
	}
	for p := range bad {
		if len(seen[p]) == 0 {
			t.Errorf("%s: no fault was seen", p)
		}
	}
	for p := range sound {
		if len(seen[p]) > 0 {
			t.Errorf("%s is sound: %+v", p, seen[p])
		}
	}
	for p, want := range map[string]check.Finding{
		"a.py":       {Rule: "python-syntax", Line: 2, Column: 7, Source: "def f(:"},
		"comma.json": {Rule: "json-syntax", Line: 2},
		"a.toml":     {Rule: "toml-syntax", Line: 2},
		"media.css":  {Rule: "css-syntax", Line: 2},
		"open.css":   {Rule: "css-syntax", Line: 1},
		"a.js":       {Rule: "javascript-syntax", Line: 2, Column: 7},
		"module.js":  {Rule: "javascript-syntax", Line: 2},
		"run":        {Rule: "shell-syntax"},
		"a.sh":       {Rule: "shell-syntax", Line: 2},
	} {
		if len(seen[p]) == 0 {
			continue
		}
		got := seen[p][0]
		if got.Rule != want.Rule || want.Line > 0 && got.Line != want.Line || want.Column > 0 && got.Column != want.Column || want.Source != "" && got.Source != want.Source {
			t.Errorf("%s: %+v, want %+v", p, got, want)
		}
	}
}

func TestFileTooLargeToCheckIsSkippedWithAReason(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{"big.json": "[" + strings.Repeat(" ", 2<<20), "a.json": "{}"}, sandbox.Limits{})
	cmd, err := syntaxCommand(b.Tools, []string{"big.json", "a.json", "absent.py"})
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.Box.Run(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := parseSyntax(res, 3)
	if err != nil || len(answer.Skipped) != 2 || answer.Skipped[0].Reason != "over 2 MiB" || answer.Skipped[1].Reason != "absent" {
		t.Errorf("%v %+v", err, answer)
	}
}

// B17, B18: a program that lies about the time lies to itself alone.
func TestProgramsAreWatched(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"clock.py": "import os, signal, time\nos.environ.update(LD_PRELOAD='/work/libfaketime.so', FAKETIME='+10y')\n" +
			"try:\n    time.clock_settime(time.CLOCK_REALTIME, 4e9)\nexcept PermissionError as e:\n    print(e, flush=True)\n" +
			"time.time = time.monotonic = lambda: 4e9\nsignal.signal(signal.SIGALRM, lambda *_: None)\n" +
			"signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\nwhile True:\n    signal.pause()\n",
		"server.py": "import time\nwhile True:\n    time.sleep(0.1)\n",
		"stubborn.py": "import os, signal, subprocess, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" +
			"subprocess.Popen([sys.executable, '-c', 'import signal,time; signal.signal(15, signal.SIG_IGN); time.sleep(99)'], start_new_session=True)\n" +
			"time.sleep(99)\n",
		"forks.py":    "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)'], start_new_session=True)\n",
		"logs.py":     "import logging, time\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    logging.exception('caught')\ntime.sleep(99)\n",
		"segv.py":     "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
		"busy.py":     "while True:\n    pass\n",
		"asks.py":     "input()\n",
		"colours.py":  "import sys\nprint('\\x1b[31mhello\\x1b[0m')\nprint('x' * 9000, file=sys.stderr)\n",
		"hungry.py":   "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'x = bytearray(1 << 30); print(len(x))'])\n",
		"throws.js":   "setTimeout(() => { throw new RangeError('late'); }, 10);\n",
		"rejects.mjs": "await Promise.reject(new TypeError('no'));\n",
	}
	b := checktest.NewBench(t, files, sandbox.Limits{Memory: 512 << 20})
	// What goes on for ever is watched shortly, what must end has time to do so on a busy machine.
	endless := []string{"server.py", "clock.py", "stubborn.py", "logs.py", "busy.py"}
	start := func(p string) (check.Outcome, check.Gate) {
		t.Helper()
		b.Smoke.Seconds = 10
		if slices.Contains(endless, p) {
			b.Smoke.Seconds = 3
		}
		b.Entry = startFile(b.View, b.Tools, p)
		if strings.HasSuffix(p, ".mjs") {
			b.Entry = check.Entry{Path: p, Args: []string{b.Tools.Node, p}}
		}
		out := runSmoke(t.Context(), b)
		return out, judgeSmoke(check.Outcome{}, out, check.Diff{})
	}
	for p, want := range map[string]check.Verdict{
		"server.py": check.Pass, "clock.py": check.Pass, "stubborn.py": check.Pass, "forks.py": check.Pass, "colours.py": check.Pass, "logs.py": check.Pass,
		"segv.py": check.Fail, "asks.py": check.Fail, "throws.js": check.Fail, "rejects.mjs": check.Fail,
	} {
		out, g := start(p)
		if g.Verdict != want {
			t.Errorf("%s: %s, want %s: %+v", p, g.Verdict, want, g)
		}
		if want == check.Fail && len(g.Findings) != 1 {
			t.Errorf("%s: findings %+v", p, g.Findings)
		}
		if out.Ending.Running != slices.Contains(endless, p) || p == "clock.py" && !strings.Contains(out.Output, "not permitted") {
			t.Errorf("%s: %+v: %s", p, out.Ending, out.Output)
		}
		if len(out.Output) > check.MaxTail || strings.Contains(out.Output, "\x1b") {
			t.Errorf("%s: output of %d bytes is not fit to be shown", p, len(out.Output))
		}
	}
	_, g := start("asks.py")
	single(t, g, "EOFError", "asks.py", 1)
	_, g = start("throws.js")
	single(t, g, "RangeError", "throws.js", 1)

	out, _ := start("busy.py")
	if g := judgeSmoke(check.Outcome{Ending: &check.Ending{}}, out, check.Diff{}); g.Verdict != check.Timeout || !out.Ending.Busy {
		t.Errorf("an endless loop where the program ended before: %+v", g)
	}
	if out, g = start("hungry.py"); g.Verdict != check.OOM {
		t.Errorf("a child that took all memory: %+v", out)
	}
}

// On a machine that leaves a program little time an endless loop is one still,
// and a program that waits still waits.
func TestALoopIsSeenOnABusyMachine(t *testing.T) {
	t.Parallel()
	files := map[string]string{"busy.py": "while True:\n    pass\n", "server.py": "import time\nwhile True:\n    time.sleep(0.1)\n"}
	b := checktest.NewBench(t, files, sandbox.Limits{CPUs: 0.2})
	b.Smoke.Seconds = 4
	for p, busy := range map[string]bool{"busy.py": true, "server.py": false} {
		b.Entry = startFile(b.View, b.Tools, p)
		if out := runSmoke(t.Context(), b); out.Ending == nil || !out.Ending.Running || out.Ending.Busy != busy {
			t.Errorf("%s: %+v", p, out)
		}
	}
}
