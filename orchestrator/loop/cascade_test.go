package loop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/ledger"
	"agent/orchestrator/loop"
)

// queued is a Knowledge that keeps what is put into the queue.
type queued struct {
	loop.Knowledge
	by   string
	list []loop.Waiting
}

func (q *queued) Enqueue(_ context.Context, _, by string, list []loop.Waiting) error {
	q.by, q.list = by, list
	return nil
}

// Each file waits with all of its causes and their diffs; the file that changed
// does not wait for itself.
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
