package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

// traceFiles has the program and the tests of the cases below. A comment on each line says what must be known of it: ran, not, or nothing
// if nothing on the line can be executed.
var traceFiles = map[string]string{
	"lib/main.js": `'use strict'; // ran
// Doubles what it is given.
function double(n) { // ran
  if (n > 10) { // ran
    return 0; // not
  } else {
    return 2 * n; // ran
  }
}

function unused( // not
  n, // not
) {
  return n; // not
}

const quick = (n) => n + 1; // not

class Shape { // ran
  sides = 3; // ran
  get area() { // not
    return 1; // not
  }
  half(n) { // ran
    try {
      return n.missing.half; // ran
    } catch (e) { // ran
      return [n].map((v) => v / 2)[0]; // ran
    }
  }
  nothing() {}
}

setTimeout(() => { // not
  double(3); // not
}, 100000).unref(); // ran

module.exports = { // ran
  double, unused, quick, Shape, // ran
};
`,
	"lib/thread.js":     "const { parentPort } = require('node:worker_threads'); // ran\nfunction work() { // ran\n  parentPort.postMessage(1); // ran\n}\nfunction rest() { // not\n  return 1; // not\n}\nwork(); // ran\nparentPort.on('message', rest); // ran\n",
	"lib/child.js":      "function work() { // ran\n  console.log('ready'); // ran\n}\nwork(); // ran\nsetInterval(() => {}, 1000); // ran\n",
	"lib/quit.js":       "function quit(n) { // ran\n  process.exit(n); // ran\n}\nmodule.exports = quit; // ran\n",
	"lib/never.js":      "function never() { // not\n  return 1; // not\n}\nmodule.exports = never; // not\n",
	"lib/typed.ts":      "import type { A } from './a';\nexport interface B {\n  a: A;\n}\nexport function typed(b: B): number { // ran\n  if (b.a) { // ran\n    return 1; // ran\n  }\n  return 2; // not\n}\nexport const other = (n: number): number => n; // not\n",
	"lib/compiled.ts":   "export function compiled(n: number): number { // ran\n  return n ? 1 : // ran\n    2; // not\n}\nexport type C = number;\n",
	"main.test.js":      "const test = require('node:test');\nconst { double, Shape } = require('./lib/main');\ntest('double', () => double(2) === 4);\ntest('half', () => new Shape().half(2));\n",
	"quit.test.js":      "const test = require('node:test');\nconst quit = require('./lib/quit');\ntest('quit', () => quit(0));\n",
	"thread.test.js":    "const test = require('node:test');\nconst { once } = require('node:events');\nconst { Worker } = require('node:worker_threads');\ntest('thread', async () => {\n  const w = new Worker('./lib/thread.js');\n  await once(w, 'message');\n  await w.terminate();\n});\n",
	"child.test.js":     "const test = require('node:test');\nconst { once } = require('node:events');\nconst assert = require('node:assert');\nconst { spawn } = require('node:child_process');\ntest('child', async () => {\n  const c = spawn(process.execPath, ['lib/child.js']);\n  await once(c.stdout, 'data');\n  c.kill();\n  assert.strictEqual((await once(c, 'exit'))[1], 'SIGTERM');\n});\n",
	"typed.test.js":     "const test = require('node:test');\nrequire('./loader');\nconst { typed } = require('./lib/typed.ts');\ntest('typed', () => typed({ a: 1 }));\n",
	"compiled.test.js":  "const test = require('node:test');\nconst fs = require('node:fs');\nconst { compile } = require('./loader');\nconst { outputText, sourceMapText } = compile('lib/compiled.ts', { sourceMap: true });\nfs.mkdirSync('dist');\nfs.writeFileSync('dist/compiled.js', outputText);\nfs.writeFileSync('dist/compiled.js.map', sourceMapText.replace('\"compiled.ts\"', '\"../lib/compiled.ts\"'));\nconst { compiled } = require('./dist/compiled.js');\ntest('compiled', () => compiled(1));\n",
	"loader.js":         "const fs = require('node:fs');\nconst ts = require('/usr/lib/agent/npm/typescript/lib/typescript.js');\nconst compile = (file, how) => ts.transpileModule(fs.readFileSync(file, 'utf8'), { fileName: file, compilerOptions: { module: 'commonjs', target: 'es2017', ...how } });\nrequire.extensions['.ts'] = (module, file) => module._compile(compile(file, { inlineSourceMap: true }).outputText, file);\nmodule.exports = { compile };\n",
	"package.json":      `{"type": "commonjs", "scripts": {"test": "node --test"}}`,
	"lib/unknown.py":    "x = 1\n",
	"lib/broken.js":     "function (\n",
	"lib/only_types.ts": "// nothing\nexport type T = {\n  a: number;\n};\n",
}

// markedLines reads what the lines of a file say about themselves.
func markedLines(text string) (code, ran []int) {
	code, ran = []int{}, []int{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		switch _, mark, _ := strings.Cut(strings.TrimSpace(line), " // "); mark {
		case "ran":
			ran = append(ran, n)
			code = append(code, n)
		case "not":
			code = append(code, n)
		}
	}
	return code, ran
}

// allLines asks about every line of some files.
func allLines(files map[string]string, names ...string) check.Lines {
	asked := check.Lines{}
	for _, name := range names {
		for n := range strings.Count(files[name], "\n") {
			asked[name] = append(asked[name], n+1)
		}
	}
	return asked
}

// expectTrace compares a trace with what the files say about themselves.
func expectTrace(t *testing.T, got *check.Trace, files map[string]string, names ...string) {
	t.Helper()
	if got == nil {
		t.Fatal("nothing was measured")
	}
	for _, name := range names {
		code, ran := markedLines(files[name])
		if list, ok := got.Code[name]; !ok || !slices.Equal(list, code) {
			t.Errorf("%s: code on %v, want %v", name, list, code)
		}
		if !slices.Equal(got.Ran[name], ran) {
			t.Errorf("%s: ran %v, want %v", name, got.Ran[name], ran)
		}
	}
	if len(got.Code) != len(names) || len(got.Ran) != len(names) {
		t.Errorf("of %v something is known, want %q", slices.Sorted(maps.Keys(got.Code)), names)
	}
}

// traceOfScript returns the trace of the only command of a test script, which must pass, for the lines that it is asked about.
func traceOfScript(t *testing.T, files map[string]string, asked check.Lines) *check.Trace {
	t.Helper()
	b := checktest.NewBench(t, files, sandbox.Limits{})
	b.Lines = asked
	out := Commands.Run(t.Context(), b)
	if len(out.Tests) != 1 || out.Tests[0].Bad() {
		t.Errorf("%+v", out)
	}
	return out.Traced
}

func TestLinesThatTestsOfNodeExecuteAreTold(t *testing.T) {
	t.Parallel()
	known := []string{"lib/main.js", "lib/thread.js", "lib/child.js", "lib/quit.js", "lib/never.js", "lib/typed.ts", "lib/compiled.ts", "lib/only_types.ts"}
	for _, pinned := range []string{"20", "24"} {
		files := maps.Clone(traceFiles)
		files[".nvmrc"] = pinned
		b := checktest.NewBench(t, files, sandbox.Limits{})
		b.Tools, _ = Suited(b.Tools, nil, b.View)
		b.Lines = allLines(files, append(known, "lib/unknown.py", "lib/broken.js")...)
		out := Tests.Run(t.Context(), b)
		for _, r := range out.Tests {
			if r.Bad() {
				t.Errorf("%s: %s", r.ID, r.Message)
			}
		}
		expectTrace(t, out.Traced, files, known...)
	}
}

func TestProcessesAreMeasuredOnlyWhenLinesAreAsked(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"package.json": `{"scripts": {"test": "node --test"}}`,
		"lib.js":       "function f() { // ran\n  return 1; // ran\n}\nmodule.exports = f; // ran\n",
		"a.test.js":    "const test = require('node:test');\nconst f = require('./lib');\ntest('calls', () => f());\ntest('is alone', () => {\n  if (process.env.NODE_OPTIONS !== undefined) throw new Error('measured');\n});\n",
	}
	b := checktest.NewBench(t, files, sandbox.Limits{})
	if out := Tests.Run(t.Context(), b); out.Traced != nil || len(out.Tests) != 2 || out.Tests[1].Outcome != "passed" {
		t.Errorf("nothing is asked: %+v", out)
	}
	// Failures that are due to measuring do not count.
	b.Lines = allLines(files, "lib.js")
	out := Tests.Run(t.Context(), b)
	if out.Detail != "node: 2 passed" || out.Blocked != "" {
		t.Errorf("%s %s", out.Detail, out.Blocked)
	}
	expectTrace(t, out.Traced, files, "lib.js")
}

func TestUnknownLinesAreNoneThatWereNotExecuted(t *testing.T) {
	t.Parallel()
	lib := "function f(n) { // ran\n  if (n) return 1; // ran\n  return 2; // not\n}\nfunction g() { // not\n  return 3; // not\n}\nmodule.exports = f; // ran\n"
	for name, c := range map[string]struct {
		test  string
		known []string
	}{
		"plain":                              {"require('./lib')(1);\n", []string{"lib.js", "whole.js", "other.js"}},
		"a broken record":                    {"require('./lib')(1);\nrequire('node:fs').writeFileSync('/tmp/agent-lines/0-0-0.jsonl', '{\"scripts\": [{\"path\": \"/work/other.js\", \"text\": \"\", \"ran\": [0, 99999]}], \"others\": []}');\n", []string{"whole.js"}},
		"a process that is killed":           {"require('./lib')(1);\nrequire('node:child_process').spawnSync(process.execPath, ['-e', 'process.kill(process.pid, 9)']);\n", []string{"whole.js"}},
		"a process with coverage of its own": {"require('./lib')(1);\nrequire('node:child_process').spawnSync(process.execPath, ['-e', ''], { env: { ...process.env, NODE_V8_COVERAGE: '/tmp/own' } });\n", []string{"whole.js"}},
		"a bundle":                           {"require('./lib')(1);\nrequire('node:fs').writeFileSync('bundle.js', '1');\nrequire('./bundle');\n", []string{"lib.js", "whole.js"}},
		"an executable text of its own":      {"const m = new (require('node:module'))('/work/lib.js');\nm._compile('module.exports = () => 1; // made of lib.js', '/work/lib.js');\n", []string{"whole.js", "other.js"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{
				"package.json": `{"scripts": {"build": "node make.js", "test": "npm run build && node check.js"}}`, "make.js": "require('./other');\n", "lib.js": lib, "other.js": "module.exports = 1; // not\n",
				"whole.js": "module.exports = 1; // ran\n", "check.js": "require('./whole');\n" + c.test,
			}
			expectTrace(t, traceOfScript(t, files, allLines(files, "lib.js", "whole.js", "other.js")), files, c.known...)
		})
	}
}

// killingTests kill a process that has begun to report what it executed and is slow to finish.
const killingTests = `const { spawn } = require('node:child_process');
const fs = require('node:fs');
const c = spawn(process.execPath, ['child.js']);
c.stdout.once('data', () => {
  c.kill();
  setInterval(() => {
    const begun = fs.readdirSync('/tmp/agent-lines').some((f) => f.startsWith(c.pid + '-') && fs.statSync('/tmp/agent-lines/' + f).size > 0);
    if (begun) c.kill('SIGKILL');
  }, 1);
});
c.on('exit', () => process.exit(0));
`

func TestAProcessThatTellsItsLinesIsKilledAfterThat(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"package.json": `{"scripts": {"test": "node check.js"}}`, "check.js": killingTests,
		"child.js": "require('./slow');\nrequire('./lib')();\nconsole.log('ready');\nsetInterval(() => {}, 1000);\n", "lib.js": "function f() { // ran\n  return 1; // ran\n}\nmodule.exports = f; // ran\n",
		"slow.js": "const { Session } = require('node:inspector');\nconst { post } = Session.prototype;\nSession.prototype.post = function (...args) {\n  for (const end = Date.now() + 300; Date.now() < end;);\n  return post.apply(this, args);\n};\n",
	}
	expectTrace(t, traceOfScript(t, files, allLines(files, "lib.js")), files, "lib.js")
}

// A file that is loaded for one function may have another one executed in a build of it.
func TestWhatABundleMayHaveExecutedIsUnknown(t *testing.T) {
	t.Parallel()
	lib := "exports.f = () =>\n  1;\nexports.g = 2;\n"
	for dir, known := range map[string]bool{"lib": true, "dist": false} {
		files := map[string]string{
			"package.json": `{"scripts": {"test": "node check.js"}}`, "src/lib.js": lib,
			"check.js": "require('./src/lib').g;\nrequire('node:fs').mkdirSync('" + dir + "');\nrequire('node:fs').copyFileSync('src/lib.js', '" + dir + "/lib.js');\nrequire('./" + dir + "/lib').f();\n",
		}
		got := traceOfScript(t, files, check.Lines{"src/lib.js": {2}})
		if got == nil {
			t.Fatalf("%s: nothing was measured", dir)
		}
		if _, told := got.Code["src/lib.js"]; told != known {
			t.Errorf("%s: %+v", dir, got)
		}
	}
}

// A command that only reads the program, as type checkers do, has executed none of it.
func TestACommandThatReadsSourcesExecutesNothing(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"package.json": `{"scripts": {"test": "node node_modules/checker/cli.js"}}`, "lib.js": "module.exports = (n) => n + 1; // not\n", "index.d.ts": "export default function (n: number): number;\n",
		"node_modules/checker/package.json": `{"version": "1.0.0"}`, "node_modules/checker/cli.js": "require('node:fs').readFileSync('/work/lib.js');\n",
	}
	expectTrace(t, traceOfScript(t, files, allLines(files, "lib.js")), files, "lib.js")
}

// forkingRunner runs the tests as vitest does: in a process and in a thread, which it ends when they are done.
const forkingRunner = `const { fork } = require('node:child_process');
const { Worker, isMainThread, parentPort } = require('node:worker_threads');
const { writeFileSync, readFileSync } = require('node:fs');
const { once } = require('node:events');
async function main() {
  const child = fork(__filename, ['process']);
  await once(child, 'message');
  child.kill();
  await once(child, 'exit');
  const thread = new Worker(__filename);
  await once(thread, 'message');
  await thread.terminate();
  const report = process.argv.find((a) => a.startsWith('--outputFile=')).slice('--outputFile='.length);
  writeFileSync(report, JSON.stringify({ numTotalTests: 1, numFailedTests: 0, testResults: [{ name: '/work/a.test.js', status: 'passed', assertionResults: [{ ancestorTitles: [], title: 'a', status: 'passed' }] }] }));
}
function load(name) {
  const ts = require('/usr/lib/agent/npm/typescript/lib/typescript.js');
  let text = readFileSync('/work/' + name, 'utf8');
  if (name.endsWith('.ts')) text = ts.transpileModule(text, { fileName: '/work/' + name, compilerOptions: { inlineSourceMap: true } }).outputText;
  const wrapped = "'use strict';async (__vi_import__,module)=>{{" + text + "\n}}";
  return require('node:vm').runInThisContext(wrapped, { filename: '/work/' + name });
}
if (!isMainThread) {
  load('thread.ts')().then(() => parentPort.postMessage(1));
  parentPort.on('message', () => {});
} else if (process.argv[2] === 'process') {
  load('process.js')().then(() => process.send(1));
  process.on('message', () => {});
} else main();
`

func TestLinesThatWorkersOfARunnerExecuteAreTold(t *testing.T) {
	t.Parallel()
	text := "function e(n) { return n; } // not\nfunction f(n) { // ran\n  return n ? 1 // ran\n    : 2; // not\n}\nfunction g() { // not\n  return 1; // not\n}\nf(1); // ran\n"
	files := map[string]string{
		"package.json": `{"scripts": {"test": "vitest"}, "devDependencies": {"vitest": "3"}}`, "process.js": text, "thread.ts": strings.ReplaceAll(text, "(n)", "(n: number)"), "a.test.js": "",
		"node_modules/vitest/package.json": `{"version": "1.0.0", "bin": {"vitest": "./run.cjs"}}`,
		"node_modules/vitest/run.cjs":      forkingRunner,
	}
	b := checktest.NewBench(t, files, sandbox.Limits{})
	b.Lines = allLines(files, "process.js", "thread.ts")
	out := traced(vitest.run)(t.Context(), b)
	if len(out.Tests) != 1 || out.Tests[0].Bad() || out.Blocked != "" {
		t.Errorf("%+v", out)
	}
	expectTrace(t, out.Traced, files, "process.js", "thread.ts")
}

func TestAnswersOfTheMeasureAreNeverMoreThanWasAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		want   string
	}{
		"no document":          {`{"code": `, "map[] map[]"},
		"files nobody named":   {`{"code": {"b.js": [1]}, "ran": {"b.js": [1]}}`, "map[] map[]"},
		"other lines":          {`{"code": {"a.js": [2, 3, 9]}, "ran": {"a.js": [1, 2, 9]}}`, "map[a.js:[2 3]] map[a.js:[2]]"},
		"nothing was executed": {`{"code": {"a.js": [2, 3]}, "ran": {"a.js": []}, "never": ["a.js"], "idle": true}`, "map[a.js:[2 3]] map[a.js:[]]"},
		"nothing was loaded":   {`{"code": {"a.js": [2, 3]}, "ran": {"a.js": []}, "never": ["a.js"]}`, "map[] map[]"},
	} {
		b, _ := checktest.Replayed(map[string]guest.Result{"node_lines_report.cjs": verifytest.Ended(0, []byte(c.answer), nil)})
		b.Lines = check.Lines{"a.js": {1, 2, 3}}
		got := traceOf(t.Context(), b)
		if s := fmt.Sprintf("%v %v", got.Code, got.Ran); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}
