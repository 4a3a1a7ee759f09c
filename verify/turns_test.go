package verify

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"agent/sandbox/turns"
	"agent/verify/check"
	"agent/verify/verifytest"
)

// There are more candidates than turns, from verifiers that do not know of each other. None waits forever for a box that is due after its
// own, and each gets the verdict that it gets alone. B22.
func TestSeveralAtOnceComeToTheVerdictsOfEachAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"main.py": "print(1)\n"})
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			text, want := fmt.Sprintf("print(%d)\n", i+2), check.Pass
			if i%2 == 1 {
				text, want = "print(one)\n", check.Fail
			}
			v := &Verifier{Boxes: s.lab.Engine, Cache: s.lab.Cache, Turns: turns.In(dir, 1)}
			r, err := v.Verify(t.Context(), s.request(verifytest.Change(t, s.base, map[string]string{"main.py": text})), nil)
			if err != nil || r.Verdict != want {
				t.Errorf("candidate %d: %v, %+v", i, err, r)
			}
		})
	}
	wg.Wait()
}

// If there are no turns to be had, that is a remark and not a verdict.
func TestWithoutTurnsAllGoesOn(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"stock.sh": "#!/bin/sh\ncount=1\necho \"$count\"\n"})
	v := &Verifier{Boxes: s.lab.Engine, Cache: s.lab.Cache, Turns: turns.In("/dev/null/turns", 1)}
	r, err := v.Verify(t.Context(), s.request(verifytest.Change(t, s.base, map[string]string{"stock.sh": "#!/bin/sh\ncount=2\necho \"$count\"\n"})), nil)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, r, check.Pass)
	if text := r.Gates[0].Detail; strings.Count(text, "directory of the turns") != 1 {
		t.Errorf("the remark is not told once: %s", text)
	}
}
