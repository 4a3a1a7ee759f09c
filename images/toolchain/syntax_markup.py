"""Find faults in YAML and XML files. No reference is followed: a file that is named is never opened.

YAML is read as a stream of events, so an alias is a name and not a copy of its
target; no values are made, and tags mean nothing. XML is read by expat, which
bounds how far entities grow and opens none from outside.
"""

import re
import sys
from xml.parsers import expat

from syntax_answer import Skipped, Trouble, finding

# -S leaves out Debian's directory of modules, which has the YAML parser.
MODULES = "/usr/lib/python3/dist-packages"
MAX_DEPTH = 500  # of YAML collections

# A value or a line that a template engine fills in before the file is read as
# YAML (Helm, Jinja, ERB). The "${{" of workflows is a plain value.
YAML_TEMPLATE = re.compile(r"^[ \t]*(?:-[ \t]+)?(?:\{\{|\{%|\{#|<%)|:[ \t]+\{\{", re.M)
XML_TEMPLATE = re.compile(rb"\{\{|\{%|<%|<\?php|<\?=|\$\{")


def load_yaml():
    if MODULES not in sys.path:
        sys.path.append(MODULES)
    try:
        import yaml
    except ImportError as e:
        raise Trouble(f"yaml: {e}") from e
    # The pure Python parser takes a minute for what libyaml reads in a second.
    if not yaml.__with_libyaml__:
        raise Trouble("yaml: built without libyaml")
    return yaml


def check_yaml(path, data):
    yaml = load_yaml()
    found = []
    try:
        walk_yaml(yaml, yaml.parse(data, Loader=yaml.CSafeLoader), found)
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        message = "; ".join(part for part in (e.context, e.problem) if part)
        found.append(finding("yaml-syntax", *(place(mark) if mark else (0, 0)), message))
    except yaml.reader.ReaderError as e:
        line = data.count(b"\n", 0, e.position) + 1
        found.append(finding("yaml-syntax", line, 0, "not text, or a control character in it"))
    # A block of text may look the same, which is no reason to skip a sound file.
    if found and ("{{" in path or YAML_TEMPLATE.search(data.decode("utf-8", "replace"))):
        raise Skipped("a template of YAML")
    return found


def place(mark):
    return mark.line + 1, mark.column + 1


def walk_yaml(yaml, events, found):
    """Collect what the grammar allows but every reader refuses: keys given twice, and aliases of nothing."""
    resolve = yaml.resolver.Resolver().resolve
    stack = []  # of open collections: None for a list, else [keys so far, whether the next node is a key]
    anchors = set()
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            anchors = set()
        if not isinstance(event, (yaml.NodeEvent, yaml.CollectionEndEvent)):
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
            continue
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                found.append(finding("yaml-syntax", *place(event.start_mark), f"alias of nothing: *{event.anchor}"))
        elif event.anchor is not None:
            anchors.add(event.anchor)
        mapping = stack[-1] if stack else None
        if mapping is not None:
            if mapping[1] and isinstance(event, yaml.ScalarEvent):
                note_key(yaml, resolve, mapping[0], event, found)
            mapping[1] = not mapping[1]
        if isinstance(event, yaml.CollectionStartEvent):
            if len(stack) == MAX_DEPTH:
                found.append(finding("yaml-syntax", *place(event.start_mark), "nested too deeply"))
                return
            stack.append([{}, True] if isinstance(event, yaml.MappingStartEvent) else None)


def note_key(yaml, resolve, keys, event, found):
    # Two merges into one mapping are unusual, but their meaning is clear.
    if event.value == "<<":
        return
    # 1 and "1" are different keys.
    key = (event.tag or resolve(yaml.ScalarNode, event.value, event.implicit), event.value)
    line, column = place(event.start_mark)
    if key in keys:
        found.append(finding("yaml-syntax", line, column, f"key given twice: {event.value[:100]}, first on line {keys[key]}"))
    keys.setdefault(key, line)


def check_xml(path, data):
    # A browser refuses a drawing with an undeclared prefix. Elsewhere a prefix may mean nothing.
    separator = " " if path.lower().endswith(".svg") else None
    parser = expat.ParserCreate(namespace_separator=separator)
    try:
        parser.Parse(data, True)
    except expat.ExpatError as e:
        message = expat.errors.messages.get(e.code, "not well-formed")
        if message in (expat.errors.XML_ERROR_UNKNOWN_ENCODING, expat.errors.XML_ERROR_INCORRECT_ENCODING):
            raise Skipped("the parser does not know its encoding") from e
        if XML_TEMPLATE.search(data):
            raise Skipped("a template of XML") from e
        return [finding("xml-syntax", e.lineno, e.offset + 1, message)]
    except (ValueError, LookupError) as e:  # an encoding that Python knows and expat cannot use
        raise Skipped("the parser does not know its encoding") from e
    return []
