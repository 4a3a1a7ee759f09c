// Find the sources of a package of the workspace whose package.json names
// build output that does not exist yet.
//
// They are the files that tsc would make it from, by the package's tsconfig.json,
// or those of the same name in src, as bundlers have it. A package that is checked
// less strictly than its importer is left out: its types would not be those that
// its build declares.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

// Options that change the type of an expression that declares none.
const STRICTER = ["strictNullChecks", "noUncheckedIndexedAccess", "exactOptionalPropertyTypes", "useUnknownInCatchVariables"];
const BUILT = /^(?:dist|build|out|output|lib|esm?|cjs|types)\//;
const SUFFIX = /(?:\.d)?\.[cm]?[jt]sx?$/;

// Members finds the sources of one workspace.
class Members {
  constructor(ts, inside) {
    this.ts = ts;
    this.inside = inside;
    this.known = new Map(); // directory: what read returns for it
  }

  // resolve returns the source that a specifier leads to, or undefined if that is
  // not certain. options are those of the program that imports it.
  resolve(specifier, name, from, options) {
    const dir = name && this.directory(name, path.dirname(from));
    if (!dir) return undefined;
    const { manifest, theirs, made } = this.about(dir);
    const on = (o, key) => Boolean(o[key] ?? (/^(strict|useU)/.test(key) && o.strict));
    if (STRICTER.some((key) => on(options, key) && !on(theirs, key))) return undefined;
    for (const target of targets(manifest, "." + specifier.slice(name.length))) {
      const stem = path.join(dir, target).replace(SUFFIX, "");
      const source = made.get(stem) ?? this.beside(dir, stem);
      if (source && this.fits(source, target, options)) return source;
    }
    return undefined;
  }

  // unbuilt reports whether a path leads to where a build puts what it makes, and
  // nothing is there yet. The package names that place, or it has a usual name for
  // one.
  unbuilt(specifier, from) {
    const to = path.resolve(path.dirname(from), specifier);
    let dir = path.dirname(to);
    while (this.inside(dir + "/") && !fs.existsSync(path.join(dir, "package.json"))) dir = path.dirname(dir);
    const [top, ...rest] = path.relative(dir, to).split("/");
    if (!this.inside(dir + "/") || top === ".." || rest.length === 0 || fs.existsSync(path.join(dir, top))) return false;
    const { manifest } = this.about(dir);
    const named = [manifest.main, manifest.module, manifest.types, manifest.typings, manifest.bin, manifest.exports].flatMap(leaves);
    return BUILT.test(top + "/") || named.some((t) => path.normalize(t).startsWith(top + "/"));
  }

  // about returns what read says about a directory, which is read once.
  about(dir) {
    if (!this.known.has(dir)) this.known.set(dir, this.read(dir));
    return this.known.get(dir);
  }

  // fits reports whether a source can stand for what is built from it: it must be the
  // same kind of module, if that matters, and one that the program can read.
  fits(source, target, options) {
    const { Node16, NodeNext } = this.ts.ModuleKind;
    const counts = options.module >= Node16 && options.module <= NodeNext;
    const kind = (p) => /\.([mc])[jt]s$/.exec(p)?.[1];
    return (!counts || kind(source) === kind(target)) && (options.jsx !== undefined || !source.endsWith(".tsx"));
  }

  // directory returns where a package of the workspace is, by the link to it.
  directory(name, from) {
    for (let d = from; this.inside(d + "/"); d = path.dirname(d)) {
      const at = path.join(d, "node_modules", name);
      if (fs.existsSync(at)) return this.inside(fs.realpathSync(at) + "/") ? fs.realpathSync(at) : undefined;
    }
    return undefined;
  }

  // read gathers a package's manifest, its options, and what tsc makes from which file.
  read(dir) {
    const ts = this.ts;
    const text = ts.sys.readFile(path.join(dir, "package.json"));
    const manifest = (text && ts.parseConfigFileTextToJson("package.json", text).config) || {};
    const made = new Map();
    const config = ts.findConfigFile(dir, ts.sys.fileExists);
    const parsed = config && this.inside(config) && ts.getParsedCommandLineOfConfigFile(config, {}, { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} });
    if (!parsed) return { manifest, theirs: {}, made };
    for (const file of parsed.fileNames.filter((f) => !/\.d\.[cm]?ts$/.test(f))) {
      for (const output of ts.getOutputFileNames(parsed, file, false)) made.set(output.replace(SUFFIX, ""), file);
    }
    return { manifest, theirs: parsed.options, made };
  }

  // beside returns the source in src, or at the top, that has the name of what a
  // bundler would make. It returns undefined unless there is exactly one.
  beside(dir, stem) {
    let rest = path.relative(dir, stem);
    while (BUILT.test(rest)) rest = rest.replace(BUILT, "");
    const found = [".ts", ".tsx", ".mts", ".cts"].flatMap((end) => [path.join(dir, "src", rest + end), path.join(dir, rest + end)]).filter((p) => this.ts.sys.fileExists(p));
    return found.length === 1 ? found[0] : undefined;
  }
}

// targets lists the files that a package.json names for a path in the package.
function targets(manifest, asked) {
  const { exports } = manifest;
  if (exports === undefined || exports === null) {
    if (asked !== ".") return [asked];
    return [manifest.types, manifest.typings, manifest.main ?? "index.js"].filter((t) => typeof t === "string");
  }
  const plain = typeof exports === "string" || Array.isArray(exports) || !Object.keys(exports).some((key) => key.startsWith("."));
  const entries = plain ? { ".": exports } : exports;
  if (Object.hasOwn(entries, asked)) return leaves(entries[asked]);
  for (const key of Object.keys(entries)) {
    const [head, tail, more] = key.split("*");
    if (tail === undefined || more !== undefined || asked.length < key.length || !asked.startsWith(head) || !asked.endsWith(tail)) continue;
    return leaves(entries[key]).map((t) => t.replaceAll("*", asked.slice(head.length, asked.length - tail.length)));
  }
  return [];
}

// leaves lists the files under any condition.
function leaves(value) {
  if (typeof value === "string") return [value];
  return value && typeof value === "object" ? Object.values(value).flatMap(leaves) : [];
}

module.exports = { Members };
