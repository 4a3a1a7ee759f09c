package verify

import (
	"strings"
	"testing"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/syntax"
	"agent/verify/verifytest"
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
		if answer, err := syntax.Parse(verifytest.Ended(0, []byte(c.text), nil), c.files); (err == nil) != c.ok {
			t.Errorf("%s: %v %+v", name, err, answer)
		}
	}
	long := `{"checked": ["a.py"], "findings": [{"file": "a.py", "message": "` + strings.Repeat("m", 1<<16) + `\n\u001b[2Jx"}]}`
	answer, err := syntax.Parse(verifytest.Ended(0, []byte(long), nil), 1)
	if err != nil || len(answer.Findings[0].Message) > check.MaxMessage+8 {
		t.Errorf("%v: the message is not bounded", err)
	}
}

func TestCheckerInTroubleIsInfraWhateverElseItFound(t *testing.T) {
	t.Parallel()
	text := `{"checked": ["a.py", "b.js"], "findings": [{"file": "a.py", "rule": "python-syntax", "message": "m"}], "trouble": ["node is missing"]}`
	b, _ := checktest.Replayed(map[string]guest.Result{"syntax.py": verifytest.Ended(0, []byte(text), nil)})
	out := syntax.Run(t.Context(), b, []string{"a.py", "b.js"})
	if out.Verdict != check.Infra || !strings.Contains(out.Detail, "node is missing") || !strings.Contains(out.Detail, "agent images build") {
		t.Errorf("%+v", out)
	}
}

// FuzzToolOutputSyntax gives the reader of the parsers' answer any bytes: it accepts only status 0 with an answer for each file.
func FuzzToolOutputSyntax(f *testing.F) {
	f.Add([]byte(`{"findings": [], "checked": ["a.py"], "skipped": [], "trouble": []}`), 0)
	f.Fuzz(func(t *testing.T, data []byte, exit int) {
		if answer, err := syntax.Parse(verifytest.Ended(exit, data, data), 2); err == nil && (exit != 0 || len(answer.Checked)+len(answer.Skipped) != 2) {
			t.Errorf("syntax: status %d with %+v", exit, answer)
		}
	})
}
