package verify

import (
	"strings"
	"testing"

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
		f.Add(boxtest.Golden(f, name), 1)
		f.Add(boxtest.Golden(f, name), 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, exit int) {
		end := readEnding(boxtest.Ended(exit, data, data))
		checktest.Inside(t, []check.Finding{end.Where, end.Told})
	})
}
