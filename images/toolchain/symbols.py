"""List what files define, import and refer to, without running or importing any of them.

Standard input is a JSON list of paths relative to the current directory.
Standard output is one JSON object a line, one line for every path:

    {"path", "language", "sha256", "lines", "summary",
     "imports":     [{"module", "name", "alias", "line", "export"}],
     "definitions": [{"name", "kind", "parent", "line", "end", "signature", "digest", "exported"}],
     "references":  [{"name", "on", "lines"}],
     "problem"}

A file that cannot be read or parsed gets a problem, and the others are still scanned.
The Go types in orchestrator/ledger document the meaning of every field.

Run as `python3 -I -S -B symbols.py`: isolated from the environment, from the
current directory and from site. Nothing in the scanned tree configures it.
"""

import hashlib
import json
import os
import re
import signal
import stat
import sys

# Only the image's own directory is added, for the parts of this program.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import languages  # noqa: E402
import symbols_lex  # noqa: E402
import symbols_markup  # noqa: E402
import symbols_python  # noqa: E402

MAX_SIZE = 1 << 20  # bytes; larger files are data, not source
FILE_SECONDS = 5  # of processor time, for one file
MAX_DEFINITIONS = 10_000  # in one file, as are the next two
MAX_REFERENCES = 20_000
MAX_IMPORTS = 5_000
MAX_LINES = 20  # of one reference
MAX_NAME = 200  # characters
MAX_TEXT = 300  # characters of a signature or summary

PARSERS = {
    "python": symbols_python.scan,
    "javascript": symbols_lex.scan_script,
    "typescript": symbols_lex.scan_script,
    "go": symbols_lex.scan_go,
    "html": symbols_markup.scan_html,
    "css": symbols_markup.scan_css,
    "json": symbols_markup.scan_json,
    "shell": symbols_markup.scan_shell,
}
BY_NAME = {
    "go.mod": ("module", symbols_markup.scan_go_mod),
    "package.json": ("module", symbols_markup.scan_package),
}


class Late(BaseException):
    """Raised when the time for one file is over. It is not an Exception, so that no parser swallows it."""


def late(signum, frame):
    raise Late


def read(path):
    """Return the bytes of a regular file, or the reason for leaving it out."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None, "absent"
    except (OSError, ValueError) as e:
        return None, f"not readable: {getattr(e, 'strerror', e)}"
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            return None, "not a regular file"
        if info.st_size > MAX_SIZE:
            return None, "over 1 MiB"
        with os.fdopen(os.dup(fd), "rb") as f:
            return f.read(MAX_SIZE + 1), ""
    finally:
        os.close(fd)


def parser(path, data):
    """Choose a parser by name and extension. If these say nothing, a script's first line decides."""
    named = BY_NAME.get(os.path.basename(path))
    if named:
        return named
    language = languages.by_name(path)
    if language not in PARSERS:
        language = languages.by_first_line(data)
    return (language, PARSERS[language]) if language in PARSERS else None


def scan(path):
    """Return the answer for one file."""
    answer = {"path": path}
    data, reason = read(path)
    if data is None:
        return {**answer, "problem": reason}
    answer["sha256"] = hashlib.sha256(data).hexdigest()
    answer["lines"] = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    chosen = parser(path, data)
    if chosen is None:
        return {**answer, "problem": "no parser for this kind of file"}
    answer["language"], parse = chosen
    found = symbols_lex.Found()
    signal.setitimer(signal.ITIMER_VIRTUAL, FILE_SECONDS)
    try:
        parse(data, found)
    except Late:
        answer["problem"] = f"not parsed in {FILE_SECONDS} seconds"
    except SyntaxError as e:
        answer["problem"] = plain(f"line {e.lineno or 0}: {e.msg}")
    except (RecursionError, MemoryError):
        answer["problem"] = "nested too deeply"
    except ValueError as e:
        answer["problem"] = plain(str(e))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return {**answer, **bounded(found)}


def bounded(found):
    """Cut the findings to their bounds, and leave out names that are too long to be names."""
    definitions = [d for d in found.definitions if d["name"] and name(d["name"]) and name(d["parent"])]
    for d in definitions:
        d["signature"] = plain(d["signature"])
    return {
        "summary": plain(found.summary),
        "imports": [i for i in found.imports if all(map(name, (i["module"], i["name"], i["alias"])))][:MAX_IMPORTS],
        "definitions": definitions[:MAX_DEFINITIONS],
        "references": [
            {"name": word, "on": on, "lines": sorted(lines)[:MAX_LINES]}
            for (word, on), lines in list(found.references.items())[:MAX_REFERENCES]
            if word and name(word) and name(on)
        ],
    }


# Control characters and directional overrides make text read as something else.
HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text):
    """Return text on one line, without invisible characters, cut to its bound."""
    return HIDDEN.sub("", " ".join(text.split()))[:MAX_TEXT]


def name(text):
    """Report whether text may be a name: short, and without hidden characters."""
    return len(text) <= MAX_NAME and not HIDDEN.search(text)


def encode(answer):
    # Surrogates, from undecodable names or escapes in strings, are not text.
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def work(paths, out):
    """Scan paths in this process, and write each answer as soon as it is there."""
    signal.signal(signal.SIGVTALRM, late)
    for path in paths:
        try:
            line = encode(scan(path))
        except Exception as e:  # a fault in a parser costs one file
            line = encode({"path": path, "problem": plain(f"{type(e).__name__}: {e}")})
        out.write(line)
        out.flush()


class Worker:
    """A child that scans its share of the paths; its answers come through a pipe."""

    def __init__(self, paths):
        self.paths = paths
        reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reader)
            with os.fdopen(writer, "wb") as out:
                work(paths, out)
            os._exit(0)
        os.close(writer)
        self.pipe = os.fdopen(reader, "rb")

    def copy(self, out):
        """Pass on the complete lines. Return the paths that were not answered."""
        done = 0
        for line in self.pipe:
            if line.endswith(b"\n"):
                out.write(line)
                done += 1
        self.pipe.close()
        os.waitpid(self.pid, 0)
        return self.paths[done:]


def main():
    paths = json.load(sys.stdin)
    count = max(1, min(len(os.sched_getaffinity(0)), len(paths) // 16))
    workers = [Worker(paths[i::count]) for i in range(count)]
    out = sys.stdout.buffer
    while workers:
        worker = workers.pop(0)
        rest = worker.copy(out)
        if rest:  # the first of them killed the child; the others get a new one
            out.write(encode({"path": rest[0], "problem": "the parser died"}))
            workers.append(Worker(rest[1:]))


if __name__ == "__main__":
    main()
