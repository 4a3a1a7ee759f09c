package store_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/storetest"
)

func TestAScratchSchemaIsMigratedAndDropped(t *testing.T) {
	t.Parallel()
	_, address := storetest.New(t)
	name := fmt.Sprintf("agent_scratch_%d", os.Getpid())
	for range 2 { // the second finds the remains of a killed one
		own, drop, err := database.Scratch(t.Context(), address, name)
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

// A password in a file works like one in the address, whatever characters it has.
func TestAPasswordGoesByAFile(t *testing.T) {
	for _, password := range []string{"plain", `a:b\c\:d`, "ä %41+&?#/@ b", `\`} {
		passfile(t, nil)
		escaped := strings.ReplaceAll(url.QueryEscape(password), "+", "%20")
		for _, address := range []string{
			"postgres://me:" + escaped + "@host:5432/db?sslmode=disable&search_path=x%20y",
			"postgres://me@host/db?sslmode=disable&password=" + escaped,
			"postgres://me:other@/db?host=/run/postgresql&password=" + escaped,
		} {
			bare, file, err := database.Apart(address)
			if err != nil || strings.Contains(bare, "password=") || strings.Contains(bare, ":other") || strings.Contains(bare, escaped+"@") {
				t.Errorf("%q: %q, %v", address, bare, err)
			}
			passfile(t, file)
			want, err := pgx.ParseConfig(address)
			if err != nil {
				t.Fatal(err)
			}
			got, err := pgx.ParseConfig(bare)
			if err != nil {
				t.Fatal(err)
			}
			if got.Password != password || want.Password != password || got.Host != want.Host || got.User != want.User || got.Database != want.Database || got.RuntimeParams["search_path"] != want.RuntimeParams["search_path"] {
				t.Errorf("%q: %q is %q, want %q", address, bare, got.Password, password)
			}
		}
	}
	for _, address := range []string{"host=nowhere password=x", "::"} {
		if _, _, err := database.Apart(address); err == nil || strings.Contains(err.Error(), "=x") {
			t.Errorf("%q: %v", address, err)
		}
	}
	passfile(t, nil)
	if bare, file, err := database.Apart("postgres://me@/db?host=/run"); err != nil || file != nil || bare != "postgres://me@/db?host=/run" {
		t.Errorf("without a password: %q, %q, %v", bare, file, err)
	}
	// The real server accepts a client with the file, and no other.
	bare, file, err := database.Apart(storetest.Schema(t))
	if err != nil || file == nil {
		t.Fatalf("%q, %v", file, err)
	}
	for _, content := range [][]byte{file, nil} {
		passfile(t, content)
		db, err := store.Open(t.Context(), bare)
		if (err == nil) != (content != nil) {
			t.Errorf("with a file %v: %v", content != nil, err)
		}
		if err == nil {
			db.Close()
		}
	}
}

// passfile makes PGPASSFILE name a file with this content.
func passfile(t *testing.T, content []byte) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "passwords")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGPASSFILE", name)
}
