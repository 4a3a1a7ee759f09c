package verify

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/boxtest"
	"agent/verify/check"
	"agent/verify/checktest"
)

// tyAnswer is what ty 0.0.85 says of the planted files.
const tyAnswer = `[
  {"check_name": "invalid-argument-type",
   "description": "invalid-argument-type: Argument to function ` + "`double`" + ` is incorrect: Expected ` + "`int`, found `Literal[\\\"21\\\"]`" + `",
   "severity": "major", "fingerprint": "48d482d19e1d7090",
   "location": {"path": "caller.py", "positions": {"begin": {"line": 3, "column": 16}, "end": {"line": 3, "column": 20}}}},
  {"check_name": "unresolved-reference", "description": "unresolved-reference: Name ` + "`pi`" + ` used when not defined",
   "severity": "major", "fingerprint": "96c5e460b06023c9",
   "location": {"path": "undefined.py", "positions": {"begin": {"line": 2, "column": 12}, "end": {"line": 2, "column": 14}}}}
]`

// pyrightAnswer is what pyright 1.1.414 says of them.
const pyrightAnswer = `{
    "version": "1.1.414",
    "time": "1795304616688",
    "generalDiagnostics": [
        {"file": "/work/caller.py", "severity": "error",
         "message": "Argument of type \"Literal['21']\" cannot be assigned to parameter \"n\" of type \"int\" in function \"double\"",
         "range": {"start": {"line": 2, "character": 15}, "end": {"line": 2, "character": 19}}, "rule": "reportArgumentType"},
        {"file": "/work/undefined.py", "severity": "error", "message": "\"pi\" is not defined",
         "range": {"start": {"line": 1, "character": 11}, "end": {"line": 1, "character": 13}}, "rule": "reportUndefinedVariable"}
    ],
    "summary": {"filesAnalyzed": 3, "errorCount": 2, "warningCount": 0, "informationCount": 0, "timeInSec": 3.549}
}`

// The base's configuration chooses; the patch's has no say.
func TestTheProjectChoosesItsTypeChecker(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing", nil, checkMypy},
		{"pyright's own file", map[string]string{"pyrightconfig.json": "{}"}, checkPyright},
		{"pyright's table", map[string]string{"pyproject.toml": "[tool.pyright]\nstrict = [\"a\"]\n"}, checkPyright},
		{"ty's own file", map[string]string{"ty.toml": ""}, checkTy},
		{"ty's table below", map[string]string{"pyproject.toml": "[tool.ty.rules]\na = \"error\"\n"}, checkTy},
		{"mypy beside pyright", map[string]string{"pyrightconfig.json": "{}", "setup.cfg": "[metadata]\n[mypy]\n"}, checkMypy},
		{"mypy's table beside ty's", map[string]string{"pyproject.toml": "[tool.mypy]\nstrict = true\n[tool.ty]\n"}, checkMypy},
		{"another tool's section", map[string]string{"setup.cfg": "[flake8]\n", "ty.toml": ""}, checkTy},
		{"no TOML", map[string]string{"pyproject.toml": "[tool.pyright\n"}, checkMypy},
		{"not at the root", map[string]string{"lib/pyrightconfig.json": "{}"}, checkMypy},
	} {
		base := boxtest.Scan(t, c.files)
		patch := boxtest.Change(t, base, map[string]string{"a.py": "x = 1\n", "mypy.ini": "[mypy]\n"})
		for _, cs := range []workspace.Changeset{{}, patch} {
			if got := typeProjects(check.NewView(base, cs))["."]; got != c.want {
				t.Errorf("%s, %d changes: %s, want %s", c.name, len(cs.Changes), got, c.want)
			}
		}
		for _, def := range typeChecks() {
			if reason := def.Applies(check.NewView(base, patch)); (reason == "") != (def.Name == c.want) {
				t.Errorf("%s: %s: %q", c.name, def.Name, reason)
			}
		}
	}
}

func TestFindingsOfTyAndPyright(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parse func(guest.Result) ([]check.Finding, string, error)
		text  string
		want  []check.Finding
	}{
		"ty": {parseTy, tyAnswer, []check.Finding{
			{
				File: "caller.py", Line: 3, Column: 16, Rule: "invalid-argument-type", Help: tyDocs + "invalid-argument-type",
				Message: "Argument to function `double` is incorrect: Expected `int`, found `Literal[\"21\"]`",
			},
			{
				File: "undefined.py", Line: 2, Column: 12, Rule: "unresolved-reference", Help: tyDocs + "unresolved-reference",
				Message: "Name `pi` used when not defined",
			},
		}},
		"pyright": {parsePyright, pyrightAnswer, []check.Finding{
			{
				File: "caller.py", Line: 3, Column: 16, Rule: "reportArgumentType", Help: pyrightDocs + "reportArgumentType",
				Message: "Argument of type \"Literal['21']\" cannot be assigned to parameter \"n\" of type \"int\" in function \"double\"",
			},
			{File: "undefined.py", Line: 2, Column: 12, Rule: "reportUndefinedVariable", Help: pyrightDocs + "reportUndefinedVariable", Message: "\"pi\" is not defined"},
		}},
	} {
		got, blocked, err := c.parse(boxtest.Ended(1, []byte(c.text), nil))
		if err != nil || blocked != "" {
			t.Errorf("%s: %q, %v", name, blocked, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// What is no judgement is told apart: the workspace's own fault is Blocked, the rest
// an error.
func TestWhatKeepsTyAndPyrightFromJudging(t *testing.T) {
	t.Parallel()
	none := func(files int) string {
		return strings.ReplaceAll(`{"generalDiagnostics": [], "summary": {"filesAnalyzed": N, "errorCount": 0, "warningCount": 0}}`, "N", string(rune('0'+files)))
	}
	const critical = `[{"check_name": "panic", "description": "panic: ty crashed", "severity": "critical", "location": {"path": "a.py"}}]`
	type parser = func(guest.Result) ([]check.Finding, string, error)
	for _, c := range []struct {
		name    string
		parse   parser
		res     guest.Result
		blocked string // "" where an error is wanted
	}{
		{"ty's file", parseTy, boxtest.Ended(2, nil, []byte("ty failed\n  Cause: /work/ty.toml is not a valid `ty.toml`\n  Cause: TOML parse error\n")), "is not a valid"},
		{"no file for ty", parseTy, boxtest.Ended(0, []byte("[]"), []byte("WARN No python files found under the given path(s)\n")), "no file"},
		{"ty gives up", parseTy, boxtest.Ended(2, nil, []byte("ty failed\n  Cause: no memory\n")), ""},
		{"ty crashes in words", parseTy, boxtest.Ended(1, []byte(critical), nil), ""},
		{"ty crashes", parseTy, boxtest.Ended(101, []byte("["), nil), ""},
		{"findings and status 0", parseTy, boxtest.Ended(0, []byte(tyAnswer), nil), ""},
		{"none and status 1", parseTy, boxtest.Ended(1, []byte("[]"), nil), ""},
		{"half a list", parseTy, boxtest.Ended(1, []byte(tyAnswer[:200]), nil), ""},
		{"pyright's file", parsePyright, boxtest.Ended(3, []byte(none(1)), []byte("Config file \"/work/pyrightconfig.json\" could not be parsed.\n")), "pyrightconfig.json"},
		{"no file for pyright", parsePyright, boxtest.Ended(0, []byte(none(0)), nil), "no file"},
		{"pyright gives up", parsePyright, boxtest.Ended(2, nil, []byte("Error: heap\n")), ""},
		{"errors and status 0", parsePyright, boxtest.Ended(0, []byte(pyrightAnswer), nil), ""},
		{"none but status 1", parsePyright, boxtest.Ended(1, []byte(none(1)), nil), ""},
		{"another count", parsePyright, boxtest.Ended(1, []byte(strings.Replace(pyrightAnswer, `"errorCount": 2`, `"errorCount": 3`, 1)), nil), ""},
		{"no summary", parsePyright, boxtest.Ended(0, []byte(`{"generalDiagnostics": []}`), nil), ""},
		{"half a report", parsePyright, boxtest.Ended(1, []byte(pyrightAnswer[:300]), nil), ""},
	} {
		found, blocked, err := c.parse(c.res)
		if len(found) > 0 || (err == nil) != (c.blocked != "") || !strings.Contains(blocked, c.blocked) {
			t.Errorf("%s: %d findings, blocked %q, %v", c.name, len(found), blocked, err)
		}
	}
}

// Both see their planted faults in the real image, and nothing else.
func TestTyAndPyrightProveThemselves(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, nil, sandbox.Limits{})
	if reasons := prove(t.Context(), b, []check.Check{tyCheck, pyrightCheck}); len(reasons) > 0 {
		t.Errorf("not proved: %q", reasons)
	}
	// What .ignore names is checked too.
	if err := b.Box.Apply(t.Context(), check.Plant(map[string]string{".ignore": "hidden.py\n", "hidden.py": "x: int = \"\"\n"})); err != nil {
		t.Fatal(err)
	}
	for _, run := range []check.Outcome{tyCheck.Run(t.Context(), b), pyrightCheck.Run(t.Context(), b)} {
		if len(run.Findings) != 1 || run.Findings[0].File != "hidden.py" {
			t.Errorf("%+v", run)
		}
	}
}
