package node

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"agent/images/dependencies"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/verifytest"
)

// unsoundCart is a program with a fault that each of its tests detects.
const unsoundCart = "exports.total = (list) => list.length;\nexports.label = (n) => `${n}`;\n"

// A forgery is code in a program that makes an unsound program look sound.
type forgery struct{ name, code string }

// nodeForgeries are made for node's own runner.
var nodeForgeries = []forgery{
	{"assert.strictEqual does nothing", `const a = require("node:assert"); a.strictEqual = a.deepStrictEqual = a.strict.strictEqual = a.strict.deepStrictEqual = a.ok = a.strict.ok = () => {};`},
	{"assert by Object.assign", `const a = require("assert"); for (const k of Object.keys(a)) if (typeof a[k] === "function" && k !== "AssertionError") a[k] = () => undefined;`},
	{"assert.strict replaced", `const a = require("assert"); for (const o of [a, a.strict, require("assert/strict")]) for (const k of ["equal", "strictEqual", "deepEqual", "deepStrictEqual", "ok", "throws", "rejects"]) Object.defineProperty(o, k, { value() {}, writable: true });`},
	{"a Proxy in the cache", `const a = require("assert"); for (const o of [a, a.strict]) for (const k in o) { const f = o[k]; if (typeof f === "function") o[k] = new Proxy(f, { apply(t, self, args) { try { return Reflect.apply(t, self, args); } catch {} } }); }`},
	{"assert swallows", `const a = require("assert"); for (const o of [a, a.strict]) for (const k of Object.keys(o)) { const f = o[k]; if (typeof f === "function" && !/Error/.test(k)) o[k] = (...x) => { try { return f(...x); } catch (e) {} }; }`},
	{"Module._load lends another assert", `const M = require("module"), l = M._load; M._load = function (n, ...r) { const m = l.call(this, n, ...r); return /assert/.test(n) ? new Proxy(function () {}, { get: (t, k) => k === "AssertionError" ? m[k] : () => {}, apply() {} }) : m; };`},
	{"test functions are emptied", `const t = require("node:test"); const T = t.test; for (const k of ["test", "it"]) t[k] = (n, f) => T(n, () => {});`},
	{"test functions swallow", `const t = require("node:test"), M = require("module"), l = M._load; const wrap = (f) => (n, o, fn) => f(n, async (c) => { try { await (fn ?? o)(c); } catch {} }); const out = Object.assign(wrap(t.test), { ...t, test: wrap(t.test), it: wrap(t.it) }); M._load = function (n, ...r) { return n === "node:test" ? out : l.call(this, n, ...r); };`},
	{"Test.prototype.fail", `require("node:test").test("a", (t) => {}).then?.(() => {}); const done = new Set(); const { AsyncResource } = require("async_hooks"); const r = AsyncResource.prototype.runInAsyncScope; AsyncResource.prototype.runInAsyncScope = function (f, s, ...x) { const P = Object.getPrototypeOf(this); if (P.fail && !done.has(P)) { done.add(P); P.fail = P.pass; } return r.call(this, f, s, ...x); };`},
	{"failures become passes on stdout", `const w = process.stdout.write.bind(process.stdout); process.stdout.write = (c, ...r) => { if (Buffer.isBuffer(c) || c instanceof Uint8Array) { const b = Buffer.from(c); let i; while ((i = b.indexOf("test:fail")) >= 0) b.write("test:pass", i); return w(b, ...r); } return w(c, ...r); }; process.exitCode = 0; process.on("exit", () => { process.exitCode = 0; });`},
	{"events written by hand", `const v8 = require("v8"); const send = (type, data) => { const s = new v8.DefaultSerializer(); s.writeHeader(); s.writeValue({ type, data }); const b = s.releaseBuffer(); const h = Buffer.alloc(6); h[0] = 0xff; h[1] = 0x0f; h.writeUInt32BE(b.length, 2); process.stdout.write(Buffer.concat([h, b])); }; const file = process.argv[1]; for (const name of ["counts twice", "labels it"]) { send("test:start", { name, nesting: 0, file }); send("test:pass", { name, nesting: 0, file, testNumber: 1, details: { duration_ms: 1 } }); } process.exit(0);`},
	{"exit before the tests", `process.exit(0);`},
	{"exit when one fails", `process.on("exit", () => { process.exitCode = 0; }); const o = process.emitWarning; setImmediate(() => process.exit(0));`},
	{"reallyExit", `process.on("beforeExit", () => process.reallyExit(0)); setTimeout(() => process.reallyExit(0), 1);`},
	{"AssertionError says nothing", `const a = require("assert"); class E { constructor() { return undefined; } } a.AssertionError = E; for (const o of [a, a.strict]) { o.strictEqual = o.deepStrictEqual = function (x) { return x; }; }`},
	{"Error throws nothing", `global.Error = function () { return {}; }; const is = Object.is; Object.is = () => true;`},
	{"Object.is agrees", `Object.is = () => true;`},
	{"values equal all", `Array.prototype.reduce = function () { return 0; }; const a = require("assert"); a.strict.strictEqual = a.strictEqual = (x, y) => y;`},
	{"getters on the module", `const a = require("assert"); for (const k of ["strictEqual", "deepStrictEqual", "ok"]) { Object.defineProperty(a, k, { get: () => () => {} }); Object.defineProperty(a.strict, k, { get: () => () => {} }); }`},
	{"syncBuiltinESMExports", `const a = require("assert"); a.strictEqual = a.strict.strictEqual = a.deepStrictEqual = () => {}; require("module").syncBuiltinESMExports();`},
	{"promises never fail", `const t = Promise.prototype.then; Promise.prototype.then = function (a, b) { return t.call(this, a, () => a?.()); }; const as = require("assert"); as.strictEqual = () => {};`},
	{"a timer patches later", `setTimeout(() => 0, 0); queueMicrotask(() => { const a = require("assert"); a.strictEqual = a.deepStrictEqual = () => {}; });`},
	{"patched when first called", `const t = exports.total; exports.total = (l) => { const a = require("assert"); a.strictEqual = a.deepStrictEqual = () => {}; return t(l); };`},
	{"patched by the label too", `const g = exports.label; exports.label = exports.total = (l) => { const a = require("assert"); for (const k of ["strictEqual", "deepStrictEqual"]) a[k] = a.strict[k] = () => true; return g(l); };`},
	{"returns what equals all", `const a = require("assert"); const { strictEqual } = a; a.strictEqual = (x, y, m) => strictEqual(y, y, m); a.deepStrictEqual = (x, y) => strictEqual(y, y);`},
	{"skips what fails", `const a = require("assert"); const f = a.strictEqual; a.strictEqual = (x, y) => { if (x === y) f(x, y); };`},
	{"through require.cache", `const M = require("module"); const a = M._load("assert"); Reflect.set(a, "strictEqual", () => {}); Reflect.set(a, "deepStrictEqual", () => {});`},
	{"through process.binding", `const a = process.getBuiltinModule ? process.getBuiltinModule("assert") : require("assert"); a.strictEqual = a.deepStrictEqual = function pass() {};`},
	{"through the test's own require", `const p = module.parent; const r = p.require; p.constructor.prototype.require = function (n) { const m = r.call(this, n); return m; }; const a = p.require("assert"); a.strictEqual = a.deepStrictEqual = () => {};`},
	{"assert frozen and empty", `const a = require("assert"); a.strictEqual = a.deepStrictEqual = a.equal = Object.freeze(() => {}); Object.freeze(a);`},
}

// A suite is a small program with its tests, for one runner.
type suite struct {
	check     check.Check
	files     map[string]string
	forgeries []forgery
	ordinary  []ordinary
}

const cart = "exports.total = (list) => list.reduce((sum, n) => sum + n, 0);\nexports.label = (n) => `${n} pieces`;\n"

// checkOf returns the check of a runner that a workspace brings.
func checkOf(name string) check.Check {
	runners := Runners()
	return runners[slices.IndexFunc(runners, func(c check.Check) bool { return c.Name == name })]
}

// suites has the suite of each runner.
var suites = map[string]suite{
	TestsName: {Tests, map[string]string{
		"package.json": `{"scripts": {"test": "node --test"}}`, "cart.js": cart,
		"cart.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\nconst cart = require('./cart');\n\ntest('counts twice', () => {\n  assert.strictEqual(cart.total([2, 3]), 5);\n});\ntest('labels it', () => {\n  assert.deepStrictEqual([cart.label(2)], ['2 pieces']);\n});\n",
	}, nodeForgeries, nodeOrdinary},
	JestName: {checkOf(JestName), map[string]string{
		"package.json": `{"devDependencies": {"jest": "30.0.5"}, "scripts": {"test": "jest"}}`, "cart.js": cart,
		"spec/cart.test.js": "const cart = require('../cart');\n\ndescribe('cart', () => {\n  test('counts twice', () => {\n    expect(cart.total([2, 3])).toBe(5);\n  });\n  test('labels it', () => {\n    expect([cart.label(2)]).toEqual(['2 pieces']);\n  });\n});\n",
	}, jestForgeries, jestOrdinary},
	VitestName: {checkOf(VitestName), map[string]string{
		"package.json": `{"devDependencies": {"vitest": "3.2.4"}, "scripts": {"test": "vitest"}}`, "cart.js": cart,
		"spec/cart.test.mjs": "import { test, expect, describe } from 'vitest';\nimport cart from '../cart.js';\n\ndescribe('cart', () => {\n  test('counts twice', () => {\n    expect(cart.total([2, 3])).toBe(5);\n  });\n  test('labels it', () => {\n    expect([cart.label(2)]).toEqual(['2 pieces']);\n  });\n});\n",
	}, vitestForgeries, vitestOrdinary},
	MochaName: {checkOf(MochaName), map[string]string{
		"package.json": `{"devDependencies": {"mocha": "11.7.4", "chai": "4.5.0"}, "scripts": {"test": "mocha spec"}}`, "cart.js": cart,
		"spec/cart.js": "const assert = require('assert');\nconst cart = require('../cart');\n\ndescribe('cart', () => {\n  it('counts twice', () => {\n    assert.strictEqual(cart.total([2, 3]), 5);\n  });\n  it('labels it', () => {\n    assert.deepStrictEqual([cart.label(2)], ['2 pieces']);\n  });\n});\n",
	}, mochaForgeries, mochaOrdinary},
}

// installedBench returns a bench on which a suite's own packages are installed.
func installedBench(t *testing.T, files map[string]string) check.Bench {
	t.Helper()
	l := verifytest.Open(t)
	image := l.Toolchain
	if strings.Contains(files["package.json"], "devDependencies") {
		installed, err := l.Builder.Install(t.Context(), image, dependencies.Read(map[string][]byte{"package.json": []byte(files["package.json"])}))
		if err != nil {
			t.Fatal(err)
		}
		image = installed
	}
	base := verifytest.Scan(t, files)
	return checktest.NewBenchOn(t, l.Snapshot(t, image, base).ID, base, workspace.Changeset{}, sandbox.Limits{})
}

// TestNoForgedRecordOfScriptsPasses judges forgeries in one box for each runner, with the witnesses and in a run without them, in which
// most forgeries are believed.
func TestNoForgedRecordOfScriptsPasses(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(suites)) {
		s := suites[name]
		t.Run(name, func(t *testing.T) {
			b := installedBench(t, s.files)
			base := b.View.Base
			run := func(cs workspace.Changeset, only []string) check.Outcome {
				t.Helper()
				if err := b.Box.Apply(t.Context(), cs); err != nil {
					t.Fatal(err)
				}
				on := b
				on.View, on.Only = check.NewView(base, cs), only
				out := s.check.Run(t.Context(), on)
				if err := b.Box.Apply(t.Context(), cs.Reverse()); err != nil {
					t.Fatal(err)
				}
				checktest.Sweep(t, b)
				return out
			}
			before := run(workspace.Changeset{}, nil)
			if before.Verdict != "" || before.Blocked != "" || len(before.Witnesses) == 0 || slices.ContainsFunc(before.Witnesses, func(w check.Witness) bool { return !w.AsDrawn() }) {
				t.Fatalf("before any patch: %+v", before)
			}
			var ids []string
			for _, r := range before.Tests {
				ids = append(ids, r.ID)
			}
			believed, caught := 0, 0
			for i, f := range append([]forgery{{"", ""}}, s.forgeries...) {
				if i%6 > 1 && os.Getenv("AGENT_TEST_FORGERIES") == "" {
					continue
				}
				cs := verifytest.Change(t, base, map[string]string{"cart.js": unsoundCart + f.code + "\n"})
				d := compare.NewDiff(cs, check.NewView(base, cs))
				out := run(cs, nil)
				with := s.check.Judge(before, out, d)
				alone := s.check.Judge(before, run(cs, ids), d)
				var by []string
				for _, one := range with.Findings {
					by = append(by, one.Rule)
				}
				t.Logf("%-36s without %-6s with %-6s by %s", f.name, alone.Verdict, with.Verdict, strings.Join(slices.Compact(by), " "))
				if alone.Verdict == check.Pass {
					believed++
				}
				if with.Verdict == check.Pass {
					t.Errorf("%s passes: %s %+v\n%s", f.name, with.Detail, out.Witnesses, out.Output)
				} else {
					caught++
				}
			}
			fmt.Printf("%s: %d of %d forgeries do not pass, %d do without witnesses\n", name, caught-1, len(s.forgeries), believed)
		})
	}
}
