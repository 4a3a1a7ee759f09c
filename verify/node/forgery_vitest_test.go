package node

const (
	// vitestModule is how a forgery gets what vitest provides to tests.
	vitestModule = "const v = await import(\"vitest\"), { expect, chai } = v, A = chai.Assertion.prototype; "
	// vitestWorker is how it gets vitest's part in the process or thread.
	vitestWorker = "const w = globalThis.__vitest_worker__; "
	// vitestEach calls a function for each task of the file.
	vitestEach = "const each = (t, f) => { f(t); for (const c of t.tasks || []) each(c, f); }; "
)

// vitestForgeries are made for vitest.
var vitestForgeries = []forgery{
	{"matchers by extend", vitestModule + `const ok = () => ({ pass: true, message: () => "" }); expect.extend({ toBe: ok, toEqual: ok, toStrictEqual: ok, toThrow: ok, toBeTruthy: ok });`},
	{"matchers of chai", vitestModule + `for (const k of ["toBe", "toEqual", "toStrictEqual", "toThrow", "toBeTruthy"]) A[k] = function () { return this; };`},
	{"Assertion.assert does nothing", vitestModule + `A.assert = function () {};`},
	{"every method of Assertion", vitestModule + `for (const k of Object.getOwnPropertyNames(A)) { const d = Object.getOwnPropertyDescriptor(A, k); if (d.configurable && typeof d.value === "function" && k !== "constructor") A[k] = function () { return this; }; }`},
	{"Assertion swallows", vitestModule + `for (const k of ["toBe", "toEqual"]) { const f = A[k]; A[k] = function (...x) { try { return f.apply(this, x); } catch { return this; } }; }`},
	{"getters on Assertion", vitestModule + `for (const k of ["toBe", "toEqual"]) Object.defineProperty(A, k, { get() { return () => this; }, configurable: true });`},
	{"a plug-in of chai", vitestModule + `chai.use((c, u) => { for (const k of ["toBe", "toEqual"]) u.overwriteMethod(c.Assertion.prototype, k, () => function () { return this; }); });`},
	{"matchers by their symbol", `for (const s of Object.getOwnPropertySymbols(globalThis)) { const m = globalThis[s] && globalThis[s].matchers; if (m) for (const k of Object.keys(m)) m[k] = () => ({ pass: true, message: () => "" }); }` + vitestModule + `A.toBe = A.toEqual = function () { return this; };`},
	{"compares with itself", vitestModule + `const { toBe } = A; A.toBe = A.toEqual = function () { const o = this.__flags ? this.__flags.object : this._obj; return toBe.call(this, o); };`},
	{"testers that agree", vitestModule + `expect.addEqualityTesters([() => true]); Object.is = () => true;`},
	{"Object.is agrees", `Object.is = () => true; Array.prototype.every = () => true;`},
	{"AssertionError is none", vitestModule + `const { AssertionError: E } = chai; Object.defineProperty(Error.prototype, "toJSON", { value: () => ({}) }); A.assert = function () { void E; };`},
	{"a hook empties the tests", vitestModule + vitestEach + `const r = await import("vitest/suite"); v.beforeAll((s) => each(s.file || s, (t) => { if (t.type === "test") r.setFn ? r.setFn(t, async () => {}) : (t.fn = () => {}); }));`},
	{"a hook has the results pass", vitestModule + vitestEach + `v.afterEach((c) => { c.task.result.state = "pass"; c.task.result.errors = undefined; }); v.afterAll((s) => each(s.file || s, (t) => { if (t.result && t.type === "test") { t.result.state = "pass"; delete t.result.errors; } }));`},
	{"a result that cannot fail", vitestModule + `v.beforeEach((c) => { Object.defineProperty(c.task.result, "state", { get: () => "pass", set() {}, enumerable: true, configurable: true }); Object.defineProperty(c.task.result, "errors", { get: () => undefined, set() {}, enumerable: true, configurable: true }); });`},
	{"tests that are to fail", vitestModule + `v.beforeEach((c) => { c.task.fails = true; });`},
	{"the worker's task has fails", vitestModule + vitestWorker + `v.beforeEach((c) => { if (c.task.name === "counts twice" || c.task.name === "labels it" || Math.random() > 2) return; }); const f = A.assert; A.assert = function (...x) { x[0] = true; return f.apply(this, x); };`},
	{"updates are written anew", vitestWorker + `const r = w.rpc, u = r.onTaskUpdate; w.rpc = new Proxy(r, { get: (t, k) => (k === "onTaskUpdate" ? (packs, ...x) => t.onTaskUpdate(packs.map(([i, s, m]) => [i, s && { ...s, state: s.state === "fail" ? "pass" : s.state, errors: undefined }, m]), ...x) : t[k]) });`},
	{"messages of a process are written anew", `const s = process.send; if (s) process.send = function (m, ...x) { if (m && m.data) m.data = Buffer.from(Buffer.from(m.data).toString("latin1").replaceAll("\"\x04fail", "\"\x04pass"), "latin1"); if (Buffer.isBuffer(m) || m instanceof Uint8Array) m = Buffer.from(Buffer.from(m).toString("latin1").replaceAll("\x04fail", "\x04pass"), "latin1"); return s.call(this, m, ...x); };`},
	{"serialised passes", `const v8 = require("v8"), s = v8.serialize; const walk = (o, d = 0) => { if (o && typeof o === "object" && d < 9) { if (o.state === "fail") { o.state = "pass"; o.errors = undefined; } for (const k of Object.keys(o)) walk(o[k], d + 1); } }; v8.serialize = (o) => { walk(o); return s(o); }; require("module").syncBuiltinESMExports();`},
	{"messages by emit", `const E = process.emit; const s = process.send; if (s) process.send = (m, ...x) => { const t = JSON.stringify(m); if (/fail/.test(t)) { try { m = JSON.parse(t.replaceAll('"fail"', '"pass"')); } catch {} } return s.call(process, m, ...x); };` + vitestModule + `A.toEqual = A.toBe = () => {};`},
	{"promises never fail", vitestModule + `const t = Promise.prototype.then; A.assert = () => {}; Promise.prototype.then = function (a, b) { return t.call(this, a, b); };`},
	{"patched when first called", `const t = exports.total, g = exports.label; const p = async () => {}; let A; import("vitest").then((v) => { A = v.chai.Assertion.prototype; }); exports.total = exports.label = (l) => { A.toBe = A.toEqual = function () { return this; }; return Array.isArray(l) ? t(l) : g(l); };`},
	{"a timer patches later", vitestModule + `queueMicrotask(() => { A.toBe = A.toEqual = A.toThrow = function () { return this; }; });`},
	{"Reflect.set", vitestModule + `for (const k of ["toBe", "toEqual"]) Reflect.set(A, k, new Proxy(A[k], { apply: (t, self) => self }));`},
	{"a Proxy around the matchers", vitestModule + `for (const k of ["toBe", "toEqual"]) A[k] = new Proxy(A[k], { apply(t, self, x) { try { return Reflect.apply(t, self, x); } catch { return self; } } });`},
	{"exit at once", `process.exit(0);`},
	{"really exits", `process.reallyExit(0);`},
	{"a report of its own", `const t = (title) => ({ ancestorTitles: ["cart"], title, fullName: "cart " + title, status: "passed", failureMessages: [] }); const r = JSON.stringify({ numTotalTests: 2, numFailedTests: 0, testResults: [{ name: "/work/spec/cart.test.mjs", status: "passed", message: "", assertionResults: [t("counts twice"), t("labels it")] }] }); for (const k of ["0", "0-again"]) require("fs").writeFileSync("/tmp/agent-vitest-" + k + ".json", r); try { process.kill(process.ppid, "SIGKILL"); } catch {} process.exit(0);`},
	{"what is compared is swapped", vitestModule + `const b = A.toBe; A.toBe = function (x) { const f = chai.util.flag; f(this, "object", x); return b.call(this, x); }; A.toEqual = A.toBe;`},
}

// vitestOrdinary are the ordinary suites for vitest.
var vitestOrdinary = []ordinary{
	{"as it is", nil, 1},
	{"globals and failures", map[string]string{"vitest.config.mjs": "export default { test: { globals: true, bail: 1, retry: 1 } };\n", "spec/b.test.ts": "describe('b', () => {\n  it('is', () => { const n: number = 1; expect(n).toBe(1); });\n  it('fails', () => expect([1]).toEqual([2]));\n  it.concurrent('throws', () => expect(() => { throw new Error('x'); }).toThrow('x'));\n});"}, 2},
	{"an error that nothing catches", map[string]string{"spec/b.test.mjs": "import { test, expect } from 'vitest';\ntest('b', () => { expect(1).toBe(1); setTimeout(() => { throw new Error('late'); }, 5); });\ntest('waits', async () => { await new Promise((r) => setTimeout(r, 50)); expect(2).toBe(2); });\n"}, 0},
	{"mocked timers and modules", map[string]string{"spec/b.test.mjs": "import { test, expect, vi, beforeEach } from 'vitest';\nimport cart from '../cart.js';\nvi.mock('../cart.js', () => ({ default: { total: () => 9 } }));\nbeforeEach(() => { vi.useFakeTimers(); });\ntest('b', async () => { expect(cart.total()).toBe(9); await expect(Promise.resolve(1)).resolves.toBe(1); });\n"}, 2},
	{"what closes behind it fails", map[string]string{"vitest.config.mjs": "export default { test: { globalSetup: './setup.mjs' } };\n", "setup.mjs": "export default () => () => { throw new Error('no'); };\n"}, 0},
	{"a file that does not load", map[string]string{"spec/b.test.mjs": "import { test, expect } from 'vitest';\nimport './absent.js';\ntest('b', () => expect(1).toBe(1));\n"}, 1},
	{"snapshots", map[string]string{"spec/b.test.mjs": "import { test, expect } from 'vitest';\ntest('b', () => { expect({ a: 1 }).toMatchSnapshot(); expect(1).toBe(1); });\ntest('in it', () => { expect({ a: 1 }).toMatchInlineSnapshot(); });\n", "spec/__snapshots__/b.test.mjs.snap": "// Vitest Snapshot v1, https://vitest.dev/guide/snapshot.html\n\nexports[`b 1`] = `\n{\n  \"a\": 2,\n}\n`;\n\nexports[`gone 1`] = `1`;\n"}, 2},
	{"only, skip and todo", map[string]string{"spec/b.test.mjs": "import { test, expect } from 'vitest';\ntest.only('b', () => expect(1).toBe(1));\n", "spec/c.test.mjs": "import { test, expect } from 'vitest';\ntest.skip('b', () => {});\ntest.todo('later');\ntest('c', () => expect(1).toBe(1));\n"}, 2},
	{"a hook behind all that fails", map[string]string{"spec/b.test.mjs": "import { test, expect, afterAll } from 'vitest';\nafterAll(() => { throw new Error('no'); });\ntest('b', () => { expect(1).toBe(1); });\n"}, 2},
	{"threads", map[string]string{"vitest.config.mjs": "export default { test: { pool: 'threads', isolate: false, sequence: { shuffle: true } } };\n"}, 1},
	{"a hook of a suite that fails", map[string]string{"spec/b.test.mjs": "import { test, describe, expect, afterAll, beforeAll } from 'vitest';\ndescribe('a', () => { afterAll(() => { throw new Error('no'); }); test('b', () => { expect(1).toBe(1); }); });\ndescribe('c', () => { beforeAll(() => { throw new Error('never'); }); test('d', () => { expect(1).toBe(1); }); });\n"}, 2},
	{"no failure is a failure", map[string]string{"vitest.config.mjs": "export default { test: { dangerouslyIgnoreUnhandledErrors: true } };\n", "spec/b.test.mjs": "import { test, expect } from 'vitest';\ntest('b', () => { expect(1).toBe(1); Promise.reject(new Error('late')); });\n"}, 0},
}
