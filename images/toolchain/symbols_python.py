"""Find the symbols of a Python file with Python's own parser."""

import ast
import hashlib
import re
import warnings

IDENTIFIER = re.compile(r"[^\W\d]\w*")
DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+$")


def scan(data, found):
    """Add what the file defines, imports and refers to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(data)
    # The lines as the parser counts them: splitlines would also split at a form feed. Their encoding matters only for digests.
    lines = re.split(r"\r\n?|\n", data.decode("utf-8", "replace"))
    found.summary = first_line(ast.get_docstring(tree) or "") or first_comment(lines)
    reader = Reader(found, lines)
    reader.public = public_names(tree)
    for name in reader.public or ():
        found.refer(name, "", 1)
    reader.block(tree.body, "")
    reader.uses(tree)


def first_line(text):
    return text.strip().split("\n", 1)[0]


def first_comment(lines):
    for line in lines[:20]:
        text = line.lstrip("#! ").strip()
        if line.startswith("#") and not line.startswith("#!") and text and "coding" not in text:
            return text
        if line.strip() and not line.startswith("#"):
            break
    return ""


def public_names(tree):
    """Return the strings in __all__, or None if the module has none."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets) and isinstance(
            getattr(node, "value", None), (ast.List, ast.Tuple)
        ):
            return {e.value for e in node.value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)}
    return None


def chain(node):
    """Return "a.b" for the expression a.b, and "?" for one that is more than names."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return "?"
    return ".".join([node.id, *reversed(parts)])


class Reader:
    """Collects the symbols of one file."""

    def __init__(self, found, lines):
        self.found, self.lines, self.public = found, lines, None

    def define(self, node, name, kind, parent, signature, text=None):
        if text is None:
            text = "\n".join(self.lines[node.lineno - 1 : node.end_lineno])
        # The name is left out, so that a definition that was only renamed keeps its digest.
        text = re.sub(rf"\b{re.escape(name)}\b", "_", text)
        exported = name in self.public if self.public is not None and not parent else not name.startswith("_")
        self.found.define(
            name, kind, parent, node.lineno, node.end_lineno, signature, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16], exported
        )

    def block(self, body, parent):
        """Read the definitions of a module or class, also inside its conditions."""
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.function(node, parent)
            elif isinstance(node, ast.ClassDef):
                bases = ", ".join(map(ast.unparse, [*node.bases, *node.keywords]))
                self.define(node, node.name, "class", parent, decorators(node) + (f"({bases})" if bases else ""))
                self.block(node.body, f"{parent}.{node.name}".lstrip("."))
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                self.assign(node, parent)
            else:
                for part in ("body", "orelse", "finalbody"):
                    if isinstance(getattr(node, part, None), list) and not isinstance(node, ast.Match):
                        self.block(getattr(node, part), parent)
                for handler in getattr(node, "handlers", []):
                    self.block(handler.body, parent)

    def function(self, node, parent):
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
        signature = f"{decorators(node)}{prefix}({ast.unparse(node.args)}){returns}"
        self.define(node, node.name, "method" if parent else "function", parent, signature)
        if not parent:
            return
        known = set()
        for inner in ast.walk(node):
            # An attribute that a method sets on its object is part of the class.
            if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store) and chain(inner.value) == "self":
                if inner.attr not in known and (parent, inner.attr) not in self.found.fields:
                    known.add(inner.attr)
                    self.found.fields.add((parent, inner.attr))
                    self.define(inner, inner.attr, "field", parent, "")

    def assign(self, node, parent):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [e for t in targets for e in (t.elts if isinstance(t, (ast.Tuple, ast.List)) else [t])]
        annotation = f": {ast.unparse(node.annotation)}" if isinstance(node, ast.AnnAssign) else ""
        for target in names:
            if not isinstance(target, ast.Name) or target.id == "__all__":
                continue
            kind = "field" if parent else "constant" if target.id.isupper() else "variable"
            if parent:
                self.found.fields.add((parent, target.id))
            value = ast.unparse(node.value) if node.value is not None and node.end_lineno - node.lineno < 5 else "…"
            self.define(node, target.id, kind, parent, annotation if parent else f"{annotation} = {value}", value if value != "…" else None)

    def uses(self, tree):
        """Read the references and the imports, wherever they are."""
        refer = self.found.refer
        for node in ast.walk(tree):
            kind = type(node)
            if kind is ast.Name:
                if not isinstance(node.ctx, ast.Store):
                    refer(node.id, "", node.lineno)
            elif kind is ast.Attribute:
                refer(node.attr, chain(node.value), node.end_lineno)
            elif kind is ast.keyword:
                if node.arg:
                    refer(node.arg, "=", node.lineno)
            elif kind is ast.Import:
                for a in node.names:
                    self.found.imported(a.name, "*", a.asname or a.name, node.lineno)
            elif kind is ast.ImportFrom:
                for a in node.names:
                    module = "." * node.level + (node.module or "")
                    alias = "" if a.name == "*" else a.asname or a.name
                    # Anything that a module imports can be imported from it in turn.
                    self.found.imported(module, a.name, alias, node.lineno, True)
            elif kind is ast.Call:
                self.call(node)
            elif kind in (ast.arg, ast.AnnAssign):
                self.annotation(node.annotation)
            elif kind in (ast.FunctionDef, ast.AsyncFunctionDef):
                self.annotation(node.returns)

    def annotation(self, node):
        """Read the names in annotations that are written as strings."""
        for part in ast.walk(node) if node is not None else ():
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                for name in IDENTIFIER.findall(part.value[:200]):
                    self.found.refer(name, "", part.lineno)

    def call(self, node):
        """Read the names that getattr, patch and import_module take as strings."""
        called = chain(node.func).rsplit(".", 1)[-1]
        texts = [a for a in node.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        for a in texts:
            if called in ("getattr", "setattr", "hasattr", "delattr") and a.value.isidentifier():
                self.found.refer(a.value, "?", a.lineno)
            elif called == "import_module":
                self.found.imported(a.value, "*", "?", a.lineno)
            elif called == "patch" and DOTTED.match(a.value):
                module, _, name = a.value.rpartition(".")
                self.found.imported(module, name, name, a.lineno)


def decorators(node):
    return "".join(f"@{ast.unparse(d)} " for d in node.decorator_list)
