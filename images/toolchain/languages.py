"""The languages of the files that are read here, from languages.json, which is made from the table in sandbox/workspace/lang."""

import json
import os

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "languages.json"), "rb") as f:
    TABLE = json.load(f)
BY_EXTENSION = {extension: row["id"] for row in TABLE["languages"] for extension in row["extensions"]}
# After these words a slash begins a regular expression.
REGEX_AFTER = set(TABLE["regex_after"])


def by_name(path):
    """Return the language of a file by its extension, or None."""
    return BY_EXTENSION.get(os.path.splitext(path)[1].lower())


def by_first_line(data):
    """Return the language of a script by the line that names its interpreter, or None. A whole word decides, or else part of one."""
    if not data.startswith(b"#!"):
        return None
    line = data[2:400].split(b"\n", 1)[0].decode("utf-8", "replace")
    words = [word.rsplit("/", 1)[-1].rstrip("0123456789.") for word in line.split()]
    for fits in (lambda word, name: word == name, lambda word, name: len(name) > 3 and name in word):
        for row in TABLE["languages"]:
            if any(fits(word, name) for name in row["shebangs"] for word in words):
                return row["id"]
    return "shell" if any(word.endswith("sh") for word in words) else None
