// Make a process of node record which parts of some files it executed.
//
//     NODE_OPTIONS=--require=node_lines.cjs node …
//
// The directory below holds asked.json, a JSON list of absolute paths; without it nothing is
// done. Each process, and each of its threads, makes a file of its own there when it starts, and
// writes to it before it ends, one JSON object a line:
//
//     {"scripts": [{"path", "text", "ran": [start, end, …]}], "others": ["path", …]}
//
// ran lists the ranges of the text that V8 executed according to its block coverage, in UTF-16 units. text names the file in the
// directory that holds the text: that of the path at the time, or what a loader made of it, or of something else with a source map
// that names a requested file. others are the other files of the workspace that were executed and have no source map. A file
// without records comes from a process that was killed or could not be measured.
//
// The program itself is not changed. A process that a signal ends is ended by the same signal once it has written, and a thread is
// terminated once it has written. A process that begins to write says so with an empty line; its parent then kills it only when it
// is done. Otherwise runners would kill theirs half a second after asking them to end. A process that takes V8's coverage by itself
// would find it reset, so it is left alone.
"use strict";

const DIRECTORY = "/tmp/agent-lines";
const ROOT = "/work/";
const MAX_TEXT = 8 << 20; // characters of one text
const MAX_OTHERS = 5000;
const MAX_THREADS = 1024;
const PATIENCE = 2000; // milliseconds that a thread, or a process that has begun, has to write before it is ended
const SIGNALS = [1, 2, 15]; // HUP, INT, TERM
const BEGUN = "\n"; // what a process writes before its record

const fs = require("node:fs");
const path = require("node:path");
const threads = require("node:worker_threads");

// Taken now, since the program may replace them.
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

  // take writes what was executed since it was last called.
  take() {
    try {
      let result = [];
      appendFileSync(this.file, BEGUN);
      this.session.post("Profiler.takePreciseCoverage", (error, answer) => (result = error ? [] : answer.result));
      const record = { scripts: [], others: [] };
      const texts = new Map(); // path and length: the record of that text
      for (const script of result) this.add(record, texts, script);
      this.session.post("Debugger.disable");
      for (const s of texts.values()) record.scripts.push({ path: s.path, text: s.text, ran: stretches(s.ran) });
      appendFileSync(this.file, stringify(record) + "\n");
    } catch {
      // Without its record the process counts as not measured.
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

  // text saves a script's text, since the file may have changed when it is read, and returns its length and name.
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

// read returns the text of a file as node takes it, or "" if there is none.
function read(file) {
  try {
    return readFileSync(file, "utf8").replace(/^\uFEFF/, "");
  } catch {
    return "";
  }
}

// plainPath returns the path that the URL of a script stands for, or "" if there is none.
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

// mapped reports, for a file that is not requested, whether its source map names one that is, or "" if it has no source map.
function mapped(file, names) {
  const found = /\/\/[#@] sourceMappingURL=(\S+)\s*(?:\/\/.*\s*)*$/.exec(read(file));
  if (!found) return "";
  const inline = /^data:[^,]*;base64,/.exec(found[1]);
  const map = inline ? Buffer.from(found[1].slice(inline[0].length), "base64").toString() : read(path.resolve(path.dirname(file), found[1]));
  return map === "" ? "" : names.some((name) => map.includes(name));
}

// stretches lists the ranges of a text that were executed: start, end, start, end, …
function stretches(ran) {
  const list = [];
  for (let i = 0; i < ran.length; i++) {
    if (ran[i] !== (i > 0 ? ran[i - 1] : 0)) list.push(i);
  }
  if (ran.length > 0 && ran[ran.length - 1]) list.push(ran.length);
  return list;
}

// Threads share an array of numbers under this key: 1 for one that is measured, 2 for one that has written.
const KEY = "agent-lines";

// watchThreads makes threads write before they are terminated. It returns a function that makes those write that are left at the
// end of the process.
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

// obeyMain makes a thread write when the main one asks for it. It returns a function that tells the main one that it has.
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

// watchChildren makes the kill of a child wait until the child has written what it executed.
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
      // A child that cannot be waited for is killed as the program wants.
    }
    return end.apply(this, args);
  };
}

// watchSignals makes the process write before a signal ends it. If the program has a listener of its own, the signal is left to
// that. The program sees no listener of ours.
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

// signalHandle returns node's own class for watching a signal. Node makes an instance when it hears of a first listener, here one
// that is never added, and closes it when the listener is gone. It exposes the class nowhere else.
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
  // The program continues as it would without this.
}
