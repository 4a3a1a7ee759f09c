// List where faults and harmless edits can be planted in a JavaScript or
// TypeScript project.
//
//     node sites.cjs TYPESCRIPT   the path of typescript.js, whose parser reads both languages
//
// Standard input and output are those of sites.py beside this file; "typed" in
// the input says that the project is TypeScript. The texts are parsed and never
// run. A place is listed only when the syntax tree shows that the edit does what
// its kind says.
"use strict";

const ts = require(process.argv[2]);
const path = require("node:path");
const K = ts.SyntaxKind;

const input = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const extensions = input.typed ? [".ts", ".tsx"] : [".js", ".cjs", ".mjs"];
// Who sees a name that is not there.
const names = ["types"];
const scalars = new Set([K.StringKeyword, K.NumberKeyword, K.BooleanKeyword]);
const opposite = { "===": "!==", "!==": "===", "==": "!=", "!=": "==" };

const parse = (file, text) => ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);

// walk visits a node and all below it.
function walk(node, visit) {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

const all = (node, test) => {
  const found = [];
  walk(node, (n) => test(n) && found.push(n));
  return found;
};

const isFunction = (n) => ts.isFunctionLike(n) && n.body && ts.isBlock(n.body);

// A Module is one parsed file.
class Module {
  constructor(file, text) {
    this.file = file;
    this.text = text;
    this.tree = parse(file, text);
    this.identifiers = all(this.tree, ts.isIdentifier);
    this.bound = new Map(); // name: how often it is declared anywhere in the file
    for (const id of this.identifiers) {
      const p = id.parent;
      const declares = (p.name === id && !ts.isPropertyAccessExpression(p) && !ts.isPropertyAssignment(p)) || ts.isImportClause(p);
      if (declares) this.bound.set(id.text, (this.bound.get(id.text) || 0) + 1);
    }
    this.functions = new Map();
    for (const n of this.tree.statements) {
      if (ts.isFunctionDeclaration(n) && n.name && n.body && this.bound.get(n.name.text) === 1) this.functions.set(n.name.text, n);
    }
  }

  // Whether a name means just one thing, in an expression, wherever it stands.
  single(name) {
    return this.bound.get(name) === 1 && this.identifiers.every((id) => id.text !== name || !isMember(id));
  }

  lineStart(position) {
    return this.text.lastIndexOf("\n", position - 1) + 1;
  }

  // The node is the first of its line.
  first(node) {
    return !this.text.slice(this.lineStart(node.getStart()), node.getStart()).trim();
  }

  lineEnd(position) {
    const end = this.text.indexOf("\n", position);
    return end < 0 ? this.text.length : end + 1;
  }
}

// isMember reports whether an identifier names a property rather than a variable.
function isMember(id) {
  const p = id.parent;
  return (
    (ts.isPropertyAccessExpression(p) && p.name === id) || (ts.isQualifiedName(p) && p.right === id) ||
    ts.isShorthandPropertyAssignment(p) || ts.isBindingElement(p) || (p.name === id && ts.isPropertyAssignment(p)) ||
    ts.isTypeElement(p) || ts.isClassElement(p) || ts.isExportSpecifier(p)
  );
}

const modules = new Map();
for (const file of Object.keys(input.files).sort()) {
  const text = input.files[file];
  const source = (input.sources || []).some((prefix) => file.startsWith(prefix));
  if (!source || !extensions.includes(path.extname(file)) || file.endsWith(".d.ts") || text.includes("\r")) continue;
  const module = new Module(file, text);
  if (!module.tree.parseDiagnostics.length) modules.set(file, module);
}

// resolve gives the module that a relative specifier in a file names.
function resolve(file, specifier) {
  if (!specifier.startsWith(".")) return undefined;
  const to = path.posix.join(path.posix.dirname(file), specifier).replace(/\.[cm]?js$/, "");
  for (const end of extensions.flatMap((e) => [e, "/index" + e])) if (modules.has(to + end)) return modules.get(to + end);
  return undefined;
}

// imports lists what a module takes from others of the project by name.
function imports(module) {
  const found = [];
  for (const n of module.tree.statements) {
    const bindings = ts.isImportDeclaration(n) && !n.importClause?.isTypeOnly && n.importClause?.namedBindings;
    const from = bindings && resolve(module.file, n.moduleSpecifier.text);
    for (const e of from && ts.isNamedImports(bindings) ? bindings.elements : []) {
      const name = (e.propertyName || e.name).text;
      if (!e.isTypeOnly) found.push({ local: e.name.text, from: locate(from, name), name });
    }
  }
  return found;
}

// locate follows `export * from` to the module that declares a function.
function locate(from, name) {
  if (!from || from.functions.has(name)) return from;
  for (const n of from.tree.statements) {
    const star = ts.isExportDeclaration(n) && !n.exportClause && n.moduleSpecifier;
    const found = star && locate(resolve(from.file, star.text), name);
    if (found && found.functions.has(name)) return found;
  }
  return from;
}

// required gives the specifier of `require("…")`, if the node is one.
const required = (n) =>
  n && ts.isCallExpression(n) && n.expression.getText() === "require" && n.arguments.length === 1 && ts.isStringLiteral(n.arguments[0])
    ? n.arguments[0].text
    : undefined;

// started is the set of modules that loading the entry certainly runs.
function started() {
  const seen = new Set();
  const queue = [modules.get(input.entry)];
  while (queue.length) {
    const module = queue.pop();
    if (!module || seen.has(module)) continue;
    seen.add(module);
    for (const n of module.tree.statements) {
      let specifier = (ts.isImportDeclaration(n) && !n.importClause?.isTypeOnly) || ts.isExportDeclaration(n) ? n.moduleSpecifier?.text : undefined;
      if (ts.isVariableStatement(n)) specifier = required(n.declarationList.declarations[0].initializer);
      if (specifier) queue.push(resolve(module.file, specifier));
    }
  }
  return seen;
}

const places = [];

// add lists a place; positions become offsets in bytes.
function add(kind, module, edits, gates = []) {
  const bytes = (position) => Buffer.byteLength(module.text.slice(0, position));
  const line = module.tree.getLineAndCharacterOfPosition(edits[0][0]).line + 1;
  places.push({ kind, file: module.file, line, gates, edits: edits.map(([start, end, text]) => ({ start: bytes(start), end: bytes(end), text })) });
}

function syntax(module) {
  for (const f of all(module.tree, isFunction)) {
    const at = f.body.getStart();
    const after = module.text.slice(0, at) + module.text.slice(at + 1);
    if (parse(module.file, after).parseDiagnostics.length) add("syntax", module, [[at, at + 1, ""]], input.typed ? ["syntax", "types"] : ["syntax"]);
  }
}

function undefinedName(module) {
  for (const f of all(module.tree, isFunction)) {
    for (const id of all(f.body, ts.isIdentifier)) {
      const p = id.parent;
      const used = (ts.isCallExpression(p) || (ts.isPropertyAccessExpression(p) && p.expression === id) || ts.isReturnStatement(p)) && id.text !== "undefined";
      if (used && !module.bound.has(id.text + "Planted")) add("undefined name", module, [[id.getEnd(), id.getEnd(), "Planted"]], names);
    }
  }
}

// calls gives each call of a function of the project whose declaration is certain.
function calls(module, each) {
  const known = new Map([...module.functions].map(([name, f]) => [name, [module, f]]));
  for (const { local, from, name } of imports(module)) {
    if (from.functions.has(name) && module.bound.get(local) === 1) known.set(local, [from, from.functions.get(name)]);
  }
  for (const call of all(module.tree, ts.isCallExpression)) {
    const [from, f] = (ts.isIdentifier(call.expression) && known.get(call.expression.text)) || [];
    const open = f && (f.parameters.some((p) => p.dotDotDotToken) || call.arguments.some(ts.isSpreadElement));
    if (f && !open && !call.questionDotToken) each(call, from, f);
  }
}

function arity(module) {
  if (!input.typed) return;
  calls(module, (call, _, f) => {
    const at = module.text.indexOf("(", call.typeArguments ? call.typeArguments.end : call.expression.getEnd()) + 1;
    const extra = Array(f.parameters.length - call.arguments.length + 1).fill("undefined").join(", ");
    add("wrong arity", module, [[at, at, extra + (call.arguments.length ? ", " : "")]], ["types"]);
  });
}

// interfaces counts how often the project declares a type by a name, and holds
// those interfaces that want something no array has.
const interfaces = new Map();

function collect(module) {
  for (const n of module.tree.statements) {
    if (!ts.isInterfaceDeclaration(n) && !ts.isTypeAliasDeclaration(n) && !ts.isClassDeclaration(n)) continue;
    const name = n.name?.text;
    const wants = ts.isInterfaceDeclaration(n) && n.members.some((m) => ts.isPropertySignature(m) && !m.questionToken && m.name.getText() !== "length");
    interfaces.set(name, interfaces.has(name) ? false : wants);
  }
}

// refuses reports whether a parameter of that type certainly takes no array of arrays.
function refuses(type, f) {
  if (!type || scalars.has(type.kind)) return Boolean(type);
  const name = ts.isTypeReferenceNode(type) && ts.isIdentifier(type.typeName) && type.typeName.text;
  return Boolean(name && interfaces.get(name) && !f.typeParameters?.some((p) => p.name.text === name));
}

function wrongType(module) {
  if (!input.typed) return;
  calls(module, (call, from, f) =>
    call.arguments.forEach((argument, i) => {
      if (from !== module && refuses(f.parameters[i]?.type, f)) {
        add("wrong type across files", module, [[argument.getStart(), argument.getEnd(), "[[]]"]], ["types"]);
      }
    }),
  );
}

function removed(module, wanted) {
  for (const n of module.tree.statements) {
    const declared = ts.isVariableStatement(n) && n.declarationList.declarations.length === 1 && n.declarationList.declarations[0];
    const lines = [module.lineStart(n.getStart()), module.lineEnd(n.getEnd()), ""];
    const used = (name) => module.single(name) && module.identifiers.filter((id) => id.text === name).length > 1;
    if (ts.isImportDeclaration(n) && !n.importClause?.isTypeOnly && module.first(n)) {
      const clause = n.importClause;
      const elements = clause?.namedBindings && ts.isNamedImports(clause.namedBindings) ? clause.namedBindings.elements.map((e) => e.name) : [];
      const names_ = [...elements, ...(clause?.name ? [clause.name] : [])];
      // Without the import of what is a global anyway nothing changes.
      if (names_.some((id) => used(id.text) && !(id.text in globalThis))) add("removed import", module, [lines], names);
    } else if (declared && required(declared.initializer) && ts.isIdentifier(declared.name) && used(declared.name.text) && !(declared.name.text in globalThis)) {
      add("removed import", module, [lines], names);
    } else if (ts.isFunctionDeclaration(n) && n.name && module.functions.has(n.name.text) && module.first(n)) {
      if (input.typed ? wanted.has(module.file + " " + n.name.text) : used(n.name.text)) add("removed function", module, [lines], names);
    }
  }
}

function atStart(module) {
  for (const n of module.tree.statements) {
    if (!ts.isFunctionDeclaration(n) && !ts.isClassDeclaration(n) && !ts.isVariableStatement(n)) continue;
    if (!module.first(n) || (ts.isFunctionDeclaration(n) && !n.body)) continue;
    const at = module.lineStart(n.getStart());
    // Nothing here runs TypeScript: node starts what was built from it elsewhere.
    const start = input.typed ? [] : ["smoke"];
    add("crash at start", module, [[at, at, 'throw new Error("planted");\n']], start);
    add("infinite loop", module, [[at, at, "for (;;) {}\n"]], start);
  }
}

function failing(module) {
  for (const n of all(module.tree, (n) => ts.isReturnStatement(n) || ts.isBinaryExpression(n))) {
    if (ts.isReturnStatement(n) && n.expression && [K.TrueKeyword, K.FalseKeyword].includes(n.expression.kind)) {
      const text = n.expression.kind === K.TrueKeyword ? "false" : "true";
      add("failing test", module, [[n.expression.getStart(), n.expression.getEnd(), text]], ["tests"]);
    } else if (ts.isBinaryExpression(n) && opposite[n.operatorToken.getText()]) {
      const op = n.operatorToken;
      add("failing test", module, [[op.getStart(), op.getEnd(), opposite[op.getText()]]], ["tests"]);
    }
  }
}

function layout(module) {
  for (const f of all(module.tree, isFunction)) {
    for (const n of f.body.statements.slice(1)) {
      const at = module.lineStart(n.getStart());
      if (module.first(n)) {
        add("comment", module, [[at, at, module.text.slice(at, n.getStart()) + "// The order matters here.\n"]]);
        add("blank line", module, [[at, at, "\n"]]);
      }
      const value = ts.isReturnStatement(n) && n.expression;
      if (value && (ts.isIdentifier(value) || ts.isCallExpression(value))) {
        add("parentheses", module, [[value.getStart(), value.getStart(), "("], [value.getEnd(), value.getEnd(), ")"]]);
      }
    }
  }
}

function renamed(module) {
  for (const f of all(module.tree, isFunction)) {
    for (const n of all(f.body, (n) => ts.isVariableDeclaration(n) && ts.isIdentifier(n.name))) {
      const old = n.name.text;
      const uses = module.identifiers.filter((id) => id.text === old);
      const inside = uses.every((id) => id.getStart() >= f.body.getStart() && id.getEnd() <= f.body.getEnd());
      if (module.single(old) && inside && !module.text.includes(old + "Again")) {
        add("local renamed", module, uses.map((id) => [id.getStart(), id.getEnd(), old + "Again"]));
      }
    }
  }
}

function added(module) {
  const end = module.text.length;
  const typed = "\nexport function plantedHelper(value: number): number {\n  return value;\n}\n";
  const plain = ts.isExternalModule(module.tree) ? "\nexport const plantedHelper = (value) => value;\n" : "\nmodule.exports.plantedHelper = (value) => value;\n";
  const exports = ts.isExternalModule(module.tree) || (!input.typed && module.text.includes("\nmodule.exports = "));
  if (exports && module.text.endsWith("\n")) add("function added", module, [[end, end, input.typed ? typed : plain]]);
}

const wanted = new Set([...modules.values()].flatMap((m) => imports(m).map(({ from, name }) => from.file + " " + name)));
const first = started();
for (const module of modules.values()) collect(module);
for (const module of modules.values()) {
  for (const kind of [syntax, undefinedName, arity, wrongType, failing, layout, renamed, added]) kind(module);
  removed(module, wanted);
  if (first.has(module)) atStart(module);
}
process.stdout.write(JSON.stringify(places));
