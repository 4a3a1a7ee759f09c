"""Find the lines of Python files on which something can be executed, and have trace.py mark those.

    python3 trace_plan.py TOP ASKED MARKS <REQUEST

REQUEST is an object of paths below TOP and the lines that are requested. For each file that
parses, the answer has a list of pairs: a line on which something can be executed, and the place
of its mark in MARKS, a byte that is not 0 once that happened. ASKED is the input of trace.py.

A line stands for the innermost statement around it. The head of a function stands for its
body. A lambda in code that loading a module executes stands for itself. Nothing is executed on
comments, docstrings, annotations alone, and code that only type checkers read.
"""

import ast
import io
import json
import marshal
import os
import sys
import tokenize

# As deep as the parser lets code nest.
DEPTH = 20_000
EMPTY = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
MODULE = ("<module>", False)
STUBS = {"overload", "abstractmethod", "abstractproperty"}


def solid(text):
    """Return the lines with more than a comment, including all lines of a string over several of them."""
    lines = set()
    for token in tokenize.tokenize(io.BytesIO(text).readline):
        if token.type not in EMPTY:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines


def first_line(node):
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def last_name(node):
    """Return the name of a decorator, a base or a condition: the b of a.b[c](d)."""
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return getattr(node, "attr", getattr(node, "id", ""))


def is_silent(node):
    """Report whether a statement does nothing when it is executed."""
    match node:
        case ast.Global() | ast.Nonlocal() | ast.TypeAlias() | ast.AnnAssign(value=None):
            return True
        case ast.Expr(value=ast.Constant()):
            return True
    return False


def is_stub(node, protocol):
    """Report whether a function exists only for type checkers, or for others to replace."""
    bodiless = all(is_silent(s) or isinstance(s, ast.Pass) for s in node.body)
    return bodiless and (protocol or any(last_name(d) in STUBS for d in node.decorator_list))


def head(node, body):
    """Return the lines before a body, which may begin on the last of them."""
    first = first_line(node)
    return range(first, max(first_line(body[0]), first + 1))


def begins(body):
    """Return the lines one of which is executed when a body is entered."""
    for node in body:
        if is_silent(node):
            continue
        if isinstance(node, (ast.Try, ast.TryStar)):
            return [node.lineno, *begins(node.body)]
        inner = getattr(node, "body", None)
        return [*head(node, inner)] if inner else [*range(node.lineno, node.end_lineno + 1)]
    return []


class Plan:
    """Which unit each line of a file stands for.

    A unit is a scope, as trace.py knows code objects, and those of its lines one of which is
    executed when the unit is. Without lines it is the start of the scope.
    """

    def __init__(self, tree):
        self.units = {}
        self.block(tree.body, MODULE, True, False)

    def own(self, lines, scope, events):
        for line in lines:
            self.units[line] = (scope, tuple(events))

    def block(self, body, scope, loading, protocol):
        for node in body:
            if not is_silent(node):
                self.statement(node, scope, loading, protocol)

    def part(self, body, scope, loading, after):
        """Plan a body that begins with a line of its own, such as else:, and return its last line."""
        if not body:
            return after
        if entered := begins(body):
            self.own(range(after + 1, first_line(body[0])), scope, entered)
        self.block(body, scope, loading, False)
        return body[-1].end_lineno

    def statement(self, node, scope, loading, protocol):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if not is_stub(node, protocol):
                    inner = (node.name, first_line(node))
                    self.own(head(node, node.body), inner, ())
                    self.block(node.body, inner, False, False)
            case ast.ClassDef():
                self.simple(node, head(node, node.body), scope, loading)
                protocol = any(last_name(b) == "Protocol" for b in node.bases)
                self.block(node.body, (node.name, first_line(node)), True, protocol)
            case ast.Match():
                self.match(node, scope, loading)
            case ast.Try() | ast.TryStar():
                end = self.part(node.body, scope, loading, node.lineno - 1)
                for handler in node.handlers:
                    lines = head(handler, handler.body)
                    self.own(lines, scope, [*lines, *begins(handler.body)])
                    end = self.part(handler.body, scope, loading, first_line(handler.body[0]) - 1)
                end = self.part(node.orelse, scope, loading, end)
                self.part(node.finalbody, scope, loading, end)
            case ast.If() | ast.While() | ast.For() | ast.AsyncFor() | ast.With() | ast.AsyncWith():
                lines = head(node, node.body)
                self.own(lines, scope, [*lines, *begins(node.body)])
                if last_name(getattr(node, "test", None)) != "TYPE_CHECKING":
                    self.block(node.body, scope, loading, False)
                self.part(getattr(node, "orelse", ()), scope, loading, node.body[-1].end_lineno)
            case _:
                self.simple(node, range(node.lineno, node.end_lineno + 1), scope, loading)

    def match(self, node, scope, loading):
        end = node.subject.end_lineno
        self.own(range(node.lineno, end + 1), scope, range(node.lineno, end + 1))
        for case in node.cases:
            lines = range(end + 1, max(first_line(case.body[0]), case.pattern.lineno + 1))
            self.own(lines, scope, [*lines, *begins(case.body)])
            end = self.part(case.body, scope, loading, first_line(case.body[0]) - 1)

    def simple(self, node, lines, scope, loading):
        self.own(lines, scope, lines)
        if not loading:
            return
        parts = [node] if not isinstance(node, ast.ClassDef) else [*node.decorator_list, *node.bases, *node.keywords]
        for inner in (n for part in parts for n in ast.walk(part) if isinstance(n, ast.Lambda)):
            body = range(inner.body.lineno, inner.body.end_lineno + 1)
            self.own(body, ("<lambda>", inner.lineno), body)


def planned(path, lines):
    """Return the lines of a file on which something can be executed, with their units."""
    if path.endswith(".pyi"):
        return {}
    with open(path, "rb") as f:
        text = f.read()
    units = Plan(ast.parse(text, path)).units
    there = solid(text)
    return {line: units[line] for line in lines if line in there and line in units}


def main():
    top, asked, marks = sys.argv[1:]
    sys.setrecursionlimit(DEPTH)
    answer, files, count = {}, {}, 0
    for name, lines in json.load(sys.stdin).items():
        path = os.path.join(top, name)
        try:
            units = planned(path, lines)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        places = {}
        for unit in units.values():
            places.setdefault(unit, count + len(places))
        count += len(places)
        answer[name] = [[line, places[unit]] for line, unit in units.items()]
        scopes = files[path] = {}
        for (scope, events), place in places.items():
            start, within = scopes.get(scope, (None, {}))
            if not events:
                start = place
            for line in events:
                within.setdefault(line, []).append(place)
            scopes[scope] = (start, within)
    with open(marks, "wb") as f:
        f.write(bytes(max(count, 1)))  # an empty file cannot be mapped
    with open(asked, "wb") as f:
        marshal.dump(files, f)
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
