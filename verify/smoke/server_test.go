package smoke

import (
	"strings"
	"testing"
	"time"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

func TestServersAreJudgedByWhatTheyOffer(t *testing.T) {
	t.Parallel()
	at := func(status int, numbers ...int) *check.Ending {
		e := check.Ending{Running: true, Settled: status > 0 && status < 500}
		for _, n := range numbers {
			e.Ports = append(e.Ports, guest.Port{Port: n, Status: status})
		}
		return &e
	}
	asked := func(e *check.Ending) *check.Ending { e.Asked = true; return e }
	trace := at(500, 80)
	trace.Told = check.Finding{File: "app.py", Line: 7, Rule: "KeyError", Message: "KeyError: 'x'"}
	mixed := at(200, 80, 81)
	mixed.Ports[1].Status = 500
	for _, c := range []struct {
		name      string
		then, now *check.Ending
		rule      string // "" means a pass
	}{
		{"answers as before", at(200, 80), at(200, 80), ""},
		{"new, and answers", nil, at(404, 80), ""},
		{"new, and in trouble", nil, at(500, 80), ruleAnswer},
		{"new, and speaks something else", nil, at(0, 80), ""},
		{"another answer", at(200, 80), at(404, 80), ""},
		{"another port", at(200, 80), at(200, 8080), ""},
		{"in trouble now", at(200, 80), at(500, 80), ruleAnswer},
		{"in trouble as before", at(500, 80), at(503, 80), ""},
		{"in trouble as before, on another port", at(500, 80), at(500, 81), ""},
		{"in trouble on another port", at(200, 80), at(500, 81), ruleAnswer},
		{"no answer now", at(200, 80), at(0, 80), ruleAnswer},
		{"no answer as before", at(0, 80), at(0, 80), ""},
		{"no answer where there was trouble", at(500, 80), at(0, 80), ""},
		{"one of two in trouble", at(200, 80, 81), mixed, ruleAnswer},
		{"one of two, as before", mixed, mixed, ""},
		{"fewer ports", at(200, 80, 81), at(200, 80), ""},
		{"more ports", at(200, 80), at(200, 80, 81), ""},
		{"listens no more", at(200, 80), &check.Ending{Running: true}, ruleListen},
		{"ends by itself", at(200, 80), &check.Ending{}, RuleEnded},
		{"ended by itself before", &check.Ending{Ports: at(200, 80).Ports}, &check.Ending{}, ""},
		{"a worker that ends now", &check.Ending{Running: true}, &check.Ending{}, RuleIdle},
		{"ready as configured", asked(at(200, 80)), asked(at(200, 80)), ""},
		{"new, and not ready", nil, asked(at(0, 80)), ruleReady},
		{"not ready now", asked(at(200, 80)), asked(at(0, 81, 82)), ruleReady},
		{"never ready", asked(at(0, 80)), asked(at(0, 80)), ""},
		{"a new program that ends", nil, asked(&check.Ending{}), ""},
	} {
		base := check.Outcome{Ending: c.then}
		g := judge(base, check.Outcome{Ending: c.now}, check.Diff{})
		rule := ""
		if len(g.Findings) == 1 {
			rule = g.Findings[0].Rule
		}
		if rule != c.rule || (g.Verdict == check.Pass) != (c.rule == "") {
			t.Errorf("%s: %s, %+v, want %q", c.name, g.Verdict, g.Findings, c.rule)
		}
	}
	g := judge(check.Outcome{Ending: at(200, 80)}, check.Outcome{Ending: trace}, check.Diff{})
	if f := g.Findings[0]; f.File != "app.py" || f.Line != 7 || f.Message != "server responded on :80 (500): KeyError: 'x'" {
		t.Errorf("the trouble is told as %+v", f)
	}
}

// All programs run in one box, so that anything that one leaves behind would show with the next.
func TestServersAreSeenAtWork(t *testing.T) {
	t.Parallel()
	const page = "import http.server\n\n\nclass Page(http.server.BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(200 if self.path == '/up' else 500)\n        self.end_headers()\n\n\n" +
		"print('at work', flush=True)\nhttp.server.HTTPServer(('', 8000), Page).serve_forever()\n"
	b := checktest.NewBench(t, map[string]string{
		"page.py":   page,
		"server.js": "const server = require('http').createServer((ask, answer) => answer.end('x'));\nserver.listen(8001);\n",
		"deaf.js":   "setInterval(() => {}, 1000);\n",
		"job.py":    "print('done')\n",
	}, sandbox.Limits{})
	end := map[string]*check.Ending{}
	for name, c := range map[string]struct {
		file, ready string
		seconds     int
		want        string
	}{
		"trouble": {"page.py", "", 6, "still running when the watch was over, server responded on :8000 (500)"},
		"path":    {"page.py", "port:8000/up", 0, "server responded on :8000 (200)"},
		"text":    {"page.py", "at work", 0, "ready"},
		"node":    {"server.js", "", 0, "server responded on :8001 (200)"},
		"deaf":    {"deaf.js", "", 2, "still running when the watch was over"},
		"job":     {"job.py", "", 0, "exit status 0"},
	} {
		b.Entry, b.Smoke = startFile(b.View, b.Tools, c.file), check.Smoke{Ready: c.ready, Seconds: c.seconds}
		out := run(t.Context(), b)
		if out.Ending == nil {
			t.Fatalf("%s: %+v", name, out)
		}
		// The text may appear before the port does.
		if end[name] = out.Ending; strings.TrimPrefix(out.Ending.String(), "listens on port 8000, ") != c.want {
			t.Errorf("%s: %s, want %s", name, out.Ending, c.want)
		}
	}
	if deaf, job := end["deaf"], end["job"]; deaf.Wrote != 0 || deaf.Wall < 2*time.Second || job.Wrote != 5 || job.CPU <= 0 {
		t.Errorf("a wait is %+v, a job %+v", deaf, job)
	}
	for _, c := range []struct{ then, now, rule string }{
		{"node", "deaf", ruleListen},
		{"node", "trouble", ruleAnswer},
		{"node", "job", RuleEnded},
		{"node", "node", ""},
		{"trouble", "path", ""},
		{"job", "node", ""},
	} {
		g := judge(check.Outcome{Ending: end[c.then]}, check.Outcome{Ending: end[c.now]}, check.Diff{})
		rule := ""
		if len(g.Findings) > 0 {
			rule = g.Findings[0].Rule
		}
		if rule != c.rule {
			t.Errorf("%s, then %s: %s %+v, want %q", c.then, c.now, g.Verdict, g.Findings, c.rule)
		}
	}
}

func TestAWaitInPlaceOfTheWorkIsSeen(t *testing.T) {
	t.Parallel()
	worked := check.Ending{Wall: time.Second, CPU: 300 * time.Millisecond, Wrote: 40}
	waits := check.Ending{Running: true, Wall: 10 * time.Second, CPU: 200 * time.Millisecond, Rested: 9 * time.Second}
	with := func(change func(*check.Ending)) check.Ending { e := waits; change(&e); return e }
	for name, c := range map[string]struct {
		then *check.Ending
		now  check.Ending
		want bool
	}{
		"sleeps":                  {&worked, waits, true},
		"sleeps, silent before":   {&check.Ending{Wall: time.Second}, waits, true},
		"writes":                  {&worked, with(func(e *check.Ending) { e.Wrote = 1 }), false},
		"works":                   {&worked, with(func(e *check.Ending) { e.CPU = 2 * time.Second }), false},
		"listens":                 {&worked, with(func(e *check.Ending) { e.Ports = []guest.Port{{Port: 80}} }), false},
		"is ready":                {&worked, with(func(e *check.Ending) { e.Settled = true }), false},
		"is slow":                 {&worked, with(func(e *check.Ending) { e.Rested = 2 * time.Second }), false},
		"ends":                    {&worked, worked, false},
		"waited before":           {&waits, waits, false},
		"crashed before":          {&check.Ending{Exit: 1}, waits, false},
		"nearly as long before":   {&check.Ending{Wall: 6 * time.Second}, waits, false},
		"the patch brings it":     {nil, waits, false},
		"a worker that says much": {&worked, with(func(e *check.Ending) { e.Wrote = 9000 }), false},
	} {
		if got := onlyWaits(c.then, c.now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestNewProgramMayShowHowItIsCalled(t *testing.T) {
	t.Parallel()
	usage := []byte("usage: tool [-h] FILE\ntool: error: the following arguments are required: FILE\n")
	for name, c := range map[string]struct {
		base *check.Ending
		res  guest.Result
		want check.Verdict
	}{
		"new":                {nil, verifytest.Ended(2, nil, usage), check.Pass},
		"new, by BSD":        {nil, verifytest.Ended(64, usage, nil), check.Pass},
		"new, and in words":  {nil, verifytest.Ended(2, nil, []byte("no usage of this\n")), check.Fail},
		"new, another end":   {nil, verifytest.Ended(3, nil, usage), check.Fail},
		"as before":          {&check.Ending{Exit: 2}, verifytest.Ended(2, nil, usage), check.Pass},
		"ended well before":  {&check.Ending{}, verifytest.Ended(2, nil, usage), check.Fail},
		"new, and a crash":   {nil, verifytest.Ended(2, usage, []byte(checktest.CrashOwn)), check.Fail},
		"new, and by signal": {nil, guest.Result{Exit: -1, Signal: "SIGSEGV", Stderr: guest.Output{Head: usage}}, check.Fail},
	} {
		now := readEnding(c.res)
		if g := judge(check.Outcome{Ending: c.base}, check.Outcome{Ending: &now}, check.Diff{}); g.Verdict != c.want {
			t.Errorf("%s: %s %+v", name, g.Verdict, g.Findings)
		}
	}
}
