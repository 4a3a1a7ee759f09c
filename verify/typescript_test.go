package verify

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/node"
)

// scriptRows has small workspaces, each in its own directory, with exactly the findings that are expected in it, as "file:line rule".
var scriptRows = map[string]struct {
	files map[string]string
	want  []string
}{
	"strict": {map[string]string{
		"tsconfig.json": `{"extends": "./base.json", "references": [{"path": "lib"}], "files": ["a.ts", "e.tsx"]}`,
		"base.json":     `{"compilerOptions": {"strict": true, "jsx": "react-jsx", "lib": ["es2022", "dom"], "module": "esnext", "moduleResolution": "bundler"}}`,
		"a.ts":          "import { f } from './lib/b';\nconst s: string = f(1);\nconst n: number = f('1');\nlet maybe: string | undefined;\nmaybe.length;\n",
		"lib/b.ts":      "export const f = (n: number): string => String(n);\nexport const g: number = 'x';\n",
		// The configuration next to a file is the one that counts.
		"lib/tsconfig.json": `{"compilerOptions": {"composite": true, "strict": true}}`,
		"e.tsx":             "import { useState } from 'react';\nexport const E = ({ n }: { n: number }) => {\n  const [s] = useState<number>(n);\n  return <b onClick={(e) => s}>{s}</b>;\n};\n",
		"package.json":      `{"dependencies": {"react": "^19.0.0"}}`,
	}, []string{"a.ts:3 TS2322", "a.ts:3 TS2345", "a.ts:5 TS18048", "lib/b.ts:2 TS2322"}},
	"missing": {map[string]string{
		"tsconfig.json": `{"compilerOptions": {"strict": true, "types": ["node", "vite/client"]}}`,
		"a.ts":          "import fs from 'node:fs';\nimport { run } from 'promised';\nimport nobody from 'nobody-made-this';\nrun((a, b) => Buffer.from(nobody(a)));\nfs.readFile('x', (err, data) => process.exit(err ? 1 : 0));\nexport class A extends run.Base { override a = 1; }\n",
		"a.test.ts":     "describe('a', () => { it('b', () => { expect(1).toBe(jest.fn()); }); });\n",
		"package.json":  `{"dependencies": {"promised": "1"}}`,
	}, []string{"a.ts:3 import-not-found"}},
	"unbuilt": {map[string]string{
		"package.json":  `{"exports": {".": {"import": "./made/index.js"}}}`,
		"tsconfig.json": `{"compilerOptions": {"strict": true}}`,
		"src/a.ts":      "export const a = 1;\n",
		"test/a.ts":     "import { a } from '../dist/esm/a.js';\nimport { b } from '../made/b.js';\nimport { c } from '../src/c.js';\nimport { d } from '../other/d.js';\na.map((x) => b(x));\nlet s: string = 1;\nc(d);\n",
		"test/b.ts":     "export function f(x) { return x; }\n",
	}, []string{"test/b.ts:1 TS7006", "test/a.ts:3 TS2307", "test/a.ts:4 TS2307", "test/a.ts:6 TS2322"}},
	"unknown": {map[string]string{
		"tsconfig.json": `{"extends": "@tsconfig/strictest/tsconfig.json"}`,
		"a.ts":          "import { gone } from './b';\nimport { there } from './b';\nlet s: string;\ns.length;\nthere(undefinedName);\n",
		"b.ts":          "export function there(n: number) {}\n",
	}, []string{"a.ts:1 TS2305", "a.ts:5 undeclared-name"}},
	"broken": {map[string]string{
		"tsconfig.json": `{"compilerOptions": {"strickt": true}}`,
		"a.ts":          "export const a = 1;\n",
	}, []string{"tsconfig.json:1 TS5025"}},
	"mild": {map[string]string{
		"a.ts":  "import { f } from './b.js';\nfunction loose(x) { return x; }\nexport default f(loose(1), 2);\n",
		"b.ts":  "export const f = (n: number): string => n;\n",
		"qt.ts": "<?xml version=\"1.0\"?>\n<!DOCTYPE TS><TS></TS>\n",
	}, []string{"a.ts:3 TS2554", "b.ts:1 TS2322"}},
	"commonjs": {map[string]string{
		"lib.js":   "'use strict';\nmodule.exports = { here, there: 1 };\nfunction here() { return process.version; }\nmodule.exports.late = 2;\n",
		"named.js": "exports.one = 1;\nObject.freeze(exports.one);\n",
		"open.js":  "Object.assign(module.exports, require('fs'));\nexports.a = 1;\n",
		"all.js":   "module.exports = { ...require('./lib') };\n",
		"use.js": "const lib = require('./lib');\nconst { here, gone } = require('./lib.js');\nlib.here(lib.late);\nlib.missing();\n" +
			"const named = require('./named');\nnamed();\nnew named.two();\nconst { anything } = require('./open');\nrequire('./all').whatever();\n" +
			"if (lib.perhaps) lib.toString();\nlib.added = 1;\nlib.added();\nrequire('./nowhere');\ntry { require('./optional'); } catch {}\nrequire('./dist/made');\nrequire('./data.node');\n",
		"args.js": "/** @param {Unknown} a */\nmodule.exports = function (a) { return arguments.length + a.anything + this.x; };\n",
	}, []string{"use.js:2 TS2305", "use.js:4 TS2339", "use.js:6 TS2349", "use.js:7 TS2339", "use.js:13 TS2307"}},
	"modules": {map[string]string{
		"a.mjs": "import d, { x, y } from './b.mjs';\nimport * as ns from './b.mjs';\nimport { any } from './c.mjs';\nexport { z } from './b.mjs';\nns.w();\nexport { d, x, y, any };\nawait import('./b.mjs');\n",
		"b.mjs": "export const x = 1;\n",
		"c.mjs": "export * from 'somewhere';\n",
	}, []string{"a.mjs:1 TS1192", "a.mjs:1 TS2305", "a.mjs:4 TS2305", "a.mjs:5 TS2339"}},
	"names": {map[string]string{
		"a.js":   "console.log(typo, window.shared, shared, $);\nif (typeof maybe !== 'undefined') maybe();\nimplicit = 1;\nfor (k in {}) implicit += k;\nlabel: for (;;) { break label; }\n",
		"b.js":   "/* global announced, other:writable */\nannounced(other);\nlet q = { typo2, implicit };\n({ s: q.t = fallback } = {});\n0 && (module.exports = { inert });\n",
		"c.jsx":  "export const C = () => <Missing a={1}><b>{undefinedInside}</b></Missing>;\n",
		"d.js":   "describe('x', () => it('y', () => { expect(__dirname).toBe(global.x ?? globalThis.y); }));\n",
		"min.js": "var a=1;\n", "e.min.js": "nothing();\n", ".eslintrc.json": "{\n // c\n \"globals\": {\"$\": true}}\n",
	}, []string{
		"a.js:1 undeclared-name", "b.js:3 undeclared-name", "b.js:4 undeclared-name", "c.jsx:1 undeclared-name", "c.jsx:1 undeclared-name",
	}},
}

// One box runs all rows. None has dependencies installed.
func TestScriptsAreJudgedByWhatIsCertain(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for dir, row := range scriptRows {
		for p, text := range row.files {
			files[dir+"/"+p] = text
		}
	}
	b := checktest.NewBench(t, files, sandbox.Limits{})
	b.Timeout = defaultTimeout
	out := node.Script.Run(t.Context(), b)
	if out.Verdict != "" || out.Blocked != "" {
		t.Fatalf("%+v", out)
	}
	got := map[string][]string{}
	for _, f := range out.Findings {
		dir, file, _ := strings.Cut(f.File, "/")
		got[dir] = append(got[dir], file+":"+strconv.Itoa(f.Line)+" "+f.Rule)
	}
	for dir, row := range scriptRows {
		slices.Sort(got[dir])
		want := slices.Sorted(slices.Values(row.want))
		if !slices.Equal(got[dir], want) {
			t.Errorf("%s: %q, want %q", dir, got[dir], want)
		}
	}
	if !strings.Contains(out.Detail, "unknown/tsconfig.json extends a configuration that is not installed") {
		t.Errorf("detail %q", out.Detail)
	}
	if t.Failed() {
		for _, f := range out.Findings {
			t.Logf("%s:%d:%d %s %s", f.File, f.Line, f.Column, f.Rule, f.Message)
		}
	}
}

// Where packages are installed, a program without a configuration still has the global names of Node and of test runners.
func TestInstalledPackagesTakeNoNamesAway(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{
		"package.json": `{"devDependencies": {"x": "1"}}`, "node_modules/x/package.json": `{"name": "x", "version": "1.0.0"}`,
		"a.js": "describe('x', () => Buffer.from(process.argv[2]));\nconsole.log(typo);\n",
	}, sandbox.Limits{})
	b.Timeout = defaultTimeout
	out := node.Script.Run(t.Context(), b)
	if len(out.Findings) != 1 || out.Findings[0].Line != 2 || out.Findings[0].Rule != "undeclared-name" || out.Verdict != "" || out.Blocked != "" {
		t.Errorf("%+v", out)
	}
}

func TestNameFromOutOfSightIsOneFact(t *testing.T) {
	t.Parallel()
	at := func(file, name string) check.Finding {
		return check.Finding{File: file, Rule: "undeclared-name", Message: "Cannot find name '" + name + "'.", Source: name + "()"}
	}
	base := []check.Finding{at("a.js", "jQuery")}
	fresh, old, _ := compare.Findings(base, []check.Finding{at("a.js", "jQuery"), at("b.js", "jQuery"), at("b.js", "jQueri")}, check.Diff{})
	if len(fresh) != 1 || fresh[0].Message != "Cannot find name 'jQueri'." || old != 2 {
		t.Errorf("%+v, %d old", fresh, old)
	}
}
