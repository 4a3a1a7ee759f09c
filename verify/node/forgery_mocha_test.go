package node

// mochaRunner is how a forgery gets the classes of mocha.
const mochaRunner = `const M = require("mocha"), R = M.Runner, T = M.Runnable; `

// mochaForgeries are made for mocha.
var mochaForgeries = []forgery{
	{"assert does nothing", `const a = require("assert"); a.strictEqual = a.deepStrictEqual = () => {};`},
	{"every name of assert", `const a = require("assert"); for (const k of Object.keys(a)) if (typeof a[k] === "function") a[k] = () => {};`},
	{"assert swallows", `const a = require("assert"); for (const k of Object.keys(a)) { const f = a[k]; a[k] = (...x) => { try { return f(...x); } catch {} }; }`},
	{"a Proxy around assert", `const a = require("assert"); for (const k of Object.keys(a)) a[k] = new Proxy(a[k], { apply() {} });`},
	{"getters on assert", `const a = require("assert"); for (const k of ["strictEqual", "deepStrictEqual"]) Object.defineProperty(a, k, { get: () => () => {} });`},
	{"assert by Reflect", `const a = require("assert"); Reflect.set(a, "strictEqual", () => {}); Reflect.set(a, "deepStrictEqual", () => {});`},
	{"compares with itself", `const a = require("assert"), f = a.strictEqual; a.strictEqual = a.deepStrictEqual = (x, y) => f(y, y);`},
	{"Runner.fail does nothing", mochaRunner + `R.prototype.fail = function () {};`},
	{"Runner.fail passes", mochaRunner + `R.prototype.fail = function (t) { t.state = "passed"; this.emit("pass", t); };`},
	{"Runner.fail takes the failure back", mochaRunner + `const f = R.prototype.fail; R.prototype.fail = function (t) { const e = this.emit; this.emit = function (n, ...x) { return e.call(this, n === "fail" ? "pass" : n, ...x); }; f.apply(this, arguments); this.emit = e; this.failures = 0; t.state = "passed"; };`},
	{"Runner.runTest calls back", mochaRunner + `R.prototype.runTest = function (fn) { fn(); };`},
	{"Runnable.run calls back", mochaRunner + `T.prototype.run = function (fn) { fn(); };`},
	{"Runnable.run swallows", mochaRunner + `const r = T.prototype.run; T.prototype.run = function (fn) { return r.call(this, () => fn()); };`},
	{"Test.run swallows", `const T = require("mocha").Test; T.prototype.run = function (fn) { try { this.fn.call(this.ctx); } catch {} this.duration = 0; fn(); };`},
	{"the functions are emptied", mochaRunner + `const r = T.prototype.run; T.prototype.run = function (fn) { this.fn = () => {}; this.async = 0; return r.call(this, fn); };`},
	{"a hook empties the tests", `const B = global.beforeEach; if (B) B(function () { this.currentTest.fn = () => {}; });`},
	{"a hook before all", `if (global.before) global.before(function () { let s = this.test.parent; while (s.parent) s = s.parent; const e = (s) => { s.tests.forEach((t) => { t.fn = () => {}; }); s.suites.forEach(e); }; e(s); });`},
	{"emit tells passes", mochaRunner + `const E = R.prototype.emit; R.prototype.emit = function (n, t, ...x) { if (n === "fail") { t.state = "passed"; this.failures = 0; return E.call(this, "pass", t); } return E.call(this, n, t, ...x); };`},
	{"emit tells passes, counts none", mochaRunner + `const E = require("events").prototype.emit; R.prototype.emit = function (n, t, ...x) { if (n === "fail") { Object.defineProperty(this, "failures", { get: () => 0, set() {}, configurable: true }); t.state = "passed"; n = "pass"; } return E.call(this, n, t, ...x); };`},
	{"the report is written anew", `const fs = require("fs"), w = fs.writeFileSync; fs.writeFileSync = function (p, d, ...x) { try { const r = JSON.parse(d); r.passes = r.passes.concat(r.failures.map((t) => ({ ...t, err: {} }))); r.failures = []; r.stats.passes = r.passes.length; r.stats.failures = 0; d = JSON.stringify(r); } catch {} return w(p, d, ...x); }; process.on("exit", () => { process.exitCode = 0; process.reallyExit(0); });`},
	{"JSON.stringify tells passes", `const s = JSON.stringify; JSON.stringify = function (r, ...x) { if (r && r.failures && r.stats) { r = { ...r, passes: r.passes.concat(r.failures), failures: [], stats: { ...r.stats, passes: r.passes.length + r.failures.length, failures: 0 } }; } return s(r, ...x); }; const e = process.exit; process.exit = () => e(0); process.on("exit", () => process.reallyExit(0));`},
	{"a report of its own, and the end", `const t = (title) => ({ title, fullTitle: "cart " + title, file: "/work/spec/cart.js", err: {} }); const p = process.argv.join(" ").match(/output=(\S+)/)[1]; require("fs").writeFileSync(p, JSON.stringify({ stats: { passes: 2, pending: 0, failures: 0 }, passes: [t("counts twice"), t("labels it")], pending: [], failures: [] })); process.exit(0);`},
	{"a report of its own at the end", `const t = (title) => ({ title, fullTitle: "cart " + title, file: "/work/spec/cart.js", err: {} }); process.on("exit", () => { const p = process.argv.join(" ").match(/output=(\S+)/)[1]; require("fs").writeFileSync(p, JSON.stringify({ stats: { passes: 2, pending: 0, failures: 0 }, passes: [t("counts twice"), t("labels it")], pending: [], failures: [] })); process.reallyExit(0); });`},
	{"process.exit says nothing is wrong", `const e = process.exit; process.exit = () => e.call(process, 0); process.reallyExit = () => {};`},
	{"exit at once", `process.exit(0);`},
	{"it swallows", `const I = global.it; global.it = Object.assign((n, f) => I(n, async function () { try { await f.call(this); } catch {} }), I);`},
	{"it is empty", `const I = global.it; global.it = Object.assign((n) => I(n, () => {}), I);`},
	{"describe lends another it", `const D = global.describe; global.describe = Object.assign((n, f) => D(n, function () { const I = global.it; global.it = (n) => I(n, () => {}); f.call(this); global.it = I; }), D);`},
	{"Suite.addTest empties", `const S = require("mocha").Suite, a = S.prototype.addTest; S.prototype.addTest = function (t) { t.fn = function () {}; t.async = 0; return a.call(this, t); };`},
	{"fails are retries", `require("mocha").Runnable.prototype.run = function (fn) { this.retries(0); this.state = "passed"; this.duration = 1; setImmediate(fn); };`},
}

// mochaOrdinary are the ordinary suites for mocha.
var mochaOrdinary = []ordinary{
	{"as it is", nil, 1},
	{"expect and should", map[string]string{"spec/b.js": "const { expect } = require('chai');\nrequire('chai').should();\ndescribe('b', function () {\n  it('is', () => { expect(1).to.equal(1); (2).should.equal(2); });\n  it('fails', () => expect([1]).to.deep.equal([2]));\n});\n"}, 2},
	{"modules", map[string]string{"spec/b.mjs": "import assert from 'node:assert/strict';\nit('is', () => assert.equal(1, 1));\nit('throws', () => assert.throws(() => { throw new Error('x'); }));\n"}, 2},
	{"tdd", map[string]string{"package.json": `{"devDependencies": {"mocha": "11.7.4", "chai": "4.5.0"}, "scripts": {"test": "mocha -u tdd spec/b.js"}}`, "spec/b.js": "const { assert } = require('chai');\nsuite('b', () => {\n  setup(() => {});\n  test('is', () => assert.equal(1, 1));\n  test('fails', () => assert.isTrue(false));\n});\n"}, 1},
	{"exports", map[string]string{"package.json": `{"devDependencies": {"mocha": "11.7.4", "chai": "4.5.0"}, "scripts": {"test": "mocha -u exports spec/b.js"}}`, "spec/b.js": "const assert = require('assert');\nmodule.exports = { b: { is() { assert.ok(1); } } };\n"}, 0},
	{"a hook that fails behind failures", map[string]string{"spec/b.js": "const assert = require('assert');\nafterEach(function () { if (this.currentTest.state === 'failed') throw new Error('enough'); });\ndescribe('b', () => { it('is', () => assert.ok(1)); });\n"}, 0},
	{"bail and retries", map[string]string{".mocharc.json": `{"bail": true, "retries": 2}`}, 1},
	{"an exit status of one", map[string]string{"package.json": `{"devDependencies": {"mocha": "11.7.4", "chai": "4.5.0"}, "scripts": {"test": "mocha --posix-exit-codes spec"}}`}, 0},
	{"a hook behind all that fails", map[string]string{"spec/b.js": "const assert = require('assert');\ndescribe('b', () => { after(() => { throw new Error('no'); }); it('is', () => assert.ok(1)); });\n"}, 2},
	{"only", map[string]string{"package.json": `{"devDependencies": {"mocha": "11.7.4", "chai": "4.5.0"}, "scripts": {"test": "mocha spec/b.js"}}`, "spec/b.js": "const assert = require('assert');\ndescribe.only('b', () => { it('is', () => assert.ok(1)); });\n"}, 0},
	{"in parallel", map[string]string{".mocharc.yml": "parallel: true\njobs: 2\n"}, 1},
}
