// Find the faults that are certain in code without promised types: JavaScript,
// and TypeScript whose configuration cannot be followed.
//
// A program in JavaScript may do at run time what no type shows, so its types
// are not inferred here; that would also take minutes. The compiler's parser
// and its resolution of names and modules are enough for these faults:
//
//   undeclared-name   a name that nothing declares, assigns or checks with typeof
//   TS2305            a name imported from a module of the workspace that does not export it,
//   TS1192            or its default
//   TS2339            the same as a property of the module
//   TS2349 TS2351     a module that is called or constructed, but is an object
//   TS2307            a module of the workspace that does not exist
//
// The codes are the compiler's own for these faults. What a module exports
// counts as known only if every statement about it can be read: nothing passes
// its exports on, spreads into them or computes a name.
"use strict";

const path = require("node:path");

// Extensions that a bundler or node itself takes for code.
const CODE = new Set(["", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"]);
// Directories for what a build makes.
const MADE = /(^|[/-])(dist|build|out|output|generated|gen|coverage|tmp|temp|pkg)([/-]|$)/;
// How a file announces names that come from elsewhere, and how it makes them.
const ANNOUNCED = /\/\*\s*(?:globals?|exported)\s+([^*]*)\*\//g;
const ASKED = /\btypeof\s*\(?\s*([\w$]+)/g;
const HOSTED = /\b(?:window|global|globalThis|self|root|top)\s*(?:\.\s*([\w$]+)|\[\s*["']([\w$]+)["']\s*\])|\bthis\s*\.\s*([\w$]+)\s*=(?!=)/g;
const GIVEN = /([\w$.)\]]+)\s*\.\s*([\w$]+)\s*=(?!=)/g;

// A Judge knows one program.
class Judge {
  // names are globals that the workspace's configuration declares.
  constructor(ts, program, root, names) {
    this.ts = ts;
    this.program = program;
    this.checker = program.getTypeChecker();
    this.root = root;
    this.globals = new Set([...names, "arguments"]);
    this.assigned = new Set(); // properties that any file sets on any object
    this.known = new Map(); // source file: whether its exports are known
    this.exported = new Map(); // source file: what it exports, once asked for
    this.local = new Map(); // source file: names that it asks for or announces
    this.unresolved = new Map(); // source file: the identifiers that nothing declares
    this.resolutions = ts.createModuleResolutionCache(root, (name) => name);
    for (const file of program.getSourceFiles()) if (this.inside(file.fileName)) this.collect(file);
  }

  inside(name) {
    return name.startsWith(this.root + "/") && !name.includes("/node_modules/");
  }

  // collect notes what a file says about names that are not declared.
  collect(file) {
    const ts = this.ts;
    const local = new Set();
    for (const m of file.text.matchAll(ANNOUNCED)) for (const name of m[1].matchAll(/[\w$]+/g)) local.add(name[0]);
    for (const m of file.text.matchAll(ASKED)) local.add(m[1]);
    this.local.set(file, local);
    for (const m of file.text.matchAll(HOSTED)) this.globals.add(m[1] || m[2] || m[3]);
    if (file.isDeclarationFile) return;
    for (const m of file.text.matchAll(GIVEN)) if (!/(^|\.)exports$/.test(m[1])) this.assigned.add(m[2]);
    const unresolved = [];
    this.walk(file, (node) => {
      if (!ts.isIdentifier(node) || !this.isReference(node) || this.checker.resolveName(node.text, node, ~0, false)) return;
      if (this.isWritten(node)) this.globals.add(node.text); // an implicit global
      unresolved.push(node);
    });
    this.unresolved.set(file, unresolved);
  }

  walk(node, visit) {
    this.ts.forEachChild(node, (child) => {
      visit(child);
      this.walk(child, visit);
    });
  }

  // isReference reports whether an identifier refers to a variable.
  isReference(node) {
    const ts = this.ts;
    const p = node.parent;
    if ((ts.isPropertyAccessExpression(p) && p.name === node) || ts.isMetaProperty(p)) return false;
    if (ts.isShorthandPropertyAssignment(p)) return p.name === node;
    if (ts.isExportSpecifier(p)) return !p.parent.parent.moduleSpecifier && (p.propertyName ?? p.name) === node;
    if (ts.isJsxClosingElement(p)) return false; // its opening element counts
    if (ts.isJsxOpeningLikeElement(p)) return p.tagName === node && /^[A-Z]/.test(node.text);
    return node.text !== "" && ts.isExpressionNode(node) && !ts.isPartOfTypeNode(node) && !ts.isPartOfTypeQuery(node);
  }

  // isWritten reports whether an identifier is the target of an assignment.
  isWritten(node) {
    const ts = this.ts;
    let n = node;
    while (ts.isArrayLiteralExpression(n.parent) || ts.isObjectLiteralExpression(n.parent) || ts.isPropertyAssignment(n.parent) || ts.isShorthandPropertyAssignment(n.parent)) n = n.parent;
    const p = n.parent;
    if (ts.isForInStatement(p) || ts.isForOfStatement(p)) return p.initializer === n;
    return ts.isBinaryExpression(p) && p.left === n && p.operatorToken.kind === ts.SyntaxKind.EqualsToken;
  }

  // faults lists what is certainly wrong in a file: rule, message, start.
  faults(file) {
    const ts = this.ts;
    const found = [];
    const add = (rule, node, message) => found.push({ rule, message, start: node.getStart(file) });
    for (const node of this.unresolved.get(file) ?? []) {
      if (this.undeclared(file, node)) add("undeclared-name", node, `Cannot find name '${node.text}'.`);
    }
    this.walk(file, (node) => {
      if (ts.isStringLiteralLike(node) && this.isSpecifier(node) && this.missing(file, node)) {
        add("TS2307", node, `Cannot find module '${node.text}' or its corresponding type declarations.`);
      } else if (ts.isImportSpecifier(node) || ts.isImportClause(node) || ts.isExportSpecifier(node)) {
        this.imported(node, add);
      } else if (ts.isPropertyAccessExpression(node) && !node.questionDotToken && ts.isIdentifier(node.name)) {
        const from = this.moduleOf(node.expression);
        if (this.lacks(from, node.name.text, node)) add("TS2339", node.name, `Property '${node.name.text}' does not exist on the module '${this.show(from)}'.`);
      } else if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent) && ts.isVariableDeclaration(node.parent.parent) && !node.dotDotDotToken) {
        const name = node.propertyName ?? node.name;
        const from = this.target(this.required(node.parent.parent.initializer));
        if (ts.isIdentifier(name) && this.lacks(from, name.text, node)) add("TS2305", name, `Module '${this.show(from)}' has no exported member '${name.text}'.`);
      } else if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
        const from = this.moduleOf(node.expression);
        const how = ts.isCallExpression(node) ? ["TS2349", "callable"] : ["TS2351", "constructable"];
        if (from && this.exportsKnown(from)) add(how[0], node.expression, `This expression is not ${how[1]}: the module '${this.show(from)}' is an object.`);
      }
    });
    return found;
  }

  show(file) {
    return path.relative(this.root, file.fileName);
  }

  // imported checks one name of an import or of `export … from`.
  imported(node, add) {
    const ts = this.ts;
    const from = this.target(this.specifierOf(node));
    if (!from || !this.exportsKnown(from)) return;
    if (ts.isImportClause(node)) {
      // The default of a CommonJS module is the module itself.
      if (node.name && this.isModule(from) && !this.exportsOf(from).has("default")) add("TS1192", node.name, `Module '${this.show(from)}' has no default export.`);
      return;
    }
    const name = node.propertyName ?? node.name;
    if (name.text !== "default" && !this.exportsOf(from).has(name.text)) {
      add("TS2305", name, `Module '${this.show(from)}' has no exported member '${name.text}'.`);
    }
  }

  // exportsOf returns the set of names that a module exports.
  exportsOf(file) {
    if (!this.exported.has(file)) {
      const symbol = this.checker.getSymbolAtLocation(file);
      const names = new Set(symbol ? this.checker.getExportsOfModule(symbol).map((s) => s.name) : []);
      for (const name of this.isModule(file) ? [] : this.literal(file)) names.add(name);
      this.exported.set(file, names);
    }
    return this.exported.get(file);
  }

  undeclared(file, node) {
    const ts = this.ts;
    if (this.globals.has(node.text) || this.local.get(file).has(node.text)) return false;
    for (let n = node; n; n = n.parent) {
      if (ts.isWithStatement(n)) return false;
      // `0 && (…)` announces a name to programs that read the text, and never runs.
      if (ts.isBinaryExpression(n) && ["0", "false"].includes(n.left.getText(file))) return false;
    }
    return true;
  }

  // isSpecifier reports whether a string names a module.
  isSpecifier(node) {
    const ts = this.ts;
    const p = node.parent;
    if (ts.isImportDeclaration(p) || ts.isExportDeclaration(p)) return p.moduleSpecifier === node;
    return ts.isCallExpression(p) && p.arguments[0] === node && (p.expression.kind === ts.SyntaxKind.ImportKeyword || this.required(p) === node);
  }

  // missing reports whether a relative specifier certainly leads nowhere: to a directory of the
  // workspace that has no such file. What a build makes has directories of its own, and a module
  // that may be missing is asked for inside try.
  missing(file, node) {
    const ts = this.ts;
    const extension = path.extname(node.text);
    if (!/^\.\.?(\/|$)/.test(node.text) || /[?#!*]/.test(node.text)) return false;
    // `./a.test` names code, `./a.css` and `./a.node` do not.
    if (!CODE.has(extension) && !/^\.(test|spec|config|setup|prod|dev|\d+)$/.test(extension)) return false;
    for (let n = node; n; n = n.parent) if (ts.isTryStatement(n)) return false;
    const to = path.resolve(path.dirname(file.fileName), node.text);
    if (!to.startsWith(this.root + "/") || to.includes("/node_modules/") || MADE.test(this.show({ fileName: to }))) return false;
    if (ts.resolveModuleName(node.text, file.fileName, this.program.getCompilerOptions(), ts.sys, this.resolutions).resolvedModule) return false;
    // The file may be of a kind that the compiler does not read.
    return !ts.sys.fileExists(to) && !ts.sys.directoryExists(to) && ts.sys.directoryExists(path.dirname(to));
  }

  // specifierOf returns the specifier of the module that the import around node names.
  specifierOf(node) {
    const ts = this.ts;
    for (let n = node; n; n = n.parent) {
      if (ts.isImportDeclaration(n) || ts.isExportDeclaration(n)) return n.moduleSpecifier;
      if (ts.isVariableDeclaration(n)) return this.required(n.initializer);
    }
    return undefined;
  }

  // required returns the specifier of `require("…")`, if the node is exactly that.
  required(n) {
    const ts = this.ts;
    const is = n && ts.isCallExpression(n) && ts.isIdentifier(n.expression) && n.expression.text === "require" && n.arguments.length === 1;
    return is && ts.isStringLiteralLike(n.arguments[0]) ? n.arguments[0] : undefined;
  }

  // target returns the file of the workspace that a specifier leads to.
  target(specifier) {
    const symbol = specifier && this.checker.getSymbolAtLocation(specifier);
    const file = symbol?.declarations?.find((n) => this.ts.isSourceFile(n));
    return file && this.inside(file.fileName) && !file.isDeclarationFile && !this.ts.isJsonSourceFile(file) ? file : undefined;
  }

  // moduleOf returns the module that a name holds, from `import * as` or from a
  // constant that is `require("…")`.
  moduleOf(node) {
    const ts = this.ts;
    if (!ts.isIdentifier(node)) return undefined;
    const made = this.checker.resolveName(node.text, node, ~0, false)?.declarations;
    if (made?.length !== 1) return undefined;
    if (ts.isNamespaceImport(made[0])) return this.target(this.specifierOf(made[0]));
    const constant = ts.isVariableDeclaration(made[0]) && ts.isIdentifier(made[0].name) && made[0].parent.flags & ts.NodeFlags.Const;
    return constant ? this.target(this.required(made[0].initializer)) : undefined;
  }

  // lacks reports whether a module certainly has no such property although it is
  // used as if it existed.
  lacks(from, name, access) {
    const ts = this.ts;
    if (!from || this.assigned.has(name) || name in Object.prototype || !this.exportsKnown(from) || this.exportsOf(from).has(name)) return false;
    if (ts.isBindingElement(access)) return !access.initializer;
    // Code that compares it, or checks whether it exists, knows that it may be missing.
    const p = access.parent;
    return !(ts.isBinaryExpression(p) || ts.isTypeOfExpression(p) || ts.isPrefixUnaryExpression(p) || ts.isIfStatement(p) || ts.isConditionalExpression(p) || ts.isDeleteExpression(p));
  }

  // literal lists the names of a module whose exports are an object literal,
  // which the compiler takes to be open.
  literal(file) {
    const ts = this.ts;
    const names = [];
    this.walk(file, (node) => {
      if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.EqualsToken) return;
      if (isExports(ts, node.left) && ts.isObjectLiteralExpression(node.right)) names.push(...node.right.properties.map((p) => p.name.text));
      if (ts.isPropertyAccessExpression(node.left) && isExports(ts, node.left.expression)) names.push(node.left.name.text);
    });
    return names;
  }

  // isModule reports whether a file is a module by its syntax.
  isModule(file) {
    const ts = this.ts;
    return file.statements.some(
      (n) => ts.isImportDeclaration(n) || ts.isExportDeclaration(n) || ts.isExportAssignment(n) || (ts.canHaveModifiers(n) && ts.getModifiers(n)?.some((m) => m.kind === ts.SyntaxKind.ExportKeyword)),
    );
  }

  // exportsKnown reports whether everything that a module exports can be read.
  exportsKnown(file) {
    if (!this.known.has(file)) {
      this.known.set(file, true); // for modules that import each other in a circle
      this.known.set(file, this.isModule(file) ? this.starsKnown(file) : this.plainExports(file));
    }
    return this.known.get(file);
  }

  starsKnown(file) {
    const ts = this.ts;
    return file.statements.every((n) => {
      if (!ts.isExportDeclaration(n) || n.exportClause || !n.moduleSpecifier) return true;
      const from = this.target(n.moduleSpecifier);
      return from !== undefined && this.isModule(from) && this.exportsKnown(from);
    });
  }

  // plainExports reports whether a CommonJS module mentions its exports only in
  // plain assignments.
  plainExports(file) {
    const ts = this.ts;
    let plain = true;
    let any = false;
    this.walk(file, (node) => {
      if (!ts.isIdentifier(node) || (node.text !== "exports" && node.text !== "module") || isName(ts, node)) return;
      any = true;
      if (!plainUse(ts, node)) plain = false;
    });
    return plain && any;
  }
}

// isName reports whether an identifier is the name of a property.
function isName(ts, node) {
  const p = node.parent;
  return (ts.isPropertyAccessExpression(p) && p.name === node) || (ts.isPropertyAssignment(p) && p.name === node) || ts.isMethodDeclaration(p);
}

// isExports reports whether a node is `exports` or `module.exports`.
function isExports(ts, node) {
  if (ts.isIdentifier(node)) return node.text === "exports";
  return ts.isPropertyAccessExpression(node) && node.name.text === "exports" && ts.isIdentifier(node.expression) && node.expression.text === "module";
}

// plainUse reports whether `exports` or `module` is used in a way that shows a name:
// `exports.a`, `module.exports = { a, b: 1 }`, or another property of module.
function plainUse(ts, node) {
  let at = node;
  if (node.text === "module") {
    at = node.parent;
    if (!ts.isPropertyAccessExpression(at) || at.expression !== node) return false;
    if (at.name.text !== "exports") return true;
  }
  const p = at.parent;
  if (ts.isPropertyAccessExpression(p) && p.expression === at) return true;
  if (!ts.isBinaryExpression(p) || p.left !== at || p.operatorToken.kind !== ts.SyntaxKind.EqualsToken || !ts.isExpressionStatement(p.parent)) return false;
  return (
    ts.isObjectLiteralExpression(p.right) &&
    p.right.properties.every((e) => !ts.isSpreadAssignment(e) && (ts.isIdentifier(e.name) || ts.isStringLiteral(e.name)))
  );
}

module.exports = { Judge };
