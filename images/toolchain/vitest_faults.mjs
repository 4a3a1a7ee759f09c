// A reporter for vitest beside its own of JSON: the faults that stand in no test, which that one
// leaves out where a test of the same file fails as well.
//
//     vitest --reporter=json --reporter=vitest_faults.mjs --outputFile=REPORT …
//
// writes to REPORT.faults, when all tests are done,
//
//     {"unhandled": N, "files": {FILE: MESSAGE}}
//
// with how many errors nothing caught, and each file that did not load, or of which a hook around
// several tests failed, with what its report says of that.

import { writeFileSync } from "node:fs";

const errorsOf = (suite) => (typeof suite.errors === "function" ? suite.errors() : suite.result?.errors) ?? [];

// faulty reports whether a suite has a fault of its own, or one in it: a task as vitest 0 to 2 hand
// it over, or a module of later ones.
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
