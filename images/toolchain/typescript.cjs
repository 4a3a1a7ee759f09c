// Check TypeScript and JavaScript with the compiler's own API, without running
// anything of the workspace.
//
//     node typescript.cjs COMPILER syntax    the grammar of the named files
//     node typescript.cjs COMPILER types [DIR...]  the types of the workspace
//     node typescript.cjs COMPILER projects  the types of the named projects
//     node typescript.cjs COMPILER configs   only a JSON list of the files that configure the named projects
//
// COMPILER is the directory of the package typescript, of version 5 or 6; every command but projects needs the
// image's. Projects below a DIR are left to another compiler. Standard input is a JSON list of paths relative to
// the current directory: the files to check; for types, all sources and every tsconfig.json of the workspace; for
// projects, only the latter. Standard output is one JSON document:
//
//     {"findings": [{"file", "line", "column", "rule", "message"}],
//      "checked":  ["path", ...],
//      "skipped":  [{"file", "reason"}],
//      "notes":    ["what limits the answer", ...]}
//
// Every path is in checked or in skipped. The exit status is 1 if there are
// findings and 0 if there are none; any other means that there is no answer.
//
// Each tsconfig.json is a project, and so are those that it refers to. Sources that
// no project includes are checked together: TypeScript without a configuration above
// it with a mild one; JavaScript, and what a configuration leaves out, by the rules of
// typescript_certain.cjs.
//
// A package that is not installed says nothing about the code. It is one fact for the
// whole workspace (import-not-found), or none if package.json promises it, and errors
// that are only due to its missing types are left out. A package of the workspace itself
// that is not built yet is read from its sources, if typescript_members.cjs is certain
// of them.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { builtinModules } = require("node:module");
const { Judge } = require("./typescript_certain.cjs");
const { Members } = require("./typescript_members.cjs");

const MAX_SOURCE = 1 << 20; // bytes; a larger file is a bundle, not source
const ts = require(path.join(process.argv[2], "lib/typescript.js"));
const root = process.cwd();
const apart = process.argv.slice(4).map((d) => path.join(root, d));
const ambient = path.join(__dirname, "ambient.d.ts");

const SCRIPT = /\.(?:[cm]?js|jsx)$/;
const TYPED = /\.(?:[cm]?ts|tsx)$/;
const CONFIG = /(?:^|\/)[jt]sconfig\.json$/;

// What the compiler reports for sound code if the types of a package are missing:
// that a parameter has no type, that any takes no type arguments, that there is no
// base class to override, that a value is unknown, and the like.
const UNTYPED = new Set([2347, 2503, 2571, 2578, 2664, 2686, 2688, 2694, 2875, 4112, 4113, 4114, 4116, 4117, 4122, 17004, 18046]);
// What it reports for a name that nothing declares, and for a module that does not exist.
const NAMES = new Set([2304, 2552, 2580, 2581, 2582, 2583, 2584, 2591, 2592, 2593]);
const MISSING = new Set([2307, 2792]);
// What it reports about the way in which it was called.
const SETUP = new Set([5055, 5056, 5101, 5107, 5110, 6059, 6305, 6306, 6307, 6310, 6504, 18003]);
const EXTENDS = new Set([5083, 6053, 5012]);

const answer = { findings: [], checked: [], skipped: [], notes: [] };
const seen = new Set(); // findings: a file may belong to several projects
const covered = new Set(); // absolute paths that some project has judged

const inside = (name) => name.startsWith(root + "/") && !name.includes("/node_modules/");

const members = new Members(ts, inside);

// report adds a finding at a position of a file, or for a file as a whole.
function report(rule, message, file, start) {
  const name = file ? file.fileName : "";
  const at = file && start !== undefined ? file.getLineAndCharacterOfPosition(start) : undefined;
  const f = { file: inside(name) ? path.relative(root, name) : "", line: at ? at.line + 1 : 0, column: at ? at.character + 1 : 0, rule, message: message.replaceAll(root + "/", "") };
  const key = [f.file, f.line, f.column, rule, rule === "import-not-found" ? message : ""].join("\0");
  if (!seen.has(key)) {
    seen.add(key);
    answer.findings.push(f);
  }
}

const textOf = (d) => ts.flattenDiagnosticMessageText(d.messageText, " ");

// Declarations of libraries are read once for all projects, as `tsc --build` does.
const libraries = new Map();

// What a project makes the compiler print about its own work (traceResolution) is not part of the answer.
ts.sys.write = () => {};

function makeHost(options) {
  options.traceResolution = false;
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile;
  host.getSourceFile = (name, how, onError, fresh) => {
    if (inside(name) || !/\.d\.[cm]?ts$/.test(name)) return read(name, how, onError, fresh);
    const key = [name, how.languageVersion ?? how, how.impliedNodeFormat ?? ""].join("\0");
    if (!libraries.has(key)) libraries.set(key, read(name, how, onError, fresh));
    return libraries.get(key);
  };
  host.getCurrentDirectory = () => root;
  host.jsDocParsingMode = ts.JSDocParsingMode?.ParseForTypeErrors; // only JavaScript has types in comments
  // A project that another one refers to counts by its sources, since its
  // declarations have not been built.
  host.useSourceOfProjectReferenceRedirect = () => true;
  const cache = ts.createModuleResolutionCache(root, (name) => name, options);
  host.getModuleResolutionCache = () => cache;
  host.resolveModuleNameLiterals = (literals, from, redirect, how, file) =>
    literals.map((literal) => {
      const settings = redirect?.commandLine.options ?? how;
      const answer = ts.resolveModuleName(literal.text, from, settings, host, cache, redirect, ts.getModeForUsageLocation(file, literal, settings));
      if (answer.resolvedModule || !inside(from)) return answer;
      const source = members.resolve(literal.text, packageOf(literal.text), from, settings);
      return source ? { resolvedModule: { resolvedFileName: source, extension: path.extname(source), isExternalLibraryImport: false } } : answer;
    });
  return host;
}

// installed reports whether the packages of a directory's project are installed.
function installed(directory) {
  for (let d = directory; d.startsWith(root); d = path.dirname(d)) {
    if (filled(path.join(d, "node_modules"))) return true;
  }
  return false;
}

// filled reports whether a directory of packages has others than the links to
// the workspace's own, which exist without an installation.
function filled(at) {
  if (!ts.sys.directoryExists(at)) return false;
  return fs.readdirSync(at, { withFileTypes: true }).some((e) => {
    const place = path.join(at, e.name);
    return e.name.startsWith("@") ? filled(place) : !(e.isSymbolicLink() && fs.readlinkSync(place).startsWith(root + "/"));
  });
}

// promised reports whether a package.json in a directory or above it names a
// package, or is that of the package itself.
function promised(directory, name) {
  for (let d = directory; d.startsWith(root); d = path.dirname(d)) {
    const text = ts.sys.readFile(path.join(d, "package.json"));
    const p = text && ts.parseConfigFileTextToJson("package.json", text).config;
    if (!p || typeof p !== "object") continue;
    if (p.name === name) return true;
    for (const list of ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"]) {
      const has = (n) => p[list] && typeof p[list] === "object" && Object.hasOwn(p[list], n);
      if (has(name) || has("@types/" + name.replace(/^@(.*)\//, "$1__"))) return true;
    }
  }
  return false;
}

// packageOf returns the package that a specifier names, or "" for another kind of specifier.
function packageOf(specifier) {
  const m = /^(?:@[a-z0-9~_-][\w.~-]*\/)?[a-z0-9~_-][\w.~-]*/i.exec(specifier);
  return m && !/^(?:[a-z]+:|[@~]\/)/i.test(specifier) ? m[0] : "";
}

const builtin = (specifier) => specifier.startsWith("node:") || builtinModules.includes(specifier) || builtinModules.includes(packageOf(specifier));

const specifierIn = (d) => /^[^']*'([^']+)'/.exec(textOf(d))?.[1] ?? "";

// absent handles a module that was not found. It returns whether that settles
// the diagnostic.
function absent(d, options) {
  const specifier = specifierIn(d);
  if (/^[./]/.test(specifier)) return false;
  // Only the configuration can know the aliases of a bundler.
  const name = packageOf(specifier);
  if (builtin(specifier) || !name || Object.keys(options.paths ?? {}).includes(specifier)) return builtin(specifier);
  if (!promised(path.dirname(d.file.fileName), name)) report("import-not-found", `Cannot find module '${name}'.`, d.file, d.start);
  return true;
}

// judgeFully reports everything that the compiler says about files of a program.
function judgeFully(program, options, files) {
  const all = files.flatMap((f) => [...program.getSyntacticDiagnostics(f), ...program.getSemanticDiagnostics(f)]);
  // A module that is yet to be built has no types in the files that import it by its path, and only in those.
  const unbuilt = all.filter((d) => MISSING.has(d.code) && /^\./.test(specifierIn(d)) && members.unbuilt(specifierIn(d), d.file.fileName));
  const anywhere = all.some((d) => MISSING.has(d.code) && !/^\./.test(specifierIn(d))) || program.getGlobalDiagnostics().some((d) => d.code === 2688) || program.getOptionsDiagnostics().some((d) => d.code === 2688);
  for (const d of all) {
    // Errors that relate to the ambient names are trouble of our own making.
    if (d.relatedInformation?.some((r) => r.file?.fileName === ambient)) continue;
    if (unbuilt.includes(d) || ((MISSING.has(d.code) || d.code === 7016) && absent(d, options))) continue;
    const missing = anywhere || unbuilt.some((u) => u.file === d.file);
    if (missing && (UNTYPED.has(d.code) || (d.code >= 7000 && d.code < 7100))) continue;
    if (missing && NAMES.has(d.code)) {
      report("undeclared-name", `Cannot find name '${d.file.text.substr(d.start, d.length)}'.`, d.file, d.start);
    } else {
      report("TS" + d.code, textOf(d), d.file, d.start);
    }
  }
}

// judgeCertain reports what is certain about files of a program.
function judgeCertain(program, files, globals) {
  const judge = new Judge(ts, program, root, globals);
  for (const file of files) {
    for (const f of judge.faults(file)) report(f.rule, f.message, file, f.start);
  }
}

// build makes a program. It adds ambient names if no package could bring them, or if the types of packages are left out.
function build(files, options, directory, references, untyped = false) {
  const names = installed(directory) && !untyped ? files : [...files, ambient];
  return ts.createProgram({ rootNames: names, options, projectReferences: references, host: makeHost(options) });
}

// own returns the sources of a program that belong to the workspace and are of the wanted kind.
const own = (program, wanted) => program.getSourceFiles().filter((f) => inside(f.fileName) && wanted(f.fileName));

// The configuration for sources that have none.
const mild = () => ({
  noEmit: true, skipLibCheck: true, strict: false, target: ts.ScriptTarget.ESNext, lib: ["lib.esnext.full.d.ts"],
  module: ts.ModuleKind.Preserve, moduleResolution: ts.ModuleResolutionKind.Bundler, jsx: ts.JsxEmit.Preserve, types: [],
  esModuleInterop: true, resolveJsonModule: true, allowImportingTsExtensions: true, experimentalDecorators: true,
});

const checking = () => ({ ...mild(), allowJs: true });

// project judges what one tsconfig.json includes.
function project(config, globals, queue) {
  const host = { ...ts.sys, getCurrentDirectory: () => root, onUnRecoverableConfigFileDiagnostic: () => {} };
  const parsed = ts.getParsedCommandLineOfConfigFile(config, {}, host);
  const name = path.relative(root, config);
  if (!parsed) {
    answer.skipped.push({ file: name, reason: "not readable" });
    return;
  }
  answer.checked.push(name);
  for (const r of parsed.projectReferences ?? []) queue.push(ts.resolveProjectReferencePath(r));
  if (apart.some((d) => config.startsWith(d + "/"))) {
    for (const f of parsed.fileNames) if (TYPED.test(f) || parsed.options.checkJs) covered.add(f);
    return;
  }
  // The base of the configuration may be a package: if it is not installed, the options are unknown.
  const unknown = parsed.errors.some((d) => EXTENDS.has(d.code)) && !installed(path.dirname(config));
  for (const d of parsed.errors) {
    if (!SETUP.has(d.code) && !(unknown && EXTENDS.has(d.code))) report("TS" + d.code, textOf(d), d.file ?? { fileName: config }, d.file && d.start);
  }
  if (!parsed.fileNames.length) return;
  const directory = path.dirname(config);
  if (unknown) {
    answer.notes.push(`${name} extends a configuration that is not installed: only certain faults count there`);
    const program = build(parsed.fileNames, { ...checking(), baseUrl: parsed.options.baseUrl, paths: parsed.options.paths }, directory, undefined, true);
    const files = own(program, (n) => parsed.fileNames.includes(n));
    judgeCertain(program, files, globals);
    for (const f of files) covered.add(f.fileName);
    return;
  }
  const options = { ...parsed.options, noEmit: true, composite: false, incremental: false, tsBuildInfoFile: undefined, skipLibCheck: true, emitDeclarationOnly: undefined };
  // Asking for the types of a package that is not installed is the same fact as importing it.
  if (!installed(directory)) options.types = [];
  const program = build(parsed.fileNames, options, directory, parsed.projectReferences);
  for (const d of program.getOptionsDiagnostics()) {
    if (!SETUP.has(d.code) && d.code !== 2688) report("TS" + d.code, textOf(d), d.file ?? { fileName: config }, d.file && d.start);
  }
  const files = own(program, (n) => parsed.fileNames.includes(n) && (TYPED.test(n) || options.checkJs));
  judgeFully(program, options, files);
  for (const f of files) covered.add(f.fileName);
}

// globalsOf returns the names that configurations of linters declare, as far as these are JSON.
function globalsOf(paths) {
  const names = [];
  for (const p of paths.filter((p) => /(^|\/)(\.eslintrc(\.json)?|biome\.jsonc?|package\.json)$/.test(p))) {
    const c = ts.parseConfigFileTextToJson(p, ts.sys.readFile(p) ?? "").config ?? {};
    names.push(...Object.keys(c.globals ?? c.eslintConfig?.globals ?? {}));
    if (Array.isArray(c.javascript?.globals)) names.push(...c.javascript.globals);
  }
  return names;
}

// configured reports whether a tsconfig.json lies in a directory or above it.
const configured = (directory, configs) => configs.some((c) => (directory + "/").startsWith(path.dirname(c) + "/"));

// projects judges the projects of the configurations among paths, and those that they refer to.
function projects(paths) {
  const configs = paths.map((p) => path.join(root, p)).filter((p) => CONFIG.test(p) && inside(p) && ts.sys.fileExists(p));
  const globals = globalsOf(paths);
  const queue = [...configs];
  const done = new Set();
  while (queue.length) {
    const config = queue.shift();
    if (!done.has(config) && inside(config) && ts.sys.fileExists(config)) project(config, globals, queue);
    done.add(config);
  }
  return { configs, globals };
}

function types(paths) {
  const { configs, globals } = projects(paths);
  const absolute = paths.map((p) => path.join(root, p));
  const rest = [];
  for (const p of absolute) {
    if (configs.includes(p) || covered.has(p)) continue;
    const reason = unsuitable(p);
    if (reason) answer.skipped.push({ file: path.relative(root, p), reason });
    else rest.push(p);
  }
  const free = rest.filter((p) => TYPED.test(p) && !configured(path.dirname(p), configs));
  const other = rest.filter((p) => !free.includes(p));
  if (free.length) {
    const program = build(free, mild(), root);
    judgeFully(program, mild(), own(program, (n) => free.includes(n)));
  }
  if (other.length) {
    const program = build(other, checking(), root, undefined, true);
    judgeCertain(program, own(program, (n) => other.includes(n)), globals);
  }
  for (const p of [...covered, ...rest]) answer.checked.push(path.relative(root, p));
}

// unsuitable returns the reason why a file is not a source to check, or "" if it is one.
function unsuitable(p) {
  const info = fs.statSync(p, { throwIfNoEntry: false });
  if (!info?.isFile()) return "absent";
  if (!SCRIPT.test(p) && !TYPED.test(p)) return "not a source";
  if (info.size > MAX_SOURCE) return "over 1 MiB";
  // Qt's translations and videos have TypeScript's extension.
  if (/\.ts$/.test(p) && /^\s*<(\?xml|!DOCTYPE)|^[^\n]{0,400}\0/.test(ts.sys.readFile(p) ?? "")) return "not TypeScript";
  if (/[.-]min\.[cm]?js$/.test(p)) return "minified";
  return p.includes("/node_modules/") || p.includes("/bower_components/") ? "a package" : "";
}

// syntax parses the named files, each by itself.
function syntax(paths) {
  for (const p of paths) {
    const text = TYPED.test(p) || SCRIPT.test(p) ? ts.sys.readFile(p) : undefined;
    if (text === undefined) {
      answer.skipped.push({ file: p, reason: "not a source" });
      continue;
    }
    answer.checked.push(p);
    const file = ts.createSourceFile(path.join(root, p), text, { languageVersion: ts.ScriptTarget.ESNext, jsDocParsingMode: ts.JSDocParsingMode.ParseNone });
    for (const d of file.parseDiagnostics) report("typescript-syntax", textOf(d), file, d.start);
  }
}

// configs prints the files of the workspace that make up the configurations at paths: those themselves, what they extend, also
// through packages, and what they refer to.
function configs(paths) {
  const queue = paths.map((p) => path.join(root, p));
  const done = new Set();
  const files = new Set();
  while (queue.length) {
    const config = queue.shift();
    if (done.has(config) || !ts.sys.fileExists(config)) continue;
    done.add(config);
    const parsed = ts.getParsedCommandLineOfConfigFile(config, {}, { ...ts.sys, getCurrentDirectory: () => root, onUnRecoverableConfigFileDiagnostic: () => {} });
    for (const r of parsed?.projectReferences ?? []) queue.push(ts.resolveProjectReferencePath(r));
    for (const file of [config, ...(parsed?.options.configFile?.extendedSourceFiles ?? [])]) {
      if (ts.sys.fileExists(file)) files.add(fs.realpathSync(file));
    }
  }
  fs.writeSync(1, JSON.stringify([...files].filter(inside).map((f) => path.relative(root, f))) + "\n");
}

const paths = JSON.parse(fs.readFileSync(0, "utf8"));
if (process.argv[3] === "configs") {
  configs(paths);
  process.exit(0);
}
({ syntax, types, projects })[process.argv[3]](paths);
const asked = new Set(paths);
answer.checked = [...new Set(answer.checked)].filter((p) => asked.has(p));
answer.findings.sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line || a.column - b.column));
fs.writeSync(1, JSON.stringify(answer) + "\n");
process.exitCode = answer.findings.length ? 1 : 0;
