package audit

import (
	"cmp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
	"agent/verify/golang"
	"agent/verify/python"
	"agent/verify/smoke"
	"agent/verify/verifytest"
)

// A change has nothing to execute if its language has nothing to execute, or if only comments differ.
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
		"a stub of Python":            {change(workspace.Create, "a.pyi", "", "def f() -> int: ...\n"), ""},
		"declarations of TypeScript":  {change(workspace.Modify, "a.d.mts", "export const a: number\n", "export const a: string\n"), ""},
		"a name like it":              {change(workspace.Create, "build.ts", "", "f();\n"), "JavaScript"},
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

// A change is executed by tests in its own language, by a gate that runs tests, or by the program, and not by anything of another
// language, or that was skipped or not judged.
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
		gates  map[string][]string
		held   bool
	}{
		"its tests":                    {by: python.PytestName, out: ran("passed"), judged: true},
		"tests that fail as before":    {by: python.PytestName, out: ran("failed"), judged: true, held: true},
		"tests that were skipped":      {by: python.PytestName, out: ran("skipped"), judged: true, held: true},
		"tests that nobody judged":     {by: python.PytestName, out: ran("passed"), held: true},
		"tests of another language":    {by: golang.TestsName, out: ran("passed"), judged: true, held: true},
		"the program":                  {by: smoke.ProgramName, out: started("/usr/bin/python3", "-B", "main.py"), judged: true},
		"a program of another one":     {by: smoke.ProgramName, out: started("go", "/tmp/program"), judged: true, held: true},
		"a program of unknown origin":  {by: smoke.ProgramName, out: started("./start"), judged: true},
		"an import":                    {by: smoke.ImportsName, out: check.Outcome{Imports: []check.ImportResult{{Name: "a"}}}, judged: true, held: true},
		"a gate that runs tests":       {by: "unit", judged: true, gates: map[string][]string{"unit": {"make", "test"}}},
		"a gate for something else":    {by: "licence", judged: true, gates: map[string][]string{"licence": {"make", "licence"}}, held: true},
		"a gate that came to no judge": {by: "unit", gates: map[string][]string{"unit": {"make", "test"}}, held: true},
	} {
		base := verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"})
		cs := verifytest.Change(t, base, map[string]string{"a.py": "x = 2\n"})
		e := evidenceOf(base, cs)
		e.Candidate[c.by] = c.out
		e.Own = c.gates
		if c.judged {
			e.Judged[c.by] = check.Gate{Verdict: check.Pass}
		}
		holds := e.Hold([]Unproven{{Gate: check.GateTests, Kind: NoTests, Reason: "no test ran: why"}})
		if held := len(holds) == 1; held != c.held {
			t.Errorf("%s: %+v", name, holds)
		}
		if c.held && (holds[0].Path != "a.py" || !holds[0].Block || !strings.HasSuffix(holds[0].Reason, "no test ran: why.")) {
			t.Errorf("%s: %+v", name, holds[0])
		}
	}
}

// If it was measured which lines ran, it is not enough that tests of the language ran: one of the changed lines must be among them.
func TestAMeasuredChangeHasToBeExecutedItself(t *testing.T) {
	t.Parallel()
	trace := func(ran ...int) *check.Trace {
		return &check.Trace{Code: check.Lines{"a.py": {1}}, Ran: check.Lines{"a.py": ran}}
	}
	goTrace := &check.Trace{Code: check.Lines{"c.go": {3}}}
	for name, c := range map[string]struct {
		tests, program *check.Trace
		by             string // before the command
		command        string
		patch          map[string]string
		end            string // of the test; "" for passed
		blocked        string // why the workspace was blocked before the patch
		reason         string // of the hold
		audit          int    // files of which nothing was executed, in one sentence
		unmeasured     string // what the sentence says about files that were not measured
	}{
		"a line that ran":                {tests: trace(1)},
		"a line of tests that all fail":  {tests: trace(1), end: "failed", reason: "no changed line: none of 1", audit: 1},
		"a line of a blocked project":    {tests: trace(1), blocked: "no module", reason: "no changed line: none of 1", audit: 1},
		"no line that ran":               {tests: trace(), reason: "no changed line: none of 1", audit: 1},
		"one that the program ran":       {tests: trace(), program: trace(1)},
		"the program, which did not":     {tests: trace(), program: trace(), reason: "no changed line: none of 1", audit: 1},
		"the file of the program itself": {tests: trace(), command: "a.py", audit: 1},
		"that file, measured":            {program: trace(), command: "a.py", reason: "no changed line: none of 1", audit: 1},
		"that file, which ran it":        {program: trace(1), command: "a.py"},
		"a program of another file":      {tests: trace(), command: "b.py", reason: "no changed line: none of 1", audit: 1},
		"an import that ran": {
			tests: &check.Trace{Code: check.Lines{"a.py": {1, 3}}, Ran: check.Lines{"a.py": {1}}},
			patch: map[string]string{"a.py": "import b\n\nx = b.y if b else 1\n"}, reason: "of 2 changed lines they executed only 1 that import something", audit: 1,
		},
		"nothing that could run":    {tests: &check.Trace{Code: check.Lines{"a.py": {}}}},
		"nothing measured":          {unmeasured: "in a.py could not"},
		"data of tests":             {patch: map[string]string{"testing/data/a.py": "x = 2\n"}},
		"nothing of either":         {patch: map[string]string{"a.py": "x = 2\n", "b.py": "y = 2\n"}, unmeasured: "in a.py and 1 more could not"},
		"a comment and code":        {patch: map[string]string{"a.py": "# x\nx = 1\n", "b.py": "y = 2\n"}, unmeasured: "in b.py could not"},
		"one of two files":          {tests: trace(), patch: map[string]string{"a.py": "x = 2\n", "b.py": "y = 2\n"}, audit: 1, unmeasured: "in b.py could not"},
		"a program of Go":           {tests: goTrace, command: "/tmp/program", by: "go", patch: map[string]string{"c.go": "package main\n\nfunc main() {}\n"}, audit: 1},
		"a library of Go beside it": {tests: goTrace, command: "/tmp/program", by: "go", patch: map[string]string{"c.go": "package c\n\nvar C = 1\n"}, reason: "no changed line: none of 1", audit: 1},
		"a test beside it that ran": {tests: trace(), patch: map[string]string{"a.py": "x = 2\n", "test_a.py": "y = 2\n"}, reason: "no changed line: none of 1", audit: 1},
		"tests alone":               {patch: map[string]string{"test_a.py": "y = 2\n"}},
	} {
		base := verifytest.Scan(t, map[string]string{"a.py": "x = 1\n", "b.py": "y = 1\n", "test_a.py": "y = 1\n"})
		if c.patch == nil {
			c.patch = map[string]string{"a.py": "x = 2\n"}
		}
		e := evidenceOf(base, verifytest.Change(t, base, c.patch))
		e.Candidate[python.PytestName] = check.Outcome{Tests: []check.TestResult{{ID: "test_a.py::x", Outcome: cmp.Or(c.end, "passed")}}, Traced: c.tests}
		e.Before[python.PytestName] = check.Outcome{Roots: map[string]string{".": c.blocked}}
		e.Judged[python.PytestName] = check.Gate{Verdict: check.Pass}
		if c.program != nil || c.command != "" {
			e.Candidate[smoke.ProgramName] = check.Outcome{Ending: &check.Ending{Command: []string{cmp.Or(c.by, "/usr/bin/python3"), c.command}}, Traced: c.program}
			e.Judged[smoke.ProgramName] = check.Gate{Verdict: check.Pass}
		}
		list := e.unexecutedFiles()
		holds := e.Hold(list)
		if len(holds) > 0 != (c.reason != "") || len(holds) > 0 && !strings.Contains(holds[0].Reason, c.reason) {
			t.Errorf("%s: %+v", name, holds)
		}
		if len(list) != c.audit {
			t.Errorf("%s: %+v", name, list)
		}
		unknown := e.unmeasuredFiles()
		if len(unknown) > 0 != (c.unmeasured != "") || len(unknown) > 0 && (unknown[0].Kind != NotMeasured || !unknown[0].Part || !strings.Contains(unknown[0].Reason, c.unmeasured)) {
			t.Errorf("%s: %+v", name, unknown)
		}
	}
}

// An import runs when its file is loaded, and says nothing about the rest of the file.
func TestAnImportDoesNotSpeakForTheRest(t *testing.T) {
	t.Parallel()
	const (
		python = "import os\nfrom a import (\n    b,\n)\n\n\ndef f():\n    return b(os)\n"
		script = "import a from 'a';\nimport {\n  b,\n} from 'b';\nexport {c} from 'c';\nconst d = require('d');\nexport const f = () => {\n  return a(b, d);\n};\nconst e = await import('e');\n"
	)
	for _, c := range []struct {
		name, text string
		code, ran  []int
		want       bool
	}{
		{"a.py", python, []int{1, 8}, []int{1}, true},
		{"a.py", python, []int{2, 3, 4, 8}, []int{2, 3, 4}, true},
		{"a.py", python, []int{1, 8}, []int{1, 8}, false},
		{"a.py", python, []int{1, 2}, []int{1}, false}, // all changed lines are imports
		{"a.js", script, []int{1, 2, 3, 4, 5, 6, 8}, []int{1, 2, 3, 4, 5, 6}, true},
		{"a.ts", script, []int{1, 8}, []int{1, 8}, false},
		{"a.mjs", script, []int{8, 10}, []int{10}, false},
		{"a.go", "package a\n\nimport \"os\"\n\nfunc F() {\n\tos.Exit(0)\n}\n", []int{3, 6}, []int{3}, false}, // nothing runs it
	} {
		if got := onlyImports(lang.Of(c.name), workspace.Change{Op: workspace.Create, Path: c.name, After: []byte(c.text)}, c.code, c.ran); got != c.want {
			t.Errorf("%s %v of %v: %v", c.name, c.ran, c.code, got)
		}
	}
}

// The lines that a patch is asked about are those of the program; for a test it is known that it ran.
func TestLinesOfTheProgramAreAskedAbout(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"a.py": "x = 1\n\n\ndef f():\n    # one\n    return 1\n", "b.go": "package b\n", "test_a.py": "", "README.md": ""})
	cs := verifytest.Change(t, base, map[string]string{
		"a.py": "x = 1\n\n\ndef f():\n    # two\n    return 2\n", "b.go": "package b\n\n// B\nvar B int\n", "test_a.py": "x = 1\n", "README.md": "text\n", "c.js": "f();\n",
	})
	want := check.Lines{"a.py": {6}, "b.go": {4}, "c.js": {1}}
	if d := gocmp.Diff(want, Asked(cs)); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
}
