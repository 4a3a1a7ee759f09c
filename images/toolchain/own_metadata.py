"""Present the workspace's own distributions to importlib.metadata: nothing installs them in a box.

    distributions(context)
    write_scripts(directory, paths)

The first is what a finder answers with (docs.python.org/3/library/importlib.metadata, "Extending the search algorithm"); trace.pth adds one
to every interpreter of a box. The second makes the commands of a project, as pip does when it installs one, for tests that start them.

Installed distributions are found first. Names, versions and entry points come from pyproject.toml, setup.cfg and setup.py in the
workspace's directory and up to two levels below; none of them is run. A version that only a build determines is looked for in the project's
modules, or else is 0.0.0. Only the project in the workspace's own directory has entry points, to modules that exist: those of other
projects would not be found. Entry points of pytest are left out: a patch that adds one would have its code in pytest before any test.
"""

import configparser
import functools
import glob
import importlib.metadata
import os
import pathlib
import re

WORK = "/work"
MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py")
LEFT_OUT = "pytest11"
MAX_FILE = 1 << 20  # bytes
MAX_PROJECTS = 100
VERSION_FILES = ("__init__.py", "_version.py", "version.py", "__version__.py", "__about__.py", "about.py")
VERSION = re.compile(r"""^(?:__version__|version|VERSION|__VERSION__)\s*(?::\s*\w+\s*)?=\s*['"]([^'"\n]{1,100})['"]""", re.M)


class Own(importlib.metadata.Distribution):
    """A distribution without installed files."""

    def __init__(self, root, texts):
        self.root, self.texts = root, texts

    def read_text(self, filename):
        return self.texts.get(filename)

    def locate_file(self, path):
        return pathlib.Path(self.root) / path


def distributions(context=None):
    """Yield those that match the name in a context, or all without one. There are none if the context names other places to look in."""
    if context is not None and "path" in vars(context):
        return
    wanted = getattr(context, "name", None)
    for root in roots():
        try:
            project = read(root)
        except Exception:  # nothing that a workspace holds is a reason to fail
            continue
        if project["name"] and (wanted is None or plain(project["name"]) == plain(wanted)):
            yield Own(root, texts(root, project))


@functools.cache
def roots():
    """Return the directories with a manifest. They are looked for once in a process, since many callers ask many times."""
    found = set()
    for above in ("", "*/", "*/*/"):
        for name in MANIFESTS:
            found.update(map(os.path.dirname, glob.iglob(f"{WORK}/{above}{name}")))
    return sorted(found, key=lambda root: (root.count("/"), root))[:MAX_PROJECTS]


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def text(*path):
    name = os.path.join(*path)
    if not os.path.isfile(name) or os.path.getsize(name) > MAX_FILE:
        return ""
    with open(name, encoding="utf-8", errors="replace") as f:
        return f.read()


def read(root):
    """Return what the manifests of one directory say. The first that sets a field decides."""
    project = {"name": "", "version": "", "summary": "", "groups": {}}
    place = ""
    if found := text(root, "pyproject.toml"):
        import tomllib

        doc = tomllib.loads(found)
        own, tool = doc.get("project", {}), doc.get("tool", {})
        poetry = tool.get("poetry", {})
        for key, name in ("name", "name"), ("version", "version"), ("summary", "description"):
            project[key] = str(own.get(name) or poetry.get(name) or "")
        groups = {**own.get("entry-points", {}), **poetry.get("plugins", {}), "console_scripts": {**poetry.get("scripts", {}), **own.get("scripts", {})}}
        groups["gui_scripts"] = own.get("gui-scripts", {})
        project["groups"] = {g: {k: str(v) for k, v in points.items()} for g, points in groups.items()}
        place = str(tool.get("hatch", {}).get("version", {}).get("path") or tool.get("pdm", {}).get("version", {}).get("path") or "")
    if found := text(root, "setup.cfg"):
        config = configparser.RawConfigParser(strict=False)
        config.read_string(found)
        for key, name in ("name", "name"), ("version", "version"), ("summary", "description"):
            value = config.get("metadata", name, fallback="")
            if not project[key] and not re.match(r"(?:attr|file)\s*:", value):
                project[key] = value
        if config.has_section("options.entry_points"):
            for group, points in config.items("options.entry_points"):
                project["groups"][group] = project["groups"].get(group) or points_of(points.splitlines())
    script = text(root, "setup.py")
    if not project["name"]:
        for key in "name", "version":
            if found := re.search(rf"""\b{key}\s*=\s*['"]([\w.+!-]{{1,100}})['"]""", script):
                project[key] = project[key] or found[1]
    for group, points in written(script).items():
        project["groups"][group] = project["groups"].get(group) or points
    if not re.match(r"v?\d", project["version"]):
        project["version"] = built_version(root, project["name"], place)
    return project


def points_of(lines):
    return dict(re.split(r"\s*=\s*", line.strip(), maxsplit=1) for line in lines if "=" in line)


def written(script):
    """Return the entry points that a setup.py spells out, by group."""
    import ast

    groups = {}
    if "entry_points" not in script:
        return groups
    try:
        named = [node.value for node in ast.walk(ast.parse(script)) if isinstance(node, ast.keyword) and node.arg == "entry_points"]
        for found in map(ast.literal_eval, named):
            if isinstance(found, str):
                config = configparser.RawConfigParser(strict=False, delimiters="=")
                config.optionxform = str
                config.read_string(found)
                found = {group: [f"{name} = {to}" for name, to in config.items(group)] for group in config.sections()}
            for group, lines in found.items():
                groups[group] = points_of(lines.splitlines() if isinstance(lines, str) else lines)
    except Exception:  # of another version of Python, or computed
        pass
    return groups


SCRIPT = """#!{python}
import sys
sys.path[:0] = {paths!r}
from {module} import {first}
sys.exit({call}())
"""


def write_scripts(directory, paths):
    """Write the commands of the project at the workspace's top to directory. They find its modules in paths. Return their names."""
    import sys

    names = []
    for point in (e for own in distributions() if own.root == WORK for e in own.entry_points if e.group in ("console_scripts", "gui_scripts")):
        found = re.fullmatch(r"([\w.]+)\s*:\s*([A-Za-z_][\w.]*)(?:\s*\[.*\])?", point.value)
        if not found or not re.fullmatch(r"\w[\w.+-]*", point.name):
            continue
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, point.name), "w", encoding="utf-8") as f:
            os.fchmod(f.fileno(), 0o755)
            f.write(SCRIPT.format(python=sys.executable, paths=paths, module=found[1], first=found[2].split(".")[0], call=found[2]))
        names.append(point.name)
    return names


def built_version(root, name, place):
    module = re.sub(r"[-.]+", "_", name)
    files = [place] if place else []
    for top in "src", "", "lib":
        for directory in module, module.lower():
            files += [os.path.join(top, directory, f) for f in VERSION_FILES] + [os.path.join(top, directory + ".py")]
    for file in files:
        if found := VERSION.search(text(root, file)):
            return found[1]
    return "0.0.0"


def texts(root, project):
    def line(value):
        return " ".join(value.split())

    def there(to):
        module = re.split(r"[.:\s]", to.strip(), maxsplit=1)[0]
        return root == WORK and any(os.path.exists(os.path.join(root, top, module + end)) for top in ("", "src", "lib") for end in ("/__init__.py", ".py"))

    points = "".join(
        f"[{line(group)}]\n" + "".join(f"{line(name)} = {line(to)}\n" for name, to in names.items() if there(to)) + "\n"
        for group, names in project["groups"].items() if group != LEFT_OUT
    )
    head = f"Metadata-Version: 2.1\nName: {line(project['name'])}\nVersion: {line(project['version'])}\nSummary: {line(project['summary'])}\n"
    return {"METADATA": head, "entry_points.txt": points}
