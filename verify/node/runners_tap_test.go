package node

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/node/testreport"
	"agent/verify/verifytest"
)

// The output of the runners, shortened.
const (
	avaWritten = "TAP version 13\n# a › beforeEach hook for other\n#   hello\nok 1 - sub › b › other\nok 2 - a › later # SKIP\nnot ok 3 - a › sometime # TO" + "DO\nok 4 - a › adds\n#   hello\nnot ok 5 - a › fails\n" +
		"  ---\n    name: AssertionError\n    values:\n      'Difference:': |-\n        - 1\n        + 2\n    message: ok 7\n    at: 'file:///work/web/test/a.js:3:5'\n  ...\n\n1..5\n# tests 4\n# pass 2\n# fail 2\n\n"
	tapeWritten = "TAP version 13\n# one\nok 1 same\n# nested\nok 2 should be truthy\n# SKIP two\n# three\nok 3 first\nnot ok 4 differs\n  ---\n    operator: equal\n    stack: |-\n      Error: differs\n" +
		"          at Test.<anonymous> (/work/web/test/a.js:4:28)\n  ...\nok 5 again\n\n1..5\n# tests 5\n# pass  4\n# fail  1\n\n"
	tapWritten = "TAP version 13\n# Subtest: test/n.js\n    # Subtest: outer\n        # Subtest: in one\n            ok 1 - should be equal\n            1..1\n        ok 1 - in one # time=3.622ms\n        \n" +
		"        # Subtest: in two\n            not ok 1 - eq\n              ---\n              stack: |\n                Test.<anonymous> (/work/web/test/n.js:2:85)\n              source: >\n              \n                ok 1\n              ...\n            \n            1..1\n            # failed 1 test\n        not ok 2 - in two # time=40.033ms\n        \n        1..2\n    not ok 1 - outer # time=60.318ms\n    \n" +
		"    ok 2 - loose\n    ok 3 - skipped # SKIP\n    1..3\n    # time=70.728ms\nnot ok 1 - test/n.js # time=70.728ms\n  ---\n  env: {}\n  file: test/n.js\n  ...\n\n" +
		"# Subtest: test/o.js\n    ok 1 - loose\n    1..1\nok 2 - test/o.js # time=14.638ms\n\nok 3 - test/p.js # time=1ms {\n    # Subtest: held\n        1..0\n    ok 1 - held\n    1..1\n}\nnot ok 4 - test/q.js\n  ---\n  exitCode: 1\n  ...\n1..4\n# time=1ms\n"
)

func TestTAPIsReadTestByTest(t *testing.T) {
	t.Parallel()
	place := func(file string) string {
		if file == "" {
			file = "package.json"
		}
		return path.Join("web", strings.TrimPrefix(file, "/work/web/"))
	}
	for _, c := range []struct {
		runner  packageRunner
		written string
		files   []string
		want    []string
	}{
		{ava, avaWritten, []string{"test/a.js", "test/sub/b.test.js"}, []string{
			"web/test/sub/b.test.js::other passed :0 ", "web/test/a.js::later skipped :0 ", "web/test/a.js::sometime skipped :0 ", "web/test/a.js::adds passed :0 ",
			"web/test/a.js::fails failed web/test/a.js:3 a › fails: name: AssertionError",
		}},
		{tape, tapeWritten, []string{"test/a.js"}, []string{
			"web/test/a.js::one passed :0 ", "web/test/a.js::nested passed :0 ", "web/test/a.js::three failed web/test/a.js:4 differs: operator: equal",
		}},
		{tap, tapWritten, nil, []string{
			"web/test/n.js::outer > in one passed :0 ", "web/test/n.js::outer > in two failed web/test/n.js:2 eq: stack: |", "web/test/n.js::outer failed web/test/n.js:0 outer",
			"web/test/n.js::loose passed :0 ", "web/test/n.js::skipped skipped :0 ", "web/test/o.js::loose passed :0 ", "web/test/p.js::held passed :0 ", "web/test/q.js error web/test/q.js:0 test/q.js: exitCode: 1",
		}},
	} {
		results, err := c.runner.parse([]byte(c.written), testreport.Reading{Place: place})
		var got []string
		for _, r := range c.runner.located(results, "web", c.files) {
			message, _, _ := strings.Cut(r.Message, " Test.<anonymous>")
			message, _, _ = strings.Cut(message, " stack: |-")
			message, _, _ = strings.Cut(message, " values:")
			got = append(got, fmt.Sprintf("%s %s %s:%d %s", r.ID, r.Outcome, r.File, r.Line, message))
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.runner.name, err, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestATitleWithoutAFileIsOfTheOnlyOneThatRan(t *testing.T) {
	t.Parallel()
	told := []check.TestResult{{ID: "web/package.json::adds › twice", Outcome: "passed"}}
	all := []string{"test/a.js", "test/sub/b.test.js"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "web/package.json"},
		{[]string{"./test/a.js"}, "web/test/a.js"},
		{[]string{"--only", "./test/new.js"}, "web/test/new.js"},
		{[]string{"./test/a.js", "./test/sub/b.test.js"}, "web/package.json"},
	} {
		if got := ava.located(told, "web", ran(c.args, all)); len(got) != 1 || got[0].ID != c.want+"::adds › twice" {
			t.Errorf("%q: %+v, want it in %s", c.args, got, c.want)
		}
	}
}

func TestUvuIsReadFileByFile(t *testing.T) {
	t.Parallel()
	const written = "\x1b[1mu.js\x1b[22m\n mine • ✘   (1 / 2)\n\n   FAIL  mine \"b\"\n    Expected values to be equal:\n    at Object.handler (/work/test/u.js:2:69)\n\n\n• •   (2 / 2)\n\nv.js\n•   (1 / 1)\n\n  Total:     6\n  Passed:    4\n  Skipped:   1\n  Duration:  1.28ms\n\n"
	place := func(file string) string {
		if file == "" {
			return "package.json"
		}
		return strings.TrimPrefix(file, "/work/")
	}
	results, err := testreport.Uvu([]byte(written), testreport.Reading{Place: place})
	var got []string
	for _, r := range uvu.located(results, ".", []string{"test/u.js", "test/v.js"}) {
		got = append(got, fmt.Sprintf("%s %s %s:%d %s", r.ID, r.Outcome, r.File, r.Line, r.Message))
	}
	if want := []string{"test/u.js::tests failed test/u.js:2 FAIL mine \"b\" Expected values to be equal: at Object.handler (/work/test/u.js:2:69)", "test/v.js::tests passed :0 "}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %q, want %q", err, got, want)
	}
	// A file that runs alone has the same name as one that runs with others.
	if alone := uvu.located([]check.TestResult{{ID: "package.json::u.js"}}, ".", []string{"test/u.js"}); alone[0].ID != "test/u.js::tests" {
		t.Errorf("alone it is %q", alone[0].ID)
	}
	for _, cut := range []string{written[:len(written)-60], strings.Replace(written, "Passed:    4", "Passed:    5", 1), ""} {
		if _, err := testreport.Uvu([]byte(cut), testreport.Reading{Place: place}); err == nil {
			t.Errorf("%q is a report", cut)
		}
	}
}

// What a runner collects by its script or configuration is a test, whatever its name, and what it loads besides is not.
func TestWhatRunnersCollectAreTests(t *testing.T) {
	t.Parallel()
	pkg := func(tool, script, more string) string {
		return fmt.Sprintf(`{"devDependencies": {%q: "1"}, "scripts": {"test": %q}%s}`, tool, script, more)
	}
	files := []string{"test/res.redirect.js", "test/support/env.js", "test/deep/x.js", "test/_aid.js", "test/fixtures/f.js", "spec/y.ts", "a.test.js", "lib/z.js", "bin/check.js"}
	for name, c := range map[string]struct {
		manifest string
		more     map[string]string
		want     string
	}{
		"mocha":           {pkg("mocha", "mocha --require test/support/env -u tdd test/ test/deep/", ""), nil, "test/res.redirect.js test/deep/x.js test/_aid.js"},
		"mocha by itself": {pkg("mocha", "mocha", ""), nil, "test/res.redirect.js test/_aid.js"},
		"mocharc":         {pkg("mocha", "mocha", ""), map[string]string{".mocharc.yml": "require: ./test/support/env.js\nspec:\n  - 'spec/**/*.ts'\n"}, "spec/y.ts"},
		"mocha's key":     {pkg("mocha", "mocha", `, "mocha": {"spec": "test/deep/*.js"}`), nil, "test/deep/x.js"},
		"ava":             {pkg("ava", "xo && ava", ""), nil, "test/res.redirect.js test/support/env.js test/deep/x.js a.test.js"},
		"ava's files":     {pkg("ava", "ava", `, "ava": {"files": ["test/*", "!test/_*"]}`), nil, "test/res.redirect.js"},
		"tape":            {pkg("tape", "nyc tape 'test/**/*.js'", ""), nil, "test/res.redirect.js test/support/env.js test/deep/x.js test/_aid.js test/fixtures/f.js"},
		"uvu":             {pkg("uvu", "uvu -r esm test '^[^_]*$'", ""), nil, "test/res.redirect.js test/support/env.js test/deep/x.js test/fixtures/f.js"},
		"jasmine":         {pkg("jasmine", "jasmine", ""), map[string]string{"spec/aSpec.js": ""}, ""},
		"jest":            {pkg("jest", "jest", ""), nil, "a.test.js"},
		"testMatch":       {pkg("jest", "jest", ""), map[string]string{"jest.config.js": "module.exports = {\n  testMatch: ['<rootDir>/spec/**/*.[jt]s', '**/deep/*'],\n}\n"}, "test/deep/x.js spec/y.ts"},
		"vitest":          {pkg("vitest", "vitest", ""), map[string]string{"vite.config.ts": "export default { test: { include: [\"lib/*.js\"] } }\n"}, "lib/z.js"},
		"a bare group":    {pkg("vitest", "vitest", ""), map[string]string{"vitest.config.ts": "export default { test: { include: ['./**/*.(spec|test).[jt]s?(x)'], coverage: { include: ['lib/**'] } } }\n"}, "a.test.js"},
		"node":            {pkg("x", "node --test test/*.js", ""), nil, "test/res.redirect.js test/_aid.js"},
		"a command":       {pkg("x", "node bin/check.js", ""), nil, "bin/check.js"},
		"no script":       {"{}", nil, ""},
	} {
		tree := map[string]string{"package.json": c.manifest}
		for _, f := range files {
			tree[f] = "\n"
		}
		for p, text := range c.more {
			tree[p] = text
		}
		is := Collects(check.NewView(verifytest.Scan(t, tree), workspace.Changeset{}))
		var got []string
		for _, f := range files {
			if is(f) {
				got = append(got, f)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
