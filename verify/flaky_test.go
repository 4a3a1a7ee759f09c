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

// heads says of the boxes of each purpose, in the order in which they start, whether
// the coin of test_coin shows heads there.
var heads = map[string][]bool{
	"baseline-tests": {true},
	check.GroupTests: {false},
	// The patched workspace, then the unpatched one.
	"repeat-tests": {false, true, true, false, true},
}

// A mint starts boxes and tosses their coins.
type mint struct {
	Launcher
	mu      sync.Mutex
	started map[string]int
}

func (m *mint) Start(ctx context.Context, spec sandbox.Spec) (*sandbox.Box, error) {
	m.mu.Lock()
	n := m.started[spec.Purpose]
	m.started[spec.Purpose]++
	m.mu.Unlock()
	box, err := m.Launcher.Start(ctx, spec)
	if err == nil && n < len(heads[spec.Purpose]) && heads[spec.Purpose][n] {
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
	m, cache := &mint{Launcher: s.lab.Engine, started: map[string]int{}}, verifytest.NewMemory()
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
	// What failed by chance is no measure for the next patch.
	key := newStore(nil, s.lab.Toolchain.ID, check.Toolchain, withTimeout(s.config)).BaselineKey(s.base.With(r.Changeset).Digest(), check.GroupTests)
	if slices.Contains(cache.Saves, key) {
		t.Error("the failing test is kept as the next baseline")
	}
}
