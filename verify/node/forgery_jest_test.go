package node

const (
	// jestState is how a forgery gets the state of circus, jest's runner of a file.
	jestState = `const states = Object.getOwnPropertySymbols(globalThis).map((s) => globalThis[s]); const S = states.find((v) => v && v.currentDescribeBlock); const H = states.find((v) => Array.isArray(v)); `
	// jestEach does something for each test below a suite.
	jestEach = `const each = (b, f) => { for (const c of b.children || []) c.type === "test" ? f(c) : each(c, f); }; `
	// jestMatchers is how it gets the matchers.
	jestMatchers = `const O = Object.getOwnPropertySymbols(globalThis).map((s) => globalThis[s]).find((v) => v && v.matchers); const m = O && O.matchers; const ok = () => ({ pass: true, message: () => "" }); `
)

// jestForgeries are made for jest.
var jestForgeries = []forgery{
	{"expect is all well", `globalThis.expect = () => new Proxy(() => {}, { get: (t, k, r) => (k === "then" ? undefined : r), apply: () => undefined });`},
	{"matchers by extend", `const ok = () => ({ pass: true, message: () => "" }); expect.extend({ toBe: ok, toEqual: ok, toThrow: ok, toBeTruthy: ok });`},
	{"matchers by their symbol", jestMatchers + `for (const k of Object.keys(m)) m[k] = Object.assign(() => ({ pass: true, message: () => "" }), m[k]);`},
	{"matchers in a Proxy", jestMatchers + `for (const k of ["toBe", "toEqual"]) m[k] = new Proxy(m[k], { apply: () => ok() });`},
	{"getters of matchers", jestMatchers + `for (const k of ["toBe", "toEqual"]) Object.defineProperty(m, k, { get: () => ok, configurable: true });`},
	{"matchers of the module", `const { expect: e } = require("@jest/globals"); const ok = () => ({ pass: true, message: () => "" }); e.extend({ toBe: ok, toEqual: ok });`},
	{"expect swallows", `const e = globalThis.expect; globalThis.expect = Object.assign((x) => new Proxy(e(x), { get: (t, k) => (typeof t[k] === "function" ? (...a) => { try { return t[k](...a); } catch {} } : t[k]) }), e);`},
	{"expect compares with itself", `const e = globalThis.expect; globalThis.expect = Object.assign((x) => ({ toBe: () => e(x).toBe(x), toEqual: () => e(x).toEqual(x) }), e);`},
	{"testers that agree", `expect.addEqualityTesters([() => true]); Object.is = () => true;`},
	{"tests are emptied", `const T = globalThis.test; globalThis.test = globalThis.it = Object.assign((n) => T(n, () => {}), T);`},
	{"tests swallow", `const T = globalThis.test; globalThis.test = Object.assign((n, f) => T(n, async () => { try { await f(); } catch {} }), T);`},
	{"describe lends another test", `const D = globalThis.describe, T = globalThis.test; globalThis.describe = Object.assign((n, f) => D(n, () => { globalThis.test = (n) => T(n, () => {}); f(); }), D);`},
	{"the functions are emptied", jestState + jestEach + `beforeAll(() => each(S.rootDescribeBlock, (t) => { t.fn = () => {}; }));`},
	{"a hook empties the tests", jestState + jestEach + `beforeEach(() => { if (S.currentlyRunningTest) S.currentlyRunningTest.fn = () => {}; });`},
	{"a hook has errors forgotten", jestState + jestEach + `afterAll(() => each(S.rootDescribeBlock, (t) => { t.errors.length = 0; }));`},
	{"a hook has errors never kept", jestState + `beforeEach(() => { if (S.currentlyRunningTest) S.currentlyRunningTest.errors.push = () => 0; });`},
	{"tests that are to fail", jestState + jestEach + `beforeAll(() => each(S.rootDescribeBlock, (t) => { t.failing = true; }));`},
	{"errors are forgotten in an event", jestState + `H && H.push((e) => { if (e.test && e.test.errors) e.test.errors.length = 0; });`},
	{"events are never told", jestState + `H && H.unshift((e) => { if (e.name === "test_fn_failure") e.name = "test_fn_success"; });`},
	{"the error of an event", jestState + `H && H.unshift((e) => { if (e.name === "test_fn_failure") { const t = e.test; Object.defineProperty(t, "errors", { get: () => [], set() {} }); } });`},
	{"results are passes at the end", jestState + `H && H.push((e, s) => { if (e.name === "run_finish" || e.name === "test_done") { const w = (b) => { for (const c of b.children) c.type === "test" ? (c.errors = [], c.status = "done") : w(c); }; w(s.rootDescribeBlock); } });`},
	{"a retry of everything", `jest.retryTimes(1); const e = globalThis.expect; let n = 0; globalThis.expect = Object.assign((x) => (n++ ? new Proxy({}, { get: () => () => {} }) : e(x)), e);`},
	{"exit at once", `process.exit(0);`},
	{"really exits", `process.reallyExit(0);`},
	{"Object.is agrees", `Object.is = () => true;`},
	{"arrays agree", jestMatchers + `const { equals } = m.toEqual; Array.isArray = () => false; Object.is = () => true; m.toEqual = ok;`},
	{"files of reports are written anew", `const fs = require("fs"), w = fs.writeFileSync; fs.writeFileSync = (p, d, ...x) => w(p, String(d).replaceAll('"failed"', '"passed"').replace(/"num(Failed|Passed)Tests":\d+/g, (t, k) => (k === "Failed" ? '"numFailedTests":0' : t)), ...x);`},
	{"a report of its own", `const t = (title) => ({ ancestorTitles: ["cart"], title, fullName: "cart " + title, status: "passed", failureMessages: [] }); const r = JSON.stringify({ numTotalTests: 2, numFailedTests: 0, testResults: [{ name: "/work/spec/cart.test.js", status: "passed", message: "", assertionResults: [t("counts twice"), t("labels it")] }] }); for (const k of ["0", "0-again"]) require("fs").writeFileSync("/tmp/agent-jest-" + k + ".json", r); process.reallyExit(0);`},
	{"patched when first called", `const t = exports.total; exports.total = (l) => { ` + jestMatchers + `m.toBe = m.toEqual = ok; return t(l); };`},
	{"the module of expect", `for (const n of ["expect", "@jest/expect"]) try { const x = require(n); const e = x.expect || x.jestExpect || x; const ok = () => ({ pass: true, message: () => "" }); e.extend({ toBe: ok, toEqual: ok }); } catch {} expect.extend({ toBe: () => ({ pass: true, message: () => "" }), toEqual: () => ({ pass: true, message: () => "" }) });`},
}

// jestOrdinary are the ordinary suites for jest.
var jestOrdinary = []ordinary{
	{"as it is", nil, 1},
	{"bail, retries and failures", map[string]string{"jest.config.js": "module.exports = { bail: 1 };\n", "spec/b.test.js": "const { test, expect, describe } = require('@jest/globals');\njest.retryTimes(1);\ndescribe('b', () => {\n  test('is', () => { expect(1).toBe(1); });\n  test('fails', () => expect([1]).toEqual([2]));\n  test.concurrent('throws', async () => expect(() => { throw new Error('x'); }).toThrow('x'));\n});"}, 2},
	{"focus, skip and todo", map[string]string{"spec/b.test.js": "fit('b', () => expect(1).toBe(1));\n", "spec/c.test.js": "test.skip('b', () => {});\ntest.todo('later');\ntest('c', () => expect(1).toBe(1));\n"}, 2},
	{"a hook of a suite that fails", map[string]string{"spec/b.test.js": "describe('a', () => { afterAll(() => { throw new Error('no'); }); test('b', () => { expect(1).toBe(1); }); });\ndescribe('c', () => { beforeAll(() => { throw new Error('never'); }); test('d', () => { expect(1).toBe(1); }); });\n"}, 2},
	{"snapshots", map[string]string{"spec/b.test.js": "test('b', () => { expect({ a: 1 }).toMatchSnapshot(); expect(1).toBe(1); });\ntest('new', () => { expect({ a: 1 }).toMatchSnapshot(); });\n", "spec/__snapshots__/b.test.js.snap": "// Jest Snapshot v1, https://jestjs.io/docs/snapshot-testing\n\nexports[`b 1`] = `\n{\n  \"a\": 2,\n}\n`;\n"}, 2},
	{"obsolete snapshots", map[string]string{"spec/b.test.js": "test('b', () => { expect({ a: 1 }).toMatchSnapshot(); expect(1).toBe(1); });\n", "spec/__snapshots__/b.test.js.snap": "// Jest Snapshot v1, https://jestjs.io/docs/snapshot-testing\n\nexports[`b 1`] = `\n{\n  \"a\": 1,\n}\n`;\n\nexports[`gone 1`] = `1`;\n", "spec/__snapshots__/c.test.js.snap": "// Jest Snapshot v1, https://jestjs.io/docs/snapshot-testing\n\nexports[`c 1`] = `1`;\n"}, 0},
	{"a file that does not load", map[string]string{"spec/b.test.js": "require('./absent');\ntest('b', () => expect(1).toBe(1));\n"}, 0},
	{"an error behind the tests", map[string]string{"spec/b.test.js": "test('b', () => { expect(1).toBe(1); setTimeout(() => { throw new Error('late'); }, 0); });\ntest('waits', async () => { await new Promise((r) => setTimeout(r, 50)); expect(2).toBe(2); });\n"}, 2},
	{"a hook behind all that fails", map[string]string{"spec/b.test.js": "afterAll(() => { throw new Error('no'); });\ntest('b', () => { expect(1).toBe(1); });\n"}, 0},
	{"mocks and timers", map[string]string{"spec/b.test.js": "const cart = require('../cart');\njest.mock('../cart', () => ({ total: () => 9 }));\nbeforeEach(() => { jest.useFakeTimers(); });\ntest('b', async () => { expect(cart.total()).toBe(9); await expect(Promise.resolve(1)).resolves.toBe(1); });\n"}, 2},
	{"another exit status", map[string]string{"jest.config.js": "module.exports = { testFailureExitCode: 3 };\n"}, 0},
}
