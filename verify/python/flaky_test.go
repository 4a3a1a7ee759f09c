package python

import (
	"strings"
	"testing"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
)

func TestUnittestsRunAndSomeTestsAreAskedForAlone(t *testing.T) {
	t.Parallel()
	const ini = "[pytest]\npython_files = check_*.py\n"
	const class = "import unittest\n\n\nclass Stock(unittest.TestCase):\n    def test_b(self):\n        self.assertTrue(True)\n"
	b := checktest.NewBench(t, map[string]string{
		"pytest.ini": ini, "check_a.py": "def test_a():\n    pass\n",
		"shop/tests.py": class, "tests/stock.py": class, "tests/data.py": "import nothing\n", "shop/plain.py": class,
	}, sandbox.Limits{})
	ids := func(only ...string) string {
		t.Helper()
		b.Only = only
		out := runTests(t.Context(), b)
		if out.Verdict != "" || out.Blocked != "" {
			t.Fatalf("%+v", out)
		}
		var list []string
		for _, r := range out.Tests {
			list = append(list, r.ID+" "+r.Outcome)
		}
		return strings.Join(list, "\n")
	}
	const stock = "tests/stock.py::Stock::test_b"
	again := func() {
		t.Helper()
		if res, err := b.Box.Run(t.Context(), guest.Command{Args: []string{"/bin/rm", record}}); err != nil || res.Exit != 0 {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	if got := ids(); got != "check_a.py::test_a passed\nshop/tests.py::Stock::test_b passed\n"+stock+" passed" {
		t.Errorf("ran\n%s", got)
	}
	again()
	// IDs begin at the workspace's root, even if a configuration is nearer.
	if err := b.Box.Apply(t.Context(), check.Plant(map[string]string{"tests/pytest.ini": ini})); err != nil {
		t.Fatal(err)
	}
	if got := ids(stock); got != stock+" passed" {
		t.Errorf("asked for %s alone, ran\n%s", stock, got)
	}
}

func TestExamplesAreTheSameOnBothSides(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{
		"hypothesis/__init__.py": "", "hypothesis/core.py": "global_force_seed = None\n",
		"test_seed.py": "import hypothesis.core\n\n\ndef test_seed():\n    assert hypothesis.core.global_force_seed == 0\n",
	}, sandbox.Limits{})
	if out := Pytest.Run(t.Context(), b); !strings.Contains(out.Detail, "1 passed") {
		t.Errorf("%s: %s", out.Detail, out.Output)
	}
}
