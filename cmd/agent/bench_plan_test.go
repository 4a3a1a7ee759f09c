//go:build bench

package main

import (
	"fmt"
	"testing"
	"time"
)

// benchPlan times eight tasks, some with a diamond of dependencies, up to four at a time, from the plan to the delivered whole.
// The reference is the same plan, one task after the other. Each run has its own record, and models that answer at once.
func benchPlan(t *testing.T) {
	build := func(parallel int) time.Duration {
		h := newPlannedHouse(t)
		h.smooth(t)
		h.says(t, "plan", "prices and reports have a currency")
		began := time.Now()
		h.says(t, "build", "--plan", "1", "--yes", "--parallel", fmt.Sprint(parallel))
		took := time.Since(began)
		if got := h.value(t, "select state || ' ' || done from v_plans"); got != "delivered 8" {
			t.Fatalf("the plan is %s", got)
		}
		return took
	}
	build(2) // after this the snapshots and installed tools are known
	var figures, references []time.Duration
	for range 3 {
		references, figures = append(references, build(1)), append(figures, build(4))
	}
	figure, reference := middle(figures), middle(references)
	row("eight tasks of a plan, four at a time; against one after the other", figure, reference, "≤ 0.70", figure.Seconds() <= 0.7*reference.Seconds())
}

// smooth gives the task that fails an answer that does not fail.
func (h *plannedHouse) smooth(t *testing.T) {
	tasks := ledgerChores()
	tasks[6].answers = []string{mend("ledger/entry.py", "    return f\"{name}: {show(amount, currency)}\"", "    return f\"{name.strip()}: {show(amount, currency)}\"")}
	h.model.Choose(h.answers(t, tasks, otherwise))
}

// TestBenchPlan prints only the row of benchPlan.
func TestBenchPlan(t *testing.T) { benchPlan(t) }
