//go:build bench

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/store"
	"agent/orchestrator/store/history"
	"agent/orchestrator/store/query"
	"agent/orchestrator/store/storetest"
)

// benchHistory times the most frequent queries, the list of runs and one run, in a record of a million gates, and
// queries over the whole record. The reference is one empty query on the same path.
func benchHistory(t *testing.T) {
	const gates, most = 1_000_000, 50 * time.Millisecond
	began := time.Now()
	dsn := storetest.Past(t, gates)
	fmt.Printf("| record of %d gates, made for what follows | %.0f s | | | | |\n", gates, time.Since(began).Seconds())
	const least = 10_000
	scanned := storetest.Scanned(t, dsn, least, func(db *store.DB) {
		nothing := p95(t, func() error { _, err := db.Version(t.Context()); return err })
		filters := []history.RunFilter{{}, {Workspace: "/w/7"}, {State: "promoted"}, {Workspace: "/w/7", State: "rejected"}}
		list := p95(t, func() error { _, err := db.Runs(t.Context(), filters[rand.N(len(filters))]); return err })
		row(fmt.Sprintf("run list, 100 of %d runs, p95", gates/5), list, nothing, "≤ 50 ms", list <= most)
		one := p95(t, func() error { _, err := db.Run(t.Context(), storetest.RunName(1+rand.N(gates/5))); return err })
		row(fmt.Sprintf("run detail, one of %d runs, p95", gates/5), one, nothing, "≤ 50 ms", one <= most)
	})
	mark := "ok"
	if len(scanned) > 0 {
		mark = "MISS"
	}
	fmt.Printf("| tables of more than %d rows that both read from end to end | %d %s | 0 | | 0 | %s |\n", least, len(scanned), strings.Join(scanned, " "), mark)
	db, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, view := range []string{"v_funnel_daily", "v_failure_taxonomy", "v_gate_latency", "v_leaks"} {
		took := median(t, 1, func() {
			err := db.Query(t.Context(), "select * from "+view, func([]query.Column) error { return nil }, func([]*string) error { return nil })
			if err != nil {
				t.Errorf("%s: %v", view, err)
			}
		})
		row("all of "+view, took, 30*time.Second, "≤ 30 s, the limit of a query", took <= 30*time.Second)
	}
	var removed store.Pruned
	// Three in four of the oldest tenth were not promoted.
	took := median(t, 1, func() {
		if removed, err = db.Prune(t.Context(), time.Now().Add(-gates/5*9/10*time.Minute)); err != nil {
			t.Fatal(err)
		}
	})
	fmt.Printf("| prune of %d runs and %d contents | %.1f s | | | | |\n", removed.Runs, removed.Contents, took.Seconds())
}

// p95 runs f 200 times and returns the time that 95 % of the calls did not exceed.
func p95(t *testing.T, f func() error) time.Duration {
	t.Helper()
	var times []time.Duration
	for range 200 {
		began := time.Now()
		if err := f(); err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times[189]
}
