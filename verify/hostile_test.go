package verify

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox/guest"
	"agent/verify/boxtest"
	"agent/verify/check"
	"agent/verify/checktest"
)

func TestRecordIsRefusedUnlessEveryLineHasItsForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"empty":                     {"", true},
		"cut last line":             {`{"kind": "test", "id": "a::t", "outc`, true},
		"last line without newline": {`{"kind": "finished", "status": 0}`, true},
		"cut line in the middle":    {`{"kind": "te` + "\n" + `{"kind": "finished", "status": 0}` + "\n", false},
		"empty line":                {"\n", false},
		"no object":                 {"[]\n", false},
		"null":                      {"null\n", false},
		"unknown kind":              {`{"kind": "passed", "id": "a::t"}` + "\n", false},
		"no kind":                   {`{"id": "a::t", "outcome": "passed"}` + "\n", false},
		"outcome of no test":        {`{"kind": "test", "id": "a::t", "outcome": "fine"}` + "\n", false},
		"outcome in capitals":       {`{"kind": "test", "id": "a::t", "outcome": "PASSED"}` + "\n", false},
		"no outcome":                {`{"kind": "test", "id": "a::t"}` + "\n", false},
		"module that passes":        {`{"kind": "collect", "id": "a.py", "outcome": "passed"}` + "\n", false},
		"module that skips itself":  {`{"kind": "collect", "id": "a.py", "outcome": "skipped"}` + "\n", true},
		"status that is text":       {`{"kind": "finished", "status": "0"}` + "\n", false},
		"two ends":                  {strings.Repeat(`{"kind": "finished", "status": 0}`+"\n", 2), false},
		"ids that are no list":      {`{"kind": "collected", "ids": "a"}` + "\n", false},
	} {
		if run, err := check.ParseRecord([]byte(c.text)); (err == nil) != c.ok {
			t.Errorf("%s: %v %+v", name, err, run)
		}
	}
}

func TestUnknownOutcomeCannotHideALostTest(t *testing.T) {
	t.Parallel()
	forged := `{"kind": "collected", "ids": ["a.py::t"]}
{"kind": "test", "id": "a.py::t", "outcome": "deselected"}
{"kind": "finished", "status": 0}
`
	res := boxtest.Ended(0, nil, nil)
	res.Files = map[string][]byte{record: []byte(forged)}
	b, _ := checktest.Replayed(map[string]guest.Result{"run_tests.py": res})
	base := check.Outcome{Tests: []check.TestResult{{ID: "a.py::t", Outcome: "passed"}}}
	g := check.JudgeTests(base, runTests(t.Context(), b), check.Diff{Sources: check.NewSources(b.View)})
	if g.Verdict != check.Fail {
		t.Errorf("a test that did not pass again is judged %s: %+v", g.Verdict, g.Findings)
	}
}

func TestSessionWithoutTestsHasNoResults(t *testing.T) {
	t.Parallel()
	run, err := check.ParseRecord([]byte(`{"kind": "test", "id": "a.py::t", "outcome": "passed"}` + "\n" + `{"kind": "finished", "status": 5}` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := trouble(run, boxtest.Ended(5, nil, nil)); got == "" {
		t.Error("results are accepted of a session that collected no test")
	}
}

func TestRuffLinesAreTakenOnlyWhole(t *testing.T) {
	t.Parallel()
	line := `{"code": "F821", "filename": "/work/a.py", "message": "m", "location": {"row": 3, "column": 7}}` + "\n"
	read := func(text string) ([]check.Finding, error) { return parseRuff(boxtest.Ended(1, []byte(text), nil)) }
	want := check.Finding{File: "a.py", Line: 3, Column: 7, Rule: "F821", Message: "m"}
	for n := 1; n < len(line)-1; n++ {
		if found, err := read(line + line[:n]); err == nil {
			t.Fatalf("an answer cut after %q is taken: %+v", line[:n], found)
		}
	}
	for name, c := range map[string]struct {
		old, new string
		change   func(*check.Finding)
	}{
		"as it is":           {"", "", func(*check.Finding) {}},
		"outside":            {"/work/a.py", "/work/../etc/passwd", func(f *check.Finding) { f.File = "" }},
		"beside":             {"/work/a.py", "/workshop/a.py", func(f *check.Finding) { f.File = "" }},
		"the root itself":    {"/work/a.py", "/work/", func(f *check.Finding) { f.File = "" }},
		"relative":           {"/work/a.py", "src/../b.py", func(f *check.Finding) { f.File = "b.py" }},
		"line below 1":       {`"row": 3`, `"row": -3`, func(f *check.Finding) { f.Line = 0 }},
		"no place":           {`, "location": {"row": 3, "column": 7}`, "", func(f *check.Finding) { f.Line, f.Column = 0, 0 }},
		"place that is null": {`{"row": 3, "column": 7}`, "null", func(f *check.Finding) { f.Line, f.Column = 0, 0 }},
		"no rule":            {`"code": "F821"`, `"code": null`, func(f *check.Finding) { f.Rule = "" }},
		"escapes":            {`"message": "m"`, `"message": "\u001b[31mred\u001b[0m\nx.py:1: second"`, func(f *check.Finding) { f.Message = "red x.py:1: second" }},
	} {
		want := want
		c.change(&want)
		got, err := read(strings.Replace(line, c.old, c.new, 1))
		if d := cmp.Diff([]check.Finding{want}, got); d != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
	for _, wrong := range []string{`"row": "3"`, `"row": 3.5`, `"row": 1e30`} {
		if found, err := read(strings.Replace(line, `"row": 3`, wrong, 1)); err == nil {
			t.Errorf("%s is taken for a line: %+v", wrong, found)
		}
	}
}

func TestMypyTextIsReadInAllItsForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]check.Finding{
		"a.py:1: error: invalid syntax  [syntax]":               {File: "a.py", Line: 1, Rule: "syntax", Message: "invalid syntax"},
		"/work/s/a.py:2:5: error: no [brackets] here":           {File: "s/a.py", Line: 2, Column: 5, Message: "no [brackets] here"},
		"a.py: error: Source file found twice":                  {File: "a.py", Message: "Source file found twice"},
		"mypy: error: unrecognized arguments: --x":              {Message: "unrecognized arguments: --x"},
		"/usr/lib/python3/x.py:9: error: bad  [misc]":           {Line: 9, Rule: "misc", Message: "bad"},
		"a b.py:1: error: \x1b[1mbold\x1b[0m  [x]":              {File: "a b.py", Line: 1, Rule: "x", Message: "bold"},
		"a.py:99999999999999999999: error: far  [x]":            {File: "a.py", Line: math.MaxInt, Rule: "x", Message: "far"},
		"note first\na.py:1: note: x\na.py:3: error: y  [z]\n:": {File: "a.py", Line: 3, Rule: "z", Message: "y"},
	} {
		want.Help = mypyHelp(want.Rule)
		got, blocked, err := parseMypy(boxtest.Ended(2, nil, []byte(text)))
		if d := cmp.Diff([]check.Finding{want}, got); d != "" || err != nil || !strings.HasSuffix(blocked, want.Message) {
			t.Errorf("%q: %v %q %s", text, err, blocked, d)
		}
	}
	for _, text := range []string{"", "a.py:1: note: x", "Traceback (most recent call last):\na.py:1: error: x", "a.py:1: error: INTERNAL ERROR", "error: x", "warning: y"} {
		if got, blocked, err := parseMypy(boxtest.Ended(2, nil, []byte(text))); err == nil {
			t.Errorf("%q is taken for an answer: %q %+v", text, blocked, got)
		}
	}
}

func TestNotesAndUnknownSeveritiesAreNoErrors(t *testing.T) {
	t.Parallel()
	note := []byte(`{"file": "a.py", "line": 1, "column": 0, "message": "m", "code": null, "severity": "note"}` + "\n\n")
	if found, _, err := parseMypy(boxtest.Ended(0, note, nil)); err != nil || len(found) != 0 {
		t.Errorf("%v %+v", err, found)
	}
	if found, _, err := parseMypy(boxtest.Ended(1, note, nil)); err == nil {
		t.Errorf("status 1 with nothing but a note: %+v", found)
	}
}

func TestSyntaxAnswerOfAnotherShapeIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		files int
		ok    bool
	}{
		"one file":           {`{"checked": ["a.py"]}`, 1, true},
		"too many":           {`{"checked": ["a.py", "b.py"]}`, 1, false},
		"null":               {`null`, 1, false},
		"null for no files":  {`null`, 0, true},
		"list":               {`[]`, 0, false},
		"two documents":      {`{"checked": ["a.py"]}{"checked": ["a.py"]}`, 1, false},
		"words after it":     {`{"checked": ["a.py"]} done`, 1, false},
		"words before it":    {`warning {"checked": ["a.py"]}`, 1, false},
		"number for a name":  {`{"checked": [1]}`, 1, false},
		"text for a finding": {`{"checked": ["a.py"], "findings": ["bad"]}`, 1, false},
	} {
		if answer, err := parseSyntax(boxtest.Ended(0, []byte(c.text), nil), c.files); (err == nil) != c.ok {
			t.Errorf("%s: %v %+v", name, err, answer)
		}
	}
	long := `{"checked": ["a.py"], "findings": [{"file": "a.py", "message": "` + strings.Repeat("m", 1<<16) + `\n\u001b[2Jx"}]}`
	answer, err := parseSyntax(boxtest.Ended(0, []byte(long), nil), 1)
	if err != nil || len(answer.Findings[0].Message) > check.MaxMessage+8 {
		t.Errorf("%v: the message is not bounded", err)
	}
}

func TestCheckerInTroubleIsInfraWhateverElseItFound(t *testing.T) {
	t.Parallel()
	text := `{"checked": ["a.py", "b.js"], "findings": [{"file": "a.py", "rule": "python-syntax", "message": "m"}], "trouble": ["node is missing"]}`
	b, _ := checktest.Replayed(map[string]guest.Result{"syntax.py": boxtest.Ended(0, []byte(text), nil)})
	out := runSyntax(t.Context(), b, []string{"a.py", "b.js"})
	if out.Verdict != check.Infra || !strings.Contains(out.Detail, "node is missing") || !strings.Contains(out.Detail, "agent images build") {
		t.Errorf("%+v", out)
	}
}

func TestSignatureOfACrashKeepsWhatMatters(t *testing.T) {
	t.Parallel()
	report := func(line string) []string {
		return readEnding(boxtest.Ended(1, nil, []byte("Traceback (most recent call last):\n  File \"/work/a.py\", line 3, in f\n"+line+"\n"))).Crashes
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"OSError: [Errno 98] port 8080", "OSError: [Errno 98] port 9999", true},
		{"E: <X object at 0x7fAB>", "E: <X object at 0x1234>", true},
		{"KeyError: 'a'", "KeyError: 'b'", false},
		{"KeyError: 'a'", "ValueError: 'a'", false},
		{"\x1b[31mKeyError\x1b[0m: 'a'", "KeyError: 'a'", true},
	} {
		if got := cmp.Equal(report(c.a), report(c.b)); got != c.same {
			t.Errorf("%q and %q: the same is %v", c.a, c.b, got)
		}
	}
	twice := readEnding(boxtest.Ended(1, nil, []byte(strings.Repeat("Exception in thread T:\nTraceback (most recent call last):\nValueError: port 1\n", 50))))
	if len(twice.Crashes) != 1 {
		t.Errorf("a crash that repeats itself is %d", len(twice.Crashes))
	}
}

func TestEndingOfAProgramThatWasStoppedIsNotItsOwn(t *testing.T) {
	t.Parallel()
	e := readEnding(guest.Result{TimedOut: true, Exit: -1, Signal: "SIGKILL", Wall: 10, CPU: 6})
	if !e.Running || !e.Busy || e.Signal != "" || e.Crashed() {
		t.Errorf("%+v", e)
	}
	for name, res := range map[string]guest.Result{
		"waits":           {TimedOut: true, Wall: 10, CPU: 5},
		"ended by itself": {Wall: 10, CPU: 9},
		"no time known":   {TimedOut: true, CPU: 9},
	} {
		if e := readEnding(res); e.Busy {
			t.Errorf("%s: %+v counts as busy", name, e)
		}
	}
}

// FuzzToolOutput gives every reader of a tool's output the same bytes. None may
// panic, place a finding outside the workspace, or take them for good news that
// the exit status contradicts.
func FuzzToolOutput(f *testing.F) {
	for _, name := range []string{"ruff.jsonl", "mypy.jsonl", "mypy-blocked.txt", "mypy-usage.txt", "ruff-config.txt"} {
		f.Add(golden(f, name), 1)
		f.Add(golden(f, name), 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, exit int) {
		res := boxtest.Ended(exit, data, data)
		found, err := parseRuff(res)
		if err == nil && (exit == 0) != (len(found) == 0) {
			t.Errorf("ruff: status %d with %+v", exit, found)
		}
		more, blocked, err := parseMypy(res)
		if err == nil && (exit == 0) != (len(more) == 0) || exit < 2 && blocked != "" {
			t.Errorf("mypy: status %d, blocked %q, with %+v", exit, blocked, more)
		}
		if reason, ok := ruffRefuses(res); ok && (exit != 2 || !utf8.ValidString(reason)) {
			t.Errorf("ruff: status %d refuses %q", exit, reason)
		}
		checktest.Inside(t, append(found, more...))
	})
}

// FuzzToolOutputSyntax does the same for the parsers.
func FuzzToolOutputSyntax(f *testing.F) {
	f.Add([]byte(`{"findings": [], "checked": ["a.py"], "skipped": [], "trouble": []}`), 0)
	f.Fuzz(func(t *testing.T, data []byte, exit int) {
		if answer, err := parseSyntax(boxtest.Ended(exit, data, data), 2); err == nil && (exit != 0 || len(answer.Checked)+len(answer.Skipped) != 2) {
			t.Errorf("syntax: status %d with %+v", exit, answer)
		}
	})
}

// FuzzToolOutputEnding does the same for the reports of a crash.
func FuzzToolOutputEnding(f *testing.F) {
	for _, name := range []string{"crash-python.txt", "crash-node.txt"} {
		f.Add(golden(f, name), 1)
		f.Add(golden(f, name), 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, exit int) {
		end := readEnding(boxtest.Ended(exit, data, data))
		checktest.Inside(t, []check.Finding{end.Where, end.Told})
	})
}

// FuzzRecord gives the reader of the tests' record any bytes: what it accepts
// has only outcomes that the judgement knows.
func FuzzRecord(f *testing.F) {
	f.Add(golden(f, "record.jsonl"), 1)
	f.Add([]byte(`{"kind": "finished", "status": 5}`+"\n"), 5)
	f.Add([]byte(`{"kind": "collect", "id": "", "outcome": "error", "file": "/etc/passwd", "line": -1}`+"\n"), 2)
	f.Fuzz(func(t *testing.T, data []byte, exit int) {
		run, err := check.ParseRecord(data)
		if err != nil {
			return
		}
		for _, r := range run.Results {
			if r.Outcome != "passed" && !r.Bad() && !r.Skipped() || strings.HasPrefix(r.File, "/") {
				t.Errorf("%+v", r)
			}
		}
		if trouble(run, boxtest.Ended(exit, nil, nil)) == "" && (!run.Finished || run.Status != exit || run.Ran != run.Collected || exit != 0 && exit != 1 && exit != 5) {
			t.Errorf("status %d with %+v", exit, run)
		}
	})
}
