package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

func TestUsesOfAToolAreFoundByScriptOrName(t *testing.T) {
	t.Parallel()
	pkg := func(needs string, scripts ...string) string {
		var list []string
		for i := 0; i < len(scripts); i += 2 {
			list = append(list, fmt.Sprintf("%q: %q", scripts[i], scripts[i+1]))
		}
		return fmt.Sprintf(`{"devDependencies": {%s}, "scripts": {%s}}`, needs, strings.Join(list, ", "))
	}
	const has = `"jest": "^30"`
	for name, c := range map[string]struct {
		files map[string]string
		want  []string // root, settings, arguments of node, arguments of jest
	}{
		"named, no script":    {map[string]string{"package.json": pkg(has), "node_modules/a/package.json": pkg(has)}, []string{". map[] [] []"}},
		"npm's own script":    {map[string]string{"package.json": pkg(has, "test", `echo "Error: no test specified" && exit 1`)}, []string{". map[] [] []"}},
		"not named":           {map[string]string{"package.json": pkg("", "test", "jest")}, nil},
		"unreadable":          {map[string]string{"package.json": "{"}, nil},
		"another runner":      {map[string]string{"package.json": pkg(has, "test", "node --test")}, nil},
		"only spoken of":      {map[string]string{"package.json": pkg(has, "test", "echo jest && rm -r jest")}, nil},
		"no shell's command":  {map[string]string{"package.json": pkg(has, "test", "jest '")}, nil},
		"a second script":     {map[string]string{"package.json": pkg(has, "test", "npm run test:unit", "test:unit", "jest", "tests", "jest -x")}, []string{". map[] [] []"}},
		"what it runs with":   {map[string]string{"package.json": pkg(has, "test", "tsc && cross-env NODE_OPTIONS='--x --y' npx jest --watch --config 'a b.js' --reporters x --bail=1 $MORE \"src\" | tee")}, []string{". map[NODE_OPTIONS:--x --y] [] [--config a b.js src]"}},
		"by its own file":     {map[string]string{"package.json": pkg(has, "test", "A=1 node --import ./a.mjs --z node_modules/jest/bin/jest.js --ci")}, []string{". map[A:1] [--import ./a.mjs --z] [--ci]"}},
		"behind dashes":       {map[string]string{"package.json": pkg(has, "test", "jest --ci -- src")}, []string{". map[] [] [--ci src]"}},
		"beside a coverage":   {map[string]string{"package.json": pkg(has, "test", "nyc --all ./node_modules/.bin/jest")}, []string{". map[] [] []"}},
		"an example":          {map[string]string{"package.json": pkg(""), "examples/a/package.json": pkg(has, "test", "jest"), "test/fixtures/b/package.json": pkg(has)}, nil},
		"tools of a monorepo": {map[string]string{"package.json": pkg(has, "test", "turbo test"), "p/package.json": pkg("", "test", "jest"), "q/package.json": pkg("")}, []string{"p map[] [] []"}},
	} {
		var got []string
		for _, u := range jest.uses(check.NewView(verifytest.Scan(t, c.files), workspace.Changeset{})) {
			if u.env == nil {
				u.env = map[string]string{}
			}
			got = append(got, fmt.Sprint(u.root, " ", u.env, " ", u.options, " ", without(u.args, runnerOptions)))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The runners' reports on a file with a test for each result, on one that does not load and on one whose hook fails, without the fields
// that are not read.
const (
	vitestReport = `{"numTotalTests":5,"numFailedTests":1,"success":false,"testResults":[
{"assertionResults":[{"ancestorTitles":["sum","of two"],"fullName":"sum of two adds","status":"passed","title":"adds","failureMessages":[]},
{"ancestorTitles":["sum"],"status":"failed","title":"fails","failureMessages":["AssertionError: expected 3 to be 4 // Object.is equality\n    at file:///work/node_modules/@vitest/runner/dist/chunk-hooks.js:155:11\n    at /work/web/a.test.ts:4:35\n    at new Promise (<anonymous>)"]},
{"ancestorTitles":["sum"],"status":"skipped","title":"later","failureMessages":[]},{"ancestorTitles":["sum"],"status":"todo","title":"todo","failureMessages":[]}],"status":"failed","message":"","name":"/work/web/a.test.ts"},
{"assertionResults":[],"status":"failed","message":"Cannot find module './gone' imported from '/work/web/b.test.ts'","name":"/work/web/b.test.ts"},
{"assertionResults":[{"ancestorTitles":[],"status":"passed","title":"passes","failureMessages":[]}],"status":"failed","message":"","name":"/work/web/c.test.ts"}]}`
	jestWritten = `{"numFailedTests":1,"numRuntimeErrorTestSuites":1,"numTotalTests":3,"success":false,"testResults":[
{"assertionResults":[{"ancestorTitles":["sum"],"failureMessages":[],"location":{"column":30,"line":2},"status":"passed","title":"adds"},
{"ancestorTitles":["sum"],"failureMessages":["Error: \u001b[2mexpect(\u001b[22mreceived).toBe(expected)\n\nExpected: 4\nReceived: 3\n    at Promise.finally.completed (/deps/node/node_modules/jest-circus/build/x.js:1557:28)"],"location":{"column":3,"line":3},"status":"failed","title":"fails"},
{"ancestorTitles":["sum"],"failureMessages":[],"location":null,"status":"pending","title":"adds"}],"message":"","name":"/work/web/a.test.js","status":"failed"},
{"assertionResults":[],"message":"  ● Test suite failed to run\n\n    Cannot find module './gone' from 'b.test.js'\n\n      at Object.require (b.test.js:1:1)\n","name":"/work/web/b.test.js","status":"failed"}],"wasInterrupted":false}`
	mochaWritten = `{"stats":{"suites":3,"tests":4,"passes":1,"pending":2,"failures":2},"tests":[],
"pending":[{"title":"later","fullTitle":"sum later","file":"/work/web/test/sum.js","err":{}},{"title":"later","fullTitle":"sum later","file":"/work/web/test/sum.js","err":{}}],
"failures":[{"title":"fails","fullTitle":"sum fails","file":"/work/web/test/sum.js","err":{"stack":"AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n3 !== 4\n\n    at Context.<anonymous> (/work/web/test/sum.js:5:28)\n    at callFn (/work/web/node_modules/mocha/lib/runnable.js:366:21)","message":"Expected values"}},
{"title":"\"before all\" hook for \"never\"","fullTitle":"hooked \"before all\" hook for \"never\"","file":"/work/web/test/hook.js","err":{"message":"no hook"}}],
"passes":[{"title":"adds","fullTitle":"sum of two adds","file":"/work/web/test/sum.js","err":{}}]}`
)

func TestReportsOfRunnersAreReadTestByTest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		runner packageRunner
		report string
		exit   int
		want   []string
	}{
		{vitest, vitestReport, 1, []string{
			"web/a.test.ts::sum > of two > adds passed :0 ",
			"web/a.test.ts::sum > fails failed web/a.test.ts:4 AssertionError: expected 3 to be 4 // Object.is equality",
			"web/a.test.ts::sum > later skipped :0 ", "web/a.test.ts::sum > todo skipped :0 ",
			"web/b.test.ts error web/b.test.ts:0 Cannot find module './gone' imported from '/work/web/b.test.ts'",
			"web/c.test.ts::passes passed :0 ", "web/c.test.ts error web/c.test.ts:0 the file failed",
		}},
		{jest, jestWritten, 1, []string{
			"web/a.test.js::sum > adds passed :0 ",
			"web/a.test.js::sum > fails failed web/a.test.js:3 Error: expect(received).toBe(expected) Expected: 4 Received: 3",
			"web/a.test.js::sum > adds #2 skipped :0 ",
			"web/b.test.js error web/b.test.js:0 Cannot find module './gone' from 'b.test.js'",
		}},
		{mocha, mochaWritten, 2, []string{
			"web/test/sum.js::sum of two > adds passed :0 ", "web/test/sum.js::sum > later skipped :0 ", "web/test/sum.js::sum > later #2 skipped :0 ",
			"web/test/sum.js::sum > fails failed web/test/sum.js:5 AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 3 !== 4",
			"web/test/hook.js error web/test/hook.js:0 hooked \"before all\" hook for \"never\": no hook",
		}},
	} {
		res := guest.Result{Exit: c.exit, Files: map[string][]byte{"/r": []byte(c.report)}}
		results, trouble := c.runner.read(res, "/r", "web", nil)
		var got []string
		for _, r := range results {
			got = append(got, fmt.Sprintf("%s %s %s:%d %s", r.ID, r.Outcome, r.File, r.Line, r.Message))
		}
		if trouble != "" || !slices.Equal(got, c.want) {
			t.Errorf("%s: %s\n%s\nwant\n%s", c.runner.name, trouble, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestReportOfARunnerMustFitItsExit(t *testing.T) {
	t.Parallel()
	said := func(exit int, report string) guest.Result {
		res := verifytest.Ended(exit, nil, []byte("\nSyntaxError: Unexpected token\n    at x\n"))
		if report != "" {
			res.Files = map[string][]byte{"/r": []byte(report)}
		}
		return res
	}
	const none = `{"numTotalTests": 0, "numFailedTests": 0, "testResults": []}`
	for name, c := range map[string]struct {
		runner packageRunner
		res    guest.Result
		want   string // "" for a report that counts
	}{
		"failed":                 {jest, said(1, plantedJest), ""},
		"none":                   {jest, said(0, none), ""},
		"failed, said sound":     {jest, said(0, plantedJest), "exit status 0 of jest does not match its results: SyntaxError"},
		"sound, said failed":     {vitest, said(1, none), "exit status 1 of vitest"},
		"a status of its own":    {vitest, said(3, plantedJest), "exit status 3"},
		"no report":              {vitest, said(1, ""), "left no report: SyntaxError: Unexpected token"},
		"cut":                    {jest, said(1, plantedJest[:90]), "report of jest is broken"},
		"another count":          {jest, said(1, strings.Replace(plantedJest, ": 2", ": 3", 1)), "its counts do not match"},
		"another word":           {jest, said(1, strings.Replace(plantedJest, `"passed"`, `"ok"`, 1)), `has the status "ok"`},
		"no counts":              {jest, said(0, "{}"), "its counts do not match"},
		"a signal":               {jest, guest.Result{Signal: "SIGKILL", Files: said(1, plantedJest).Files}, "ended by SIGKILL"},
		"as many as failed":      {mocha, said(1, plantedMocha), ""},
		"more than failed":       {mocha, said(2, plantedMocha), "exit status 2"},
		"mocha, cut":             {mocha, said(1, "{"), "report of mocha is broken"},
		"mocha, another count":   {mocha, said(1, strings.Replace(plantedMocha, `"passes": 1`, `"passes": 2`, 1)), "its counts do not match its 2 tests"},
		"a file of no tests":     {tape, said(0, ""), ""},
		"a file that ends badly": {tape, said(1, ""), "left no report: SyntaxError: Unexpected token"},
		"no tests at all":        {ava, said(0, ""), "left no report"},
		"mocha, only its counts": {mocha, said(0, `{"stats": null}`), "its counts do not match its 0 tests"},
	} {
		if _, got := c.runner.read(c.res, "/r", ".", nil); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The top-level runner also finds the tests of an inner package, which the package's own runner runs with its own configuration.
func TestTestsOfAPackageInsideCountOnce(t *testing.T) {
	t.Parallel()
	const needs = `{"devDependencies": {"jest": "30"}}`
	said := func(name string, files ...string) guest.Result {
		var list []string
		for _, f := range files {
			list = append(list, fmt.Sprintf(`{"name": "/work/%s", "status": "passed", "assertionResults": [{"title": "a", "status": "passed"}]}`, f))
		}
		res := verifytest.Ended(0, nil, nil)
		res.Files = map[string][]byte{"/tmp/" + name: fmt.Appendf(nil, `{"numTotalTests": %d, "numFailedTests": 0, "testResults": [%s]}`, len(files), strings.Join(list, ","))}
		return res
	}
	const found = `[{"program": "/work/node_modules/jest/bin/jest.js", "version": "30"}, {"program": "/work/node_modules/jest/bin/jest.js", "version": "30"}, null]`
	b, box := checktest.Replayed(map[string]guest.Result{
		"jest": verifytest.Ended(0, []byte(found), nil), "agent-jest-0.json": said("agent-jest-0.json", "a.test.js", "web/a.test.js"), "agent-jest-1.json": said("agent-jest-1.json", "web/a.test.js", "shared/b.test.js"),
	})
	b.View = check.NewView(verifytest.Scan(t, map[string]string{"package.json": needs, "web/package.json": needs, "zoo/package.json": needs}), workspace.Changeset{})
	out := jest.run(t.Context(), b)
	var got []string
	for _, r := range out.Tests {
		got = append(got, r.ID)
	}
	if want := []string{"a.test.js::a", "web/a.test.js::a", "shared/b.test.js::a"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// What the patch cannot affect is left out, and its tests are not counted.
	b.Reach, b.Leave = check.Reach{".": true, "web": false, "zoo": false}, true
	if alone := jest.run(t.Context(), b); len(alone.Tests) != 1 || alone.Blocked != "" || len(box.Ran) != 5 {
		t.Errorf("%+v, ran %+v", alone, box.Ran)
	}
	if out.Blocked != Absent("jest", "zoo") || out.Detail != "jest 30: 3 passed" || box.Ran[2].Dir != "/work/web" {
		t.Errorf("%+v, ran %+v", out, box.Ran)
	}
}
