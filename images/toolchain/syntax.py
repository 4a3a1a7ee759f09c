"""Report syntax errors in files, without running or importing any of them.

Standard input is a JSON list of paths relative to the current directory.
Standard output is one JSON document:

    {"findings": [{"file", "line", "column", "rule", "message"}],
     "checked":  ["path", ...],
     "skipped":  [{"file", "reason"}],
     "trouble":  ["a tool that is missing or did not work", ...]}

Every path is in checked or in skipped, so that a reader can tell a complete
answer from a partial one. The exit status is 0 whatever was found: findings
are the answer, not a failure.

Run as `python3 -I -S -B syntax.py`: isolated from the environment, from the
current directory and from site, so that a file named json.py in the checked
tree is never imported.
"""

import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import tomllib
import warnings

# Only the image's own directory is added, for the parts of this program.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import languages  # noqa: E402
from syntax_answer import Skipped, Trouble, finding  # noqa: E402
from syntax_html import check_html  # noqa: E402
from syntax_markup import check_xml, check_yaml  # noqa: E402

MAX_SIZE = 2 << 20  # bytes; larger files are data, not source
TOOL_SECONDS = 20  # for one file, then the tool counts as not working
NODE = "/usr/bin/node"
BASH = "/bin/bash"
# The compiler's parser reads what node does not, in one run for all files.
COMPILED = re.compile(r"\.([cm]?ts|tsx|jsx)$")
# Qt's translations and videos have TypeScript's extension.
OTHER_TS = re.compile(rb"\s*<(\?xml|!DOCTYPE)|[^\n]{,400}\x00", re.S)
COMPILER = "/usr/lib/agent/npm/typescript"
COMPILER_SCRIPT = "/agent/typescript.cjs"
# -S leaves out Debian's directory of modules, which has the CSS parser.
MODULES = "/usr/lib/python3/dist-packages"

# Files that are JSON with comments and trailing commas by their tools' own rules.
JSONC = re.compile(
    r"(^|/)(tsconfig[^/]*|jsconfig[^/]*|devcontainer|pyrightconfig|\.eslintrc|\.swcrc|api-extractor)\.json$"
    r"|(^|/)\.vscode/[^/]+\.json$|\.jsonc$|\.code-workspace$"
)

# V8's messages about a module that it was asked to read as a script.
MODULE_ONLY = re.compile(
    r"Cannot use import statement outside a module|Unexpected token 'export'"
    r"|Cannot use 'import\.meta' outside a module"
    r"|await is only valid in async functions and the top level bodies of modules"
)


def check_python(path, data):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, path, "exec", dont_inherit=True)
    except SyntaxError as e:
        kind = type(e).__name__  # IndentationError and TabError are kinds of it
        text = e.msg if kind == "SyntaxError" else f"{kind}: {e.msg}"
        return [finding("python-syntax", e.lineno, e.offset, text)]
    except ValueError as e:  # null bytes, in older versions
        return [finding("python-syntax", 1, 1, str(e))]
    except (RecursionError, MemoryError):
        return [finding("python-syntax", 1, 1, "nested too deeply to be compiled")]
    return []


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def check_json(path, data):
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        return [finding("json-syntax", data[: e.start].count(b"\n") + 1, 0, "not UTF-8")]
    if JSONC.search(path):
        text = plain_json(text)
    try:
        json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as e:
        return [finding("json-syntax", e.lineno, e.colno, e.msg)]
    except ValueError as e:
        return [finding("json-syntax", 1, 1, str(e))]
    except RecursionError:
        return [finding("json-syntax", 1, 1, "nested too deeply")]
    return []


def plain_json(text):
    """Blank out comments and trailing commas; every line keeps its number."""
    token = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)

    def blank(m):
        return m[0] if m[0][0] == '"' else re.sub(r"[^\n]", " ", m[0])

    text = token.sub(blank, text)
    comma = re.compile(r'"(?:\\.|[^"\\\n])*"|,(?=\s*[\]}])', re.S)
    return comma.sub(lambda m: m[0] if m[0][0] == '"' else " ", text)


def check_toml(path, data):
    try:
        tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as e:
        return [finding("toml-syntax", data[: e.start].count(b"\n") + 1, 0, "not UTF-8")]
    except tomllib.TOMLDecodeError as e:
        at = re.search(r"\(at line (\d+), column (\d+)\)", str(e))
        line, column = (int(at[1]), int(at[2])) if at else (data.count(b"\n") + 1, 0)
        text = re.sub(r" \(at (line \d+, column \d+|end of document)\)$", "", str(e))
        return [finding("toml-syntax", line, column, text)]
    except RecursionError:
        return [finding("toml-syntax", 1, 1, "nested too deeply")]
    return []


def load_css():
    if MODULES not in sys.path:
        sys.path.append(MODULES)
    try:
        import tinycss2
    except ImportError as e:
        raise Trouble(f"tinycss2: {e}") from e
    return tinycss2


def check_css(path, data):
    css = load_css()
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    found = []
    try:
        rules = css.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)
        walk_css(css, rules, found)
        unclosed = unclosed_css(css, text)
    except RecursionError:
        return [finding("css-syntax", 1, 1, "nested too deeply")]
    if unclosed:
        found.append(unclosed)
    unique = {(f["line"], f["column"], f["message"]): f for f in found}
    return list(unique.values())


def walk_css(css, nodes, found):
    """Collect the error nodes among nodes and inside them, where the grammar depends on the place."""
    for node in nodes:
        kind = node.type
        if kind == "error":
            found.append(finding("css-syntax", node.source_line, node.source_column, node.message))
        elif kind in ("qualified-rule", "at-rule"):
            walk_css(css, node.prelude, found)
            if node.content is None:
                continue
            # An at-rule such as @media holds rules, where `a:hover {}` is a
            # selector; a style rule holds declarations, then nested rules.
            inner = css.parse_blocks_contents(node.content, skip_comments=True, skip_whitespace=True)
            if kind == "at-rule":
                rules = css.parse_rule_list(node.content, skip_comments=True, skip_whitespace=True)
                inner = min(inner, rules, key=lambda part: sum(n.type == "error" for n in part))
            walk_css(css, inner, found)
        elif kind == "declaration":
            walk_css(css, node.value, found)
        elif kind in ("() block", "[] block", "{} block"):
            walk_css(css, node.content, found)
        elif kind == "function":
            walk_css(css, node.arguments, found)


def unclosed_css(css, text):
    """Find a block, function or comment that is still open at the end.

    CSS closes them silently, so no parser reports it. The probe is one more
    closing brace: it is itself an error at the top level exactly when nothing
    is open.
    """
    nodes = css.parse_component_value_list(text + "\n}")
    if nodes and nodes[-1].type == "error" and nodes[-1].kind == "}":
        return None
    last = nodes[-1]
    if last.type == "comment":
        return finding("css-syntax", last.source_line, last.source_column, "comment is never closed")
    return finding("css-syntax", last.source_line, last.source_column, "block is never closed")


def run_tool(args):
    try:
        done = subprocess.run(
            args,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TOOL_SECONDS,
            env={"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"},
        )
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Trouble(f"{args[0]}: {e}") from e
    return done.returncode, done.stderr.decode("utf-8", "replace")


def check_javascript(path, data):
    kinds = {".mjs": ["mjs"], ".cjs": ["cjs"]}.get(os.path.splitext(path)[1])
    if kinds is None:
        kinds = ["mjs"] if package_type(path) == "module" else ["cjs", "mjs"]
    for kind in kinds:
        found = node_check(data, kind)
        if not found or not MODULE_ONLY.search(found[0]["message"]):
            return found
    return found


def package_type(path):
    """Return the type that the nearest package.json gives a .js file, "" for none."""
    directory = os.path.dirname(path)
    while True:
        try:
            with open(os.path.join(directory, "package.json"), "rb") as f:
                kind = json.loads(f.read(MAX_SIZE))["type"]
                return kind if isinstance(kind, str) else ""
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return ""
        if not directory:
            return ""
        directory = os.path.dirname(directory)


def node_check(data, kind):
    # A copy in an empty directory: the extension alone decides how node reads it.
    with tempfile.TemporaryDirectory(prefix="syntax-") as directory:
        copy = os.path.join(directory, "file." + kind)
        with open(copy, "wb") as f:
            f.write(data)
        code, stderr = run_tool([NODE, "--check", copy])
    if code == 0:
        return []
    message = re.search(r"^SyntaxError: (.*)$", stderr, re.M)
    if code != 1 or not message:
        raise Trouble(f"node --check: exit status {code}: {stderr.strip()[-300:]}")
    where = re.search(r"^(?:file://)?" + re.escape(copy) + r":(\d+)\n(?:.*\n( *)\^)?", stderr, re.M)
    line = int(where[1]) if where else 0
    column = len(where[2]) + 1 if where and where[2] is not None else 0
    return [finding("javascript-syntax", line, column, message[1])]


def check_compiled(paths, answer):
    """Check all TypeScript and JSX files in one run of the compiler's parser."""
    args = [NODE, COMPILER_SCRIPT, COMPILER, "syntax"]
    try:
        done = subprocess.run(args, input=json.dumps(paths).encode(), capture_output=True, timeout=3 * TOOL_SECONDS)
        said = json.loads(done.stdout)
        findings, checked = said["findings"], said["checked"]
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError) as e:
        raise Trouble(f"typescript: {e}") from e
    if done.returncode != (1 if findings else 0) or sorted(checked) != sorted(paths):
        raise Trouble(f"typescript: exit status {done.returncode} with {len(findings)} findings in {len(checked)} files")
    answer["findings"] += findings
    answer["checked"] += checked


def check_shell(path, data):
    code, stderr = run_tool([BASH, "--norc", "--noprofile", "-n", "--", os.path.abspath(path)])
    found = []
    # The second line of an error quotes the source; only the first one is the message.
    for m in re.finditer(r"^.*?: line (\d+): (.*)$", stderr, re.M):
        if not m[2].startswith("`"):
            found.append(finding("shell-syntax", int(m[1]), 0, m[2]))
    if code != 0 and not found:
        if code not in (1, 2, 126):
            raise Trouble(f"bash -n: exit status {code}: {stderr.strip()[-300:]}")
        found.append(finding("shell-syntax", 0, 0, stderr.strip()[-300:] or "not a shell script"))
    return found


CHECKERS = {
    "python": check_python,
    "json": check_json,
    "jsonc": check_json,
    "toml": check_toml,
    "css": check_css,
    "javascript": check_javascript,
    "shell": check_shell,
    "yaml": check_yaml,
    "xml": check_xml,
    "html": check_html,
}


def checker(path, data):
    """Choose a check by extension. If that says nothing, or says shell, a script's first line decides."""
    chosen = None if COMPILED.search(path.lower()) else CHECKERS.get(languages.by_name(path))
    first = data[:200].split(b"\n", 1)[0]
    if not first.startswith(b"#!") or chosen not in (None, check_shell):
        return chosen
    program = re.search(rb"(?:^#!\s*|/|\s)(ba|da)?sh(\s|$)", first)
    if program:
        return check_shell
    if chosen is None and re.search(rb"\bpython3?(\.\d+)?(\s|$)", first):
        return check_python
    if chosen is None and re.search(rb"\b(node|nodejs)(\s|$)", first):
        return check_javascript
    return None  # a .sh that is written for another shell


def read(path):
    """Return the bytes of a regular file, or the reason for leaving it out."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None, "absent"
    except OSError as e:
        return None, f"not readable: {e.strerror}"
    with os.fdopen(fd, "rb") as f:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            return None, "not a regular file"
        if info.st_size > MAX_SIZE:
            return None, "over 2 MiB"
        return f.read(), ""


def main():
    answer = {"findings": [], "checked": [], "skipped": [], "trouble": []}
    compiled = []
    for path in json.load(sys.stdin):
        data, reason = read(path)
        if data is not None and COMPILED.search(path) and not OTHER_TS.match(data):
            compiled.append(path)
            continue
        check = checker(path, data) if data is not None else None
        if check is None:
            answer["skipped"].append({"file": path, "reason": reason or "no parser for this kind of file"})
            continue
        try:
            for f in check(path, data):
                answer["findings"].append({"file": path, **f})
        except Skipped as e:
            answer["skipped"].append({"file": path, "reason": str(e)})
            continue
        except Trouble as e:
            if str(e) not in answer["trouble"]:
                answer["trouble"].append(str(e))
        answer["checked"].append(path)
    if compiled:
        try:
            check_compiled(compiled, answer)
        except Trouble as e:
            answer["trouble"].append(str(e))
    json.dump(answer, sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
