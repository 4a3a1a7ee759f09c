package verify

import (
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/golang"
	"agent/verify/python"
	"agent/verify/smoke"
	"agent/verify/verifytest"
)

// What has nothing to execute is told from code by its language and by what is left of it
// without comments.
func TestOnlyCodeThatIsDifferentHasToBeExecuted(t *testing.T) {
	t.Parallel()
	change := func(op workspace.Op, name, before, after string) workspace.Change {
		return workspace.Change{Op: op, Path: name, Before: []byte(before), After: []byte(after)}
	}
	for name, c := range map[string]struct {
		change workspace.Change
		want   string
	}{
		"a function":                  {change(workspace.Create, "a.py", "", "def f():\n    pass\n"), "Python"},
		"a file that goes":            {change(workspace.Delete, "a.go", "package a\n", ""), "Go"},
		"a script by its first line":  {change(workspace.Create, "bin/start", "", "#!/usr/bin/env python3\nprint(1)\n"), "Python"},
		"a language without a runner": {change(workspace.Create, "a.rs", "", "fn main() {}\n"), "Rust"},
		"one character of a string":   {change(workspace.Modify, "a.py", "x = 'a'\n", "x = 'b'\n"), "Python"},
		"the depth of a line":         {change(workspace.Modify, "a.py", "if x:\n    f()\n    g()\n", "if x:\n    f()\ng()\n"), "Python"},
		"a comment behind code":       {change(workspace.Modify, "a.py", "x = 1\n", "x = 1  # one\n"), "Python"},
		"a comment of its own":        {change(workspace.Modify, "a.py", "x = 1\n", "# one\nx = 1\n"), ""},
		"a comment of many lines":     {change(workspace.Modify, "a.js", "f();\n", "/*\n * f\n */\nf();\n"), ""},
		"blank space at the end":      {change(workspace.Modify, "a.go", "package a\n", "package a  \n\n"), ""},
		"data":                        {change(workspace.Create, "a.json", "", "{}\n"), ""},
		"a page":                      {change(workspace.Create, "a.html", "", "<p>\n"), ""},
		"prose":                       {change(workspace.Create, "README.md", "", "text\n"), ""},
	} {
		got := ""
		if l := programOf(c.change); l != nil {
			got = l.Tests.Name
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A change is executed by the tests of its own language, by a gate that runs tests, and by the
// program: by nothing that another language has, that was skipped or that was not judged.
func TestAChangeIsExecutedByItsOwnLanguage(t *testing.T) {
	t.Parallel()
	ran := func(end string) check.Outcome {
		return check.Outcome{Tests: []check.TestResult{{ID: "a::x", Outcome: end}}}
	}
	started := func(command ...string) check.Outcome { return check.Outcome{Ending: &check.Ending{Command: command}} }
	for name, c := range map[string]struct {
		by     string
		out    check.Outcome
		judged bool
		gates  []CustomGate
		held   bool
	}{
		"its tests":                    {by: python.PytestName, out: ran("passed"), judged: true},
		"tests that were skipped":      {by: python.PytestName, out: ran("skipped"), judged: true, held: true},
		"tests that nobody judged":     {by: python.PytestName, out: ran("passed"), held: true},
		"tests of another language":    {by: golang.TestsName, out: ran("passed"), judged: true, held: true},
		"the program":                  {by: smoke.ProgramName, out: started("/usr/bin/python3", "-B", "main.py"), judged: true},
		"a program of another one":     {by: smoke.ProgramName, out: started("go", "/tmp/program"), judged: true, held: true},
		"a program of unknown origin":  {by: smoke.ProgramName, out: started("./start"), judged: true},
		"an import":                    {by: smoke.ImportsName, out: check.Outcome{Imports: []check.ImportResult{{Name: "a"}}}, judged: true, held: true},
		"a gate that runs tests":       {by: "unit", judged: true, gates: []CustomGate{{Name: "unit", Command: []string{"make", "test"}}}},
		"a gate for something else":    {by: "licence", judged: true, gates: []CustomGate{{Name: "licence", Command: []string{"make", "licence"}}}, held: true},
		"a gate that came to no judge": {by: "unit", gates: []CustomGate{{Name: "unit", Command: []string{"make", "test"}}}, held: true},
	} {
		base := verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"})
		cs := verifytest.Change(t, base, map[string]string{"a.py": "x = 2\n"})
		r := newResults(nil, Request{Base: base, Changeset: cs, Config: Config{Gates: c.gates}})
		r.cand[c.by] = c.out
		if c.judged {
			r.judged[c.by] = check.Gate{Verdict: check.Pass}
		}
		holds := r.unexecuted([]Unproven{{Gate: check.GateTests, Kind: NoTests, Reason: "no test ran: why"}})
		if held := len(holds) == 1; held != c.held {
			t.Errorf("%s: %+v", name, holds)
		}
		if c.held && (holds[0].Path != "a.py" || !holds[0].Block || !strings.HasSuffix(holds[0].Reason, "no test ran: why.")) {
			t.Errorf("%s: %+v", name, holds[0])
		}
	}
}
