package python

import (
	"strings"
	"testing"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
)

// failing has tests that fail in statements of every shape whose beginning and end pytest looks for.
const failing = `import functools

import pytest


def keep(f):
    return f


@keep
@functools.cache
def value():
    return (
        1
    )


def test_several_lines():
    assert (
        value()
        == 2
    )


def test_else():
    for _ in ():
        pass
    else:
        assert value() == 3


class TestDeep:
    @keep
    def test_finally(self):
        try:
            value()
        finally:
            assert value() == 4

    def test_handler(self):
        try:
            raise ValueError
        except ValueError:
            with pytest.raises(KeyError):
                value()


def test_match():
    match value():
        case 1: raise OSError("five")
`

// readSources runs pytest without and with the function that reads only the blocks, and counts the lines that each run parses.
const readSources = `
import ast, contextlib, io, re, sys
g = {"__name__": "recorder"}
exec(compile(open(sys.argv[1]).read(), "recorder", "exec"), g)
import pytest
parsed, plain = [], ast.parse
from _pytest._code import source
source.ast = type("Counting", (), {**vars(ast), "parse": staticmethod(lambda *a, **k: (parsed.append(a[0]), plain(*a, **k))[1])})
g["ast"] = source.ast
def told():
    parsed.clear()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        pytest.main(["-q", "-p", "no:cacheprovider", "--tb=short", "test_all.py"])
    return re.sub(r" in [\d.]+s", "", out.getvalue()), sum(text.count("\n") + 1 for text in parsed)
first, whole = told()
g["read_blocks"]()
second, blocks = told()
print("the same" if first == second and "5 failed" in first else first + second, whole, blocks)
`

func TestWhatPytestTellsOfFailuresIsReadInParts(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{"test_all.py": failing}, sandbox.Limits{})
	res, _, done := b.Command(t.Context(), guest.Command{Args: []string{b.Tools.Python, "-B", "-c", readSources, b.Tools.Tests}, Dir: check.Work})
	if said := strings.TrimSpace(string(res.Stdout.Head)); !done || said != "the same 250 65" {
		t.Errorf("%v %s %s", res.Exit, said, res.Stderr.Head)
	}
}
