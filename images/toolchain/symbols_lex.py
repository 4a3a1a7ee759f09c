"""Find the symbols of JavaScript, TypeScript and Go files from their tokens.

These are not parsers: they know strings, comments and brackets, and how a
definition begins. A file with errors yields what can be recognised.
"""

import hashlib
import re

import languages


class Found:
    """What was found in one file."""

    def __init__(self):
        self.summary = ""
        self.imports, self.definitions, self.references = [], [], {}
        self.fields = set()  # (parent, name), for parsers that meet a field repeatedly

    def define(self, name, kind, parent, line, end, signature, digest, exported):
        self.definitions.append(
            {
                "name": name, "kind": kind, "parent": parent, "line": line, "end": max(line, end),
                "signature": signature, "digest": digest, "exported": exported,
            }
        )  # fmt: skip

    def imported(self, module, name, alias, line, export=False):
        self.imports.append({"module": module, "name": name, "alias": alias, "line": line, "export": export})

    def refer(self, name, on, line):
        self.references.setdefault((name, on), set()).add(line)


class Token:
    """One word, number, text (a string's content) or sign, with its line and its position."""

    __slots__ = ("kind", "text", "line", "start", "end")

    def __init__(self, kind, text, line, start=0, end=0):
        self.kind, self.text, self.line, self.start, self.end = kind, text, line, start, end


SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?(?:\*/|\Z))+", re.S)
WORD = re.compile(r"#?[^\W\d][\w$]*|\$[\w$]*")
NUMBER = re.compile(r"\.?\d(?:[\w.]|(?<=[eEpP])[+-])*")
TEXT = re.compile(r'"((?:\\.|[^"\\\n])*)"' + r"|'((?:\\.|[^'\\\n])*)'", re.S)
RAW = re.compile(r"`([^`]*)(?:`|\Z)")
REGEX = re.compile(r"/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*")
TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*", re.S)
SIGN = re.compile(r"=>|\.\.\.|:=|\?\.|[=!<>+\-*/%&|^]=|&&|\|\||\?\?|\+\+|--|<-|.", re.S)


def tokens(text, script):
    """Split text into tokens; script says whether it is JavaScript or Go."""
    out, at, line, templates = [], 0, 1, []

    def add(kind, value, end):
        nonlocal at, line
        out.append(Token(kind, value, line, at, end))
        line += text.count("\n", at, end)
        at = end

    while at < len(text):
        if m := SPACE.match(text, at):
            line += text.count("\n", at, m.end())
            at = m.end()
            continue
        c, last = text[at], out[-1] if out else Token("sign", ";", 1)
        if m := WORD.match(text, at):
            add("word", m[0].lstrip("#") or m[0], m.end())
        elif m := NUMBER.match(text, at):
            add("number", m[0], m.end())
        elif m := TEXT.match(text, at):
            add("text", m[1] if m[1] is not None else m[2], m.end())
        elif c == "`" and not script:
            m = RAW.match(text, at)
            add("text", m[1], m.end())
        elif c == "`" or script and c == "}" and templates and templates[-1] == 0:
            # A template: its texts become tokens, and so does what is between them.
            if c == "}":
                templates.pop()
                add("sign", ")", at + 1)
            else:
                at += 1
            m = TEMPLATE.match(text, at)
            add("text", m[0], m.end())
            if text.startswith("${", at):
                templates.append(0)
                add("sign", "(", at + 2)
            else:
                at += 1
        elif script and c == "/" and may_be_regex(out, last) and (m := REGEX.match(text, at)):
            add("number", m[0], m.end())
        else:
            if templates and c in "{}":
                templates[-1] += 1 if c == "{" else -1
            m = SIGN.match(text, at)
            add("sign", m[0], m.end())
    return out


def may_be_regex(out, last):
    if last.kind == "word":
        member = len(out) > 1 and out[-2].kind == "sign" and out[-2].text in (".", "?.")
        return not member and last.text in languages.REGEX_AFTER
    return last.kind == "sign" and last.text not in (")", "]", "}", "<", "++", "--")


def brackets(toks):
    """Map the index of every opening bracket to that of its closing one."""
    close, stack = {}, []
    pairs = {")": "(", "]": "[", "}": "{"}
    for i, t in enumerate(toks):
        if t.kind != "sign":
            continue
        if t.text in "([{":
            stack.append(i)
        elif t.text in pairs:
            for depth in range(len(stack) - 1, max(-1, len(stack) - 4), -1):
                if toks[stack[depth]].text == pairs[t.text]:
                    close[stack[depth]] = i
                    del stack[depth:]
                    break
    for i in stack:
        close[i] = len(toks) - 1
    return close


def first_comment(text):
    m = re.match(r"(?:\s|#![^\n]*\n|\"use strict\";?)*(?://+|/\*+)\s*\**\s*([^\n]*)", text)
    return m[1].split("*/")[0].strip() if m else ""


class Lexed:
    """The tokens of one file with their brackets, and ways to walk over them."""

    def __init__(self, text, script, found):
        self.text, self.toks = text, tokens(text, script)
        self.close = brackets(self.toks)
        self.found, self.end = found, len(self.toks)

    def is_(self, i, *texts):
        return 0 <= i < self.end and self.toks[i].kind != "text" and self.toks[i].text in texts

    def word(self, i):
        return self.toks[i].text if 0 <= i < self.end and self.toks[i].kind == "word" else ""

    def string(self, i):
        return self.toks[i].text if 0 <= i < self.end and self.toks[i].kind == "text" else None

    def line(self, i):
        return self.toks[min(max(i, 0), self.end - 1)].line

    def joined(self, start, end):
        """Return the tokens as in the source, with one space for whatever is between them."""
        out, last = [], None
        for t in self.toks[start : min(end, start + 200)]:
            gap = " " if last is not None and t.start > last else ""
            out.append(gap + self.text[t.start : t.end])
            last = t.end
        return "".join(out)

    def define(self, i, kind, parent, start, stop, end, exported):
        """Add the definition whose name is token i, with the signature from start up to stop."""
        name = self.toks[i].text
        # The name is left out, so that a definition that was only renamed keeps its digest.
        text = " ".join("_" if t.text == name else t.text for t in self.toks[i : end + 1])
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
        self.found.define(name, kind, parent, self.line(i), self.line(end), self.joined(start, stop), digest, exported)

    def refer_all(self, keywords, key):
        """Add every word as a reference; key is the qualifier of words that may be keys of a literal."""
        for i, t in enumerate(self.toks):
            if t.kind != "word" or t.text in keywords and not self.is_(i - 1, ".", "?."):
                continue
            if self.is_(i - 1, ".", "?."):
                self.found.refer(t.text, self.chain(i - 2), t.line)
                continue
            self.found.refer(t.text, "", t.line)
            # A key of a literal or a pattern may be a member of another object.
            if self.is_(i - 1, "{", ",") and self.is_(i + 1, ":", ",", "}", "=") or self.is_(i + 1, ":"):
                self.found.refer(t.text, key, t.line)

    def chain(self, i):
        """Return the qualifier that ends at token i, or "?" if it is more than names."""
        parts = []
        while self.word(i) and len(parts) < 10:
            parts.append(self.toks[i].text)
            if not self.is_(i - 1, ".", "?."):
                return ".".join(reversed(parts))
            i -= 2
        return "?"


# --- JavaScript and TypeScript

SCRIPT_KEYWORDS = set(
    "break case catch class const continue debugger default delete do else export extends finally for function if import"
    " in instanceof new return super switch this throw try typeof var void while with yield let static enum await"
    " implements interface package private protected public null true false async of".split()
)
MODIFIERS = set("public private protected static readonly async get set override abstract declare accessor".split())
CONTINUES = set("= => + - * / % & | ^ < > ? : && || ?? . ?. , ( [ { == += -= *= ! in of instanceof extends keyof typeof as".split())
SELECTOR = re.compile(r"[.#]-?[_a-zA-Z][-\w]*")
CLASS = re.compile(r"-?[_a-zA-Z][-\w]*")
QUERIES = {"querySelector", "querySelectorAll", "closest", "matches", "$", "jQuery", "find"}
CLASS_CALLS = {"add", "remove", "toggle", "contains", "replace"}


def scan_script(data, found):
    """Add what a JavaScript or TypeScript file defines, imports and refers to."""
    text = data.decode("utf-8", "replace")
    found.summary = first_comment(text)
    script(text, found)


def script(text, found):
    s = Script(text, True, found)
    s.statements(0, s.end, "")
    s.refer_all(SCRIPT_KEYWORDS, "?")
    s.calls()


class Script(Lexed):
    """Reads the statements of a module."""

    def statements(self, i, end, parent):
        while i < end:
            i = max(i + 1, self.statement(i, parent))

    def statement(self, i, parent):
        """Read one statement at i and return where the next one may begin."""
        exported = default = False
        if self.is_(i, "import") and not self.is_(i + 1, "(", "."):
            return self.imports(i)
        if self.is_(i, "export"):
            i, exported = i + 1, True
            if self.is_(i, "*", "{") or self.is_(i, "type") and self.is_(i + 1, "{", "*"):
                return self.exports(i + self.is_(i, "type"))
            if self.is_(i, "default", "="):
                i, default = i + 1, True
        while self.is_(i, "async", "declare", "abstract") and self.word(i + 1):
            i += 1
        name = i + 1
        if self.is_(i, "function"):
            name += self.is_(name, "*")
            after = self.function(name, "function", parent, exported or bool(parent))
        elif self.is_(i, "class", "interface"):
            after = self.type_with_body(name, self.toks[i].text, parent, exported)
        elif self.is_(i, "const", "let", "var") and not self.is_(i + 1, "enum"):
            return self.variables(i + 1, self.toks[i].text, parent, exported)
        elif self.is_(i, "enum", "const") or self.is_(i, "type", "namespace", "module") and self.word(i + 1):
            name += self.is_(name, "enum")
            after = self.other_type(i, name, parent, exported)
        elif default:
            return self.default(i)
        elif self.is_(i, "module", "exports"):
            return self.common_js(i)
        else:
            return self.close[i] + 1 if self.is_(i, "(", "[", "{") else i + 1
        if default and self.word(name):
            self.found.imported("", self.word(name), "default", self.line(i), True)
        return after

    def default(self, i):
        """Read what follows "export default" if it has no keyword of its own."""
        if self.word(i) and not self.is_(i + 1, "(", ".", "=>"):
            self.found.imported("", self.word(i), "default", self.line(i), True)
        return self.expression_end(i) + 1

    def imports(self, i):
        line, names, i = self.line(i), [], i + 1
        if self.is_(i, "type") and not self.is_(i + 1, "from", ","):
            i += 1
        if self.string(i) is not None:
            self.found.imported(self.string(i), "", "", line)
            return i + 1
        while i < self.end and self.string(i) is None and not self.is_(i, ";"):
            if self.is_(i, "{"):
                names += self.clause(i)
                i = self.close[i]
            elif self.is_(i, "*"):
                names.append(("*", self.word(i + 2)))
                i += 2
            elif self.is_(i, "require") and self.is_(i + 1, "("):
                names = [("*", alias) for _, alias in names] + [("default", alias) for _, alias in names]
            elif self.word(i) and not self.is_(i, "from") and not self.is_(i, "="):
                names.append(("default", self.word(i)))
            i += 1
        for name, alias in names:
            self.found.imported(self.string(i) or "", name, alias, line)
        return i + 1

    def clause(self, i):
        """Return the (name, alias) pairs between the braces at i."""
        pairs, j = [], i + 1
        while j < self.close[i]:
            if self.is_(j, "type") and self.word(j + 1) and not self.is_(j + 1, "as"):
                j += 1
            name = self.word(j)
            alias = self.word(j + 2) if self.is_(j + 1, "as", ":") else name
            if name and alias:
                pairs.append((name, alias))
            while j < self.close[i] and not self.is_(j, ","):
                j += 1
            j += 1
        return pairs

    def exports(self, i):
        line = self.line(i)
        if self.is_(i, "*"):
            alias = self.word(i + 2) if self.is_(i + 1, "as") else ""
            i += 3 if alias else 1
            pairs = [("*", alias)]
        else:
            pairs = self.clause(i)
            i = self.close[i] + 1
        module = self.string(i + 1) if self.is_(i, "from") else ""
        for name, alias in pairs:
            self.found.imported(module or "", name, alias, line, True)
        return i

    def common_js(self, i):
        """Read module.exports = ... and exports.name = ..."""
        line = self.line(i)
        if self.is_(i, "module"):
            if not (self.is_(i + 1, ".") and self.is_(i + 2, "exports")):
                return i + 1
            i += 2
        if self.is_(i + 1, "=") and self.is_(i + 2, "{"):
            for name, alias in self.clause(i + 2):
                # The name before the colon is the one that is exported here.
                self.found.imported("", alias, name, line, True)
            return self.close[i + 2] + 1
        if self.is_(i + 1, "=") and self.is_(i + 2, "require"):
            self.found.imported(self.string(i + 4) or "", "*", "", line, True)
        elif self.is_(i + 1, "=") and self.word(i + 2) and not self.is_(i + 3, "(", "."):
            self.found.imported("", self.word(i + 2), "default", line, True)
            if self.is_(i + 2, "class") and self.word(i + 3):
                self.type_with_body(i + 3, "class", "", True)
        elif self.is_(i + 1, ".") and self.word(i + 2) and self.is_(i + 3, "="):
            end = self.expression_end(i + 4)
            if self.word(i + 4) and end == i + 4:
                self.found.imported("", self.word(i + 4), self.word(i + 2), line, True)
            else:
                self.value(i + 2, i + 4, end, "variable", "", True)
            return end + 1
        return i + 1

    def function(self, name, kind, parent, exported):
        """Read a function or method from its name on; return the index after it."""
        if not self.word(name) and self.string(name) is None:
            return name
        i = name + 1
        while i < self.end and not self.is_(i, "(", ";", "{"):
            i += 1
        stop = self.close.get(i, i) + 1
        if self.is_(stop, ":"):
            # A return type in braces is not the body.
            stop = self.close[stop + 1] + 1 if self.is_(stop + 1, "{") else stop + 1
        while stop < self.end and (not self.is_(stop, "{", ";", "}") or self.is_(stop, "{") and self.is_(stop - 1, "<", "|", "&", ",")):
            if self.line(stop) > self.line(stop - 1) and not self.is_(stop - 1, *CONTINUES) and not self.is_(stop, "|", "&", ">"):
                break  # a declaration without body or semicolon
            stop = self.close.get(stop, stop) + 1
        end = self.close[stop] if self.is_(stop, "{") else stop - (not self.is_(stop, ";"))
        self.define(name, kind, parent, name + 1, stop, min(end, self.end - 1), exported)
        return end + 1

    def type_with_body(self, name, kind, parent, exported):
        i = name + 1
        while i < self.end and not self.is_(i, "{"):
            i = self.close.get(i, i) + 1
        if i >= self.end or not self.word(name):
            return name + 1
        end = self.close[i]
        self.define(name, "class" if kind == "class" else "type", parent, name + 1, i, end, exported)
        self.members(i + 1, end, f"{parent}.{self.word(name)}".lstrip("."), exported)
        return end + 1

    def members(self, i, end, parent, exported):
        while i < end:
            while self.is_(i, "*", ";", ",", "...") or self.word(i) in MODIFIERS and not self.is_(i + 1, "(", "=", ":", "?", ";", ","):
                i += 1
            if self.is_(i, "@"):  # a decorator: @name.name(...)
                i += 2
                while self.is_(i, "."):
                    i += 2
                i = self.close[i] + 1 if self.is_(i, "(") else i
                continue
            if i >= end:
                return
            if self.is_(i, "[", "{", "("):
                i = self.close[i] + 1
                continue
            sign = i + 1 + self.is_(i + 1, "?", "!")
            if not self.word(i):
                i += 1
            elif self.is_(sign, "(", "<"):
                i = self.function(i, "method", parent, exported)
            else:
                stop = min(self.expression_end(i), end - 1)
                self.value(i, i + 1, stop, "field", parent, exported)
                i = stop + 1

    def value(self, name, start, end, kind, parent, exported):
        """Define a name that has a value: as a function, if the value is one."""
        i = start
        while i < end and not self.is_(i, "=", ":") and i == start and not self.is_(i, "(", "async", "function"):
            i += 1
        arrow = start
        while arrow <= end and not self.is_(arrow, "=>", "function"):
            # A call that takes a function is not a function itself.
            arrow = self.close.get(arrow, arrow) + 1 if self.function_head(arrow, end) else end + 1
        stop = end + 1
        if arrow <= end:
            kind = "method" if parent else "function"
            stop = arrow
            if self.is_(arrow, "function"):
                while stop < end and not self.is_(stop, "("):
                    stop += 1
                stop = self.close.get(stop, stop) + 1
        self.define(name, kind, parent, start, stop, end, exported)

    def function_head(self, i, end):
        """Report whether token i may stand before the arrow of a function."""
        return i <= end and not (self.is_(i, "{", ";") or self.is_(i, "(") and self.word(i - 1) not in ("", "async"))

    def variables(self, i, keyword, parent, exported):
        """Read the names that const, let or var declares."""
        while i < self.end:
            start = i
            if self.is_(i, "{", "["):
                i = self.close[i] + 1
                end = self.expression_end(i)
                if self.is_(i, "=") and self.required(i + 1):
                    for name, alias in self.clause(start):
                        self.found.imported(self.required(i + 1), name, alias, self.line(start))
                elif self.is_(start, "{"):
                    for j in range(start + 1, self.close[start]):
                        if self.word(j) and self.is_(j + 1, ",", "}", "="):
                            self.define(j, "variable", parent, j, j, j, exported)
            elif self.word(i):
                end = self.expression_end(i)
                eq = i + 1
                while eq <= end and not self.is_(eq, "="):
                    eq = self.close.get(eq, eq) + 1
                module = self.required(eq + 1) if eq <= end else ""
                if module:
                    self.required_as(module, i, eq)
                else:
                    self.value(i, i + 1, end, "constant" if keyword == "const" else "variable", parent, exported)
                if self.is_(eq + 1, "{") and not parent:
                    self.members(eq + 2, self.close[eq + 1], self.word(i), exported)
            else:
                return i
            if not self.is_(end + 1, ","):
                return end + 1
            i = end + 2
        return i

    def required(self, i):
        """Return the module in require("module") at i, or ""."""
        i += self.is_(i, "await")
        if self.is_(i, "require", "import") and self.is_(i + 1, "("):
            return self.string(i + 2) or ""
        return ""

    def required_as(self, module, i, eq):
        member = self.word(eq + 6) if self.is_(eq + 5, ".") else ""
        for name in [member] if member else ["*", "default"]:
            self.found.imported(module, name, self.word(i), self.line(i))

    def expression_end(self, i):
        """Return the last token of the expression or declaration at i."""
        first = i
        while i < self.end:
            if self.is_(i, ";", ",", ")", "]", "}"):
                return max(first, i - 1)
            here = i
            i = self.close.get(i, i) + 1
            if i < self.end and self.line(i) > self.line(i - 1) and not self.is_(here, *CONTINUES - {"(", "[", "{"}):
                if not self.is_(i, *CONTINUES - {"[", "{"}) or self.is_(i, "(") and self.is_(i - 1, "}"):
                    return i - 1
        return max(first, min(i, self.end) - 1)

    def other_type(self, i, name, parent, exported):
        """Read an enum, a type alias or a namespace."""
        if self.is_(i, "namespace", "module"):
            while name < self.end and not self.is_(name, "{"):
                name += 1
            if self.is_(name, "{"):
                self.statements(name + 1, self.close[name], self.word(name - 1))
            return self.close.get(name, name) + 1
        if self.is_(i, "type"):
            end = self.expression_end(name)
            self.define(name, "type", parent, name + 1, end + 1, end, exported)
            return end + 1
        if not self.is_(name + 1, "{"):
            return name
        end = self.close[name + 1]
        self.define(name, "type", parent, name + 1, end + 1, end, exported)
        self.members(name + 2, end, self.word(name), exported)
        return end + 1

    def calls(self):
        """Read what only calls and attributes show: late imports, and selectors in strings."""
        known = {(m["module"], m["line"]) for m in self.found.imports}
        for i, t in enumerate(self.toks):
            if t.kind == "text" and self.is_(i - 1, "(", ","):
                if self.is_(i - 2, "require", "import") and (t.text, t.line) not in known:
                    self.found.imported(t.text, "*", "?", t.line)
                self.selectors(i, t)
            elif t.text in ("className", "class", "id", "htmlFor") and self.is_(i + 1, "="):
                stop = self.close[i + 2] if self.is_(i + 2, "{", "(") else i + 2
                for value in self.toks[i + 2 : stop + 1]:
                    if value.kind == "text":
                        sign = "." if t.text.startswith("class") else "#"
                        self.names(sign, value)

    def selectors(self, i, t):
        call = i - 1
        while call > 0 and i - call < 8 and not self.is_(call, "("):
            call -= 1
        called = self.word(call - 1)
        if called in QUERIES:
            for name in SELECTOR.findall(t.text):
                self.found.refer(name, "", t.line)
        elif called == "getElementById":
            self.names("#", t)
        elif called == "getElementsByClassName" or called in CLASS_CALLS and self.is_(call - 3, "classList"):
            self.names(".", t)

    def names(self, sign, t):
        for name in CLASS.findall(t.text):
            self.found.refer(sign + name, "", t.line)


# --- Go

GO_KEYWORDS = set(
    "break case chan const continue default defer else fallthrough for func go goto if import interface map package"
    " range return select struct switch type var nil true false iota".split()
)


def scan_go(data, found):
    """Add what a Go file defines, imports and refers to."""
    text = data.decode("utf-8", "replace")
    found.summary = first_comment(text)
    g = Go(text, False, found)
    g.declarations()
    g.refer_all(GO_KEYWORDS, "=")


class Go(Lexed):
    """Reads the declarations of a file."""

    def declarations(self):
        i = 0
        while i < self.end:
            if self.is_(i, "package") and self.word(i + 1):
                self.define(i + 1, "package", "", i + 1, i + 1, i + 1, False)
                i += 2
            elif self.is_(i, "func"):
                i = self.function(i + 1)
            elif self.is_(i, "import", "const", "var", "type"):
                i = self.group(self.toks[i].text, i + 1)
            else:
                i = self.close.get(i, i) + 1

    def spec_end(self, i):
        """Return the last token of the specification at i, which ends with its line, outside brackets."""
        while i < self.end:
            i = self.close.get(i, i)
            if i + 1 >= self.end or self.is_(i + 1, ";", ")", "}") or self.line(i + 1) > self.last_line(i) and not self.is_(i, "+", ",", ".", "|", "||", "&&", "=", "-", "*"):
                return i
            i += 1
        return self.end - 1

    def last_line(self, i):
        t = self.toks[i]
        return t.line + (t.text.count("\n") if t.kind == "text" else 0)

    def function(self, i):
        parent = ""
        if self.is_(i, "("):
            receiver = [t.text for t in self.toks[i + 1 : self.close[i]]]
            receiver = receiver[: receiver.index("[")] if "[" in receiver else receiver
            parent = receiver[-1] if receiver else ""
            i = self.close[i] + 1
        if not self.word(i):
            return i + 1
        stop = i + 1
        # The results of a function may contain braces.
        while stop < self.end and not (self.is_(stop, "{") and not self.is_(stop - 1, "struct", "interface")):
            if stop > i + 1 and self.line(stop) > self.line(stop - 1):
                break
            stop = self.close.get(stop, stop) + 1
        end = self.close[stop] if self.is_(stop, "{") else stop - 1
        exported = self.upper(self.toks[i].text)
        self.define(i, "method" if parent else "function", parent, i + 1, stop, end, exported)
        return end + 1

    def upper(self, name):
        return name[:1].isupper()

    def group(self, kind, i):
        if not self.is_(i, "("):
            return self.spec(kind, i, -1) + 1
        end, j, place = self.close[i], i + 1, 0
        while j < end:
            j, place = (j + 1, place) if self.is_(j, ";") else (self.spec(kind, j, place) + 1, place + 1)
        return end + 1

    def spec(self, kind, i, place):
        """Read one specification and return its last token; place is its index in a group, or -1."""
        end = self.spec_end(i)
        if kind == "import":
            alias = self.toks[i].text if self.string(i) is None else ""
            module = self.string(i if self.string(i) is not None else i + 1) or ""
            star = alias == "."
            self.found.imported(module, "*", "" if star else alias or "/", self.line(i))
        elif kind == "type" and self.word(i):
            self.type_(i, end)
        elif self.word(i):
            self.values(kind, i, end, place)
        return end

    def values(self, kind, i, end, place):
        names, j = [i], i + 1
        while self.is_(j, ",") and self.word(j + 1):
            names.append(j + 1)
            j += 2
        for name in names:
            self.define(name, "constant" if kind == "const" else "variable", "", j, end + 1, end, self.upper(self.toks[name].text))
            # The value of iota is the index in the group.
            if kind == "const" and place >= 0 and (j > end or any(t.text == "iota" for t in self.toks[j : end + 1])):
                self.found.definitions[-1]["digest"] += f"-{place}"

    def type_(self, i, end):
        name = self.toks[i].text
        body = i + 1
        while body <= end and not self.is_(body, "{"):
            body = self.close.get(body, body) + 1
        struct = self.is_(body - 1, "struct", "interface") and body <= end
        # The members are separate definitions.
        self.define(i, "type", "", i + 1, body if struct else end + 1, end, self.upper(name))
        j = body + 1
        while struct and j < self.close[body]:
            stop = min(self.spec_end(j), self.close[body] - 1)
            if self.word(j) and self.is_(j + 1, "(") and self.is_(body - 1, "interface"):
                self.define(j, "method", name, j + 1, stop + 1, stop, self.upper(self.toks[j].text))
            elif self.word(j) and stop > j and not self.is_(j + 1, ".", "|"):
                self.fields(name, j, stop)
            j = stop + 1 + self.is_(stop + 1, ";")

    def fields(self, parent, j, stop):
        names = [j]
        while self.is_(j + 1, ",") and self.word(j + 2):
            j += 2
            names.append(j)
        for k in names:
            self.define(k, "field", parent, j + 1, stop + 1, stop, self.upper(self.toks[k].text))
