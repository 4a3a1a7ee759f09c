package node

import (
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/node/lintreport"
	"agent/verify/node/testreport"
	"agent/verify/verifytest"
)

// FuzzReports gives every reader of a runner's report the same bytes: what it accepts has only outcomes that the
// judgement knows, and no place outside the workspace.
func FuzzReports(f *testing.F) {
	f.Add([]byte(`{"numTotalTests":1,"numFailedTests":1,"testResults":[{"name":"/work/a.test.js","status":"failed","assertionResults":[{"title":"t","status":"failed","failureMessages":["x\n    at /work/a.js:1:2"],"location":{"line":-1}}]}]}`))
	f.Add([]byte(`{"stats":{"tests":1,"passes":1,"pending":0,"failures":0},"tests":[{"fullTitle":"a b","file":"/work/../etc/passwd","err":{}}],"passes":[{"fullTitle":"a b"}],"failures":[],"pending":[]}`))
	f.Add([]byte("TAP version 13\n# Subtest: /work/a.test.js\n    not ok 1 - b\n      ---\n      stack: |-\n        at /work/a.js:1\n      ...\n    1..1\nok 1 - a\n1..1\n"))
	f.Add([]byte("a.test.js\n • •   (2 / 2)\n\n  Total:     2\n  Passed:    2\n  Skipped:   0\n"))
	place := func(file string) string {
		if file == "" {
			return "package.json"
		}
		return check.Relative(file, check.Work)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, parse := range map[string]func([]byte, testreport.Reading) ([]check.TestResult, error){
			"jest": testreport.Jest, "mocha": testreport.Mocha, "tap": testreport.TAP, "ava": testreport.Ava, "uvu": testreport.Uvu,
		} {
			results, err := parse(data, testreport.Reading{Place: place, Ours: func(string) bool { return false }})
			if err != nil {
				continue
			}
			for _, r := range results {
				if r.Outcome != "passed" && !r.Bad() && !r.Skipped() || strings.HasPrefix(r.File, "/") || r.Line < 0 {
					t.Errorf("%s: %+v", name, r)
				}
			}
		}
	})
}

// FuzzFindings gives the same bytes to every reader of the output of the workspace's own tools.
func FuzzFindings(f *testing.F) {
	f.Add(1, []byte(`[{"filePath":"/work/a.js","messages":[{"ruleId":"no-undef","severity":2,"message":"m","line":-1,"column":99999999999}]}]`))
	f.Add(2, []byte(`[{"source":"../a.css","warnings":[{"line":1,"column":1,"rule":"r","severity":"error","text":"m"}]}]`))
	f.Add(2, []byte("a.ts(1,2): error TS2322: m\n  more\nerror TS18003: no inputs\n"))
	f.Fuzz(func(t *testing.T, exit int, data []byte) {
		for name, parse := range map[string]func(int, []byte) ([]check.Finding, string){
			"eslint": lintreport.ESLint, "stylelint": lintreport.Stylelint,
			"compiler": func(exit int, data []byte) ([]check.Finding, string) {
				return parseCompiler(verifytest.Ended(exit, data, nil))
			},
		} {
			found, trouble := parse(exit, data)
			if trouble == "" && exit == 0 && name == "compiler" && len(found) > 0 {
				t.Errorf("%s: status 0 with %+v", name, found)
			}
			checktest.Inside(t, found)
		}
		_, _ = parseScript(verifytest.Ended(exit, data, nil), []string{"a.js"})
	})
}
