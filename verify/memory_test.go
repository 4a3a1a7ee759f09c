package verify

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/verify/check"
)

// TestTestsThatRunOutOfMemoryGetMore takes 700 MiB where a box has some 500 at first.
func TestTestsThatRunOutOfMemoryGetMore(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"shop.py": "def price():\n    return 1\n", "test_shop.py": "import shop\n\n\ndef test_price():\n    assert len(b'x' * (700 << 20)) and shop.price()\n"}).only(check.GateTests)
	s.config.Limits = sandbox.Limits{Programs: 256 << 20}
	report := s.verify(t, map[string]string{"shop.py": "def price():\n    return 2\n"})
	if g := find(t, report, check.GateTests); report.Verdict != check.Pass || g.Detail != "pytest: 1 passed" || !strings.Contains(report.Gates[0].Detail, "run again with more") {
		t.Errorf("%s: %s %s", report.Verdict, g.Verdict, g.Detail)
	}
	// What somebody has set is not exceeded.
	s.config.Limits.Memory = 512 << 20
	report = s.verify(t, map[string]string{"shop.py": "def price():\n    return 3\n"})
	if !slices.ContainsFunc(report.Skipped, func(g Skip) bool { return g.Name == check.GateTests }) {
		t.Errorf("%s: %+v", report.Verdict, report.Gates)
	}
}
