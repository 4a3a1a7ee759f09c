// Report which lines of some files were executed, from what node_lines.cjs made the processes of a run record.
//
//     node node_lines_report.cjs ask COMPILER      make processes record it from now on
//     node node_lines_report.cjs answer COMPILER   report what they recorded
//
// COMPILER is the directory of the package typescript. Standard input is a JSON object that maps paths relative to the current
// directory to lists of lines, counted from 1. The answer is one JSON document:
//
//     {"code":   {"path": [line, …]},  lines on which something can be executed
//      "ran":    {"path": [line, …]},  those of them that were executed
//      "never":  ["path", …],          requested files that nothing loaded
//      "others": ["path", …],          other files that were loaded and have no source map
//      "idle":   false,                whether processes told all they executed, and it was nothing of the workspace
//      "lost":   false}                whether a process left no record, or a broken one
//
// A file about which nothing can be said is in none of the first three. Code outside of functions is executed by loading
// the file, which counts only if the line has nothing else. The head of a function counts as executed if its body is.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { codeOf } = require("./node_lines_code.cjs");
const { place } = require("./node_lines_map.cjs");

const DIRECTORY = "/tmp/agent-lines";
const MAX_FILE = 64 << 20; // bytes of one record, or of one text
const MAX_ALL = 512 << 20; // bytes of all of them

const asked = JSON.parse(fs.readFileSync(0, "utf8"));
const root = process.cwd();

function ask() {
  fs.rmSync(DIRECTORY, { recursive: true, force: true });
  fs.mkdirSync(DIRECTORY);
  fs.writeFileSync(`${DIRECTORY}/asked.json`, JSON.stringify(Object.keys(asked).map((p) => path.join(root, p))));
}

let left = MAX_ALL;

// read returns the text of a file. It throws if there is no file, or too much text.
function read(file) {
  const { size } = fs.statSync(file);
  if (size > MAX_FILE || (left -= size) < 0) throw new Error("too large");
  return fs.readFileSync(file, "utf8").replace(/^\uFEFF/, "");
}

// Runs holds the texts of which something was executed, by path and text.
class Runs {
  all = new Map();
  others = new Set();
  heard = 0;
  lost = false;

  // addFile adds what one process recorded.
  addFile(file) {
    try {
      const lines = read(file).split("\n").filter((line) => line !== "");
      if (lines.length === 0) this.lost = true;
      for (const line of lines) {
        const record = JSON.parse(line);
        this.heard++;
        for (const other of record.others) this.others.add(path.relative(root, String(other)));
        for (const script of record.scripts) this.add(script);
      }
    } catch {
      this.lost = true;
    }
  }

  add({ path: script, text: name, ran }) {
    if (typeof script !== "string" || !/^[0-9a-f]{40}\.txt$/.test(name)) throw new Error("broken");
    const key = script + "\n" + name;
    if (!this.all.has(key)) {
      const text = read(`${DIRECTORY}/${name}`);
      this.all.set(key, { script, text, ran: new Uint8Array(text.length) });
    }
    const one = this.all.get(key);
    for (let i = 0; i < ran.length; i += 2) {
      if (!(ran[i] >= 0 && ran[i] < ran[i + 1] && ran[i + 1] <= one.ran.length)) throw new Error("broken");
      one.ran.fill(1, ran[i], ran[i + 1]);
    }
  }
}

// executed reports whether one of a line's pieces was executed, or undefined if the text has none of them.
function executed(pieces, placement, ran) {
  const heads = pieces.filter((p) => p.kind === "head");
  const deep = pieces.filter((p) => p.deep);
  let known;
  for (const p of heads.length > 0 ? heads : deep.length > 0 ? deep : pieces) {
    if (p.kind === "loaded") return true;
    const places = p.kind === "plain" ? placement.at(p.at, p.from, p.to) : placement.within(p.from, p.to);
    if (places.some((at) => ran[at] === 1)) return true;
    if (places.length > 0) known = false;
  }
  return known;
}

// traced adds what is known about one file to the answer.
function traced(ts, answer, file, lines, runs) {
  const name = path.join(root, file);
  let text;
  try {
    text = read(name);
  } catch {
    return;
  }
  const code = codeOf(ts, name, text, new Set(lines));
  if (!code) return;
  const [told, ran] = [new Set(), new Set()];
  let loaded = 0;
  for (const run of runs.all.values()) {
    const placement = place(name, text, run.script, run.text, read);
    if (placement === null) continue;
    if (placement === undefined) return;
    loaded++;
    for (const [line, pieces] of code) {
      const was = executed(pieces, placement, run.ran);
      if (was !== undefined) told.add(line);
      if (was) ran.add(line);
    }
  }
  const list = (set) => [...set].sort((a, b) => a - b);
  answer.code[file] = list(loaded > 0 ? told : code.keys());
  answer.ran[file] = list(ran);
  if (loaded === 0) answer.never.push(file);
  // A process that left no record may have executed the other lines.
  if (runs.lost && ran.size < answer.code[file].length) for (const part of [answer.code, answer.ran]) delete part[file];
}

function answer() {
  const runs = new Runs();
  for (const name of fs.readdirSync(DIRECTORY)) {
    if (name.endsWith(".jsonl")) runs.addFile(`${DIRECTORY}/${name}`);
  }
  const all = { code: {}, ran: {}, never: [], others: [], idle: false, lost: runs.lost };
  const seen = runs.all.size > 0 || runs.others.size > 0;
  all.idle = !seen && runs.heard > 0 && !runs.lost;
  // If nothing of the workspace was seen and something may have been missed, nothing can be said.
  if (seen || all.idle) {
    const ts = require(path.join(process.argv[3], "lib/typescript.js"));
    for (const [file, lines] of Object.entries(asked)) traced(ts, all, file, lines, runs);
  }
  all.others = [...runs.others].slice(0, 5000);
  process.stdout.write(JSON.stringify(all));
}

process.argv[2] === "ask" ? ask() : answer();
