package loop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/ledger"
	"agent/orchestrator/loop"
)

// queued is a Knowledge that records what is queued.
type queued struct {
	loop.Knowledge
	by   string
	list []loop.Waiting
}

func (q *queued) Enqueue(_ context.Context, _, by string, list []loop.Waiting) error {
	q.by, q.list = by, list
	return nil
}

// Each file waits with all its causes and their diffs; the changed file does not wait for itself.
func TestRipplesBecomeACascade(t *testing.T) {
	t.Parallel()
	gone := ledger.Change{Path: "tax.py", Definition: ledger.Definition{Name: "rate", Kind: ledger.Function}, Kind: ledger.Deleted}
	moved := ledger.Change{Path: "old.py", Definition: ledger.Definition{Name: "LIMIT", Kind: ledger.Constant}, Kind: ledger.Moved, To: "new.py"}
	ripples := []ledger.Ripple{{Path: "cart.py", Lines: []int{3}, Because: []ledger.Change{gone, moved}}, {Path: "tax.py", Because: []ledger.Change{gone}}}
	k := &queued{}
	if err := loop.Cascade(t.Context(), k, "/w", "01run", map[string]string{"tax.py": "-def rate\n", "old.py": "-LIMIT\n"})(ripples); err != nil {
		t.Fatal(err)
	}
	want := "[{cart.py function rate of tax.py is gone\nconstant LIMIT of old.py is now in new.py -def rate\n-LIMIT [] 0001-01-01 00:00:00 +0000 UTC}]"
	if got := fmt.Sprint(k.list); got != want || k.by != "01run" {
		t.Errorf("by %s: %s", k.by, got)
	}
	k.list = nil
	if err := loop.Cascade(t.Context(), k, "/w", "01run", nil)(ripples[1:]); err != nil || k.list != nil {
		t.Errorf("%v, %v", k.list, err)
	}
	if a, b := loop.Label("edit"), loop.Label("edit"); a == b || !strings.HasPrefix(a, "edit-") {
		t.Errorf("%s and %s", a, b)
	}
}

// However far a change reaches, the queue is bounded, and a shortened diff says so.
func TestACascadeIsBounded(t *testing.T) {
	t.Parallel()
	ripple := func(path string, sources int) ledger.Ripple {
		r := ledger.Ripple{Path: path}
		for i := range sources {
			r.Because = append(r.Because, ledger.Change{Path: fmt.Sprint("s", i), Kind: ledger.Deleted, Definition: ledger.Definition{Name: "f", Kind: ledger.Function}})
		}
		return r
	}
	list := []ledger.Ripple{ripple("0", 30)}
	for i := range 600 {
		list = append(list, ripple(fmt.Sprint(i+1), 1))
	}
	long := strings.Repeat("-line\n", 10_000)
	k := &queued{}
	if err := loop.Cascade(t.Context(), k, "/w", "01run", map[string]string{"s0": long})(list); err != nil {
		t.Fatal(err)
	}
	first := k.list[0]
	if len(k.list) != 500 || strings.Count(first.Because, "\n") != 19 {
		t.Errorf("%d files wait, the first for\n%s", len(k.list), first.Because)
	}
	if cut := strings.LastIndex(first.Diff, "("); len(first.Diff) > 17<<10 || !strings.HasPrefix(long, first.Diff[:cut]) || !strings.HasSuffix(first.Diff, "more bytes)") {
		t.Errorf("a long diff of %d bytes ends in %q", len(first.Diff), first.Diff[len(first.Diff)-30:])
	}
}
