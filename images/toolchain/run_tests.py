"""Run pytest and record what happened, one JSON object a line, in a file.

    python3 -s run_tests.py RECORD [pytest arguments]

The record is the result; what pytest prints is for people, and a test can
print anything. Records, in the order in which they are written:

    {"kind": "collected", "ids": [...]}
    {"kind": "collect", "id", "outcome", "file", "line", "message"}
    {"kind": "start", "id"}
    {"kind": "test", "outcome", "file", "line", "message"}
    {"kind": "altered", "names": [...]}
    {"kind": "finished", "status": N, "tests": N}

A test record is about the test that started last, or names another in "id".
The outcome of a test is passed, failed, error (in its set-up or tear-down),
skipped or xfailed; that of a collect record is error or skipped. An altered record names
those parts of what runs the tests that are now the workspace's own: see Watched. Without
the finished record the session did not run to its end, whatever its exit status.

AGENT_TEST_FILES lists further files with tests, one a line, besides those that
match the workspace's own patterns. AGENT_TEST_PATHS lists the directory to run pytest
from, and then others that its tests import from, as paths in the workspace, which is
where this starts. IDs and files are relative to the workspace in any case.
AGENT_TEST_PATIENCE is how long a test may wait while nothing runs: see stalled.py.

Installed plugins of pytest are loaded, as pytest does by itself: the image has none,
so they are dependencies of the workspace. Plugins that report, order, spread, repeat,
end or measure tests, or lint, are left out: their work is done in another way here,
and some break the record. If pytest does not start with the plugins, it is started
without them; AGENT_TEST_PLUGINS=off requests that.

The recorder is handed to pytest as an object, so the tests can import nothing
from this directory.
"""

import ast
import builtins
import functools
import importlib.metadata
import json
import linecache
import os
import re
import signal
import site
import sys
import types

MAX_MESSAGE = 600  # characters
COMMANDS = "/tmp/agent-commands"
APART = re.compile(
    r"(?:^|[-_.])(?:cov|xdist|looponfail|randomly|random|reverse|order|ordering|sugar|html|\w*report\w*|timeout|rerunfailures|retry|flaky|forked|instafail"
    r"|testmon|picked|splits?|shard|parallel|clarity|pretty|icdiff|tap|allure|memray|codspeed|profiling|monitor|mypy|flake8|ruff|black|pycodestyle"
    r"|isort|pylint|nbval|repeat|spec|emoji|qt|twisted|nunit|github|azurepipelines|watch|xvfb)(?:$|[-_.])"
)
WATCHED = ("_pytest", "pluggy", "unittest")
MOST_ALTERED = 20
MOST_PATHS = 256  # remembered at once
BLOCK = re.compile(r"(?:async\s+)?(?:def|class)\b")
FRAME = re.compile(r'^(?:E\s+)?(?:File "([^"\n]+)", line (\d+)|([^\s:]+):(\d+): )', re.M)


class Watched:
    """What decides how a test ends, as it was before anything of the workspace was loaded: functions of pytest,
    pluggy, unittest and the recorder, and the builtins.

    Code under test runs in the process of its tests, and can put its own in their place.
    """

    def __init__(self, top):
        self.top = top + os.sep
        self.kept = []
        for name, module in sorted(sys.modules.items()):
            if name.partition(".")[0] in WATCHED and not name.startswith("unittest.mock"):
                self.keep(name, module)
        self.keep_members("agent.Recorder", Recorder)
        self.kept += [(builtins, "builtins", key, value, None) for key, value in vars(builtins).items() if callable(value)]

    def keep(self, name, module):
        for key, value in list(vars(module).items()):
            if getattr(value, "__module__", None) != name:
                continue
            if isinstance(value, type):
                self.keep_members(f"{name}.{key}", value)
            elif isinstance(value, types.FunctionType):
                self.kept.append((module, name, key, value, value.__code__))

    def keep_members(self, name, owner):
        for key, value in list(vars(owner).items()):
            if isinstance(value, (types.FunctionType, staticmethod, classmethod, property)):
                self.kept.append((owner, name, key, value, getattr(value, "__code__", None)))

    def altered(self):
        """Yield the names of those that are now the workspace's own. Installed packages may replace anything."""
        for owner, name, key, value, code in self.kept:
            now = vars(owner).get(key)
            if (now is not value or getattr(now, "__code__", None) is not code) and not self.installed(now):
                yield f"{name}.{key}"

    def installed(self, value):
        value = getattr(value, "__func__", getattr(value, "fget", value))
        path = getattr(getattr(value, "__code__", None), "co_filename", "")
        return os.path.isfile(path) and not os.path.realpath(path).startswith(self.top)

    def plugins(self, manager):
        """Yield the files of the workspace that hook into pytest, except conftest.py, which is known by its name."""
        for plugin in manager.get_plugins():
            module = plugin if isinstance(plugin, types.ModuleType) else sys.modules.get(type(plugin).__module__)
            path = os.path.realpath(getattr(module, "__file__", None) or "")
            if path.startswith(self.top) and os.path.basename(path) != "conftest.py" and manager.get_hookcallers(plugin):
                yield "plugin " + path[len(self.top) :]


class Recorder:
    def __init__(self, path):
        self.out = open(path, "x", encoding="utf-8", errors="backslashreplace")
        self.top = os.getcwd()
        paths = os.environ.pop("AGENT_TEST_PATHS", ".").splitlines()
        self.paths = [os.path.normpath(os.path.join(self.top, path)) for path in paths]
        self.root = self.paths[0]
        self.owner = os.getpid()
        self.started = ""
        self.worst = {}  # nodeid: record of the worst phase so far
        self.tests = 0
        self.files = os.environ.pop("AGENT_TEST_FILES", "").splitlines()
        self.watched, self.altered, self.manager = None, {}, None

    def watch(self):
        for found in (self.watched.altered(), self.watched.plugins(self.manager)):
            self.altered.update(dict.fromkeys(found))

    def pytest_configure(self, config):
        self.manager = config.pluginmanager
        for path in self.files:
            config.addinivalue_line("python_files", os.path.join(self.top, path))

    def write(self, kind, **fields):
        # A test may fork; only the process that pytest runs in records.
        if os.getpid() == self.owner:
            self.out.write(json.dumps({"kind": kind, **fields}) + "\n")
            self.out.flush()

    def pytest_collection_finish(self, session):
        # The same examples are tried before a patch and with it: a failure found only by chance is not the patch's.
        core = sys.modules.get("hypothesis.core")
        if core is not None and getattr(core, "global_force_seed", 0) is None:
            core.global_force_seed = 0
        self.watch()
        self.write("collected", ids=[self.named(item.nodeid) for item in session.items])

    def pytest_collectreport(self, report):
        if report.failed or report.skipped:
            outcome = "error" if report.failed else "skipped"
            self.write("collect", id=self.named(report.nodeid), outcome=outcome, **self.crash(report))

    def pytest_runtest_logstart(self, nodeid, location):
        # Check now and then, since a replaced function may be put back before the end.
        if self.tests & (self.tests - 1) == 0:
            self.watch()
        self.started = self.named(nodeid)
        self.write("start", id=self.started)

    def pytest_runtest_logreport(self, report):
        outcome = self.outcome(report)
        best = ("passed", "skipped", "xfailed", "failed", "error")
        old = self.worst.get(report.nodeid)
        if outcome and (old is None or best.index(outcome) > best.index(old["outcome"])):
            where = self.crash(report) if outcome != "passed" else {}
            self.worst[report.nodeid] = {"outcome": outcome, **where}
        if report.when == "teardown":
            self.tests += 1
            done = self.worst.pop(report.nodeid, {"outcome": "error", "message": "no result"})
            name = self.named(report.nodeid)
            self.write("test", **({} if name == self.started else {"id": name}), **done)

    def pytest_sessionfinish(self, session, exitstatus):
        self.watch()
        if self.altered:
            self.write("altered", names=list(self.altered)[:MOST_ALTERED])
        self.write("finished", status=int(exitstatus), tests=self.tests)

    def named(self, nodeid):
        """Return an ID of pytest, which is relative to its root, as one relative to the workspace."""
        if self.root == self.top:
            return nodeid
        file, cut, rest = nodeid.partition("::")
        return os.path.relpath(os.path.join(self.root, file), self.top) + cut + rest

    def outcome(self, report):
        if report.failed:
            return "failed" if report.when == "call" else "error"
        if report.skipped:
            return "xfailed" if hasattr(report, "wasxfail") else "skipped"
        return "passed" if report.when == "call" else ""

    def crash(self, report):
        """Return where and why it failed: the last frame inside the workspace, and the exception's line."""
        long = report.longrepr
        if isinstance(long, tuple) and len(long) == 3:  # a skip: file, line, reason
            return {"file": self.relative(long[0]), "line": long[1], "message": str(long[2])[:MAX_MESSAGE]}
        where, message = {"file": "", "line": 0}, ""
        crash = getattr(long, "reprcrash", None)
        if crash is not None:
            message = crash.message
            where = {"file": self.relative(crash.path), "line": crash.lineno}
        if not where["file"]:
            where = self.last_frame(long) or self.last_mention(report.longreprtext) or where
        if not message:
            text = report.longreprtext.strip().splitlines()
            marked = [line[1:].strip() for line in text if line.startswith("E ")]
            message = marked[-1] if marked else (text[-1] if text else "")
        return {**where, "message": message.strip()[:MAX_MESSAGE]}

    def last_frame(self, long):
        found = None
        for entry in getattr(getattr(long, "reprtraceback", None), "reprentries", []):
            place = getattr(entry, "reprfileloc", None)
            path = self.relative(place.path) if place else ""
            if path:
                found = {"file": path, "line": place.lineno}
        return found

    def last_mention(self, text):
        """Find the place in a report that pytest keeps only as text, as it does for modules."""
        found = None
        for m in FRAME.finditer(text):
            path = self.relative(m[1] or m[3])
            if path:
                found = {"file": path, "line": int(m[2] or m[4])}
        return found

    def relative(self, path):
        """Return the path inside the workspace, or "" if it is elsewhere."""
        path = os.path.normpath(os.path.join(self.root, str(path)))
        inside = path.startswith(self.top + os.sep)
        return path[len(self.top) + 1 :] if inside else ""


def read_blocks():
    """Make pytest parse only the function or class in which a test failed, not the whole file: parsing is most of the
    work of reporting a failure. If pytest lacks the functions that this replaces, it works as usual.
    """
    try:
        from _pytest._code import code, source

        range_of, statement_at, path_from = code.getstatementrange_ast, source.get_statement_startend2, code.bestrelpath
        text_of, lines_in = code.findsource, source.Source
    except (ImportError, AttributeError):
        return

    @functools.wraps(range_of)
    def range_in_block(lineno, text, assertion=False, astnode=None):
        return range_of(lineno, text, assertion, block_at(text.lines, lineno))

    @functools.wraps(statement_at)
    def statement_in_block(lineno, node):
        if not hasattr(node, "bottom"):
            return statement_at(lineno, node)
        starts = set()
        for part in ast.walk(node):
            if isinstance(part, (ast.stmt, ast.ExceptHandler)):
                starts.add(part.lineno - 1)
                starts.update(decorator.lineno - 1 for decorator in getattr(part, "decorator_list", ()))
                # The lines of "else" and "finally" are beginnings too.
                starts.update(block[0].lineno - 2 for block in (getattr(part, "orelse", ()), getattr(part, "finalbody", ())) if block)
        return max(n for n in starts if n <= lineno), min((n for n in starts if n > lineno), default=node.bottom)

    @functools.wraps(text_of)
    def text_of_file(obj):
        # Python would first look for the module of the file, and for that at the files of all modules.
        if not isinstance(obj, types.CodeType):
            return text_of(obj)
        linecache.checkcache(obj.co_filename)
        lines = linecache.getlines(obj.co_filename)
        if not lines:
            return text_of(obj)
        text = lines_in()
        text.lines = [line.rstrip() for line in lines]
        return text, obj.co_firstlineno - 1

    code.findsource = text_of_file
    code.getstatementrange_ast, source.get_statement_startend2 = range_in_block, statement_in_block
    code.bestrelpath = functools.lru_cache(MOST_PATHS)(path_from)


def block_at(lines, lineno):
    """Return the tree of the function or class at the top of a file that holds a line. Its attribute "bottom" is the line after it,
    or None at the end of the file. Return None if there is none, or if its indentation does not show its extent."""

    def begins(n):
        return lines[n][:1] not in ("", " ", "\t", "\f", "#")

    top = next(filter(begins, range(lineno, -1, -1)), lineno)
    if top == lineno or not BLOCK.match(lines[top]):
        return None
    bottom = next(filter(begins, range(lineno + 1, len(lines))), None)
    try:
        tree = ast.parse("\n".join(lines[top:bottom]))
    except (SyntaxError, ValueError):
        return None
    ast.increment_lineno(tree, top)
    tree.bottom = bottom
    return tree


def plugins():
    """Return the options that load the installed plugins, by the names of their entry points."""
    if os.environ.pop("AGENT_TEST_PLUGINS", "") == "off":
        return []
    names = {e.name for e in importlib.metadata.entry_points(group="pytest11")}
    return ["-p" + name for name in sorted(names) if re.fullmatch(r"[\w.-]+", name) and not APART.search(name)]


def install_project(paths):
    """Give the programs that tests start what an editable install of the workspace's project would: its commands, before others,
    and its modules, after others. PYTHONPATH alone is lost if a test sets its own."""
    own = {"__name__": "agent_own_metadata"}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "own_metadata.py"), encoding="utf-8") as f:
        exec(compile(f.read(), f.name, "exec"), own)  # not imported, like everything in this directory
    try:
        if own["write_scripts"](COMMANDS, paths):
            os.environ["PATH"] = COMMANDS + os.pathsep + os.environ.get("PATH", os.defpath)
        if own["roots"]():
            place = site.getusersitepackages()
            os.makedirs(place, exist_ok=True)
            with open(os.path.join(place, "workspace.pth"), "w", encoding="utf-8") as f:
                f.writelines(path + "\n" for path in paths if "\n" not in path)
    except Exception as e:  # its tests run, whatever a workspace holds
        print(f"install the project: {e}", file=sys.stderr)


def end_stalled(record):
    """Have stalled.py, which is not a child of this process, interrupt a test that waits for something that never comes."""
    number = signal.SIGRTMIN + 9

    def interrupt(*_):
        from _pytest.outcomes import Failed

        raise Failed("interrupted: it was waiting, and nothing in its box was running")

    signal.signal(number, interrupt)
    command = [sys.executable, "-I", "-S", "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)), "stalled.py")]
    command += [str(os.getpid()), str(int(number)), os.path.abspath(record), *filter(None, [os.environ.pop("AGENT_TEST_PATIENCE", "")])]
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                null = os.open(os.devnull, os.O_RDWR)
                for fd in range(3):
                    os.dup2(null, fd)
                os.execv(command[0], command)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def main():
    env, top = dict(os.environ), os.getcwd()
    recorder = Recorder(sys.argv[1])
    end_stalled(sys.argv[1])
    # pytest is imported from where it is installed, whatever the workspace's files
    # are called; after that the workspace comes first, as with `python3 -m pytest`.
    del sys.path[0]
    try:
        import pytest
    except ImportError as e:
        print(f"pytest: {e}", file=sys.stderr)
        return 127
    read_blocks()
    recorder.watched = Watched(recorder.top)
    # The workspace is not on the path yet, so its own metadata loads nothing.
    loaded = plugins()
    os.chdir(recorder.root)
    roots = recorder.paths
    if recorder.root == recorder.top and os.path.isdir(os.path.join(recorder.root, "src")):
        roots.append(os.path.join(recorder.root, "src"))
    sys.path[:0] = roots
    os.environ["PYTHONPATH"] = os.pathsep.join(roots)  # for programs that tests start
    install_project(roots)
    try:
        code = pytest.main(loaded + sys.argv[2:], plugins=[recorder])
    finally:
        # If warnings are errors, a file that is left open would have the last
        # word and override what pytest itself said.
        recorder.out.close()
    if loaded and code == pytest.ExitCode.USAGE_ERROR and not os.path.getsize(sys.argv[1]):
        os.remove(sys.argv[1])
        os.chdir(top)
        os.execve(sys.executable, [sys.executable, "-s", "-B", *sys.argv], {**env, "AGENT_TEST_PLUGINS": "off"})
    return code


if __name__ == "__main__":
    sys.exit(main())
