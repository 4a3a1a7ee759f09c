package python

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/python/mypyhelp"
	"agent/verify/verifytest"
)

// ruffRules is the address of ruff's explanations of its rules.
const ruffRules = "https://docs.astral.sh/ruff/rules/"

func TestRuffFindingsAreRead(t *testing.T) {
	t.Parallel()
	got, err := parseRuff(verifytest.Ended(1, verifytest.Golden(t, "ruff.jsonl"), nil))
	if err != nil {
		t.Fatal(err)
	}
	want := []check.Finding{
		{File: "caller.py", Line: 1, Column: 8, Rule: "F401", Message: "`os` imported but unused", Fixable: true, Help: ruffRules + "unused-import"},
		{File: "caller.py", Line: 5, Column: 14, Rule: "F821", Message: "Undefined name `nothing`", Help: ruffRules + "undefined-name"},
		{File: "lib.py", Line: 5, Column: 5, Rule: "F811", Message: "Redefinition of unused `f` from line 1: `f` redefined here", Help: ruffRules + "redefined-while-unused"},
		{File: "src/pkg/m.py", Line: 1, Column: 8, Rule: "F401", Message: "`nosuch` imported but unused", Fixable: true, Help: ruffRules + "unused-import"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestToolOutputThatDisagreesWithItsStatusIsNoAnswer(t *testing.T) {
	t.Parallel()
	lines := verifytest.Golden(t, "ruff.jsonl")
	for name, res := range map[string]guest.Result{
		"status 0 with findings":    verifytest.Ended(0, lines, nil),
		"status 1 without findings": verifytest.Ended(1, nil, nil),
		"status 2":                  verifytest.Ended(2, nil, []byte("ruff crashed")),
		"cut line":                  verifytest.Ended(1, lines[:len(lines)-20], nil),
		"garbage":                   verifytest.Ended(1, []byte("All checks passed!\n"), nil),
		"empty object":              verifytest.Ended(1, []byte("{}\n"), nil),
		"dropped output":            {Exit: 1, Stdout: guest.Output{Head: lines, Dropped: 1}},
	} {
		if found, err := parseRuff(res); err == nil {
			t.Errorf("ruff, %s: taken for an answer: %+v", name, found)
		}
	}
	lines = verifytest.Golden(t, "mypy.jsonl")
	for name, res := range map[string]guest.Result{
		"status 0 with errors":    verifytest.Ended(0, lines, nil),
		"status 1 without errors": verifytest.Ended(1, nil, nil),
		"crash":                   verifytest.Ended(2, nil, []byte("a.py:1: error: INTERNAL ERROR -- Please try\nTraceback (most recent call last):\n")),
		"status 2, no reason":     verifytest.Ended(2, nil, nil),
		"status 3":                verifytest.Ended(3, lines, nil),
		"cut line":                verifytest.Ended(1, lines[:len(lines)-20], nil),
	} {
		if found, _, err := parseMypy(res); err == nil {
			t.Errorf("mypy, %s: taken for an answer: %+v", name, found)
		}
	}
}

func TestRuffRefusalOfAConfigurationIsTold(t *testing.T) {
	t.Parallel()
	reason, ok := ruffRefuses(verifytest.Ended(2, nil, verifytest.Golden(t, "ruff-config.txt")))
	if !ok || !strings.Contains(reason, "Unknown rule selector `ZZZ9`") {
		t.Errorf("%v %q", ok, reason)
	}
	for _, other := range []string{"error: Failed to parse a.py:1:7: x\n", "ruff failed\n  Cause: out of disk\n", "panicked\n"} {
		if _, ok := ruffRefuses(verifytest.Ended(2, nil, []byte(other))); ok {
			t.Errorf("%q is taken for a refused configuration", other)
		}
	}
}

func TestMypyFindingsAreRead(t *testing.T) {
	t.Parallel()
	got, blocked, err := parseMypy(verifytest.Ended(1, verifytest.Golden(t, "mypy.jsonl"), nil))
	if err != nil || blocked != "" {
		t.Fatal(err, blocked)
	}
	want := []check.Finding{
		{File: "lib.py", Line: 5, Column: 1, Rule: "no-redef", Message: `Name "f" already defined on line 1`, Help: mypyhelp.Of("no-redef")},
		{File: "lib.py", Line: 6, Column: 12, Rule: "return-value", Message: `Incompatible return value type (got "str", expected "int")`, Help: mypyhelp.Of("return-value")},
		{File: "src/pkg/m.py", Line: 1, Column: 1, Rule: "import-not-found", Message: `Cannot find implementation or library stub for module named "nosuch"`, Help: mypyhelp.Of("import-not-found")},
		{File: "caller.py", Line: 4, Column: 3, Rule: "arg-type", Message: `Argument 1 to "f" has incompatible type "str"; expected "int"`, Help: mypyhelp.Of("arg-type")},
		{File: "caller.py", Line: 5, Column: 14, Rule: "name-defined", Message: `Name "nothing" is not defined`, Help: mypyhelp.Of("name-defined")},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMypyBlockingErrorsAreFindings(t *testing.T) {
	t.Parallel()
	got, blocked, err := parseMypy(verifytest.Ended(2, verifytest.Golden(t, "mypy-blocked.txt"), nil))
	want := []check.Finding{{File: "bad.py", Line: 1, Rule: "syntax", Message: "invalid syntax", Help: mypyhelp.Of("syntax")}}
	if d := cmp.Diff(want, got); d != "" || err != nil || blocked != "bad.py: invalid syntax" {
		t.Error(d, err, blocked)
	}
	_, blocked, err = parseMypy(verifytest.Ended(2, nil, verifytest.Golden(t, "mypy-usage.txt")))
	if err != nil || !strings.HasPrefix(blocked, "Mypy no longer supports checking Python 2 code") {
		t.Error(err, blocked)
	}
}

func TestTestRecordIsRead(t *testing.T) {
	t.Parallel()
	run, err := check.ParseRecord(verifytest.Golden(t, "record.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if reason := trouble(run, verifytest.Ended(1, nil, nil)); reason != "" {
		t.Errorf("trouble %q", reason)
	}
	if got := run.Summary(); got != "4 passed, 4 failed, 3 error, 2 skipped, 1 xfailed" {
		t.Errorf("summary %q", got)
	}
	byID := map[string]check.TestResult{}
	for _, r := range run.Results {
		byID[r.ID] = r
	}
	for _, want := range []check.TestResult{
		{ID: "tests/test_a.py::test_raise", Outcome: "failed", File: "lib.py", Line: 2, Message: "ZeroDivisionError: division by zero"},
		{ID: "tests/test_a.py::T::test_u", Outcome: "failed", File: "tests/test_a.py", Line: 17, Message: "AssertionError: 1 != 2"},
		{ID: "tests/test_imp.py", Outcome: "error", File: "tests/test_imp.py", Line: 1, Message: "ModuleNotFoundError: No module named 'nosuch'"},
		{ID: "tests/test_syn.py", Outcome: "error", File: "tests/test_syn.py", Line: 1, Message: "SyntaxError: invalid syntax"},
	} {
		if byID[want.ID] != want {
			t.Errorf("%+v, want %+v", byID[want.ID], want)
		}
	}
}

func TestTestRunThatDoesNotFitItsRecordIsTrouble(t *testing.T) {
	t.Parallel()
	whole := string(verifytest.Golden(t, "record.jsonl"))
	collected := `{"kind": "collected", "ids": ["a.py::t"]}` + "\n"
	passed := `{"kind": "test", "id": "a.py::t", "outcome": "passed"}` + "\n"
	for _, c := range []struct {
		name, record string
		res          guest.Result
		want         string
	}{
		{"no record", "", verifytest.Ended(0, nil, nil), "before its session finished"},
		{"cut record", whole[:len(whole)-5], verifytest.Ended(1, nil, nil), "before its session finished"},
		{"other status", whole, verifytest.Ended(0, nil, nil), "exit status 0"},
		{"signal", whole, guest.Result{Exit: -1, Signal: "SIGSEGV"}, "SIGSEGV"},
		{"tests not run", collected + `{"kind": "finished", "status": 0, "tests": 0}` + "\n", verifytest.Ended(0, nil, nil), "collected 1 tests and ran 0"},
		{"failure without one", collected + passed + `{"kind": "finished", "status": 1, "tests": 1}` + "\n", verifytest.Ended(1, nil, nil), "does not match"},
		{"usage", `{"kind": "finished", "status": 4, "tests": 0}` + "\n", verifytest.Ended(4, nil, []byte("ERROR: usage")), "gave up with exit status 4: ERROR: usage"},
		{"no tests", `{"kind": "finished", "status": 5, "tests": 0}` + "\n", verifytest.Ended(5, nil, nil), ""},
		{"good", collected + passed + `{"kind": "finished", "status": 0, "tests": 1}` + "\n", verifytest.Ended(0, nil, nil), ""},
	} {
		run, err := check.ParseRecord([]byte(c.record))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := trouble(run, c.res); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: trouble %q, want %q", c.name, got, c.want)
		}
	}
	if _, err := check.ParseRecord([]byte(whole + passed)); err == nil {
		t.Error("a record that goes on after its end is accepted")
	}
	if _, err := check.ParseRecord([]byte("1 passed\n")); err == nil {
		t.Error("text is accepted as a record")
	}
}
