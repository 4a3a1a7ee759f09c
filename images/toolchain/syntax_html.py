"""Find faults in HTML files that a browser repairs silently and wrongly.

A browser accepts every text, so not everything that the standard calls an error
is one here. A fault is a place where the page is certainly not what its author
meant: a tag or comment that swallows what follows because a quote or an end is
missing, or, in a complete document, an element that is never closed or an end
with no beginning. Names are free: elements and attributes of a framework are
not faults. A template is not judged at all, since its pages exist only once it
is filled in.
"""

import re

from syntax_answer import Skipped, finding

MAX_FINDINGS = 200  # in one file

# Constructs of template engines that begin, end or leave out pieces of a page.
TEMPLATE = re.compile(
    r"\{%|\{#|<%|<\?(php|=|\s)|<#|</#|\{/\w|<!--#|@(if|foreach|extends|section|include)\b\s*\("
    r"|\{\{\s*[-#/>^!~&]|\{\{-?\s*(if|else|end|range|with|block|define|template|include|for|each)\b|\{\{=|\[%"
)
VALUE = re.compile(r"\{\{[^{}]*\}\}")  # one value that a template fills in
MARKUP = re.compile(r"<(?=[A-Za-z/!?])")
NAME = re.compile(r"[^\s/>]+")
GAP = re.compile(r"[\s/]*")
ATTRIBUTE = re.compile(r"=?[^\s/>=]*")
EQUALS = re.compile(r"\s*=\s*")
BARE = re.compile(r"[^\s>]*")
RAW = {"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"}
VOID = set(
    "area base basefont bgsound br col command embed frame hr image img input isindex keygen link meta"
    " param source track wbr".split()
)
# Elements whose end may be left out; https://html.spec.whatwg.org/multipage/syntax.html#optional-tags
OPTIONAL = set(
    "html head body li dt dd p rb rt rtc rp optgroup option colgroup caption thead tbody tfoot tr td th menuitem"
    " nextid plaintext".split()
)
COMMENT_END = re.compile(r"--!?>")
BEGINNING = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype|html)\b", re.I)
END = re.compile(r"</html\s*>\s*\Z", re.I)


def complete(text):
    """Report whether text is a whole document. A piece of one may open what another piece closes."""
    begin, end = 0, len(text)
    for _ in range(20):  # comments around it, such as a licence or a generator's
        head = re.compile(r"\s*<!--").match(text, begin)
        begin = text.find("-->", begin) + 3 if head else begin
        tail = text[end - 4096 : end].rstrip()
        if tail.endswith("-->") and "<!--" in tail:
            end = text.rindex("<!--", 0, end)
    return bool(BEGINNING.match(text, begin)) and bool(END.search(text[max(end - 4096, 0) : end]))


class Page:
    """One text, read from its beginning to its end by the rules of the standard's tokenizer."""

    def __init__(self, text):
        self.text = text
        self.found = []
        self.complete = complete(text)
        self.open = []  # (name, where) of the elements that must be closed
        self.counts = {}  # how many are open, by name
        self.alone = set()  # names of elements that a slash ended

    def fault(self, where, message):
        if len(self.found) < MAX_FINDINGS:
            self.found.append((where, message))

    def read(self):
        at = 0
        while m := MARKUP.search(self.text, at):
            at = self.markup(m.start())
        if self.complete:
            for name, where in self.open:
                self.fault(where, f"<{name}> is never closed")

    def markup(self, at):
        """Read one tag or comment; return where the text continues."""
        text = self.text
        if text.startswith("<!--", at):
            return self.comment(at)
        if text.startswith("<![CDATA[", at):
            end = text.find("]]>", at)
            return end + 3 if end >= 0 else self.cut(at, "CDATA section is never closed")
        closing = text.startswith("</", at)
        first = at + 2 if closing else at + 1
        if not text[first : first + 1].isalpha() or not text[first].isascii():
            end = text.find(">", at)  # a doctype, or something that browsers take for a comment
            return end + 1 if end >= 0 else len(text)
        name = NAME.match(text, first)
        end, alone = self.attributes(at, name.end())
        if end < 0:
            return self.cut(at, f"the tag <{name[0][:40]} is never closed")
        name = name[0].lower()
        if closing:
            self.close(name, at)
        elif name == "plaintext":
            raise Skipped("it ends in plain text")
        elif alone:
            self.alone.add(name)  # XML's notation, which authors mean here too
        elif name in RAW:
            return self.raw(name, at, end)
        elif name not in VOID and name not in OPTIONAL:
            self.open.append((name, at))
            self.counts[name] = self.counts.get(name, 0) + 1
        return end

    def comment(self, at):
        for empty in ("<!-->", "<!--->"):
            if self.text.startswith(empty, at):
                return at + len(empty)
        end = COMMENT_END.search(self.text, at + 4)
        return end.end() if end else self.cut(at, "comment is never closed")

    def cut(self, at, message):
        """Note a fault that swallows the rest of the text, after which nothing more can be said."""
        self.fault(at, message)
        self.complete = False
        return len(self.text)

    def attributes(self, tag, at):
        """Read to the end of a tag; return where that is, or -1, and whether the element ends there too."""
        text = self.text
        while True:
            gap = GAP.match(text, at)
            at = gap.end()
            if at == len(text):
                return -1, False
            if text[at] == ">":
                return at + 1, gap[0].endswith("/")
            name = ATTRIBUTE.match(text, at)
            # The standard calls this an error; in practice it is always one quote too many or too few.
            if re.search("[\"'<]", name[0]):
                self.fault(tag, f"a quote or an end is missing or out of place before {name[0][:40]!r}")
                self.complete = False
            at = name.end()
            equals = EQUALS.match(text, at)
            if not equals:
                continue
            at = equals.end()
            quote = text[at : at + 1]
            if quote in ('"', "'"):
                end = text.find(quote, at + 1)
                if end < 0:
                    return -1, False
                at = end + 1
            else:
                at = BARE.match(text, at).end()

    def raw(self, name, at, begin):
        """Skip text that contains no tags but the one that ends it."""
        end = re.compile(rf"</{name}(?=[\s/>])", re.I).search(self.text, begin)
        if not end:
            return self.cut(at, f"<{name}> is never closed")
        inside = self.text[begin : end.start()]
        # Such a script ends by other rules, which are not used today.
        if name == "script" and "<!--" in inside and re.search(r"<script[\s/>]", inside, re.I):
            raise Skipped("a script inside a comment of a script")
        after, _ = self.attributes(end.start(), end.end())
        return after if after >= 0 else self.cut(end.start(), f"the tag </{name} is never closed")

    def close(self, name, at):
        if name in VOID or name in OPTIONAL:
            return
        if not self.counts.get(name):
            if self.complete and name not in self.alone:
                self.fault(at, f"</{name}> ends nothing")
            return
        while True:
            top, where = self.open.pop()
            self.counts[top] -= 1
            if top == name:
                return
            if self.complete:
                self.fault(where, f"<{top}> is not closed before </{name}>")


def check_html(path, data):
    text = decode(data)
    if TEMPLATE.search(text):
        raise Skipped("a template of HTML")
    # A value may contain quotes of its own. Masking it moves nothing.
    text = VALUE.sub(lambda m: re.sub(r"[^\n]", "x", m[0]), text)
    page = Page(text)
    page.read()
    found = []
    for where, message in sorted(page.found):
        line = text.count("\n", 0, where) + 1
        found.append(finding("html-syntax", line, where - text.rfind("\n", 0, where), message))
    return found


def decode(data):
    """Decode the bytes. Those that cannot be read change only letters, never a tag."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
