package python

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

func TestFindingsOfTyAndPyright(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parse func(guest.Result) ([]check.Finding, string, error)
		text  string
		want  []check.Finding
	}{
		"ty": {parseTy, checktest.TyAnswer, []check.Finding{
			{
				File: "caller.py", Line: 3, Column: 16, Rule: "invalid-argument-type", Help: tyDocs + "invalid-argument-type",
				Message: "Argument to function `double` is incorrect: Expected `int`, found `Literal[\"21\"]`",
			},
			{
				File: "undefined.py", Line: 2, Column: 12, Rule: "unresolved-reference", Help: tyDocs + "unresolved-reference",
				Message: "Name `pi` used when not defined",
			},
		}},
		"pyright": {parsePyright, checktest.PyrightAnswer, []check.Finding{
			{
				File: "caller.py", Line: 3, Column: 16, Rule: "reportArgumentType", Help: pyrightDocs + "reportArgumentType",
				Message: "Argument of type \"Literal['21']\" cannot be assigned to parameter \"n\" of type \"int\" in function \"double\"",
			},
			{File: "undefined.py", Line: 2, Column: 12, Rule: "reportUndefinedVariable", Help: pyrightDocs + "reportUndefinedVariable", Message: "\"pi\" is not defined"},
		}},
	} {
		got, blocked, err := c.parse(verifytest.Ended(1, []byte(c.text), nil))
		if err != nil || blocked != "" {
			t.Errorf("%s: %q, %v", name, blocked, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// Outcomes that are not a judgement are told apart: a fault of the workspace is Blocked, anything else is an error.
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
		blocked string // "" if an error is wanted
	}{
		{"ty's file", parseTy, verifytest.Ended(2, nil, []byte("ty failed\n  Cause: /work/ty.toml is not a valid `ty.toml`\n  Cause: TOML parse error\n")), "is not a valid"},
		{"no file for ty", parseTy, verifytest.Ended(0, []byte("[]"), []byte("WARN No python files found under the given path(s)\n")), "no file"},
		{"ty gives up", parseTy, verifytest.Ended(2, nil, []byte("ty failed\n  Cause: no memory\n")), ""},
		{"ty crashes in words", parseTy, verifytest.Ended(1, []byte(critical), nil), ""},
		{"ty crashes", parseTy, verifytest.Ended(101, []byte("["), nil), ""},
		{"findings and status 0", parseTy, verifytest.Ended(0, []byte(checktest.TyAnswer), nil), ""},
		{"none and status 1", parseTy, verifytest.Ended(1, []byte("[]"), nil), ""},
		{"half a list", parseTy, verifytest.Ended(1, []byte(checktest.TyAnswer[:200]), nil), ""},
		{"pyright's file", parsePyright, verifytest.Ended(3, []byte(none(1)), []byte("Config file \"/work/pyrightconfig.json\" could not be parsed.\n")), "pyrightconfig.json"},
		{"no file for pyright", parsePyright, verifytest.Ended(0, []byte(none(0)), nil), "no file"},
		{"pyright gives up", parsePyright, verifytest.Ended(2, nil, []byte("Error: heap\n")), ""},
		{"errors and status 0", parsePyright, verifytest.Ended(0, []byte(checktest.PyrightAnswer), nil), ""},
		{"none but status 1", parsePyright, verifytest.Ended(1, []byte(none(1)), nil), ""},
		{"another count", parsePyright, verifytest.Ended(1, []byte(strings.Replace(checktest.PyrightAnswer, `"errorCount": 2`, `"errorCount": 3`, 1)), nil), ""},
		{"no summary", parsePyright, verifytest.Ended(0, []byte(`{"generalDiagnostics": []}`), nil), ""},
		{"half a report", parsePyright, verifytest.Ended(1, []byte(checktest.PyrightAnswer[:300]), nil), ""},
	} {
		found, blocked, err := c.parse(c.res)
		if len(found) > 0 || (err == nil) != (c.blocked != "") || !strings.Contains(blocked, c.blocked) {
			t.Errorf("%s: %d findings, blocked %q, %v", c.name, len(found), blocked, err)
		}
	}
}
