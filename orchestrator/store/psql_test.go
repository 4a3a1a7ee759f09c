package store_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
)

func TestPsqlIsToldWhatTheAddressSays(t *testing.T) {
	t.Parallel()
	_, dsn := storetest.New(t)
	u, err := url.Parse(dsn)
	must(t, err)
	q := u.Query()
	q.Set("application_name", `a b\c`)
	q.Set("options", "-c geqo=off")
	q.Set("sslmode", "prefer")
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	db, err := store.Open(t.Context(), u.String())
	must(t, err)
	defer db.Close()
	env, ok, err := db.WithLimit(5000e6).Psql(t.Context())
	if err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	password, _ := u.User.Password()
	for _, want := range []string{
		"PGHOST=" + u.Hostname(), "PGPORT=" + u.Port(), "PGUSER=" + u.User.Username(), "PGPASSWORD=" + password, "PGDATABASE=agent_test", "PGSSLMODE=prefer",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s", strings.ReplaceAll(want, password, "…"))
		}
	}
	i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, "PGOPTIONS=") })
	for _, want := range []string{
		"=-c geqo=off -c ", `-c application_name=a\ b\\c`, "-c default_transaction_read_only=on", "-c role=agent_reader", "-c search_path=" + q.Get("search_path"),
		"-c statement_timeout=5000",
	} {
		if !strings.Contains(env[i], want) {
			t.Errorf("no %q in %q", want, env[i])
		}
	}
	// A connection string of keywords gives no environment, because its TLS settings are unknown.
	words := "host=" + u.Hostname() + " port=" + u.Port() + " user=" + u.User.Username() + " password=" + password + " dbname=agent_test search_path=" + q.Get("search_path")
	other, err := store.Open(t.Context(), words)
	must(t, err)
	defer other.Close()
	if env, ok, err := other.Psql(t.Context()); env != nil || ok || err != nil {
		t.Errorf("of keywords: %v, %v", ok, err)
	}
}
