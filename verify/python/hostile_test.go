package python

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/python/mypyhelp"
	"agent/verify/verifytest"
)

func TestUnknownOutcomeCannotHideALostTest(t *testing.T) {
	t.Parallel()
	forged := `{"kind": "collected", "ids": ["a.py::t"]}
{"kind": "test", "id": "a.py::t", "outcome": "deselected"}
{"kind": "finished", "status": 0}
`
	res := verifytest.Ended(0, nil, nil)
	res.Files = map[string][]byte{record: []byte(forged)}
	b, _ := checktest.Replayed(map[string]guest.Result{"run_tests.py": res})
	base := check.Outcome{Tests: []check.TestResult{{ID: "a.py::t", Outcome: "passed"}}}
	g := compare.JudgeTests(base, runTests(t.Context(), b), check.Diff{Sources: check.NewSources(b.View)})
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
	if got := trouble(run, verifytest.Ended(5, nil, nil)); got == "" {
		t.Error("results are accepted of a session that collected no test")
	}
}

func TestRuffLinesAreTakenOnlyWhole(t *testing.T) {
	t.Parallel()
	line := `{"code": "F821", "filename": "/work/a.py", "message": "m", "location": {"row": 3, "column": 7}}` + "\n"
	read := func(text string) ([]check.Finding, error) { return parseRuff(verifytest.Ended(1, []byte(text), nil)) }
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
		want.Help = mypyhelp.Of(want.Rule)
		got, blocked, err := parseMypy(verifytest.Ended(2, nil, []byte(text)))
		if d := cmp.Diff([]check.Finding{want}, got); d != "" || err != nil || !strings.HasSuffix(blocked, want.Message) {
			t.Errorf("%q: %v %q %s", text, err, blocked, d)
		}
	}
	for _, text := range []string{"", "a.py:1: note: x", "Traceback (most recent call last):\na.py:1: error: x", "a.py:1: error: INTERNAL ERROR", "error: x", "warning: y"} {
		if got, blocked, err := parseMypy(verifytest.Ended(2, nil, []byte(text))); err == nil {
			t.Errorf("%q is taken for an answer: %q %+v", text, blocked, got)
		}
	}
}

func TestNotesAndUnknownSeveritiesAreNoErrors(t *testing.T) {
	t.Parallel()
	note := []byte(`{"file": "a.py", "line": 1, "column": 0, "message": "m", "code": null, "severity": "note"}` + "\n\n")
	if found, _, err := parseMypy(verifytest.Ended(0, note, nil)); err != nil || len(found) != 0 {
		t.Errorf("%v %+v", err, found)
	}
	if found, _, err := parseMypy(verifytest.Ended(1, note, nil)); err == nil {
		t.Errorf("status 1 with nothing but a note: %+v", found)
	}
}

// FuzzToolOutput gives the same bytes to every reader of a tool's output. None may panic, place a finding outside the workspace, or
// accept good news that the exit status contradicts.
func FuzzToolOutput(f *testing.F) {
	for _, name := range []string{"ruff.jsonl", "mypy.jsonl", "mypy-blocked.txt", "mypy-usage.txt", "ruff-config.txt"} {
		f.Add(verifytest.Golden(f, name), 1)
		f.Add(verifytest.Golden(f, name), 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, exit int) {
		res := verifytest.Ended(exit, data, data)
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

// FuzzRecord gives the reader of the tests' record any bytes: what it accepts has only outcomes that the judgement knows.
func FuzzRecord(f *testing.F) {
	f.Add(verifytest.Golden(f, "record.jsonl"), 1)
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
		if trouble(run, verifytest.Ended(exit, nil, nil)) == "" && (!run.Finished || run.Status != exit || run.Ran != run.Collected || exit != 0 && exit != 1 && exit != 5) {
			t.Errorf("status %d with %+v", exit, run)
		}
	})
}
