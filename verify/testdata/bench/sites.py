"""List where faults and harmless edits can be planted in a Python project.

Standard input is one JSON object:

    {"files": {"path": "text", ...},  every Python file of the project
     "sources": ["src/"],             where to plant: prefixes of paths
     "entry": "click"}                the module that the smoke test imports

Standard output is a JSON list of places, in the order of files and lines:

    {"kind", "file", "line", "edits": [{"start", "end", "text"}], "gates": [...]}

Offsets count bytes. The texts are parsed by ast and never run. A place is
listed only when the syntax tree shows that the edit does what its kind says;
doubtful ones (names bound twice, code for other platforms, formatted strings,
whose parts have no exact place before Python 3.12) are left out.
"""

import ast
import builtins
import json
import sys

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCALARS = {"str", "int", "bool", "bytes", "float"}
OPPOSITE = {ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Lt: ("<", ">="), ast.GtE: (">=", "<")}
# Another constant of the same type, so that only a test can tell.
OTHER = {bool: lambda v: not v, int: lambda v: v + 1, str: lambda v: v + " planted"}
CRASHES = ['raise RuntimeError("planted")', 'int("planted")', "[].pop()"]
# Conditions under which the tools, rightly, do not look.
ELSEWHERE = ("TYPE_CHECKING", "platform", "version_info", "WIN")


class Module:
    """One parsed file."""

    def __init__(self, path, text):
        self.path, self.data, self.tree = path, text.encode(), ast.parse(text)
        self.starts = [0]
        for line in self.data.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        # How often a name is bound anywhere in the file: by assignment, as a
        # parameter, by an import, a definition.
        self.bound = {}
        for node in ast.walk(self.tree):
            for name in bindings(node):
                self.bound[name] = self.bound.get(name, 0) + 1
        self.nodes = list(visible(self.tree))
        top = [n for n in self.tree.body if isinstance(n, FUNCTIONS + (ast.ClassDef,))]
        self.defs = {n.name: n for n in top if self.bound[n.name] == 1}

    def start(self, node):
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node):
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def line(self, number):
        return self.data[self.starts[number - 1] : self.starts[number] - 1]

    def alone(self, node):
        """The node begins its first line and ends its last one."""
        before = self.data[self.starts[node.lineno - 1] : self.start(node)]
        after = self.data[self.end(node) : self.starts[node.end_lineno] - 1].strip()
        return not before.strip() and (not after or after.startswith(b"#"))

    def functions(self):
        return [n for n in self.nodes if isinstance(n, FUNCTIONS)]


def bindings(node):
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return [node.id]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, FUNCTIONS + (ast.ClassDef,)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [bound_by(a) for a in node.names]
    if isinstance(node, ast.ExceptHandler) and node.name:
        return [node.name]
    return []


def bound_by(alias):
    return alias.asname or alias.name.partition(".")[0]


def visible(node):
    """Walk without formatted strings, annotations and code for elsewhere."""
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.If) and any(word in ast.dump(node.test) for word in ELSEWHERE):
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from visible(child)


class Project:
    """All modules, and what they take from each other."""

    def __init__(self, files, sources, entry):
        self.modules, self.names = {}, {}
        for path, text in sorted(files.items()):
            if not path.endswith(".py") or not path.startswith(tuple(sources)) or "\r" in text or "\f" in text:
                continue
            try:
                self.modules[path] = Module(path, text)
            except SyntaxError:
                continue  # Python 2, or made wrong on purpose
            name = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            self.names[name] = path
        self.entry = entry

    def module_of(self, path, node):
        """The path of the module that an import takes names from, or None."""
        if node.level:
            package = path.removeprefix("src/").split("/")[: -node.level]
            return self.names.get(".".join(package + ([node.module] if node.module else [])))
        return self.names.get(node.module)

    def imports(self, module):
        """Yield (local name, path, name) of what the file's top level imports from the project."""
        for node in module.tree.body:
            if isinstance(node, ast.ImportFrom):
                source = self.module_of(module.path, node)
                for alias in node.names if source and source != module.path else []:
                    yield bound_by(alias), source, alias.name

    def started(self):
        """The modules that importing the entry certainly runs."""
        seen, queue = set(), [self.names.get(self.entry)]
        while queue:
            path = queue.pop()
            if path is None or path in seen:
                continue
            seen.add(path)
            for node in self.modules[path].tree.body:
                if isinstance(node, ast.ImportFrom):
                    queue.append(self.module_of(path, node))
        return sorted(seen)

    def callees(self, module):
        """Local name -> (path, definition) of the project's functions and classes."""
        known = {name: (module.path, node) for name, node in module.defs.items()}
        for local, source, name in self.imports(module):
            node = self.modules[source].defs.get(name)
            if node is not None and module.bound[local] == 1:
                known[local] = (source, node)
        return known


def site(kind, module, line, *edits, gates=()):
    edits = [{"start": s, "end": e, "text": t} for s, e, t in edits]
    return {"kind": kind, "file": module.path, "line": line, "edits": edits, "gates": list(gates)}


def signature(node):
    """The positional parameters that a caller fills, None when the number is open."""
    bound = isinstance(node, ast.ClassDef)
    if bound:
        made = [n for n in node.body if isinstance(n, FUNCTIONS) and n.name == "__init__"]
        if node.decorator_list or node.keywords or len(made) != 1:
            return None
        node = made[0]
    if node.decorator_list or node.args.vararg:
        return None
    return (node.args.posonlyargs + node.args.args)[1 if bound else 0 :]


def syntax(project, module):
    for node in module.functions():
        end = module.starts[node.lineno] - 1
        if module.line(node.lineno).endswith(b":"):
            yield site("syntax", module, node.lineno, (end - 1, end, ""), gates=["syntax"])
    for node in module.nodes:
        if isinstance(node, ast.Return) and node.value:
            at = module.start(node.value)
            yield site("syntax", module, node.lineno, (at, at, "("), gates=["syntax"])


def undefined(project, module):
    for outer in module.functions():
        for node in (n for stmt in outer.body for n in visible(stmt)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id + "_planted" not in module.bound:
                edit = (module.end(node), module.end(node), "_planted")
                yield site("undefined name", module, node.lineno, edit, gates=["lint"])


def calls(project, module):
    """Yield (call, path of the callee, its parameters) of plain calls in functions."""
    known = project.callees(module)
    for outer in module.functions():
        for node in (n for stmt in outer.body for n in visible(stmt)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in known:
                continue
            path, callee = known[node.func.id]
            parameters = signature(callee)
            plain = all(k.arg for k in node.keywords) and not any(isinstance(a, ast.Starred) for a in node.args)
            if parameters is not None and plain:
                yield node, path, parameters


def arity(project, module):
    for node, _, parameters in calls(project, module):
        at = module.end(node.func)
        if module.data[at : at + 1] == b"(":
            more = "None, " * (len(parameters) - len(node.args) + 1)
            yield site("wrong arity", module, node.lineno, (at + 1, at + 1, more), gates=["types"])


def wrong_type(project, module):
    for node, path, parameters in calls(project, module):
        for argument, parameter in zip(node.args, parameters):
            words = ast.unparse(parameter.annotation).replace(" | None", "") if parameter.annotation else ""
            if path != module.path and words in SCALARS:
                edit = (module.start(argument), module.end(argument), "object()")
                yield site("wrong type across files", module, argument.lineno, edit, gates=["types"])


def removed_import(project, module):
    used = {n.id for n in module.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    for node in module.tree.body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)) or not module.alone(node):
            continue
        names = {bound_by(a) for a in node.names} & used
        if any(module.bound[n] == 1 and not hasattr(builtins, n) for n in names):
            lines = (module.start(node), module.starts[node.end_lineno], "")
            yield site("removed import", module, node.lineno, lines, gates=["lint"])


def removed_function(project, module):
    wanted = set()
    for other in project.modules.values():
        wanted |= {name for _, source, name in project.imports(other) if source == module.path}
    for name, node in module.defs.items():
        if name in wanted and isinstance(node, FUNCTIONS):
            first = min([node.lineno] + [d.lineno for d in node.decorator_list])
            lines = (module.starts[first - 1], module.starts[node.end_lineno], "")
            yield site("removed function", module, first, lines, gates=["types"])


def at_start(project, module):
    """Yield the offsets and lines of top-level definitions that the start certainly comes to."""
    if module.path in project.started():
        for node in module.tree.body:
            if isinstance(node, FUNCTIONS + (ast.ClassDef,)):
                first = min([node.lineno] + [d.lineno for d in node.decorator_list])
                yield module.starts[first - 1], first


def crash(project, module):
    for at, line in at_start(project, module):
        for text in CRASHES:
            yield site("crash at start", module, line, (at, at, text + "\n\n\n"), gates=["smoke"])


def endless(project, module):
    for at, line in at_start(project, module):
        yield site("infinite loop", module, line, (at, at, "while True:\n    pass\n\n\n"), gates=["smoke"])


def failing(project, module):
    for node in module.nodes:
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Constant) and type(node.value.value) in OTHER:
            value = node.value.value
            edit = (module.start(node.value), module.end(node.value), repr(OTHER[type(value)](value)))
            yield site("failing test", module, node.lineno, edit, gates=["tests"])
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPPOSITE:
            old, new = OPPOSITE[type(node.ops[0])]
            left, right = module.end(node.left), module.start(node.comparators[0])
            if module.data[left:right].strip() == old.encode():
                at = module.data.index(old.encode(), left, right)
                yield site("failing test", module, node.lineno, (at, at + len(old), new), gates=["tests"])


def layout(project, module):
    """Comments, blank lines and parentheses."""
    for outer in module.functions():
        for stmt in outer.body[1:]:
            if module.alone(stmt) and not getattr(stmt, "decorator_list", []):
                at, indent = module.starts[stmt.lineno - 1], " " * stmt.col_offset
                yield site("comment", module, stmt.lineno, (at, at, indent + "# The order matters here.\n"))
                yield site("blank line", module, stmt.lineno, (at, at, "\n"))
            if isinstance(stmt, ast.Return) and isinstance(stmt.value, (ast.Name, ast.Attribute, ast.Call)):
                start, end = module.start(stmt.value), module.end(stmt.value)
                yield site("parentheses", module, stmt.lineno, (start, start, "("), (end, end, ")"))


def renamed(project, module):
    for outer in module.functions():
        inner = list(ast.walk(outer))[1:]
        kinds = (ast.Global, ast.Nonlocal, ast.Lambda, ast.JoinedStr, ast.ListComp, ast.GeneratorExp, ast.ClassDef)
        if any(isinstance(n, FUNCTIONS + kinds) for n in inner):
            continue
        names = [n for n in inner if isinstance(n, ast.Name)]
        if any(n.id in ("locals", "eval", "exec", "vars") for n in names):
            continue
        outside = {a.arg for a in inner if isinstance(a, ast.arg)}
        outside |= {b for n in inner if not isinstance(n, (ast.Name, ast.arg)) for b in bindings(n)}
        for name in sorted({n.id for n in names if isinstance(n.ctx, ast.Store)} - outside):
            new = name + "_again"
            if new not in module.bound:
                edits = [(module.start(n), module.end(n), new) for n in names if n.id == name]
                yield site("local renamed", module, outer.lineno, *sorted(edits))


def added(project, module):
    text = '\n\ndef planted_helper(value: int) -> int:\n    """Give the value back."""\n    return value\n'
    if module.data.endswith(b"\n"):
        end = len(module.data)
        yield site("function added", module, len(module.starts) - 1, (end, end, text))


KINDS = (
    syntax, undefined, arity, wrong_type, removed_import, removed_function, crash, endless, failing,
    layout, renamed, added,
)  # fmt: skip


def main():
    project = Project(**json.load(sys.stdin))
    found = [s for m in project.modules.values() for kind in KINDS for s in kind(project, m)]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
