// Find what can be executed on the requested lines of a file.
//
// For each such line it returns the pieces of code that begin there:
//
//     kind  "plain" for an expression or a statement at the position at, in the statement from … to;
//           "body" for what is executed when anything between from and to is, such as what catch catches;
//           "head" and "callback" for the head of a function with that body; a callback is passed
//           to a call, where it stands;
//           "loaded" for what is executed when the file is loaded
//     deep  whether it is inside a function, and so not executed by loading the file
//
// Types, comments, brackets and mere declarations have no pieces, nor does a function that does nothing.
"use strict";

// codeOf returns the pieces by line, or undefined if the text cannot be parsed.
function codeOf(ts, name, text, lines) {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  if (file.parseDiagnostics.length > 0) return undefined;
  const K = ts.SyntaxKind;
  const leaves = new Set([
    K.Identifier, K.PrivateIdentifier, K.NumericLiteral, K.BigIntLiteral, K.StringLiteral, K.RegularExpressionLiteral, K.NoSubstitutionTemplateLiteral,
    K.TemplateHead, K.TemplateMiddle, K.TemplateTail, K.ThisKeyword, K.SuperKeyword, K.NullKeyword, K.TrueKeyword, K.FalseKeyword, K.ImportKeyword, K.JsxText,
  ]);
  const starting = new Set([
    K.ReturnStatement, K.ThrowStatement, K.BreakStatement, K.ContinueStatement, K.DebuggerStatement, K.IfStatement, K.ForStatement, K.ForInStatement,
    K.ForOfStatement, K.WhileStatement, K.SwitchStatement, K.YieldExpression, K.AwaitExpression,
  ]);
  const found = new Map(); // line: its pieces
  const lineOf = (at) => file.getLineAndCharacterOfPosition(at).line + 1;
  const add = (line, piece) => {
    if (lines.has(line)) found.set(line, [...(found.get(line) ?? []), piece]);
  };
  // A text over several lines counts on all of them.
  const addLeaf = (node, around) => {
    if (node.kind === K.JsxText && node.containsOnlyTriviaWhiteSpaces) return;
    const at = node.getStart(file);
    for (let line = lineOf(at); line <= lineOf(node.end); line++) add(line, around.head ?? { kind: "plain", deep: around.deep, at, from: around.from, to: around.to });
  };

  const typeOnly = (clause) =>
    clause !== undefined &&
    (clause.isTypeOnly || (!clause.name && clause.namedBindings?.kind === K.NamedImports && clause.namedBindings.elements.length > 0 && clause.namedBindings.elements.every((e) => e.isTypeOnly)));
  // loads reports whether a statement only says what else is loaded, or under which name it is known.
  const loads = (node) => ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isImportEqualsDeclaration(node);
  const brings = (node) =>
    ts.isImportDeclaration(node) ? !typeOnly(node.importClause)
    : ts.isExportDeclaration(node) ? node.moduleSpecifier !== undefined && !node.isTypeOnly
    : !node.isTypeOnly;
  const erased = (node) =>
    (ts.isTypeNode(node) && node.kind !== K.ExpressionWithTypeArguments) || ts.isTypeParameterDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) ||
    ts.isModifier(node) || ts.isIndexSignatureDeclaration(node) || (ts.isHeritageClause(node) && node.token === K.ImplementsKeyword) ||
    (ts.canHaveModifiers(node) && ts.getModifiers(node)?.some((m) => m.kind === K.DeclareKeyword)) || (ts.isFunctionLike(node) && !node.body) || ts.isNamespaceExportDeclaration(node);

  function visit(node, around) {
    if (loads(node)) {
      for (let line = lineOf(node.getStart(file)); brings(node) && line <= lineOf(node.end); line++) add(line, { kind: "loaded", deep: false });
      return;
    }
    if (erased(node)) return;
    if (ts.isFunctionLike(node)) return visitFunction(node, around);
    if (ts.isPropertyDeclaration(node)) return visitField(node, around);
    if (ts.isCatchClause(node)) {
      if (node.block.statements.length > 0 && node.variableDeclaration) {
        add(lineOf(node.getStart(file)), { kind: "body", deep: around.deep, from: node.block.getStart(file), to: node.block.end });
      }
      return visit(node.block, around);
    }
    if (ts.isStatement(node) && !ts.isBlock(node)) around = { ...around, from: node.getStart(file), to: node.end };
    if (leaves.has(node.kind) || starting.has(node.kind)) leaves.has(node.kind) ? addLeaf(node, around) : addStart(node, around);
    ts.forEachChild(node, (child) => visit(child, around));
  }

  function addStart(node, around) {
    const at = node.getStart(file);
    add(lineOf(at), around.head ?? { kind: "plain", deep: around.deep, at, from: around.from, to: around.to });
  }

  function visitFunction(node, around) {
    // These are executed when the function is made.
    for (const decorator of (ts.canHaveDecorators(node) && ts.getDecorators(node)) || []) visit(decorator, around);
    if (node.name && ts.isComputedPropertyName(node.name)) visit(node.name, around);
    const from = node.body.getStart(file);
    if (!ts.isBlock(node.body) || node.body.statements.length > 0) {
      const given = (ts.isCallExpression(node.parent) || ts.isNewExpression(node.parent)) && node.parent.arguments?.includes(node);
      const head = { kind: given ? "callback" : "head", deep: true, from, to: node.body.end };
      const first = ts.getModifiers(node)?.[0] ?? node.name ?? node;
      add(lineOf(first.getStart(file)), head);
      if (node.name) add(lineOf(node.name.getStart(file)), head);
      for (const p of node.parameters) visit(p, { ...around, deep: true, head });
    }
    visit(node.body, { deep: true, from, to: node.body.end });
  }

  // A field of a class is executed when an object is made, and a static one when the class is made.
  function visitField(node, around) {
    for (const decorator of ts.getDecorators(node) ?? []) visit(decorator, around);
    if (!node.initializer) return;
    const fixed = ts.getModifiers(node)?.some((m) => m.kind === K.StaticKeyword);
    const inner = { deep: around.deep || !fixed, from: node.getStart(file), to: node.end };
    add(lineOf(node.name.getStart(file)), { kind: "plain", deep: inner.deep, at: node.initializer.getStart(file), from: inner.from, to: inner.to });
    visit(node.initializer, inner);
  }

  visit(file, { deep: false, from: 0, to: text.length });
  return found;
}

module.exports = { codeOf };
