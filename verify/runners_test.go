package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/node"
	"agent/verify/verifytest"
)

func TestRunnerThatIsNotThereIsNoVerdict(t *testing.T) {
	t.Parallel()
	gone := check.Outcome{Blocked: node.Absent("jest", "web")}
	ran := check.Outcome{Tests: []check.TestResult{{ID: "a::b", Outcome: "passed"}}}
	for name, c := range map[string]struct {
		base, cand check.Outcome
		want       check.Verdict
		skipped    string
	}{
		"on both sides":   {gone, gone, "", "jest of web/package.json is not installed: commit a lock file"},
		"named first":     {check.Outcome{}, gone, "", "jest of web/package.json is not installed"},
		"gone":            {ran, gone, check.Fail, ""},
		"no tests":        {check.Outcome{}, check.Outcome{}, "", "found no tests"},
		"its first tests": {check.Outcome{}, ran, check.Pass, ""},
		"nothing left":    {ran, check.Outcome{}, check.Fail, ""},
		"broken first":    {check.Outcome{}, check.Outcome{Blocked: "jest left no report"}, check.Fail, ""},
	} {
		g, reason := judge(checkNamed(node.JestName), c.base, c.cand, "", check.Diff{})
		if g.Verdict != c.want || !strings.Contains(reason, c.skipped) || (reason == "") != (c.skipped == "") {
			t.Errorf("%s: %q, %q", name, g.Verdict, reason)
		}
	}
}

// The workspace's own options come first, so that those that the report needs override them.
func TestRunnersAreStartedWithoutAWatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		runner string
		script string
		want   string
	}{
		{
			node.VitestName, "vitest run --coverage --reporter dot --config a.ts",
			"/usr/bin/node /work/vitest.cjs --config a.ts --bail=0 --watch=false --coverage=false --passWithNoTests --reporter=json --outputFile=/tmp/agent-vitest-0.json",
		},
		{
			node.JestName, "node --experimental-vm-modules node_modules/.bin/jest --watchAll -u",
			"/usr/bin/node --experimental-vm-modules /work/jest.cjs --ci --watchAll=false --watchman=false --coverage=false --bail=0 --passWithNoTests " +
				"--cacheDirectory=/tmp/jest --testLocationInResults --json --outputFile=/tmp/agent-jest-0.json",
		},
		{
			node.MochaName, "mocha -r ./a.js -R dot -b",
			"/usr/bin/node /work/mocha.cjs -r ./a.js --reporter /agent/node_modules/mocha_report.cjs --full-trace -O output=/tmp/agent-mocha-0.json",
		},
	} {
		b, box := checktest.Replayed(works())
		manifest := fmt.Sprintf(`{"devDependencies": {%q: "1"}, "scripts": {"test": %q}}`, c.runner, c.script)
		b.View = check.NewView(verifytest.Scan(t, map[string]string{"package.json": manifest}), workspace.Changeset{})
		out := checkNamed(c.runner).Run(t.Context(), b)
		if len(out.Tests) != 2 || len(box.Ran) != 2 {
			t.Fatalf("%s: %+v, ran %+v", c.runner, out, box.Ran)
		}
		cmd := box.Ran[1]
		if got := strings.Join(cmd.Args, " "); got != c.want || cmd.Env["CI"] != "1" || cmd.Dir != "/work" || box.Ran[0].Dir != "/" {
			t.Errorf("%s: %s, want %s, with %v", c.runner, got, c.want, cmd.Env)
		}
	}
}

// How a runner ends is due to its tests, unless the box itself is at fault.
func TestEndsOfRunnersAreToldApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool    string // whose answer is replaced
		res     guest.Result
		verdict check.Verdict
		blocked string
	}{
		"node is missing":   {"mocha", guest.Result{Exit: 127}, check.Infra, ""},
		"node looks wrong":  {"mocha", verifytest.Ended(0, []byte("[]"), nil), check.Infra, ""},
		"not there":         {"mocha", verifytest.Ended(0, []byte("[null]"), nil), "", "mocha of package.json is not installed"},
		"many failures":     {"agent-mocha-0.json", guest.Result{Exit: 127}, "", "exit status 127 and left no report"},
		"a signal":          {"agent-mocha-0.json", guest.Result{Exit: -1, Signal: "SIGABRT"}, "", "ended by SIGABRT"},
		"an early end":      {"agent-mocha-0.json", guest.Result{}, "", "exit status 0 and left no report"},
		"late":              {"agent-mocha-0.json", guest.Result{TimedOut: true}, check.Timeout, ""},
		"out of memory":     {"agent-mocha-0.json", guest.Result{OOM: true}, check.OOM, ""},
		"the box died":      {"agent-mocha-0.json", guest.Result{Killed: true, Exit: -1, Signal: "SIGKILL"}, check.Infra, ""},
		"another's, before": {"agent-jest-0.json", guest.Result{Exit: 1}, "", ""},
	} {
		answers := works()
		answers[c.tool] = c.res
		b, _ := checktest.Replayed(answers)
		b.View = check.NewView(verifytest.Scan(t, map[string]string{"package.json": `{"dependencies": {"mocha": "11"}}`}), workspace.Changeset{})
		out := checkNamed(node.MochaName).Run(t.Context(), b)
		if out.Verdict != c.verdict || !strings.Contains(out.Blocked, c.blocked) || (out.Blocked == "") != (c.blocked == "") {
			t.Errorf("%s: %q: %s: blocked: %s", name, out.Verdict, out.Detail, out.Blocked)
		}
	}
}

func TestRunnersProveThemselves(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, nil, sandbox.Limits{})
	list := slices.Concat([]check.Check{node.Compiler}, node.Linters(), node.Runners())
	for name, reason := range prove(t.Context(), b, list) {
		t.Errorf("%s: %s", name, reason)
	}
}

// If the runner of a package reports nothing, for example since only the top can use its configuration, the runner of the enclosing
// package reports how its tests end, whether all tests run or only some files.
func TestTestsOfAPackageAreThoseThatTheOneAroundItRan(t *testing.T) {
	t.Parallel()
	report := func(files ...string) []byte {
		var list []string
		for _, f := range files {
			list = append(list, fmt.Sprintf(`{"name": "/work/%s", "status": "passed", "assertionResults": [{"ancestorTitles": [], "title": "t", "fullName": "t", "status": "passed"}]}`, f))
		}
		return fmt.Appendf(nil, `{"numTotalTests": %d, "numFailedTests": 0, "testResults": [%s]}`, len(list), strings.Join(list, ","))
	}
	said := func(name string, data []byte) guest.Result {
		res := verifytest.Ended(0, nil, nil)
		res.Files = map[string][]byte{"/tmp/" + name: data}
		return res
	}
	uses := `{"workspaces": ["p/*"], "devDependencies": {"jest": "29"}, "scripts": {"test": "jest"}}`
	files := map[string]string{"package.json": uses, "b.test.js": "", "p/x/package.json": `{"scripts": {"test": "jest"}}`, "p/x/a.test.js": ""}
	for name, c := range map[string]struct {
		only    []string
		beyond  string
		want    []string
		blocked string
	}{
		"all":              {nil, "p/x/a.test.js", []string{"b.test.js::t passed", "p/x/a.test.js::t passed", "p/x/package.json::jest error"}, ""},
		"nothing ran them": {nil, "b.test.js", []string{"b.test.js::t passed"}, "left no report"},
		"some files":       {[]string{"p/x/a.test.js"}, "", []string{"p/x/a.test.js::t passed", "p/x/package.json::jest error"}, ""},
	} {
		answers := works()
		answers["jest"] = verifytest.Ended(0, []byte(`[{"program": "/work/jest.cjs", "version": "29.0.0"}, {"program": "/work/jest.cjs", "version": "29.0.0"}]`), nil)
		answers["agent-jest-1.json"] = said("agent-jest-1.json", report(slices.Compact([]string{"b.test.js", c.beyond})...))
		answers["agent-jest-0.json"] = verifytest.Ended(1, nil, []byte("no configuration\n"))
		answers["agent-jest-around-p-x.json"] = said("agent-jest-around-p-x.json", report("p/x/a.test.js"))
		answers["./p/x/a.test.js"] = answers["agent-jest-around-p-x.json"]
		answers["./a.test.js"] = answers["agent-jest-0.json"]
		b, box := checktest.Replayed(answers)
		b.View, b.Files = check.NewView(verifytest.Scan(t, files), workspace.Changeset{}), c.only
		out := checkNamed(node.JestName).Run(t.Context(), b)
		var got []string
		for _, r := range out.Tests {
			got = append(got, r.ID+" "+r.Outcome)
		}
		if !slices.Equal(got, c.want) || !strings.Contains(out.Blocked, c.blocked) || (out.Blocked == "") != (c.blocked == "") {
			t.Errorf("%s: %q, blocked %q; ran %v", name, got, out.Blocked, box.Ran)
		}
	}
}
