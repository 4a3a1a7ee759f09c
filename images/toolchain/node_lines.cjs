// Have a process of node tell which parts of some files it executed.
//
//     NODE_OPTIONS=--require=node_lines.cjs node …
//
// The directory below holds asked.json, a JSON list of absolute paths; without it nothing is
// done. Each process and each thread of one makes a file of its own there when it starts, and
// writes to it before it ends, one JSON object a line:
//
//     {"scripts": [{"path", "text", "ran": [start, end, …]}], "others": ["path", …]}
//
// ran lists the stretches of the text that V8 executed, by its block coverage, in UTF-16 units.
// The text is that of the file with this name in the directory: the path as it was then, or what a loader
// made of it, or of something else with a source map that names a file that is asked for.
// others are the files of the workspace that were executed besides and have no source map. A
// file without any is that of a process which was killed, or could not be measured.
//
// Nothing of the program is changed. A process that a signal ends is ended by the same one once it
// has written, and a thread is terminated once it has. A process that has begun to write, for which it puts down an empty line, is
// killed by its parent only when it is done: runners end theirs so half a second after they asked them to. One that takes V8's coverage by
// itself would find it reset, so it is left alone.
"use strict";

const DIRECTORY = "/tmp/agent-lines";
const ROOT = "/work/";
const MAX_TEXT = 8 << 20; // characters of one text
const MAX_OTHERS = 5000;
const MAX_THREADS = 1024;
const PATIENCE = 2000; // milliseconds that a thread has to write before it is terminated, and a process that has begun to
const SIGNALS = [1, 2, 15]; // HUP, INT, TERM
const BEGUN = "\n"; // what a process writes before its record

const fs = require("node:fs");
const path = require("node:path");
const threads = require("node:worker_threads");

// What the program may put something else in the place of.
const { readFileSync, writeFileSync, appendFileSync, existsSync, readdirSync, statSync } = fs;
const { parse, stringify } = JSON;
const { kill, pid } = process;

function start() {
  let asked;
  try {
    asked = new Set(parse(readFileSync(DIRECTORY + "/asked.json", "utf8")));
  } catch {
    return;
  }
  const own = `${DIRECTORY}/${pid}-${threads.threadId}-${process.hrtime.bigint()}.jsonl`;
  if (process.env.NODE_V8_COVERAGE) {
    writeFileSync(own, "");
    return;
  }
  let session;
  try {
    session = new (require("node:inspector").Session)();
    session.connect();
  } catch {
    return; // the parent of node --test has no inspector, and runs no tests
  }
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: false, detailed: true });
  const recorder = new Recorder(asked, session, own);
  const flush = threads.isMainThread ? watchThreads() : obeyMain(recorder);
  writeFileSync(own, "");
  process.on("exit", () => {
    recorder.take();
    flush();
  });
  if (threads.isMainThread) watchSignals(recorder);
  watchChildren();
}

class Recorder {
  constructor(asked, session, file) {
    this.asked = asked;
    this.names = [...asked].map((p) => path.basename(p));
    this.session = session;
    this.file = file;
    this.kept = new Map(); // path: whether it is recorded, "" for one of the others
  }

  // take writes what was executed since the last time.
  take() {
    try {
      let result = [];
      appendFileSync(this.file, BEGUN);
      this.session.post("Profiler.takePreciseCoverage", (error, answer) => (result = error ? [] : answer.result));
      const record = { scripts: [], others: [] };
      const texts = new Map(); // path and length: the record of such a text
      for (const script of result) this.add(record, texts, script);
      this.session.post("Debugger.disable");
      for (const s of texts.values()) record.scripts.push({ path: s.path, text: s.text, ran: stretches(s.ran) });
      appendFileSync(this.file, stringify(record) + "\n");
    } catch {
      // Without its record the process counts as one that was not measured.
    }
  }

  add(record, texts, script) {
    const file = plainPath(script.url);
    if (!file.startsWith(ROOT) || file.includes("/node_modules/") || !executed(script)) return;
    if (!this.kept.has(file)) this.kept.set(file, this.asked.has(file) || mapped(file, this.names));
    if (this.kept.get(file) !== true) {
      if (this.kept.get(file) === "" && record.others.length < MAX_OTHERS) record.others.push(file);
      return;
    }
    const length = Math.max(...script.functions.map((f) => f.ranges[0].endOffset));
    let one = texts.get(file + "\n" + length);
    if (!one) {
      const text = this.text(file, script.scriptId, length);
      if (text.length > MAX_TEXT) throw new Error("too long");
      one = { path: file, text: text.name, ran: new Uint8Array(text.length) };
      texts.set(file + "\n" + length, one);
    }
    const ran = new Uint8Array(one.ran.length);
    for (const f of script.functions) {
      for (const r of f.ranges) ran.fill(r.count > 0 ? 1 : 0, r.startOffset, r.endOffset);
    }
    for (let i = 0; i < ran.length; i++) one.ran[i] |= ran[i];
  }

  // text keeps a script's text, for the file may be another one when it is read, and gives its length and name.
  text(file, scriptId, length) {
    let text = read(file);
    if (text.length !== length) {
      this.session.post("Debugger.enable");
      this.session.post("Debugger.getScriptSource", { scriptId }, (error, answer) => (text = error ? "" : answer.scriptSource));
    }
    const name = require("node:crypto").createHash("sha1").update(text).digest("hex") + ".txt";
    if (!existsSync(`${DIRECTORY}/${name}`)) writeFileSync(`${DIRECTORY}/${name}`, text);
    return { name, length: text.length };
  }
}

// read returns the text of a file as node takes it, "" for none.
function read(file) {
  try {
    return readFileSync(file, "utf8").replace(/^\uFEFF/, "");
  } catch {
    return "";
  }
}

// plainPath is the path that the address of a script stands for, "" for none.
function plainPath(url) {
  if (url.startsWith("/")) return url.replace(/\?.*$/s, "");
  if (!url.startsWith("file:///")) return "";
  try {
    return decodeURIComponent(url.slice("file://".length).replace(/[?#].*$/s, ""));
  } catch {
    return "";
  }
}

const executed = (script) => script.functions.some((f) => f.ranges.some((r) => r.count > 0));

// mapped tells of a file that is not asked for whether its source map names one of these, "" when it has no source map.
function mapped(file, names) {
  const found = /\/\/[#@] sourceMappingURL=(\S+)\s*(?:\/\/.*\s*)*$/.exec(read(file));
  if (!found) return "";
  const inline = /^data:[^,]*;base64,/.exec(found[1]);
  const map = inline ? Buffer.from(found[1].slice(inline[0].length), "base64").toString() : read(path.resolve(path.dirname(file), found[1]));
  return map === "" ? "" : names.some((name) => map.includes(name));
}

// stretches lists where a text was executed: start, end, start, end, …
function stretches(ran) {
  const list = [];
  for (let i = 0; i < ran.length; i++) {
    if (ran[i] !== (i > 0 ? ran[i - 1] : 0)) list.push(i);
  }
  if (ran.length > 0 && ran[ran.length - 1]) list.push(ran.length);
  return list;
}

// Threads share the numbers below: 1 for one that is measured, 2 for one that has written.
const KEY = "agent-lines";

// watchThreads has threads write before they are terminated, and returns what has those write
// that are left at the end of the process.
function watchThreads() {
  const state = new Int32Array(new SharedArrayBuffer(4 * MAX_THREADS));
  threads.setEnvironmentData(KEY, state.buffer);
  let channel;
  const flush = (ids) => {
    const left = ids.filter((id) => id > 0 && Atomics.load(state, id % MAX_THREADS) === 1);
    if (left.length === 0) return;
    if (!channel) {
      channel = new threads.BroadcastChannel(KEY);
      channel.unref();
    }
    channel.postMessage(left);
    const end = Date.now() + PATIENCE;
    for (const id of left) Atomics.wait(state, id % MAX_THREADS, 1, Math.max(0, end - Date.now()));
  };
  const { terminate } = threads.Worker.prototype;
  threads.Worker.prototype.terminate = function (...args) {
    flush([this.threadId]);
    return terminate.apply(this, args);
  };
  return () => flush([...state.keys()]);
}

// obeyMain has a thread write when the main one asks for it, and returns what tells that it has.
function obeyMain(recorder) {
  const shared = threads.getEnvironmentData(KEY);
  if (!shared) return () => {};
  const state = new Int32Array(shared);
  const at = threads.threadId % MAX_THREADS;
  const done = () => {
    Atomics.store(state, at, 2);
    Atomics.notify(state, at);
  };
  Atomics.store(state, at, 1);
  const channel = new threads.BroadcastChannel(KEY);
  channel.onmessage = ({ data }) => {
    if (!data.includes(threads.threadId)) return;
    recorder.take();
    done();
  };
  channel.unref();
  return done;
}

// watchChildren has children that write what they executed be killed after that.
function watchChildren() {
  const { ChildProcess } = require("node:child_process");
  const end = ChildProcess.prototype.kill;
  const still = new Int32Array(new SharedArrayBuffer(4));
  const writes = (child) =>
    readdirSync(DIRECTORY).some((name) => name.startsWith(`${child}-0-`) && statSync(`${DIRECTORY}/${name}`).size === BEGUN.length);
  ChildProcess.prototype.kill = function (...args) {
    try {
      const until = Date.now() + PATIENCE;
      while (["SIGKILL", 9].includes(args[0]) && Date.now() < until && writes(this.pid)) Atomics.wait(still, 0, 0, 5);
    } catch {
      // Who cannot be waited for is killed as the program wants it.
    }
    return end.apply(this, args);
  };
}

// watchSignals has the process write before a signal ends it. Where the program has a listener
// of its own, the signal is left to that. No listener of ours is seen.
function watchSignals(recorder) {
  const Signal = signalHandle();
  const names = require("node:os").constants.signals;
  for (const [name, number] of Object.entries(names).filter(([, n]) => SIGNALS.includes(n))) {
    const watch = new Signal();
    watch.unref();
    watch.onsignal = () => {
      recorder.take();
      if (process.listenerCount(name) > 0) return;
      watch.close();
      kill.call(process, pid, name);
    };
    watch.start(number);
  }
}

// signalHandle is node's own class of what watches a signal. Node makes one when it is told of a first listener, as here of
// one that nobody adds, and closes it when that is gone; it gives the class away nowhere else.
function signalHandle() {
  let found;
  const hook = require("node:async_hooks").createHook({
    init: (id, type, trigger, resource) => (found = type === "SIGNALWRAP" ? resource.constructor : found),
  });
  hook.enable();
  try {
    process.emit("newListener", "SIGWINCH");
    process.emit("removeListener", "SIGWINCH");
  } finally {
    hook.disable();
  }
  return found;
}

try {
  start();
} catch {
  // The program goes on as it would.
}
