package node

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"agent/images/dependencies"
	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/node/npmscript"
	"agent/verify/verifytest"
)

// Tests are started with the environment that npm and their script give them, and no more. With a NODE_ENV that nobody set, Babel and
// others build something else, and color libraries test what they do with FORCE_COLOR.
func TestNothingSaysToProgramsThatTheyAreTested(t *testing.T) {
	t.Parallel()
	b := check.Bench{Tools: check.Tools{Env: "/usr/bin/env", Node: "/usr/bin/node"}}
	for _, given := range []map[string]string{nil, {"NODE_ENV": "production"}} {
		for name, env := range map[string]map[string]string{
			"a command of a script": stepCommand(b, ".", npmscript.Step{Text: "babel src -d .", Env: given}).Env,
			"a package":             useCommand(b, packageUse{root: ".", env: given}, installedPackage{}).Env,
			"node --test":           nodeCommand(b, nodeProject{root: ".", env: given}).Env,
		} {
			if got, ok := env["NODE_ENV"]; got != given["NODE_ENV"] || ok != (given != nil) {
				t.Errorf("%s: NODE_ENV=%q where the script says %v", name, got, given)
			}
			if got, ok := env["FORCE_COLOR"]; ok {
				t.Errorf("%s: FORCE_COLOR=%q, which nobody said", name, got)
			}
		}
	}
}

func TestESLintIsAskedForWhatItsVersionHas(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"4.19.1": false, "6.7.2": false, "6.8.0": true, "10.0.0": true, "9.1.0-beta": true, "next": true} {
		args := eslint.args(version, "/r")
		if got := slices.Contains(args, "--no-error-on-unmatched-pattern"); got != want || !strings.Contains(strings.Join(args, " "), "--output-file=/r") {
			t.Errorf("%s: %q", version, args)
		}
	}
}

// A node program prints the line of code that threw an error above the error; sometimes that is one of node's own lines.
func TestTheComplaintIsTheErrorAndNoLineOfCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"node:internal/process/promises:394\n      triggerUncaughtException(err, true /* fromPromise */);\n      ^\n\nTypeError: no\n    at x\n": "TypeError: no",
		"/work/a.js:1\nthrow new RangeError(1)\n^\n\nRangeError\n":                                                                               "RangeError",
		"\u001b[31mError [ERR_X]: gone\u001b[39m\n":                                                                                              "Error [ERR_X]: gone",
		"Exception in thread\n":             "Exception in thread",
		"newException(a)\nsomething else\n": "newException(a)",
	} {
		if got := nodeComplaint(guest.Result{Stderr: guest.Output{Head: []byte(text)}}); got != want {
			t.Errorf("%q is told as %q, want %q", text, got, want)
		}
	}
}

// The tests before and after the failing one are not part of the message.
func TestACommandTellsTheTestThatFailed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# Subtest: a\n    ok 1 - fine\n    # Subtest: b\n    not ok 2 - b\n      ---\n      duration_ms: 1\n      error: |-\n        Expected 1\n        and 2\n      ...\nnot ok 1 - a\n  ---\n  error: '1 subtest failed'\n": "b: Expected 1",
		"not ok 3 differs\n  ---\n  operator: equal\n  error: 'no'\n":    "differs: 'no'",
		"not ok 3 differs\nok 4 behind\n# an error: of something else\n": "differs",
		"make: *** [all] Error 2\n":                                      "make: *** [all] Error 2",
	} {
		if got := stepTold(guest.Result{Stdout: guest.Output{Head: []byte(text)}}); got != check.Shorten(want) {
			t.Errorf("%q is told as %q, want %q", text, got, want)
		}
	}
}

func TestRunnersAreAskedForWhatTheirVersionHas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked   func(version string) []string
		option  string
		without []string
		with    []string
	}{
		{mochaWhole, "--no-watch", []string{"1.0.0", "5.2.0"}, []string{"6.0.0", "10.8.2", "12.0.0-beta.1"}},
		{tapCoverage, "--no-esm", []string{"12.7.0", "15.2.3", "21.1.0"}, []string{"13.1.11", "14.11.0"}},
		{vitestWhole, "--bail=0", []string{"0.5.9", "0.15.2", "0.30.1"}, []string{"0.31.4", "0.34.6", "1.6.1", "5.1.1"}},
	} {
		for i, versions := range [][]string{c.without, c.with} {
			for _, version := range versions {
				if got := slices.Contains(c.asked(version), c.option); got != (i == 1) {
					t.Errorf("%s of %s: %v", c.option, version, got)
				}
			}
		}
	}
}

// TestEveryMochaIsRead runs the same suite on versions with different options and reports.
func TestEveryMochaIsRead(t *testing.T) {
	t.Parallel()
	l := verifytest.Open(t)
	files, manifests := map[string]string{}, map[string][]byte{}
	for dir, version := range map[string]string{".": "6.2.3", "older": "5.2.0", "oldest": "3.5.3", "new": "10.8.2", "made": "10.8.2"} {
		manifest := path.Join(dir, "package.json")
		files[manifest] = fmt.Sprintf(`{"devDependencies": {"mocha": %q}, "scripts": {"test": "mocha --reporter dot spec"}}`, version)
		manifests[manifest] = []byte(files[manifest])
		files[path.Join(dir, "spec/a.js")] = "const assert = require('assert');\ndescribe('a', () => {\n  it('adds', () => assert.strictEqual(1, 1));\n  it('fails', () => { console.log('{'); assert.strictEqual(3, 4); });\n  it('later');\n});\n"
	}
	image, err := l.Builder.Install(t.Context(), l.Toolchain, dependencies.Read(manifests))
	if err != nil {
		t.Fatal(err)
	}
	// No test script says what builds this package's entry, as in one that is compiled. A compiler that complains has still written it.
	files["new/package.json"] = strings.Replace(files["new/package.json"], `{"test"`, `{"build": "node make.js", "test"`, 1)
	files["new/make.js"] = "require('fs').writeFileSync('index.js', 'module.exports = 4;');\nprocess.exit(2);\n"
	files["new/spec/a.js"] = "require('..');\n" + files["new/spec/a.js"]
	// A file that cannot be loaded, or a suite that cannot be described, does not affect the others.
	files["new/spec/b.js"] = "require('./gone');\nit('never');\n"
	files["new/spec/c.js"] = "describe('c', () => {\n  describe('within', () => {\n    it('fine', () => {});\n    require('./gone');\n  });\n});\n"
	// The tests themselves are built, and no test script says by what.
	files["made/package.json"] = strings.Replace(files["made/package.json"], `{"test": "mocha --reporter dot spec"}`, `{"compile": "node make.js", "test": "mocha --reporter dot \"out/**/*.js\" -s 0"}`, 1)
	files["made/make.js"] = "require('fs').cpSync('spec', 'out/spec', { recursive: true });\n"
	// This package starts its runner itself, with an environment variable set.
	files["older/package.json"] = strings.Replace(files["older/package.json"], `"mocha --`, `"node bin/run.js mocha --`, 1)
	files["older/bin/run.js"] = "const { spawn } = require('child_process');\nspawn(process.argv[2], process.argv.slice(3), { stdio: 'inherit', shell: true, env: { ...process.env, SET: '1' } }).on('exit', (code) => process.exit(code));\n"
	files["older/spec/a.js"] = "if (!process.env.SET) throw new Error('not set');\n" + files["older/spec/a.js"]
	// A hook that compiles files on loading does so for all files except those of packages.
	files["test/mocha.opts"] = "--require ./hook.js\n"
	files["hook.js"] = "const js = require.extensions['.js'];\nrequire.extensions['.js'] = (m, file) => { if (!/^\\/work|node_modules/.test(file)) throw new SyntaxError(file); js(m, file); };\n"
	base := verifytest.Scan(t, files)
	b := checktest.NewBenchOn(t, l.Snapshot(t, image, base).ID, base, workspace.Changeset{}, sandbox.Limits{})
	out := mocha.run(t.Context(), b)
	var got []string
	for _, r := range out.Tests {
		got = append(got, r.ID+" "+r.Outcome)
	}
	want := []string{"new/spec/b.js error", "new/spec/c.js error", "new/spec/c.js::c within > fine passed"}
	for _, dir := range []string{".", "made", "new", "older", "oldest"} {
		file := path.Join(dir, map[bool]string{true: "out"}[dir == "made"], "spec/a.js")
		want = append(want, file+"::a > adds passed", file+"::a > fails failed", file+"::a > later skipped")
	}
	slices.Sort(got)
	if slices.Sort(want); out.Blocked != "" || !slices.Equal(got, want) {
		t.Errorf("%q %q, want %q\n%s", out.Blocked, got, want, out.Output)
	}
}

// If vitest tests types and its compiler objects to the program itself, the tests still count, and so does the objection.
func TestVitestIsReadThoughItsCompilerComplains(t *testing.T) {
	t.Parallel()
	out := vitest.run(t.Context(), installedBench(t, map[string]string{
		"package.json":  `{"type": "module", "devDependencies": {"vitest": "3.2.4", "typescript": "5.9.3"}, "scripts": {"test": "vitest run --typecheck"}}`,
		"tsconfig.json": `{"compilerOptions": {"strict": true, "module": "esnext", "moduleResolution": "bundler", "target": "es2022", "skipLibCheck": true}, "include": ["*.ts"]}`,
		"n.ts":          "export const n: number = 4;\nexport const wrong: number = 'a';\n",
		"n.test.ts":     "import { expect, it } from 'vitest';\nimport { n } from './n';\n\nit('is four', () => expect(n).toBe(4));\n",
		"n.test-d.ts":   "import { expectTypeOf, it } from 'vitest';\nimport { n } from './n';\n\nit('is a number', () => expectTypeOf(n).toBeNumber());\n",
	}))
	var got []string
	for _, r := range out.Tests {
		got = append(got, r.ID+" "+r.Outcome)
	}
	slices.Sort(got)
	if want := []string{"n.test-d.ts::n.test-d.ts > is a number passed", "n.test.ts::is four passed", "package.json::vitest failed"}; out.Blocked != "" || !slices.Equal(got, want) {
		t.Errorf("%q %q, want %q\n%s", out.Blocked, got, want, out.Output)
	}
}
