package storetest

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/store"
)

// Past returns the URL of a migrated schema of the test's own with a long history in it: as many gates as given, five for each run, and
// what belongs to them. Every fourth run was promoted; one in ten thousand is in progress. RunName names run n of a history, from 1.
// Nobody has the schema open.
func Past(t testing.TB, gates int) string {
	t.Helper()
	dsn := Schema(t)
	opened(t, dsn, func(*store.DB) {})
	conn, err := pgx.Connect(t.Context(), named(t, dsn))
	if err != nil {
		t.Fatalf("connect to the test's schema: %v", err)
	}
	// Made from numbers alone: no table is read from end to end here.
	for _, sql := range []string{
		`insert into run (id, last_op, workspace, intent, owner, token, state, started, created, beat, ended, verdict, exit_code)
			select lpad(n::text, 12, '0'), gen_random_uuid(), '/w/' || n % 20, 'patch', 'h/0/1/1/1', 1,
				case when n % 10000 = 9 then 'verifying' when n % 4 = 0 then 'promoted' else 'rejected' end, at, at, at,
				case when n % 10000 <> 9 then at end, 'fail', 1
			from (select n, clock_timestamp() - (@runs - n) * interval '1 minute' as at from generate_series(1, @runs) n) s`,
		`insert into run_state (run, n, state, token) select lpad(n::text, 12, '0'), k, 'verifying', 1 from generate_series(1, @runs) n, generate_series(1, 3) k`,
		`insert into blob select encode(sha256(n::text::bytea), 'hex'), n::text::bytea from generate_series(1, 2000) n`,
		`insert into candidate (run, n, verdict, digest, diff, thought, edits, skipped, holds)
			select lpad(n::text, 12, '0'), 1, 'fail', 'd', repeat('-', 200), '', '[]', '[]', '[]' from generate_series(1, @runs) n`,
		`insert into candidate_file (run, candidate, path, op, mode, after_sha256)
			select lpad(n::text, 12, '0'), 1, 'a.py', 'create', 420, encode(sha256((1 + n % 2000)::text::bytea), 'hex') from generate_series(1, @runs) n`,
		`insert into gate (run, candidate, n, name, verdict, seconds, old, fixed, detail, output, tool, peak_bytes)
			select lpad(n::text, 12, '0'), 1, k, 'gate' || k, 'pass', k, 0, 0, '', repeat('-', 100), 'ruff', 1 from generate_series(1, @runs) n, generate_series(1, 5) k`,
		`insert into finding (run, candidate, gate, n, file, line, col, rule, message, source)
			select lpad(n::text, 12, '0'), 1, k, 1, 'a.py', 1, 1, 'F821', 'undefined name', '' from generate_series(1, @runs) n, generate_series(1, 2) k`,
		`insert into promotion (run, status, approved_by) select lpad(n::text, 12, '0'), 'committed', '--yes' from generate_series(4, @runs, 4) n`,
		`insert into model_call (op, run, step, attempt, vendor, model, key_id, purpose, template, digest, request, tokens_in, in_estimated,
				tokens_out, out_estimated, tokens_cached, tokens_reason, cost, priced, duration, begun)
			select gen_random_uuid(), lpad(n::text, 12, '0'), 's', 1, 'v', 'm', '', 'PP', '', 'd', '{}', 1, false, 1, false, 0, 0, 1, true, 1, clock_timestamp()
			from generate_series(1, @runs) n`,
		`analyze`,
	} {
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol, pgx.NamedArgs{"runs": gates / 5}); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dsn
}

// RunName returns the ID of run n of a Past.
func RunName(n int) string { return fmt.Sprintf("%012d", n) }

// Scanned opens the schema of dsn for act, and returns the tables with more than least rows that the server read from end to end for
// it. It reports on the statements that were run, whatever a plan says about others.
func Scanned(t testing.TB, dsn string, least int, act func(*store.DB)) []string {
	t.Helper()
	before := scans(t, dsn, least)
	opened(t, dsn, act)
	var names []string
	for name, n := range scans(t, dsn, least) {
		if n > before[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// opened lets act use the schema, and returns when the server has forgotten the connections: by then they have reported what they read.
func opened(t testing.TB, dsn string, act func(*store.DB)) {
	t.Helper()
	own := named(t, dsn)
	db, err := store.Open(t.Context(), own)
	if err != nil {
		t.Fatalf("open the test's schema: %v", err)
	}
	act(db)
	db.Close()
	for open := true; open; time.Sleep(10 * time.Millisecond) {
		ask(t, dsn, func(conn *pgx.Conn) error {
			return conn.QueryRow(t.Context(), `select exists (select from pg_stat_activity where application_name = $1)`, schemaOf(t, dsn)).Scan(&open)
		})
	}
}

// scans counts how often each table has been read from end to end so far.
func scans(t testing.TB, dsn string, least int) map[string]int64 {
	t.Helper()
	count := map[string]int64{}
	ask(t, dsn, func(conn *pgx.Conn) error {
		rows, err := conn.Query(t.Context(), `select s.relname::text, s.seq_scan from pg_stat_user_tables s join pg_class c on c.oid = s.relid
			where s.schemaname = current_schema() and c.reltuples > $1`, least)
		if err != nil {
			return err
		}
		var name string
		var n int64
		_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error { count[name] = n; return nil })
		return err
	})
	return count
}

// ask answers one question on a connection of its own.
func ask(t testing.TB, dsn string, question func(*pgx.Conn) error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err == nil {
		err = question(conn)
		conn.Close(t.Context())
	}
	if err != nil {
		t.Fatalf("ask the test's schema: %v", err)
	}
}

// named returns dsn with its schema as the application name.
func named(t testing.TB, dsn string) string {
	t.Helper()
	return dsn + "&application_name=" + schemaOf(t, dsn)
}

// schemaOf returns the search path of a test's URL.
func schemaOf(t testing.TB, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("search_path")
}
