package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"agent/orchestrator/store"
)

// warm is the schema that holds the cache of this process's tests, with the URL of its server.
var warm struct {
	mu             sync.Mutex
	server, schema string
}

// Warm is like New, for a test that does not need an empty cache: its schema reads and writes the cache that all such tests of this
// process share. The tools of an image are then proved, and a workspace judged without its patch, only once and not by each test. Rows
// of the cache never go stale, since a key names everything that its value depends on. Callers must call DropWarm at the end of the
// process.
func Warm(t testing.TB) (*store.DB, string) {
	t.Helper()
	shared, err := warmSchema(t)
	if err != nil {
		t.Fatalf("create the schema of the shared cache: %v", err)
	}
	server, own := newSchema(t)
	dsn := along(server, own+","+shared)
	db := filled(t, server, own, dsn)
	// If its own schema has no table of that name, the one of the next schema in the path is found.
	if err := execute(t.Context(), server, "drop table "+own+".cache"); err != nil {
		t.Fatal(err)
	}
	return db, dsn
}

// DropWarm drops the cache that the tests of this process shared, if there is one.
func DropWarm(ctx context.Context) error {
	warm.mu.Lock()
	defer warm.mu.Unlock()
	if warm.schema == "" {
		return nil
	}
	name := warm.schema
	warm.schema = ""
	return execute(ctx, warm.server, "drop schema "+name+" cascade")
}

// warmSchema returns the name of the schema with the shared cache, which it creates the first time.
func warmSchema(t testing.TB) (string, error) {
	t.Helper()
	warm.mu.Lock()
	defer warm.mu.Unlock()
	if warm.schema != "" {
		return warm.schema, nil
	}
	name := "warm_" + strings.ToLower(rand.Text()[:16])
	server, err := create(t, name)
	if err != nil {
		return "", err
	}
	warm.server, warm.schema = server, name
	db, err := store.Open(t.Context(), along(server, name))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	db.Close()
	return name, nil
}

// along returns the URL of a database with these schemas as its search_path.
func along(dsn, path string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn // pgx says what is wrong with it
	}
	query := u.Query()
	query.Set("search_path", path)
	u.RawQuery = query.Encode()
	return u.String()
}
