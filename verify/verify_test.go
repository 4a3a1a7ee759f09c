package verify

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/typecache"
	"agent/verify/verifytest"
)

const stock = "\"\"\"What is on the shelves.\"\"\"\n\n\ndef price(count: int, each: int) -> int:\n    return count * each\n"

// shop is a small program with a library, a caller, an entry point and a test.
func shop() map[string]string {
	return map[string]string{
		"stock.py":           stock,
		"till.py":            "\"\"\"The till.\"\"\"\n\nfrom stock import price\n\n\ndef total() -> int:\n    return price(2, 3)\n",
		"main.py":            "from till import total\n\nif __name__ == \"__main__\":\n    print(total())\n",
		"tests/test_till.py": "from till import total\n\n\ndef test_total():\n    assert total() == 6\n",
	}
}

func TestGoodPatchPassesEveryGate(t *testing.T) {
	t.Parallel()
	s := newSite(t, shop())
	r := s.verify(t, map[string]string{"stock.py": strings.Replace(stock, "count * each", "each  *  count", 1)})
	expect(t, r, check.Pass)
	var names []string
	for _, g := range r.Gates {
		names = append(names, g.Name)
		t.Logf("%s %s %.2fs %s %s", g.Name, g.Verdict, g.Seconds, g.Tool, g.Detail)
	}
	if !slices.Equal(names, gateOrder) {
		t.Errorf("gates %q, want %q", names, gateOrder)
	}
	if got := string(r.Changeset.Changes[0].After); got != strings.Replace(stock, "count * each", "each * count", 1) {
		t.Errorf("the changeset was not formatted: %q", got)
	}
}

func TestEachFaultFailsItsGate(t *testing.T) {
	t.Parallel()
	s := newSite(t, shop())
	t.Run("syntax error", func(t *testing.T) {
		r := s.verify(t, map[string]string{"stock.py": stock + "def broken(:\n    pass\n"})
		if r.Verdict != check.Fail {
			t.Errorf("verdict %s", r.Verdict)
		}
		f := checktest.Single(t, find(t, r, check.GateSyntax), "python-syntax", "stock.py", 6)
		if f.Source != "def broken(:" {
			t.Errorf("source %q", f.Source)
		}
		for _, name := range []string{check.GateSmoke, check.GateTests} {
			if !slices.ContainsFunc(r.Skipped, func(s Skip) bool { return s.Name == name && strings.Contains(s.Reason, "syntax") }) {
				t.Errorf("%s was not skipped for the syntax error: %+v", name, r.Skipped)
			}
		}
	})
	t.Run("undefined name", func(t *testing.T) {
		r := s.only(check.GateLint, check.GateTypes).verify(t, map[string]string{"till.py": "from stock import price\n\n\ndef total() -> int:\n    return price(2, 3)\n\n\ndef tax():\n    return total() * rate\n"})
		expect(t, r, check.Fail, check.GateLint, check.GateTypes)
		checktest.Single(t, find(t, r, check.GateLint), "F821", "till.py", 9)
	})
	t.Run("type error in a caller of another file", func(t *testing.T) {
		r := s.only(check.GateTypes).verify(t, map[string]string{"stock.py": strings.Replace(stock, "each: int", "each: str", 1)})
		g := find(t, r, check.GateTypes)
		if !slices.ContainsFunc(g.Findings, func(f check.Finding) bool { return f.File == "till.py" && f.Rule == "arg-type" && f.Line == 7 }) {
			t.Errorf("types: %+v", g)
		}
	})
	t.Run("arity of an untyped function changed", func(t *testing.T) {
		r := s.only(check.GateTypes).verify(t, map[string]string{"stock.py": "def price(count):\n    return count\n"})
		checktest.Single(t, find(t, r, check.GateTypes), "call-arg", "till.py", 7)
	})
	t.Run("crash at start", func(t *testing.T) {
		r := s.only(check.GateSmoke, check.GateTests).verify(t, map[string]string{"main.py": "from till import total\n\nif __name__ == \"__main__\":\n    print(total() / 0)\n"})
		expect(t, r, check.Fail, check.GateSmoke)
		f := checktest.Single(t, find(t, r, check.GateSmoke), "ZeroDivisionError", "main.py", 4)
		if f.Source != "print(total() / 0)" || !strings.Contains(f.Message, "division by zero") {
			t.Errorf("finding %+v", f)
		}
	})
	t.Run("entry exits 1", func(t *testing.T) {
		r := s.only(check.GateSmoke, check.GateTests).verify(t, map[string]string{"main.py": "import sys\n\nif __name__ == \"__main__\":\n    print(\"no stock\")\n    sys.exit(1)\n"})
		expect(t, r, check.Fail, check.GateSmoke)
		f := checktest.Single(t, find(t, r, check.GateSmoke), "exit", "", 0)
		if !strings.Contains(f.Message, "exit status 1: no stock") {
			t.Errorf("message %q", f.Message)
		}
	})
	t.Run("failing test", func(t *testing.T) {
		r := s.only(check.GateSmoke, check.GateTests).verify(t, map[string]string{"stock.py": strings.Replace(stock, "count * each", "count + each", 1)})
		expect(t, r, check.Fail, check.GateTests)
		f := checktest.Single(t, find(t, r, check.GateTests), compare.RuleTestFailed, "tests/test_till.py", 5)
		if !strings.Contains(f.Message, "tests/test_till.py::test_total: assert 5 == 6") {
			t.Errorf("message %q", f.Message)
		}
	})
	t.Run("bad JSON, CSS, JavaScript and shell", func(t *testing.T) {
		r := s.only(check.GateLint).verify(t, map[string]string{"a.json": "{\"a\": }", "a.css": "a { color: red;", "a.js": "let = ;", "a.sh": "if true; then\n", "ok.json": "{}"})
		if g := find(t, r, check.GateSyntax); r.Verdict != check.Fail || len(g.Findings) != 4 {
			t.Errorf("%s %+v", r.Verdict, g)
		}
	})
}

func TestOldTroubleIsNotHeldAgainstThePatch(t *testing.T) {
	t.Parallel()
	old := shop()
	old["legacy.py"] = "import os\n\n\ndef f(n: int) -> str:\n    return n + missing\n\n\nf(1, 2)\n"
	old["broken.json"] = "{old"
	old["main.py"] = "import sys\n\nif __name__ == \"__main__\":\n    print(\"usage: main.py FILE\", file=sys.stderr)\n    open(sys.argv[1])\n"
	old["tests/test_old.py"] = "def test_old():\n    assert 1 == 2\n"
	s := newSite(t, old)

	t.Run("clean change passes", func(t *testing.T) {
		r := s.verify(t, map[string]string{
			"broken.json": "{still old",
			// Lines move, and the line with the undefined name is rewritten.
			"legacy.py": "import os\n\nFACTOR = 2\n\n\ndef f(n: int) -> str:\n    return FACTOR * n + missing\n\n\nf(1, 2)\n",
		})
		expect(t, r, check.Pass)
		for name, want := range map[string]int{check.GateSyntax: 1, check.GateLint: 2, check.GateTypes: 2, check.GateSmoke: 1, check.GateTests: 1} {
			if g := find(t, r, name); g.Old < want {
				t.Errorf("%s: %d old findings, want %d: %+v", name, g.Old, want, g)
			}
		}
	})
	t.Run("one new finding among old ones is the only one shown", func(t *testing.T) {
		r := s.only(check.GateLint, check.GateTypes).verify(t, map[string]string{"legacy.py": "import os\n\n\ndef f(n: int) -> str:\n    return n + missing\n\n\nf(1, 2)\nprint(nowhere)\n"})
		expect(t, r, check.Fail, check.GateLint, check.GateTypes)
		checktest.Single(t, find(t, r, check.GateLint), "F821", "legacy.py", 9)
		checktest.Single(t, find(t, r, check.GateTypes), "name-defined", "legacy.py", 9)
	})
	t.Run("another crash than before fails", func(t *testing.T) {
		r := s.only(check.GateSmoke).verify(t, map[string]string{"main.py": "import sys\n\nif __name__ == \"__main__\":\n    print(1 / 0)\n    open(sys.argv[1])\n"})
		expect(t, r, check.Fail, check.GateSmoke)
	})
	t.Run("fixes are counted", func(t *testing.T) {
		r := s.only(check.GateLint, check.GateTypes, check.GateTests).verify(t, map[string]string{"legacy.py": "def f(n: int) -> int:\n    return n\n\n\nf(1)\n", "tests/test_old.py": "def test_old():\n    assert 1 == 1\n"})
		expect(t, r, check.Pass)
		if g := find(t, r, check.GateLint); g.Fixed != 2 {
			t.Errorf("lint fixed %d: %+v", g.Fixed, g)
		}
		if g := find(t, r, check.GateTests); g.Fixed != 1 {
			t.Errorf("tests fixed %d: %+v", g.Fixed, g)
		}
	})
}

func TestPatchCannotSwitchOffWhatRefusesIt(t *testing.T) {
	t.Parallel()
	files := shop()
	files["ruff.toml"] = "[lint]\nselect = [\"F\"]\n"
	s := newSite(t, files)
	bad := "from stock import price\n\n\ndef total() -> int:\n    return price(2, 3)\n\n\ndef tax():\n    return rate\n"

	t.Run("configuration of the base counts", func(t *testing.T) {
		r := s.only(check.GateLint, check.GateTypes).verify(t, map[string]string{"till.py": bad, "ruff.toml": "exclude = [\"*.py\"]\n", "mypy.ini": "[mypy]\nignore_errors = True\n"})
		expect(t, r, check.Fail, check.GateLint, check.GateTypes)
		checktest.Single(t, find(t, r, check.GateLint), "F821", "till.py", 9)
	})
	t.Run("broken configuration fails", func(t *testing.T) {
		r := s.only(check.GateLint).verify(t, map[string]string{"ruff.toml": "select = 5\n"})
		expect(t, r, check.Fail, check.GateLint)
		checktest.Single(t, find(t, r, check.GateLint), "config", "ruff.toml", 0)
	})
	t.Run("a harmless main does not replace the program", func(t *testing.T) {
		files := map[string]string{"run.py": "if __name__ == \"__main__\":\n    print(1)\n"}
		s := newSite(t, files)
		r := s.only(check.GateSmoke).verify(t, map[string]string{"run.py": "if __name__ == \"__main__\":\n    raise SystemExit(3)\n", "main.py": "print(1)\n"})
		expect(t, r, check.Fail, check.GateSmoke)
	})
	t.Run("deleted and skipped tests need a person", func(t *testing.T) {
		s := s.only(check.GateTests)
		r := s.verify(t, map[string]string{"tests/test_till.py": "-"})
		expect(t, r, check.Policy, check.GateTests)
		r = s.verify(t, map[string]string{"tests/test_till.py": "import pytest\n\n\n@pytest.mark.skip\ndef test_total():\n    assert False\n"})
		expect(t, r, check.Policy, check.GateTests)
		checktest.Single(t, find(t, r, check.GateTests), compare.RuleTestSkipped, "tests/test_till.py", 4)
	})
	t.Run("a test session that is cut short fails", func(t *testing.T) {
		r := s.only(check.GateTests).verify(t, map[string]string{"conftest.py": "import os\n\n\ndef pytest_collection_finish():\n    print(\"1 passed\")\n    os._exit(0)\n"})
		expect(t, r, check.Fail, check.GateTests)
	})
	t.Run("a pytest.py in the workspace is not the test runner", func(t *testing.T) {
		r := s.only(check.GateTests).verify(t, map[string]string{
			"stock.py":  strings.Replace(stock, "count * each", "0", 1),
			"pytest.py": "def main(*args, **kwargs):\n    return 0\n",
		})
		expect(t, r, check.Fail, check.GateTests)
	})
}

func TestMissingToolIsInfraNeverAPass(t *testing.T) {
	t.Parallel()
	s := newSite(t, shop())
	for name, remove := range map[string]func(*check.Tools){
		check.GateLint:   func(p *check.Tools) { p.Ruff = "/usr/bin/absent" },
		check.GateTypes:  func(p *check.Tools) { p.Mypy = "/usr/bin/absent" },
		check.GateSyntax: func(p *check.Tools) { p.Syntax = "/agent/absent.py" },
		check.GateTests:  func(p *check.Tools) { p.Tests = "/agent/absent.py" },
		check.GateSmoke:  func(p *check.Tools) { p.Python = "/usr/bin/absent" },
	} {
		t.Run(name, func(t *testing.T) {
			tools := check.Toolchain
			remove(&tools)
			v := &Verifier{Boxes: s.lab.Engine, Cache: s.lab.Cache, tools: &tools, gates: []string{name}}
			r, err := v.Verify(t.Context(), s.request(verifytest.Change(t, s.base, map[string]string{"stock.py": stock + "\nONE = 1\n"})), nil)
			if err != nil {
				t.Fatal(err)
			}
			if g := find(t, r, name); r.Verdict != check.Infra || g.Verdict != check.Infra || !strings.Contains(g.Detail, "absent") {
				t.Errorf("verdict %s, gate %+v", r.Verdict, g)
			}
		})
	}
}

func TestAToolThatSeesNothingIsNotProved(t *testing.T) {
	t.Parallel()
	s := newSite(t, shop())
	tools := check.Toolchain
	tools.Ruff, tools.Mypy = "/bin/true", "/bin/true"
	v := &Verifier{Boxes: s.lab.Engine, Cache: s.lab.Cache, tools: &tools, gates: []string{check.GateLint, check.GateTypes}}
	r, err := v.Verify(t.Context(), s.request(verifytest.Change(t, s.base, map[string]string{"stock.py": stock + "\nONE = 1\n"})), nil)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, r, check.Infra, check.GateFormat, check.GateLint, check.GateTypes)
	if g := find(t, r, check.GateLint); !strings.Contains(g.Detail, "agent images build") {
		t.Errorf("detail %q", g.Detail)
	}
	// mypy is not even believed to have finished.
	if g := find(t, r, check.GateTypes); !strings.Contains(g.Detail, "without the line that mypy ends with") {
		t.Errorf("detail %q", g.Detail)
	}
}

func TestPatchOfTextNeedsNoBox(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"notes.txt": "one\n"})
	v := &Verifier{Boxes: nil, Cache: s.lab.Cache} // starting a box would panic
	// Not into the map itself, since other tests read it at the same time.
	if err := s.lab.Cache.Save(t.Context(), proofKey(s.lab), allProved()); err != nil {
		t.Fatal(err)
	}
	r, err := v.Verify(t.Context(), s.request(verifytest.Change(t, s.base, map[string]string{"notes.txt": "two\n"})), nil)
	if err != nil || r.Verdict != check.Pass || len(r.Gates) != 0 || len(r.Skipped) != len(gateOrder) {
		t.Errorf("%v %+v", err, r)
	}
}

func TestCancelledContextClosesEverything(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"main.py": "import time\n\ntime.sleep(60)\n"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := s.request(verifytest.Change(t, s.base, map[string]string{"main.py": "import time\n\ntime.sleep(61)\n"}))
	req.Run = "verify-cancel"
	_, err := s.verifier.Verify(ctx, req, func(e Event) {
		if e.Gate == check.GateSmoke && !e.Done {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	boxes, err := s.lab.Engine.Boxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range boxes {
		if b.Run == "verify-cancel" {
			t.Errorf("box %+v is left", b)
		}
	}
}

func TestResultBecomesTheBaselineAfterPromotion(t *testing.T) {
	t.Parallel()
	s := newSite(t, shop())
	s.verifier.Cache = verifytest.NewMemory()
	cache := s.verifier.Cache.(*verifytest.Memory)
	r := s.verify(t, map[string]string{"stock.py": stock + "\nONE = 1\n"})
	expect(t, r, check.Pass)
	next := s.base.With(r.Changeset)
	for _, group := range []string{check.GroupStatic, check.GroupSmoke, check.GroupTests} {
		st := newStore(nil, s.lab.Toolchain.ID, check.Toolchain, withTimeout(s.config))
		for _, m := range []*workspace.Manifest{s.base, next} {
			if key := st.BaselineKey(m.Digest(), group); !slices.Contains(cache.Saves, key) {
				t.Errorf("%s was not kept among %q", key, cache.Saves)
			}
		}
	}
	// What mypy learns in its proof is the starting point for other workspaces.
	if key := typecache.OfProof(cache, s.lab.Toolchain.ID, newStore(nil, "", check.Toolchain, Config{}).Proof).Key; !slices.Contains(cache.Saves, key) {
		t.Errorf("%s was not kept among %q", key, cache.Saves)
	}
	cache.Saves, cache.Loads = nil, nil
	s.verify(t, map[string]string{"stock.py": stock + "\nTWO = 2\n"})
	if len(cache.Loads) != 5 {
		t.Errorf("a warm run reads three baselines, the proof and what mypy knows, not %q", cache.Loads)
	}
}
