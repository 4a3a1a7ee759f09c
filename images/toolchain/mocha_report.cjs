// A reporter for mocha of any version, in the form of its own of JSON, which before 9.2 writes among
// what the tests print, and before 8 names no files.
//
//     mocha --reporter mocha_report.cjs -O output=REPORT …
//
// writes to REPORT, when all tests are done,
//
//     {"stats": {"passes": N, "pending": N, "failures": N}, "passes": [TEST], "pending": [TEST], "failures": [TEST]}
//
// with a TEST {"title", "fullTitle", "file", "err": {"message", "stack"}}; only failures have an err.

"use strict";
const { writeFileSync } = require("node:fs");

const text = (of) => {
  try {
    const found = of();
    return found === undefined || found === null ? undefined : String(found);
  } catch {
    return undefined; // what a test throws may be made to throw when it is looked at
  }
};

const told = (test, error) => ({
  title: text(() => test.title),
  fullTitle: text(() => test.fullTitle()),
  file: text(() => test.file ?? test.parent?.file),
  err: error === undefined ? undefined : { message: text(() => error.message ?? error), stack: text(() => error.stack) },
});

module.exports = function Report(runner, options) {
  const lists = { passes: [], pending: [], failures: [] };
  runner.on("pass", (test) => lists.passes.push(told(test)));
  runner.on("pending", (test) => lists.pending.push(told(test)));
  runner.on("fail", (test, error) => lists.failures.push(told(test, error ?? null)));
  runner.once("end", () => {
    const { passes, pending, failures } = runner.stats ?? { passes: lists.passes.length, pending: lists.pending.length, failures: lists.failures.length };
    writeFileSync(options.reporterOptions.output, JSON.stringify({ stats: { passes, pending, failures }, ...lists }));
  });
};
