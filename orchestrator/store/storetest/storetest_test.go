package storetest_test

import (
	"context"
	"net/url"
	"testing"

	"agent/sandbox/enginetest"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/history"
	"agent/orchestrator/store/storetest"
)

func TestEachTestHasASchemaOfItsOwn(t *testing.T) {
	t.Parallel()
	first, dsn := storetest.New(t)
	second, other := storetest.New(t)
	if dsn == other {
		t.Fatal("both have the same URL")
	}
	if err := first.Create(t.Context(), run.Record{ID: "01run"}); err != nil {
		t.Fatal(err)
	}
	if runs, err := second.Runs(t.Context(), history.RunFilter{}); err != nil || len(runs) != 0 {
		t.Errorf("the second sees %d runs of the first, %v", len(runs), err)
	}
	again, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if runs, err := again.Runs(t.Context(), history.RunFilter{}); err != nil || len(runs) != 1 {
		t.Errorf("the URL leads to %d runs, want 1 (%v)", len(runs), err)
	}
}

func TestTheSchemaIsDroppedAfterTheTest(t *testing.T) {
	t.Parallel()
	enginetest.Need(t)
	var dsn string
	t.Run("a test", func(t *testing.T) { _, dsn = storetest.New(t) })
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var there bool
	err = conn.QueryRow(t.Context(), `select exists (select from pg_namespace where nspname = $1)`, u.Query().Get("search_path")).Scan(&there)
	if err != nil || there {
		t.Errorf("the schema is still there: %v, %v", there, err)
	}
}

// Warm schemas share the cache between tests, and nothing else.
func TestWarmSchemasShareTheirCacheAlone(t *testing.T) {
	t.Parallel()
	first, dsn := storetest.Warm(t)
	second, other := storetest.Warm(t)
	t.Cleanup(func() {
		if err := storetest.DropWarm(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if dsn == other {
		t.Fatal("both have the same URL")
	}
	if err := first.Save(t.Context(), "proof/x", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if data, ok, err := second.Load(t.Context(), "proof/x"); err != nil || !ok || string(data) != "1" {
		t.Errorf("the second finds %q, %v, %v", data, ok, err)
	}
	if err := first.Create(t.Context(), run.Record{ID: "01run"}); err != nil {
		t.Fatal(err)
	}
	if runs, err := second.Runs(t.Context(), history.RunFilter{}); err != nil || len(runs) != 0 {
		t.Errorf("the second sees %d runs of the first, %v", len(runs), err)
	}
	cold, _ := storetest.New(t)
	if _, ok, err := cold.Load(t.Context(), "proof/x"); err != nil || ok {
		t.Errorf("a schema of its own holds the row too: %v, %v", ok, err)
	}
}
