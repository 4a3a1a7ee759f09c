package python

import (
	"strings"
	"testing"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
)

// failing are tests that fail in statements of every shape of which pytest looks for the beginning and the end.
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

// readSources runs pytest with and without what keeps the sources, and counts how often each takes a file apart.
const readSources = `
import ast, contextlib, io, re, sys
g = {"__name__": "recorder"}
exec(compile(open(sys.argv[1]).read(), "recorder", "exec"), g)
import pytest
parsed, plain = [], ast.parse
from _pytest._code import source
source.ast = type("Counting", (), {**vars(ast), "parse": staticmethod(lambda *a, **k: (parsed.append(1), plain(*a, **k))[1])})
def told():
    parsed.clear()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        pytest.main(["-q", "-p", "no:cacheprovider", "--tb=short", "test_all.py"])
    return re.sub(r" in [\d.]+s", "", out.getvalue()), len(parsed)
first, each = told()
g["remember_sources"]()
second, once = told()
print("the same" if first == second and "5 failed" in first else first + second, each, once)
`

func TestWhatPytestTellsOfFailuresIsReadOnce(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{"test_all.py": failing}, sandbox.Limits{})
	res, _, done := b.Command(t.Context(), guest.Command{Args: []string{b.Tools.Python, "-B", "-c", readSources, b.Tools.Tests}, Dir: check.Work})
	if said := strings.TrimSpace(string(res.Stdout.Head)); !done || said != "the same 5 1" {
		t.Errorf("%v %s %s", res.Exit, said, res.Stderr.Head)
	}
}
