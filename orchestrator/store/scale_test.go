package store_test

import (
	"slices"
	"testing"

	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/history"
	"agent/orchestrator/store/storetest"
)

// The cost of a list or a run must not grow with the history.
func TestListsAndRunsAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	dsn := storetest.Past(t, 20_000)
	const runs, least = 4000, 900
	scanned := storetest.Scanned(t, dsn, least, func(db *store.DB) {
		for _, filter := range []history.RunFilter{{}, {Workspace: "/w/7"}, {State: string(run.Promoted)}, {Workspace: "/w/7", State: string(run.Rejected)}} {
			filter.Limit = 10 // with so few runs, a hundred are read faster by a full scan
			list, err := db.Runs(t.Context(), filter)
			must(t, err)
			if len(list) == 0 || filter.Workspace != "" && list[0].Workspace != filter.Workspace || filter.State != "" && string(list[0].State) != filter.State {
				t.Errorf("%+v: %d runs", filter, len(list))
			}
		}
		// Ten times, because the plan of a prepared statement may change at the sixth execution.
		for n := range 10 {
			id := storetest.RunName(runs - n)
			d, err := db.Run(t.Context(), id)
			must(t, err)
			if d.ID != id || len(d.Candidates) != 1 || len(d.Candidates[0].Gates) != 5 || len(d.States) != 3 {
				t.Errorf("run %s: %+v", id, d)
			}
		}
		if d, err := db.Run(t.Context(), storetest.RunName(1234)[:11]); err == nil || d.ID != "" {
			t.Errorf("a prefix of ten runs: %q, %v", d.ID, err)
		}
		open, err := db.Unfinished(t.Context())
		must(t, err)
		_, err = db.Exchanges(t.Context(), storetest.RunName(runs))
		must(t, err)
		if len(open) != 1 {
			t.Errorf("%d runs are unfinished", len(open))
		}
	})
	if len(scanned) > 0 {
		t.Errorf("read from end to end: %v", scanned)
	}
	// A query without an index is detected.
	scanned = storetest.Scanned(t, dsn, least, func(db *store.DB) { rows(t, db, `select count(*) from v_gates where output like '%x'`) })
	if !slices.Contains(scanned, "gate") {
		t.Errorf("a read of every gate shows as %v", scanned)
	}
}
