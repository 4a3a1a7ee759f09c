// A reporter for vitest, next to its own JSON reporter. It reports the faults outside of tests, which the other leaves out if a
// test of the same file fails too.
//
//     vitest --reporter=json --reporter=vitest_faults.mjs --outputFile=REPORT …
//
// writes to REPORT.faults, when all tests are done,
//
//     {"unhandled": N, "files": {FILE: MESSAGE}}
//
// with the number of errors that nothing caught, and each file that did not load, or of which a hook around several tests failed,
// with vitest's message about that.

import { writeFileSync } from "node:fs";

const errorsOf = (suite) => (typeof suite.errors === "function" ? suite.errors() : suite.result?.errors) ?? [];

// faulty reports whether a suite, or a suite in it, has a fault of its own. It takes a task as vitest 0 to 2 pass it, or a module
// of later versions.
const faulty = (suite) =>
  errorsOf(suite).length > 0 || Array.from(suite.children ?? suite.tasks ?? []).some((task) => task.type === "suite" && faulty(task));

export default class Faults {
  onInit(vitest) {
    this.report = vitest.config.outputFile;
  }

  onFinished(files, errors) {
    this.write(files, errors, (file) => file.filepath);
  }

  onTestRunEnd(modules, errors) {
    this.write(modules, errors, (module) => module.moduleId);
  }

  write(files, errors, name) {
    const list = {};
    for (const file of files ?? []) if (faulty(file)) list[name(file)] ??= errorsOf(file)[0]?.message ?? "";
    if (typeof this.report === "string") writeFileSync(`${this.report}.faults`, JSON.stringify({ unhandled: errors?.length ?? 0, files: list }));
  }
}
