// Stop a tool of node before it loads what a patch wrote as its configuration.
//
// Preloaded with NODE_OPTIONS. AGENT_TOUCHED has the paths below /work that the patch wrote, changed or removed, as a JSON list in
// gzip and base64. AGENT_LOADS names a file. As soon as the tool would run one of these paths as a module, or its configuration
// reads one that is not a source, the path is written to the file and the process is killed, before anything of the patch has run
// in it. A linter reads the sources that it checks from its own code. The stack tells such a read from one that code of the workspace
// asks for, and from one by a package that reads configuration for a tool.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const Module = require("node:module");
const zlib = require("node:zlib");
const { pathToFileURL } = require("node:url");
const { isMainThread } = require("node:worker_threads");

const WORK = "/work/";
const SOURCE = /\.(?:[cm]?[jt]s|[jt]sx|vue|svelte|astro|css|scss|less)$/;
// Packages that programs put between themselves and the configuration that they read.
const READER = /\/node_modules\/(?:jiti|cosmiconfig|lilconfig|@eslint\/eslintrc)\//;
const OWN = /(?:file:\/\/|[\s(])\/work\/((?:(?!node_modules\/)[^/\s:)]+\/)*(?!node_modules\/)[^/\s:)]+):\d/;

const list = process.env.AGENT_TOUCHED ? JSON.parse(zlib.gunzipSync(Buffer.from(process.env.AGENT_TOUCHED, "base64"))) : [];
const touched = new Set(list.filter((p) => path.basename(p) !== "package.json").map((p) => WORK + p));
const write = fs.writeFileSync;

function stop(file) {
  write(process.env.AGENT_LOADS, file.slice(WORK.length));
  process.kill(process.pid, "SIGKILL");
}

if (touched.size) {
  const load = Module.prototype.load;
  Module.prototype.load = function (filename) {
    if (touched.has(filename)) stop(filename);
    return load.call(this, filename);
  };
  if (isMainThread) Module.register(pathToFileURL(path.join(__dirname, "config_loads.mjs")), { data: { touched: [...touched], loads: process.env.AGENT_LOADS } });

  // asked stops the process if the configuration asks for such a file, or for a directory in which such a file is missing now.
  // Checking whether a source exists is not reading it: that is how a reader finds where configuration may be.
  const asked = (name, of, looks) => {
    if (typeof name !== "string" && !(name instanceof URL) && !Buffer.isBuffer(name)) return;
    let file;
    try {
      file = path.resolve(name instanceof URL ? name.pathname : String(name).replace(/^file:\/\//, ""));
    } catch {
      return;
    }
    const found = of ? [...touched].find((t) => path.dirname(t) === file && !fs.existsSync(t)) : touched.has(file) && file;
    if (!found || (looks && SOURCE.test(found))) return;
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 100;
    const stack = new Error().stack;
    Error.stackTraceLimit = limit;
    if (READER.test(stack) || ((of || !SOURCE.test(found)) && OWN.test(stack))) stop(found);
  };
  const wrap = (owner, name, of) => {
    const plain = owner[name];
    owner[name] = Object.assign(function (...args) {
      asked(args[0], of, /^(?:stat|access)/.test(name));
      return plain.apply(this, args);
    }, plain);
  };
  for (const name of ["readFileSync", "readFile", "openSync", "open", "createReadStream", "statSync", "accessSync"]) wrap(fs, name, false);
  for (const name of ["readFile", "open", "stat", "access"]) wrap(fs.promises, name, false);
  for (const owner of [fs, fs.promises]) wrap(owner, "readdir", true);
  wrap(fs, "readdirSync", true);
  Module.syncBuiltinESMExports();
}
