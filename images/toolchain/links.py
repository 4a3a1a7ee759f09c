"""Find references in static pages to files of the workspace that do not exist.

Standard input is a JSON list of HTML and CSS files relative to the current
directory. Standard output is one JSON document in the form of syntax.py's,
with the rules broken-link and broken-fragment.

Only what is certain is reported: a reference with a usual extension, relative
to its own file, or from the root of a site to a file that no directory has.
A template is skipped. In a page with scripts, fragments are not judged.

Run as `python3 -I -S -B links.py`. It opens nothing but the files of the list,
files called .gitignore and agent.toml.
"""

import fnmatch
import json
import os
import posixpath
import re
import sys
import tomllib
import urllib.parse
from html.parser import HTMLParser

# Only the image's own directory is added, for the parts of this program.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syntax_answer import Skipped, finding  # noqa: E402
from syntax_html import TEMPLATE, decode  # noqa: E402

MAX_SIZE = 2 << 20  # bytes
MAX_FINDINGS = 200  # in one file
EXTENSIONS = set(
    ".html .htm .css .js .mjs .png .jpg .jpeg .gif .svg .webp .avif .ico .woff .woff2 .ttf .otf .pdf .mp4 .webm .mp3 .ogg"
    .split()
)
# The attributes that hold references, by element. The rel of a link says what it is.
REFERENCES = {
    "a": ["href"], "area": ["href"], "link": ["href"], "script": ["src"], "img": ["src", "srcset"],
    "source": ["src", "srcset"], "video": ["src", "poster"], "audio": ["src"], "track": ["src"], "iframe": ["src"],
    "embed": ["src"], "object": ["data"], "input": ["src"],
}  # fmt: skip
RELATIONS = {"stylesheet", "icon", "shortcut", "apple-touch-icon", "preload", "modulepreload", "manifest"}
# Directories that a build or an installation fills.
GENERATED = {"dist", "build", "out", "target", "node_modules", "bower_components", "vendor", "_site", "generated"}
CSS = re.compile(
    r"/\*.*?(?:\*/|\Z)|@import\s++[\"']([^\"'\n]+)[\"']|url\(\s*+(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\"'()\s]*+))\s*+\)", re.S
)
ODD = re.compile(r"[{}$<>\[\]|\\`\n]|^\s*$")


class Page(HTMLParser):
    """The references, names and scripts of one page."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.references, self.names, self.scripted, self.moved = [], set(), False, False

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in reversed(attributes)}
        self.names.update(given[k] for k in ("id", "name") if k in given)
        self.scripted |= tag == "script" or any(k.startswith("on") for k in given)
        self.moved |= tag == "base"
        if tag == "link" and not RELATIONS & set(given.get("rel", "").lower().split()):
            return
        line, column = self.getpos()
        for attribute in REFERENCES.get(tag, []):
            text = given.get(attribute, "")
            parts = [p.split()[0] for p in re.split(r",\s", text) if p.split()] if attribute == "srcset" else [text]
            self.references += [(line, column + 1, part.strip()) for part in parts]


def read_page(text):
    if TEMPLATE.search(text) or "{{" in text:
        raise Skipped("a template")
    page = Page()
    page.feed(text)
    page.close()
    return page


class Site:
    """The files of the workspace, as references name them."""

    def __init__(self):
        self.files = []
        for root, directories, names in os.walk("."):
            directories[:] = [d for d in directories if d not in (".git", "node_modules")]
            self.files += ["/" + posixpath.normpath(posixpath.join(root, n)) for n in names]
        self.text = "\n".join(self.files) + "\n"
        self.ignored = ignored()

    def lacks(self, page, reference):
        """Return the file that a reference in page names, if it does not exist, or None."""
        if ODD.search(reference):
            return None
        try:
            url = urllib.parse.urlsplit(reference)
            path = urllib.parse.unquote(url.path, errors="strict")
        except ValueError:
            return None
        if url.scheme or url.netloc or posixpath.splitext(path)[1].lower() not in EXTENSIONS or "\0" in path:
            return None
        if path.startswith("/"):
            # Any directory may be the root of the site, which may be served below a name.
            tail = posixpath.normpath(path).lstrip("/")
            below = tail.partition("/")[2]
            there = any(t and "/" + t + "\n" in self.text for t in (tail, below))
            target = tail
        else:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
            there = target.startswith("..") or os.path.lexists(target) or os.path.lexists(url.path)
        return None if there or self.generated(target) else target

    def generated(self, target):
        """Report whether a build makes a file, or the snapshot leaves it out."""
        parts = target.split("/")
        if GENERATED & set(parts):
            return True
        # The snapshot took a link to a directory as it is: what lies behind it is unknown.
        if any(os.path.islink("/".join(parts[:n])) for n in range(1, len(parts))):
            return True
        return any(fnmatch.fnmatch(part, p) for p in self.ignored for part in (*parts, target))


def ignored():
    """List the patterns of files that no snapshot holds, regardless of patterns that bring some of them back."""
    patterns = []
    for root, directories, names in os.walk("."):
        directories[:] = [d for d in directories if d not in (".git", "node_modules")]
        if ".gitignore" in names:
            data = read(os.path.join(root, ".gitignore"))[0] or b""
            lines = data.decode("utf-8", "replace").splitlines()
            patterns += [line.strip() for line in lines if not line.startswith(("#", "!"))]
    try:
        exclude = tomllib.loads((read("agent.toml")[0] or b"").decode("utf-8")).get("exclude", [])
        patterns += [p for p in exclude if isinstance(p, str)]
    except (ValueError, RecursionError, AttributeError, TypeError):
        pass
    cut = [p.strip("/").removesuffix("/**").removesuffix("/*") for p in patterns[:1000]]
    return [p for c in cut if c for p in (c, c + "/*")]


def check_html(site, path, text):
    page = read_page(text)
    if page.moved:
        raise Skipped("it sets the base of its references")
    found = []
    for line, column, reference in page.references:
        if len(found) >= MAX_FINDINGS:
            break
        target = site.lacks(path, reference)
        if target:
            found.append(finding("broken-link", line, column, f"no such file: {target[:200]} ({reference[:200]})"))
        name = reference[1:]
        # A script may make the element; "top" needs none.
        if reference.startswith("#") and re.fullmatch(r"[\w.-]+", name) and name.lower() != "top" and not page.scripted:
            if name not in page.names:
                found.append(finding("broken-fragment", line, column, f"nothing on the page is named {name[:200]}"))
    return found


def check_css(site, path, text):
    found = []
    for m in CSS.finditer(text):
        if len(found) >= MAX_FINDINGS:
            break
        reference = next((g for g in m.groups() if g), "")
        target = site.lacks(path, reference)
        if target:
            line = text.count("\n", 0, m.start()) + 1
            column = m.start() - text.rfind("\n", 0, m.start())
            found.append(finding("broken-link", line, column, f"no such file: {target[:200]} ({reference[:200]})"))
    return found


def read(path):
    """Return the bytes of a regular file, or the reason for leaving it out."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as e:
        return None, f"not readable: {e.strerror}"
    with os.fdopen(fd, "rb") as f:
        try:
            data = f.read(MAX_SIZE + 1)
        except OSError as e:
            return None, f"not readable: {e.strerror}"
    return (None, "over 2 MiB") if data is None or len(data) > MAX_SIZE else (data, "")


def main():
    answer = {"findings": [], "checked": [], "skipped": [], "trouble": []}
    site = Site()
    for path in json.load(sys.stdin):
        data, reason = read(path)
        try:
            if data is None:
                raise Skipped(reason)
            check = check_css if path.lower().endswith(".css") else check_html
            found = check(site, path, decode(data))
        except Skipped as e:
            answer["skipped"].append({"file": path, "reason": str(e)})
            continue
        answer["findings"] += [{"file": path, **f} for f in found]
        answer["checked"].append(path)
    json.dump(answer, sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
