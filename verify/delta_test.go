package verify

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/verify/check"
	"agent/verify/verifytest"
)

// The boxes of one site start from the workspace's snapshot, those of the other from an older snapshot plus the changes since. All
// results must be the same, whatever a patch does to the files that have changed.
func TestVerdictsAreThoseOfTheWholeSnapshot(t *testing.T) {
	t.Parallel()
	old := map[string]string{
		"main.py": "from stock import count\n\nprint(count)\n", "stock.py": "count = 1\n", "data.json": "{}\n", "gone.py": "x = 1\n",
	}
	near := newSite(t, old)
	then := verifytest.Change(t, near.base, map[string]string{
		"data.json": "{broken\n", "gone.py": "-", "stock.py": "from shelf.few import few\n\ncount = few + 1\n", "shelf/few.py": "few = 1\n",
	})
	now := maps.Clone(old)
	delete(now, "gone.py")
	for _, c := range then.Changes {
		if c.After != nil {
			now[c.Path] = string(c.After)
		}
	}
	whole := newSite(t, now)
	// They share a manifest, so one would find the other's baseline by digest: each gets its own cache.
	near.base = whole.base
	for _, s := range []*site{near, whole} {
		s.verifier.Cache = verifytest.NewMemory()
		s.verifier.Cache.(*verifytest.Memory).Rows[proofKey(s.lab)] = allProved()
	}
	for what, c := range map[string]struct {
		patch  map[string]string
		want   check.Verdict
		syntax int // number of findings, besides one old one; -1 if it does not matter
	}{
		"a fault that is older than the patch": {map[string]string{"data.json": "{still broken\n", "main.py": "from stock import count\n\nprint(count + 1)\n"}, check.Pass, 0},
		"a new file is deleted":                {map[string]string{"shelf/few.py": "-"}, check.Fail, -1},
		"a new fault where there was none":     {map[string]string{"stock.py": "count = (\n", "data.json": "{still broken\n"}, check.Fail, 1},
		"a file that is gone comes back":       {map[string]string{"gone.py": "y = 2\n", "main.py": "from gone import x\n\nprint(x)\n"}, check.Fail, -1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			cs := verifytest.Change(t, whole.base, c.patch)
			of := func(s *site) (Report, error) {
				req := s.request(cs)
				if s == near {
					req.Delta = &then
				}
				return s.verifier.Verify(t.Context(), req, nil)
			}
			want, err := of(whole)
			if err != nil {
				t.Fatal(err)
			}
			got, err := of(near)
			if err != nil || want.Verdict != c.want {
				t.Fatalf("%v, %s", err, want.Verdict)
			}
			if c.syntax >= 0 {
				if g := find(t, got, check.GateSyntax); len(g.Findings) != c.syntax || g.Old != 1 {
					t.Errorf("syntax: %+v", g)
				}
			}
			for i := range min(len(want.Gates), len(got.Gates)) { // the duration does not matter
				got.Gates[i].Seconds, got.Gates[i].Peak, got.Gates[i].Output = want.Gates[i].Seconds, want.Gates[i].Peak, want.Gates[i].Output
			}
			want.Baseline, got.Baseline = nil, nil // each contains its own session
			want.Evidence, got.Evidence = nil, nil // and what that saw
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("by a delta it is judged otherwise (-whole +delta):\n%s", diff)
			}
		})
	}
}
