package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

func TestTestsOfNodeAreFoundByScriptOrImport(t *testing.T) {
	t.Parallel()
	const mine, plain = "import 'node:test';\n", "import 'assert';\n"
	script := func(s string) string { return fmt.Sprintf(`{"scripts": {"test": %q}}`, s) }
	for name, c := range map[string]struct {
		files map[string]string
		want  []string // root and files, then the options
	}{
		"no package":        {map[string]string{"a.test.js": mine, "b.test.mjs": plain, "lib/test.cjs": mine, "a.js": mine, "x.test.ts": mine}, []string{". [a.test.js lib/test.cjs] []"}},
		"npm's own script":  {map[string]string{"package.json": script(`echo "Error: no test specified" && exit 1`), "test/a.js": mine, "test/aid.js": ""}, []string{". [test/a.js] []"}},
		"by node's names":   {map[string]string{"package.json": script("node --test"), "test/a.js": plain, "b_test.js": plain, "test-c.js": plain, "node_modules/x/test.js": plain}, []string{". [b_test.js test-c.js test/a.js] []"}},
		"by a pattern":      {map[string]string{"package.json": script("node --test-reporter spec --import ./setup.js --test 'spec/**/*.js'"), "spec/a.js": plain, "spec/b/c.js": plain, "test.js": mine}, []string{". [spec/a.js spec/b/c.js] [--import ./setup.js]"}},
		"by a directory":    {map[string]string{"package.json": script("NODE_ENV=test node --test --test-concurrency=1 ./tests/"), "tests/a.js": plain, "test.js": mine}, []string{". [tests/a.js] [--test-concurrency=1]"}},
		"another's by name": {map[string]string{"package.json": `{"devDependencies": {"vitest": "3"}}`, "a.test.js": mine}, nil},
		"both runners":      {map[string]string{"package.json": `{"devDependencies": {"vitest": "3"}, "scripts": {"test": "node --test", "test:web": "vitest"}}`, "a.test.js": mine}, []string{". [a.test.js] []"}},
		"another runner":    {map[string]string{"package.json": script("vitest run"), "a.test.js": mine}, nil},
		"behind others":     {map[string]string{"package.json": script("xo && node --test a.test.js && tsd"), "a.test.js": plain, "b.test.js": mine}, []string{". [a.test.js] []"}},
		"a shell's command": {map[string]string{"package.json": script("node --test $(ls)"), "a.test.js": mine}, nil},
		"typed":             {map[string]string{"package.json": script("c8 node --import=tsx/esm --test"), "a.test.ts": plain, "b.test.mts": plain, "test/c.cts": plain}, []string{". [a.test.ts b.test.mts test/c.cts] [--import=tsx/esm]"}},
		"by tsx":            {map[string]string{"package.json": script("tsx --test 'test/*.{ts,mts}' '!test/b.ts'"), "test/a.mts": plain, "test/b.ts": plain, "test/c.ts": plain}, []string{". [test/a.mts test/c.ts] [--import tsx]"}},
		"one after another": {
			map[string]string{"package.json": `{"scripts": {"test": "npm run test:a && npm run test:b", "test:a": "node --test a.js", "test:b": "node --conditions=x --test a.js"}}`, "a.js": plain},
			[]string{". [a.js] []", ". [a.js] [--conditions=x]"},
		},
		"of packages inside": {
			map[string]string{"package.json": script("node --test packages/*/test/*.js"), "packages/a/package.json": "{}", "packages/a/test/x.js": plain, "packages/b/package.json": script("node --test test/x.js"), "packages/b/test/x.js": plain, "packages/b/test/y.js": plain},
			[]string{". [packages/a/test/x.js packages/b/test/y.js] []", "packages/b [test/x.js] []"},
		},
		"a package each": {map[string]string{
			"package.json": script("mocha"), "a.test.js": mine, "p/package.json": script("node --test"), "p/a.test.js": plain, "q/package.json": "{", "q/b.test.js": mine,
		}, []string{"p [a.test.js] []"}},
	} {
		var got []string
		for _, p := range nodeProjects(check.NewView(verifytest.Scan(t, c.files), workspace.Changeset{})) {
			got = append(got, fmt.Sprint(p.root, " ", p.files, " ", p.options))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRecordOfNodeMustFitItsExit(t *testing.T) {
	t.Parallel()
	const failed, passed = `{"kind":"test","id":"a.test.js::a","outcome":"failed","file":"a.js","line":3,"message":"m"}` + "\n", `{"kind":"test","id":"a.test.js::a","outcome":"passed"}` + "\n"
	const end0, end1 = `{"kind":"finished","status":0,"tests":1}` + "\n", `{"kind":"finished","status":1,"tests":1}` + "\n"
	for name, c := range map[string]struct {
		record string
		res    guest.Result
		want   string // "" for a record that counts
	}{
		"failed":              {failed + end1, guest.Result{Exit: 1}, ""},
		"passed":              {passed + end0, guest.Result{}, ""},
		"a file broke off":    {`{"kind":"collect","id":"a.test.js","outcome":"error"}` + "\n" + end1, guest.Result{Exit: 1}, ""},
		"no end":              {passed, guest.Result{}, "before its tests finished"},
		"failed, said sound":  {failed + end1, guest.Result{}, "exit status 0"},
		"passed, said faulty": {passed + end0, guest.Result{Exit: 1}, "exit status 1"},
		"forged":              {passed + end1, guest.Result{Exit: 1}, "does not match"},
		"a signal":            {passed + end0, guest.Result{Signal: "SIGKILL"}, "SIGKILL"},
	} {
		run, err := check.ParseRecord([]byte(c.record))
		if got := nodeTrouble(run, c.res); err != nil || (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestATestOfNoFileIsLookedForInAll(t *testing.T) {
	t.Parallel()
	files := []string{"a.test.js", "b.test.js"}
	for id, want := range map[string][]string{"p/b.test.js::x": {"b.test.js"}, "::x": files, "q/a.test.js::x": nil} {
		if got := selectedFiles(check.Bench{Only: []string{id}}, "p", files); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}
