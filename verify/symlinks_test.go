package verify

import (
	"fmt"
	"slices"
	"testing"

	"agent/verify/check"
	"agent/verify/verifytest"
)

// Two links to a directory above them give each file more paths than a tool could ever walk, so a tool follows neither. Modules that are
// imported by a link's name are found by that name as well.
func TestLinksThatLeadBackAreNotFollowed(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"shop/stock.py": "def left(n: int) -> int:\n    return n\n", "main.py": "from wares.stock import left\n\nleft(1)\n",
		"tests/test_left.py": "from shop.stock import left\n\n\ndef test_left() -> None:\n    assert left(1) == 1\n",
		"wares@":             "shop", "loop@": ".", "shop/up@": "..", "tests/up@": "../tests/..",
	})
	r := s.verify(t, map[string]string{"shop/stock.py": "def left(n: str) -> int:\n    return n\n"})
	var got []string
	for _, f := range find(t, r, check.GateTypes).Findings {
		got = append(got, fmt.Sprint(f.File, ":", f.Line, " ", f.Rule))
	}
	want := []string{"main.py:3 arg-type", "shop/stock.py:2 return-value", "tests/test_left.py:5 arg-type", "wares/stock.py:2 return-value"}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if g := find(t, r, check.GateTests); g.Verdict != check.Pass || g.Detail != "pytest: 1 passed" {
		t.Errorf("%+v", g)
	}
}

func TestALinkThatLeadsElsewhereIsFollowed(t *testing.T) {
	t.Parallel()
	v := check.OnBase(verifytest.Scan(t, map[string]string{
		"a/b/c.py": "", "to/b@": "../a/./b", "copy@": "to", "out@": "../..", "absolute@": "/usr", "nothing@": "absent", "file.py@": "a/b/c.py", "self@": "self",
		"root@": ".", "a/up@": "..", "a/round@": "../to/b/../../a", "x/y@": "../y", "y/z@": "../z", "z/x@": "../x", "z/a@": "../a/b",
	}))
	if got, want := v.LoopsInside("."), []string{"a/round", "a/up", "root", "x/y", "y/z", "z/x"}; !slices.Equal(got, want) {
		t.Errorf("not followed are %q, want %q", got, want)
	}
	if got, want := v.LoopsInside("z"), []string{"z/x"}; !slices.Equal(got, want) {
		t.Errorf("below z %q, want %q", got, want)
	}
}
