// A reporter for node's own test runner. It writes what happened, one JSON object a line.
//
//     node --test --test-reporter=node_reporter.mjs --test-reporter-destination=RECORD …
//
// The record is the result; what tests print is for people. It has the form
// of the record of run_tests.py:
//
//     {"kind": "collect", "id", "outcome", "file", "line", "message"}
//     {"kind": "test", "id", "outcome", "file", "line", "message", "within"}
//     {"kind": "finished", "status": N, "tests": N}
//
// An id is "file::suite > name", with the file relative to AGENT_WORKSPACE, or else to the current directory. The file is empty
// for a test that a helper outside the workspace makes, since node does not say which file it is in. A test that fails because of
// the tests in it is "within". A file that does not run to its end is a collect record with the outcome error. The reporter runs
// in the runner's process and the tests run in others, so none of them can end it or write in its name.

import path from "node:path";

const MAX_MESSAGE = 600; // characters
const root = process.env.AGENT_WORKSPACE || process.cwd();

function relative(file) {
  const p = path.relative(root, file ?? "");
  return p && !p.startsWith("..") && !path.isAbsolute(p) ? p : "";
}

// place returns the first frame of a stack that is in the workspace.
function place(stack) {
  for (const m of String(stack ?? "").matchAll(/(?:file:\/\/)?(\/[^\s():]+):(\d+)(?::\d+)?/g)) {
    const file = m[1].includes("/node_modules/") ? "" : relative(m[1]);
    if (file) return { file, line: Number(m[2]) };
  }
  return undefined;
}

const text = (cause, otherwise) => String(cause?.message ?? cause ?? otherwise).slice(0, MAX_MESSAGE);

// complaint returns the line of a crashed file's output that says what is wrong.
const complaint = (output) => /^\s*((?:\w*Error|Uncaught)\b.*)$/m.exec(output)?.[1] ?? "";

export default async function* record(source) {
  const names = new Map(); // file: the tests that have begun and not ended
  const output = new Map(); // file: what it wrote to standard error
  const used = new Map(); // id: how often; names need not be unique
  let tests = 0;
  let failed = false;
  const line = (fields) => JSON.stringify(fields) + "\n";
  for await (const { type, data } of source) {
    if (type === "test:stderr") output.set(data.file, ((output.get(data.file) ?? "") + data.message).slice(-65536));
    if (type === "test:start") {
      const stack = names.get(data.file) ?? [];
      names.set(data.file, [...stack.slice(0, data.nesting), data.name]);
    }
    if (type !== "test:pass" && type !== "test:fail") continue;
    const file = relative(data.file);
    const error = data.details?.error;
    // The file itself is reported as a test that has its name.
    if (data.nesting === 0 && path.resolve(data.name) === data.file) {
      if (type === "test:pass") {
        tests++;
        yield line({ kind: "test", id: `${file}::script`, outcome: "passed" });
        continue;
      }
      failed = true;
      const written = output.get(data.file) ?? "";
      yield line({ kind: "collect", id: file, outcome: "error", ...(place(written) ?? { file, line: 0 }), message: complaint(written) || text(error?.cause, "the file failed") });
      continue;
    }
    const stack = [...(names.get(data.file) ?? []).slice(0, data.nesting), data.name];
    // A failure of a suite that is not one of its tests' is the fault of a hook.
    if (data.details?.type === "suite" && (type === "test:pass" || error?.failureType === "subtestsFailed")) continue;
    let id = `${file}::${stack.join(" > ")}`;
    used.set(id, (used.get(id) ?? 0) + 1);
    if (used.get(id) > 1) id += ` #${used.get(id)}`;
    let outcome = type === "test:pass" ? "passed" : "failed";
    if (data.skip !== undefined && data.skip !== false) outcome = "skipped";
    else if (data.todo !== undefined && data.todo !== false) outcome = type === "test:pass" ? "skipped" : "xfailed";
    if (outcome === "failed") failed = true;
    const within = error?.failureType === "subtestsFailed" ? { within: true } : {};
    const where = type === "test:fail" ? { ...(place(error?.cause?.stack) ?? { file, line: data.line ?? 0 }), message: text(error?.cause, error?.message), ...within } : {};
    tests++;
    yield line({ kind: "test", id, outcome, ...where });
  }
  yield line({ kind: "finished", status: failed ? 1 : 0, tests });
}
