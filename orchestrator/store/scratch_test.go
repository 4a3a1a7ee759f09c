package store_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/storetest"
)

func TestAScratchSchemaIsMigratedAndDropped(t *testing.T) {
	t.Parallel()
	_, url := storetest.New(t)
	name := fmt.Sprintf("agent_scratch_%d", os.Getpid())
	for range 2 { // the second finds what a killed one left
		own, drop, err := database.Scratch(t.Context(), url, name)
		if err != nil {
			t.Fatal(err)
		}
		db, err := store.Open(t.Context(), own)
		if err != nil {
			t.Fatal(err)
		}
		if version, err := db.Version(t.Context()); err != nil || version == 0 || !strings.Contains(own, name) {
			t.Errorf("version %d of %s, %v", version, db.Address(), err)
		}
		db.Close()
		t.Cleanup(func() {
			if err := drop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	if _, _, err := database.Scratch(t.Context(), "host=nowhere", name); err == nil {
		t.Error("an address that is no URL is taken")
	}
}
