package verify

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/verifytest"
)

// heads says for the boxes of each purpose, in the order in which they start, whether the coin of test_coin shows heads.
var heads = map[string][]bool{
	"baseline-tests": {true},
	check.GroupTests: {false},
	// First the patched workspace, then the unpatched one.
	"repeat-tests": {false, true, true, false, true},
}

// A mint starts boxes and tosses a coin for each.
type mint struct {
	Launcher
	heads   map[string][]bool
	mu      sync.Mutex
	started map[string]int
}

func (m *mint) Start(ctx context.Context, spec sandbox.Spec) (*sandbox.Box, error) {
	m.mu.Lock()
	n := m.started[spec.Purpose]
	m.started[spec.Purpose]++
	m.mu.Unlock()
	box, err := m.Launcher.Start(ctx, spec)
	if err == nil && n < len(m.heads[spec.Purpose]) && m.heads[spec.Purpose][n] {
		_, err = box.Run(ctx, guest.Command{Args: []string{"/bin/touch", "/tmp/heads"}})
	}
	return box, err
}

func TestFlakyTestIsShownAndNotHeldAgainstThePatch(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"test_coin.py": "import os\n\n\ndef test_coin() -> None:\n    assert os.path.exists(\"/tmp/heads\")\n\n\ndef test_two() -> None:\n    pass\n",
		"notes.txt":    "one\n",
	})
	m, cache := &mint{Launcher: s.lab.Engine, heads: heads, started: map[string]int{}}, verifytest.NewMemory()
	cache.Rows[proofKey(s.lab)] = allProved()
	s.verifier = &Verifier{Boxes: m, Cache: cache}
	r := s.only(check.GateTests).verify(t, map[string]string{"notes.txt": "two\n"})
	expect(t, r, check.Pass)
	g := find(t, r, check.GateTests)
	const want = "test_coin.py::test_coin: flaky: failed 1 of 3 times before the patch: "
	if g.Old != 1 || len(g.OldFindings) != 1 || !strings.HasPrefix(g.OldFindings[0].Message, want) {
		t.Errorf("%d old: %+v, want %q", g.Old, g.OldFindings, want)
	}
	if n := m.started["repeat-tests"]; n != 2+maxRepeats { // the second with the patch passes
		t.Errorf("%d boxes for repeats", n)
	}
	// A result with a random failure must not become the next patch's baseline.
	key := newStore(nil, s.lab.Toolchain.ID, check.Toolchain, withTimeout(s.config)).BaselineKey(s.base.With(r.Changeset).Digest(), check.GroupTests)
	if slices.Contains(cache.Saves, key) {
		t.Error("the failing test is kept as the next baseline")
	}
}

// A test that fails once, in a run of all tests, and passes in its repeats counts against the patch, unless it has no part in the change.
func TestATestThatExecutesNothingOfThePatchMayFailOnce(t *testing.T) {
	t.Parallel()
	const coin = "import os\n\nimport shop\n\n\ndef test_coin() -> None:\n    assert os.path.exists(\"/tmp/heads\")\n    assert shop.first() == 1\n"
	files := map[string]string{
		"shop.py":      "def first() -> int:\n    return 1\n\n\ndef second() -> int:\n    return 2\n",
		"test_coin.py": coin,
		"test_two.py":  "import shop\n\n\ndef test_two() -> None:\n    assert shop.second() > 0\n",
	}
	for name, c := range map[string]struct {
		patch   map[string]string
		alone   []bool // with the patch
		again   bool   // heads in the second run of all tests
		verdict check.Verdict
		boxes   int // for repeats
	}{
		"no part":                      {map[string]string{"shop.py": strings.Replace(files["shop.py"], "return 2", "return 3", 1)}, []bool{true}, true, check.Pass, 3 + maxRepeats},
		"no part, and fails once more": {map[string]string{"shop.py": strings.Replace(files["shop.py"], "return 2", "return 3", 1)}, []bool{false, true}, true, check.Pass, 4 + maxRepeats},
		"no part, and fails again": {
			map[string]string{"shop.py": strings.Replace(files["shop.py"], "return 2", "return 3", 1), "test_two.py": files["test_two.py"] + "    assert shop.second() == 3\n"}, []bool{true}, false, check.Fail, 3 + maxRepeats,
		},
		"executes it":   {map[string]string{"shop.py": strings.Replace(files["shop.py"], "return 1", "return 2 - 1", 1)}, []bool{true}, true, check.Fail, 2 + maxRepeats},
		"loads it":      {map[string]string{"shop.py": "FIRST = 1\n\n\n" + files["shop.py"]}, []bool{true}, true, check.Fail, 2 + maxRepeats},
		"reads a table": {map[string]string{"shop.csv": "1\n"}, []bool{true}, true, check.Fail, 1 + maxRepeats},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, files)
			tosses := map[string][]bool{"baseline-tests": {true}, check.GroupTests: {false}, "repeat-tests": append(c.alone, true, true, true, true, c.again)}
			m, cache := &mint{Launcher: s.lab.Engine, heads: tosses, started: map[string]int{}}, verifytest.NewMemory()
			cache.Rows[proofKey(s.lab)] = allProved()
			s.verifier = &Verifier{Boxes: m, Cache: cache}
			r := s.only(check.GateTests).verify(t, c.patch)
			var failing []string
			if c.verdict != check.Pass {
				failing = []string{check.GateTests}
			}
			expect(t, r, c.verdict, failing...)
			g := find(t, r, check.GateTests)
			const want = "test_coin.py::test_coin: flaky: failed in one of two runs of all tests, and executes no changed line: "
			if told := len(g.OldFindings) == 1 && strings.HasPrefix(g.OldFindings[0].Message, want); told != (c.verdict == check.Pass) {
				t.Errorf("%+v, old %+v", g.Findings, g.OldFindings)
			}
			if n := m.started["repeat-tests"]; n != c.boxes {
				t.Errorf("%d boxes for repeats, want %d", n, c.boxes)
			}
		})
	}
}
