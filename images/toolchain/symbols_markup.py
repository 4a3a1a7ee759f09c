"""Find the symbols of HTML, CSS, JSON and shell files, and the names that packages give themselves."""

import bisect
import hashlib
import json
import re
from html.parser import HTMLParser

import symbols_lex

SELECTOR = symbols_lex.SELECTOR


def decode(data):
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")


class Lines:
    """Finds the line of an offset."""

    def __init__(self, text):
        self.starts = [m.end() for m in re.finditer("\n", text)]

    def at(self, offset):
        return bisect.bisect_right(self.starts, offset) + 1


def digest(text):
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "replace")).hexdigest()[:16]


# --- CSS


def scan_css(data, found):
    """Add the classes, ids and variables that a style sheet defines, and its imports."""
    text = decode(data)
    found.summary = symbols_lex.first_comment(text)
    css(text, found, 0)


def css(text, found, base):
    """Read a style sheet whose first line is line base + 1 of the file."""
    blank = re.sub(r"/\*.*?(?:\*/|\Z)", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)
    lines = Lines(blank)
    for m in re.finditer(r"@import\s+(?:url\(\s*)?[\"']?([^\"')\s;]+)", blank):
        found.imported(m[1], "*", "", base + lines.at(m.start()), True)
    for m in re.finditer(r"var\(\s*(--[-\w]+)", blank):
        found.refer(m[1], "", base + lines.at(m.start()))
    # A prelude is the text between a brace or semicolon and an opening brace.
    for m in re.finditer(r"([^{};]+)\{([^{}]*)", blank):
        if not m[1].lstrip().startswith("@"):
            for s in SELECTOR.finditer(m[1]):
                line = base + lines.at(m.start() + s.start())
                found.define(s[0], "selector", "", line, base + lines.at(m.end()), "", digest(m[2]), True)
                found.refer(s[0], "", line)
    for m in re.finditer(r"(?<![-\w(])(--[-\w]+)\s*:([^;}]*)", blank):
        line = base + lines.at(m.start())
        found.define(m[1], "variable", "", line, line, ": " + m[2].strip(), digest(m[2]), True)


# --- HTML


def scan_html(data, found):
    """Add the ids that a page defines, the classes and ids that it uses, and what it loads."""
    page = Page(found)
    page.feed(decode(data))
    page.close()


class Page(HTMLParser):
    """Reads one page."""

    def __init__(self, found):
        super().__init__(convert_charrefs=True)
        self.found, self.within = found, ""

    def handle_starttag(self, tag, attrs):
        line, found = self.getpos()[0], self.found
        attrs = [(k, v or "") for k, v in attrs]
        self.within = tag if tag in ("script", "style", "title") else ""
        for key, value in attrs:
            if (tag, key) in (("script", "src"), ("link", "href"), ("iframe", "src"), ("a", "href")) and value[:1] != "#":
                found.imported(value.split("?")[0].split("#")[0], "*", "", line)
            elif key == "id" and value.strip():
                name = "#" + value.strip()
                found.define(name, "id", "", line, line, tag, digest(tag), True)
                found.refer(name, "", line)
            elif key == "class":
                for name in symbols_lex.CLASS.findall(value):
                    found.refer("." + name, "", line)
            elif key in ("for", "aria-labelledby", "aria-controls", "list", "form"):
                for name in value.split():
                    found.refer("#" + name, "", line)
            elif key.startswith("on"):
                self.script(value, line)
            elif value[:1] in ("#", ".") and key != "style":
                for name in SELECTOR.findall(value):
                    found.refer(name, "", line)

    def handle_endtag(self, tag):
        self.within = ""

    def handle_data(self, data):
        line = self.getpos()[0]
        if self.within == "script":
            self.script(data, line)
        elif self.within == "style":
            css(data, self.found, line - 1)
        elif self.within == "title" and not self.found.summary:
            self.found.summary = data.strip()

    def script(self, text, line):
        inner = symbols_lex.Found()
        symbols_lex.script(text, inner)
        for d in inner.definitions:
            self.found.definitions.append({**d, "line": d["line"] + line - 1, "end": d["end"] + line - 1})
        for m in inner.imports:
            self.found.imports.append({**m, "line": m["line"] + line - 1})
        for (name, on), lines in inner.references.items():
            for at in lines:
                self.found.refer(name, on, at + line - 1)


# --- JSON and packages

PART = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|[{}\[\],:]', re.S)


def scan_json(data, found):
    """Add the keys of the outermost object."""
    text = decode(data)
    lines, depth, keys, last = Lines(text), 0, [], None
    for m in PART.finditer(text):
        c = m[0]
        if c in ("{", "["):
            depth += 1
        elif c in ("}", "]"):
            depth -= 1
        elif c == ":" and depth == 1 and last is not None:
            keys.append((last, m.end()))
        if c[0] != "/":
            last = m if c[0] == '"' else None
    for n, (m, start) in enumerate(keys):
        end = keys[n + 1][0].start() if n + 1 < len(keys) else len(text.rstrip().rstrip("}"))
        value = text[start:end].strip().rstrip(",")
        short = value if len(value) <= 100 else "…"
        line = lines.at(m.start())
        found.define(m[0][1:-1], "key", "", line, lines.at(max(start, end - 1)), ": " + short, digest(value), True)


def scan_package(data, found):
    """Add the keys of a package.json and the name of the package."""
    scan_json(data, found)
    try:
        name = json.loads(decode(data)).get("name", "")
    except (ValueError, AttributeError):
        return
    if isinstance(name, str) and name:
        found.define(name, "module", "", 1, 1, "", "", True)


def scan_go_mod(data, found):
    """Add the path of the module."""
    m = re.search(r"^module\s+\"?([^\s\"]+)", decode(data), re.M)
    if m:
        line = decode(data)[: m.start()].count("\n") + 1
        found.define(m[1], "module", "", line, line, "", "", True)


# --- Shell

SHELL_FUNCTION = re.compile(r"^[ \t]*(?:function[ \t]+([\w.:-]+)|([\w.:-]+)[ \t]*\([ \t]*\))[ \t(){]*", re.M)
SHELL_VARIABLE = re.compile(r"^[ \t]*((?:export|readonly|declare(?: -\w+)*)[ \t]+)?([A-Za-z_]\w*)=([^\n]*)", re.M)
SHELL_SOURCE = re.compile(r"(?:^|[;&|]|\bthen\b|\bdo\b)[ \t]*(?:\.|source)[ \t]+(\"(?:\$\([^)\n]*\)|[^\"\n])*\"|'[^'\n]*'|(?:\$\([^)\n]*\)|[^\s;&|])+)", re.M)
SHELL_WORD = re.compile(r"[A-Za-z_][\w.:-]*")


def scan_shell(data, found):
    """Add the functions and variables of a shell script, what it sources and the words it uses."""
    text = decode(data)
    comment = re.compile(r"(^|[ \t;])#[^\n]*", re.M)
    for line in text.split("\n")[:20]:
        if line.startswith("#") and not line.startswith("#!") and line.strip("# "):
            found.summary = line.strip("# ")
            break
    text = comment.sub(lambda m: m[1] + " " * (len(m[0]) - len(m[1])), text)
    lines = Lines(text)
    for m in SHELL_FUNCTION.finditer(text):
        end = text.find("\n}", m.end())
        one = text[m.end() : text.find("\n", m.end()) if "\n" in text[m.end() :] else len(text)]
        end = m.end() if end < 0 or one.rstrip().endswith("}") else end + 1
        name, line = m[1] or m[2], lines.at(m.start(1 if m[1] else 2))
        body = text[m.end() : end] if end > m.end() else one
        found.define(name, "function", "", line, lines.at(end), "()", digest(body.replace(name, "_")), True)
    for m in SHELL_VARIABLE.finditer(text):
        # Indented assignments usually belong to a function.
        if m[0][0] not in " \t":
            kind, line = "constant" if m[2].isupper() else "variable", lines.at(m.start(2))
            found.define(m[2], kind, "", line, line, "=" + m[3].strip(), digest(m[3]), True)
    for m in SHELL_SOURCE.finditer(text):
        # The variable part, usually the script's own directory, is not known.
        path = re.sub(r"^.*[)}]/|^\$\w+/", "", m[1].strip("\"'"))
        found.imported(path, "*", "", lines.at(m.start(1)), True)
    for m in SHELL_WORD.finditer(text):
        found.refer(m[0], "", lines.at(m.start()))
