package smoke

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/checktest"
)

// B17, B18: a program that lies about the time deceives only itself.
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
	// Endless programs are watched for a short time; programs that must end have time to do so on a busy machine.
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
		out := run(t.Context(), b)
		return out, judge(check.Outcome{}, out, check.Diff{})
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
	checktest.Single(t, g, "EOFError", "asks.py", 1)
	_, g = start("throws.js")
	checktest.Single(t, g, "RangeError", "throws.js", 1)

	out, _ := start("busy.py")
	if g := judge(check.Outcome{Ending: &check.Ending{}}, out, check.Diff{}); g.Verdict != check.Timeout || !out.Ending.Busy {
		t.Errorf("an endless loop where the program ended before: %+v", g)
	}
	if out, g = start("hungry.py"); g.Verdict != check.OOM {
		t.Errorf("a child that took all memory: %+v", out)
	}
}

// On a machine that leaves a program little time, an endless loop still counts as one, and a program that waits still as waiting.
func TestALoopIsSeenOnABusyMachine(t *testing.T) {
	t.Parallel()
	files := map[string]string{"busy.py": "while True:\n    pass\n", "server.py": "import time\nwhile True:\n    time.sleep(0.1)\n"}
	b := checktest.NewBench(t, files, sandbox.Limits{CPUs: 0.2})
	b.Smoke.Seconds = 4
	for p, busy := range map[string]bool{"busy.py": true, "server.py": false} {
		b.Entry = startFile(b.View, b.Tools, p)
		if out := run(t.Context(), b); out.Ending == nil || !out.Ending.Running || out.Ending.Busy != busy {
			t.Errorf("%s: %+v", p, out)
		}
	}
}
