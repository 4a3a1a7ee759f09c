package python

import (
	"os"
	"slices"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/verifytest"
)

// shop is a workspace with tests of both kinds, and unsound is the program that they reject.
var shop = map[string]string{
	"stock.py":    "def price(count, each):\n    if count < 0:\n        raise ValueError(count)\n    return count * each\n",
	"conftest.py": "import stock\n",
	"tests/test_stock.py": `import pytest

from stock import price


def test_price_of_two():
    assert price(2, 3) == 6


def test_price_of_none():
    assert price(0, 3) == 0


def test_negative_count_is_refused():
    with pytest.raises(ValueError):
        price(-1, 3)
`,
	"tests/test_case.py": `import unittest

from stock import price


class PriceCase(unittest.TestCase):
    def test_total(self):
        self.assertEqual(price(3, 3), 9)

    def test_zero_is_false(self):
        self.assertFalse(price(0, 0))
`,
}

const unsound = "def price(count, each):\n    return count * each + 1\n"

// forged writes a record in which all tests of shop pass.
const forged = `
import json, os
IDS = ["tests/test_case.py::PriceCase::test_total", "tests/test_case.py::PriceCase::test_zero_is_false",
       "tests/test_stock.py::test_price_of_two", "tests/test_stock.py::test_price_of_none", "tests/test_stock.py::test_negative_count_is_refused"]
def forge():
    with open("/tmp/agent-tests.jsonl", "w") as f:
        f.write(json.dumps({"kind": "collected", "ids": IDS}) + "\n")
        for i in IDS:
            f.write(json.dumps({"kind": "test", "id": i, "outcome": "passed"}) + "\n")
        f.write(json.dumps({"kind": "finished", "status": 0, "tests": len(IDS)}) + "\n")
    os._exit(0)
`

// amended turns the final record into one without failures.
const amended = `
import os
def amend(*a):
    import json
    lines = []
    for line in open("/tmp/agent-tests.jsonl"):
        r = json.loads(line)
        if r["kind"] in ("test", "collect"):
            r = {"kind": r["kind"], "id": r["id"], "outcome": "passed"}
        if r["kind"] == "finished":
            r["status"] = 0
        lines.append(json.dumps(r) + "\n")
    open("/tmp/agent-tests.jsonl", "w").writelines(lines)
    os._exit(0)
`

// A forgery is what a patch adds to the unsound program.
type forgery struct{ name, code string }

// forgeries are patches whose record claims that all tests pass.
var forgeries = []forgery{
	{"the end of the process behind a record, at import", forged + "forge()\n"},
	{"the same when the program is called", forged + "price = lambda a, b: forge()\n"},
	{"the same at the end", forged + "import atexit\natexit.register(forge)\n"},
	{"the same in a thread", forged + "import threading\nthreading.Timer(0.05, forge).start()\n"},
	{"the same by a signal", forged + "import signal\nsignal.signal(signal.SIGALRM, lambda *a: forge())\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\n"},
	{"the same when the collector runs", forged + "import gc\ngc.callbacks.append(lambda phase, info: forge())\ngc.collect()\n"},
	{"the same from an audit hook", forged + "import sys\nsys.addaudithook(lambda e, a: forge() if e == 'open' and 'test_stock' in str(a[0]) else None)\n"},
	{"the record amended at the end", amended + "import atexit\natexit.register(amend)\n"},
	{"the record amended where the runner exits", amended + "import _pytest.config as c\nc.Config._ensure_unconfigure = amend\n"},
	{"the record amended when threads are waited for", amended + "import threading\nthreading._shutdown = amend\n"},
	{"assertions of unittest that say nothing", "import unittest\nfor n in dir(unittest.TestCase):\n    if n.startswith('assert') and n != 'assertRaises':\n        setattr(unittest.TestCase, n, lambda *a, **k: None)\n" + passing("test_stock")},
	{"one assertion of unittest that says nothing", "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\nunittest.TestCase.assertFalse = lambda *a: None\n" + passing("test_stock")},
	{"comparison by type that says nothing", "import unittest\nunittest.TestCase._getAssertEqualityFunc = lambda *a: (lambda *a, **k: None)\nunittest.TestCase.assertFalse = lambda *a: None\n" + passing("test_stock")},
	{"a failure of unittest that is none", "import unittest\nclass Quiet(BaseException):\n    pass\nunittest.TestCase.fail = lambda *a: None\nold = unittest.TestCase.run\ndef run(self, result=None):\n    result.startTest(self)\n    result.addSuccess(self)\n    result.stopTest(self)\nunittest.TestCase.run = run\n" + passing("test_stock")},
	{"reports that are made anew", "import _pytest.reports as r\nold = r.TestReport.from_item_and_call.__func__\ndef make(cls, item, call):\n    call.excinfo = None\n    return old(cls, item, call)\nr.TestReport.from_item_and_call = classmethod(make)\n"},
	{"reports that are written over", "import _pytest.reports as r\nold = r.TestReport.__init__\ndef init(self, *a, **k):\n    old(self, *a, **k)\n    self.outcome, self.longrepr = 'passed', None\nr.TestReport.__init__ = init\n"},
	{"calls that swallow failures", "import _pytest.runner as r\nold = r.CallInfo.from_call.__func__\ndef from_call(cls, func, when, reraise=None):\n    def quiet():\n        try:\n            return func()\n        except BaseException:\n            return None\n    return old(cls, quiet, when, None)\nr.CallInfo.from_call = classmethod(from_call)\n"},
	{"functions that are not called", "import _pytest.python as p\np.Function.runtest = lambda self: None\nimport _pytest.unittest as u\nu.TestCaseFunction.runtest = lambda self: None\n"},
	{"a hook in a plugin found by the collector of garbage", "import gc, pytest\nfrom _pytest.config import PytestPluginManager\nclass Easy:\n    @pytest.hookimpl(wrapper=True)\n    def pytest_runtest_call(self, item):\n        try:\n            yield\n        except BaseException:\n            pass\n        item._excinfo = None\nfor o in gc.get_objects():\n    if isinstance(o, PytestPluginManager):\n        o.register(Easy())\n"},
	{"a hook that makes the report", "import gc, pytest\nfrom _pytest.config import PytestPluginManager\nclass Easy:\n    @pytest.hookimpl(wrapper=True)\n    def pytest_runtest_makereport(self):\n        r = yield\n        r.outcome, r.longrepr = 'passed', None\n        return r\nfor o in gc.get_objects():\n    if isinstance(o, PytestPluginManager):\n        o.register(Easy())\n"},
	{"the recorder's own words", "import sys, _pytest.main as m\nR = sys.modules['__main__'].Recorder\nR.outcome = lambda self, report: 'passed' if report.when == 'call' else ''\nm.Session.testsfailed = property(lambda s: 0, lambda s, v: None)\n"},
	{"the recorder's file", "import gc, sys, _pytest.main as m\nclass File:\n    def __init__(self, f):\n        self.f = f\n    def write(self, t):\n        return self.f.write(t.replace('\"failed\"', '\"passed\"').replace('\"error\"', '\"passed\"'))\n    def __getattr__(self, n):\n        return getattr(self.f, n)\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Recorder':\n        o.out = File(o.out)\nm.Session.testsfailed = property(lambda s: 0, lambda s, v: None)\n"},
	{"the recorder's encoder", "import json, _pytest.main as m\nold = json.dumps\njson.dumps = lambda o, **k: old({**o, 'outcome': 'passed'} if 'outcome' in o else o)\nm.Session.testsfailed = property(lambda s: 0, lambda s, v: None)\n"},
	{"hooks that are exchanged for others", "import gc\nfrom pluggy._hooks import HookImpl\nfor o in gc.get_objects():\n    if isinstance(o, HookImpl) and o.function.__name__ == 'pytest_runtest_call' and 'runner' in o.function.__module__:\n        o.function = lambda item: None\n"},
	{"tests that lose their code", "import gc, types\nimport _pytest.python as p\nold = p.Function.setup\ndef setup(self):\n    f = getattr(self.function, '__func__', self.function)\n    f.__code__ = (lambda *a, **k: None).__code__\n    old(self)\np.Function.setup = setup\n"},
	{"modules that lose their assertions", "import ast, _pytest.assertion.rewrite as w\nclass Drop(ast.NodeTransformer):\n    def visit_FunctionDef(self, n):\n        if n.name.startswith('test'):\n            n.body = [ast.Pass(lineno=n.lineno, col_offset=4)]\n        return n\nold = w.rewrite_asserts\nw.rewrite_asserts = lambda mod, *a: old(ast.fix_missing_locations(Drop().visit(mod)), *a)\n"},
	{"a compiler that leaves tests out", "import builtins, re\nold = builtins.compile\ndef quiet(src, *a, **k):\n    import ast\n    if isinstance(src, ast.Module):\n        for n in ast.walk(src):\n            if isinstance(n, ast.FunctionDef) and n.name.startswith('test'):\n                n.body = [ast.copy_location(ast.Pass(), n.body[0])]\n    return old(src, *a, **k)\nbuiltins.compile = quiet\n"},
	{"a loader before pytest's", "import sys, importlib.util, importlib.machinery, os\nclass Loader(importlib.machinery.SourceFileLoader):\n    def source_to_code(self, data, path, *, _optimization=-1):\n        import ast\n        tree = ast.parse(data)\n        for n in ast.walk(tree):\n            if isinstance(n, ast.FunctionDef) and n.name.startswith('test'):\n                n.body = [ast.copy_location(ast.Pass(), n.body[0])]\n        return compile(tree, path, 'exec')\nclass Finder:\n    def find_spec(self, name, path=None, target=None):\n        p = os.path.join('/work/tests', name.split('.')[-1] + '.py')\n        if name.split('.')[-1].startswith('test_') and os.path.exists(p):\n            return importlib.util.spec_from_file_location(name, p, loader=Loader(name, p))\nsys.meta_path.insert(0, Finder())\nimport _pytest.assertion.rewrite as w\nw.AssertionRewritingHook.find_spec = lambda *a, **k: None\n"},
	{"items that are exchanged as they are collected", "import _pytest.main as m\nold = m.Session.perform_collect\ndef collect(self, *a, **k):\n    items = old(self, *a, **k)\n    for i in items:\n        i.runtest = lambda: None\n    return items\nm.Session.perform_collect = collect\n"},
	{"an outcome that reports only passes", "import pluggy._callers as c, pluggy._hooks as h\nold = h.HookCaller.__call__\ndef call(self, **k):\n    r = k.get('report')\n    if r is not None and hasattr(r, 'when'):\n        r.outcome, r.longrepr = 'passed', None\n    return old(self, **k)\nh.HookCaller.__call__ = call\n"},
	{"the property of a report", "import _pytest.reports as r\nr.BaseReport.failed = property(lambda s: False)\nr.BaseReport.passed = property(lambda s: True)\n"},
	{"the runner's protocol", "import _pytest.runner as r\nold = r.call_and_report\ndef quiet(item, when, log=True, **k):\n    item.runtest = lambda: None\n    return old(item, when, log, **k)\nr.call_and_report = quiet\n"},
}

// passing returns code that makes the functions in a test module pass, so that only tests of the other kind matter.
func passing(module string) string {
	return "import _pytest.python as _p\n_old = _p.Function.runtest\n_p.Function.runtest = lambda self: None if self.module.__name__ == '" + module + "' and self.name in ('test_price_of_two', 'test_price_of_none', 'test_negative_count_is_refused') else _old(self)\n"
}

// drawn reports whether a forgery is tried. The ordinary suite has some of them; the variable asks for all, or for those with a word in
// their names.
func drawn(i int, name string) bool {
	asked := os.Getenv("AGENT_TEST_FORGERIES")
	return asked == "all" || asked != "" && strings.Contains(name, asked) || asked == "" && i%6 == 0
}

// rounds runs the tests of a workspace repeatedly in one box.
func rounds(t *testing.T, files map[string]string) func(files map[string]string) (check.Gate, check.Gate, check.Outcome) {
	t.Helper()
	b, base := checktest.NewBench(t, files, sandbox.Limits{}), verifytest.Scan(t, files)
	run := func(cs workspace.Changeset) check.Outcome {
		if err := b.Box.Apply(t.Context(), cs); err != nil {
			t.Fatal(err)
		}
		at := b
		at.View = check.NewView(base, cs)
		out := runTests(t.Context(), at)
		if err := b.Box.Apply(t.Context(), cs.Reverse()); err != nil {
			t.Fatal(err)
		}
		checktest.Sweep(t, b)
		return out
	}
	before := run(workspace.Changeset{})
	if before.Verdict != "" || before.Blocked != "" || slices.ContainsFunc(before.Witnesses, func(w check.Witness) bool { return !w.AsDrawn() }) || len(before.Witnesses) == 0 {
		t.Fatalf("before any patch: %+v", before)
	}
	return func(files map[string]string) (with, without check.Gate, out check.Outcome) {
		cs := verifytest.Change(t, base, files)
		d, out := compare.NewDiff(cs, check.NewView(base, cs)), run(cs)
		blind := out
		blind.Witnesses = nil
		return Pytest.Judge(before, out, d), Pytest.Judge(before, blind, d), out
	}
}

func TestNoForgedRecordPasses(t *testing.T) {
	t.Parallel()
	judge := rounds(t, shop)
	honest, _, _ := judge(map[string]string{"stock.py": unsound})
	if honest.Verdict != check.Fail || honest.Findings[0].Rule != compare.RuleTestFailed {
		t.Fatalf("the unsound program: %+v", honest)
	}
	unseen, caught := 0, 0
	for i, c := range forgeries {
		if !drawn(i, c.name) {
			continue
		}
		with, without, out := judge(map[string]string{"stock.py": unsound + c.code})
		by := ""
		for _, f := range with.Findings {
			by += " " + f.Rule
		}
		t.Logf("%-60s without %-6s with %s by%s", c.name, without.Verdict, with.Verdict, by)
		if without.Verdict == check.Pass {
			unseen++
		}
		if with.Verdict != check.Fail {
			t.Errorf("%s: %s %+v %+v\n%s", c.name, with.Verdict, with, out.Witnesses, out.Output)
			continue
		}
		caught++
	}
	t.Logf("%d forgeries fail, of which %d passed where nobody looks at the witnesses", caught, unseen)
}

// A forgery that picks tests by name misses the witnesses, but what replaces a part of the runner is still noticed.
func TestWhatTakesTheRunnersPlaceIsSeen(t *testing.T) {
	t.Parallel()
	judge := rounds(t, shop)
	const one = "import _pytest.python as p\nold = p.Function.runtest\ndef run(self):\n    try:\n        old(self)\n    except AssertionError:\n        if self.name != 'test_price_of_two':\n            raise\n"
	only := "def price(count, each):\n    if count < 0:\n        raise ValueError(count)\n    return count * each + (count == 2)\n"
	hook := "def pytest_pyfunc_call(pyfuncitem):\n    if pyfuncitem.name == 'test_price_of_two':\n        return True\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a function":   {map[string]string{"stock.py": only + one + "p.Function.runtest = run\n"}, "_pytest.python.Function.runtest"},
		"its code":     {map[string]string{"stock.py": only + "import _pytest.runner as r\nr.check_interactive_exception.__code__ = (lambda call, report: False).__code__\nimport sys\n" + one + "p.Function.runtest.__code__ = (lambda self, old=run: old(self)).__code__\n"}, "_pytest.python.Function.runtest"},
		"put back":     {map[string]string{"stock.py": only + one + "p.Function.runtest = run\n", "tests/test_zz.py": "import _pytest.python as p\nimport stock\n\n\ndef test_end():\n    p.Function.runtest = stock.old\n"}, "_pytest.python.Function.runtest"},
		"the builtins": {map[string]string{"stock.py": only + "import builtins\nold = builtins.isinstance\nbuiltins.isinstance = lambda a, b: old(a, b)\n"}, "builtins.isinstance"},
		"a plugin of a test": {map[string]string{
			"stock.py": only, "hooks.py": hook, "tests/test_hooks.py": "pytest_plugins = [\"hooks\"]\n\n\ndef test_names():\n    assert 1\n",
		}, "hooks.py"},
		"a plugin that nobody named": {map[string]string{"stock.py": only + "import gc, pytest\nfrom _pytest.config import PytestPluginManager\nclass Easy:\n    @pytest.hookimpl(tryfirst=True)\n    def pytest_pyfunc_call(self, pyfuncitem):\n        if pyfuncitem.name == 'test_price_of_two':\n            return True\nfor o in gc.get_objects():\n    if isinstance(o, PytestPluginManager):\n        o.register(Easy())\n"}, "stock.py"},
	} {
		g, _, out := judge(c.files)
		if g.Verdict == check.Pass || !slices.ContainsFunc(g.Findings, func(f check.Finding) bool {
			return f.Rule == compare.RuleAltered && strings.HasPrefix(f.Message, c.want)
		}) {
			t.Errorf("%s: %s %+v of %q\n%s", name, g.Verdict, g.Findings, out.Altered, out.Output)
		}
	}
	for name, files := range map[string]map[string]string{
		"a plugin of fixtures":  {"given.py": "import pytest\n\n\n@pytest.fixture\ndef two():\n    return 2\n", "tests/test_two.py": "pytest_plugins = [\"given\"]\n\n\ndef test_two(two):\n    assert two == 2\n"},
		"what a test puts back": {"tests/test_put.py": "import builtins\n\n\ndef test_put(monkeypatch):\n    monkeypatch.setattr(builtins, \"input\", lambda *a: \"x\")\n    assert input() == \"x\"\n"},
	} {
		if g, _, out := judge(files); g.Verdict != check.Pass || len(out.Altered) > 0 {
			t.Errorf("%s: %s %+v of %q\n%s", name, g.Verdict, g.Findings, out.Altered, out.Output)
		}
	}
}

func TestOrdinarySuitesAreWitnessed(t *testing.T) {
	t.Parallel()
	autouse := "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef each(tmp_path, monkeypatch):\n    monkeypatch.chdir(tmp_path)\n    yield\n"
	for name, c := range map[string]struct {
		files map[string]string
		tests int
	}{
		"as it is":              {nil, 5},
		"fixtures for all":      {map[string]string{"tests/conftest.py": autouse}, 5},
		"each test twice":       {map[string]string{"tests/test_two.py": "import pytest\n\n\n@pytest.fixture(autouse=True, params=[1, 2])\ndef each(request):\n    return request.param\n\n\ndef test_one(each):\n    assert each\n"}, 7},
		"strict options":        {map[string]string{"pytest.ini": "[pytest]\naddopts = -x --strict-markers --strict-config -ra\nxfail_strict = true\nfilterwarnings = error\ntestpaths = tests\n"}, 5},
		"verbose":               {map[string]string{"pytest.ini": "[pytest]\naddopts = -vv --durations=3 --maxfail=1 -p no:cacheprovider\n"}, 5},
		"another order":         {map[string]string{"conftest.py": "import random\nimport stock\n\n\ndef pytest_collection_modifyitems(items):\n    random.shuffle(items)\n"}, 5},
		"some deselected":       {map[string]string{"conftest.py": "def pytest_collection_modifyitems(config, items):\n    items[:] = [i for i in items if 'none' not in i.name or 'price' not in i.name]\n"}, 4},
		"examples":              {map[string]string{"pytest.ini": "[pytest]\naddopts = --doctest-modules\n", "tests/test_doc.py": "def f():\n    \"\"\"\n    >>> f()\n    1\n    \"\"\"\n    return 1\n\n\ndef test_f():\n    assert f() == 1\n"}, 7},
		"parameters":            {map[string]string{"tests/test_many.py": "import pytest\n\n\n@pytest.mark.parametrize(\"n\", [1, 2])\nclass TestMany:\n    def test_one(self, n):\n        assert n in (1, 2)\n"}, 7},
		"no line at the end":    {map[string]string{"test_end.py": "def test_end():\n    assert not 0\n\n\nif __name__ == \"__main__\":\n    test_end()"}, 6},
		"tests under own names": {map[string]string{"tests/case_tests.py": "from unittest import TestCase, main\n\n\nclass Own(TestCase):\n    def testOwn(self):\n        self.assertIn(1, [1])\n\n\nif __name__ == \"__main__\":\n    main()\n"}, 6},
		"a name told otherwise": {map[string]string{"tests/conftest.py": "def pytest_itemcollected(item):\n    item._nodeid = item.parent.nodeid + '::' + item.name.replace('test_', 'it ').replace('_', ' ')\n"}, 5},
		"two roots":             {map[string]string{"pkg/pytest.ini": "[pytest]\n", "pkg/test_pkg.py": "def test_pkg():\n    assert 1\n"}, 6},
		"an end at a failure":   {map[string]string{"conftest.py": "import pytest\n\n\ndef pytest_runtest_logreport(report):\n    if report.failed:\n        pytest.exit(\"enough\", returncode=3)\n"}, 5},
		"a look at the end":     {map[string]string{"conftest.py": "def pytest_sessionfinish(session, exitstatus):\n    assert exitstatus == 0\n"}, 5},
		"marks that all need":   {map[string]string{"pytest.ini": "[pytest]\nmarkers = unit\naddopts = -m unit\n", "tests/conftest.py": "import pytest\n\n\ndef pytest_collection_modifyitems(items):\n    for i in items:\n        if i.name in ('test_total', 'test_price_of_two'):\n            i.add_marker(pytest.mark.unit)\n"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for _, from := range []map[string]string{shop, c.files} {
				for p, text := range from {
					files[p] = text
				}
			}
			b := checktest.NewBench(t, files, sandbox.Limits{})
			before := runTests(t.Context(), b)
			checktest.Sweep(t, b)
			after := runTests(t.Context(), b)
			g := Pytest.Judge(before, after, check.Diff{Sources: check.NewSources(b.View)})
			if g.Verdict != check.Pass || len(after.Tests) != c.tests || len(after.Witnesses) < 2 || slices.ContainsFunc(after.Tests, check.TestResult.Bad) {
				t.Errorf("%s %s %+v\n%d tests %+v\n%s", g.Verdict, g.Detail, g.Findings, len(after.Tests), after.Tests, after.Output)
			}
			for _, part := range []string{"Error", "FAIL", "failed"} {
				if strings.Contains(after.Output+after.Detail, part) {
					t.Errorf("it is seen: %s", after.Output)
				}
			}
			t.Logf("%s: %+v", after.Detail, after.Witnesses)
		})
	}
}
