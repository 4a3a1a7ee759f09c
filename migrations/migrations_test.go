package migrations_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"

	"agent/migrations"
	"agent/orchestrator/store"
	"agent/orchestrator/store/query"
	"agent/orchestrator/store/storetest"
)

// connect opens a connection that ends with the test.
func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// version reads the version of the connection's schema.
func version(t *testing.T, conn *pgx.Conn) int {
	t.Helper()
	v, err := migrations.Version(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// latest is the newest version.
func latest(t *testing.T) int {
	t.Helper()
	n, err := migrations.Latest()
	if err != nil || n == 0 {
		t.Fatalf("latest version: %d, %v", n, err)
	}
	return n
}

func TestUpTwiceIsOnce(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.Schema(t))
	if v := version(t, conn); v != 0 {
		t.Errorf("an empty schema is at version %d", v)
	}
	for range 2 {
		if err := migrations.Up(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
	}
	if v := version(t, conn); v != latest(t) {
		t.Errorf("version %d, want %d", v, latest(t))
	}
	var rows int
	if err := conn.QueryRow(t.Context(), `select count(*) from schema_version`).Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d rows in the version table, %v", rows, err)
	}
}

func TestManyAtOnceMigrateOnce(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	var all sync.WaitGroup
	for range 8 {
		conn := connect(t, dsn)
		all.Go(func() {
			if err := migrations.Up(t.Context(), conn); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if v := version(t, connect(t, dsn)); v != latest(t) {
		t.Errorf("version %d, want %d", v, latest(t))
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.Schema(t))
	if err := migrations.Up(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `update schema_version set version = 99`); err != nil {
		t.Fatal(err)
	}
	err := migrations.Up(t.Context(), conn)
	newer, ok := errors.AsType[*migrations.NewerError](err)
	if !ok || newer.Have != 99 || newer.Know != latest(t) {
		t.Fatalf("got %v", err)
	}
	if text := err.Error(); !strings.Contains(text, "version 99") || !strings.Contains(text, "upgrade the agent") {
		t.Errorf("the message is %q", text)
	}
}

func TestAnInterruptedMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	conn, other := connect(t, dsn), connect(t, dsn)
	// This object is in the way of the last one: by then, the migrations have made everything before it.
	if _, err := other.Exec(t.Context(), `create table v_promotion_files (n int)`); err != nil {
		t.Fatal(err)
	}
	if err := migrations.Up(t.Context(), conn); err == nil || !strings.Contains(err.Error(), "from version 0 to") {
		t.Fatalf("got %v", err)
	}
	var tables string
	err := other.QueryRow(t.Context(), `select string_agg(relname, ' ' order by relname) from pg_class
		where relnamespace = current_schema()::regnamespace and relkind in ('r', 'v')`).Scan(&tables)
	if err != nil || tables != "schema_version v_promotion_files" || version(t, other) != 0 {
		t.Errorf("left behind: %s at version %d, %v", tables, version(t, other), err)
	}
	if _, err := other.Exec(t.Context(), `drop table v_promotion_files`); err != nil {
		t.Fatal(err)
	}
	if err := migrations.Up(t.Context(), connect(t, dsn)); err != nil {
		t.Errorf("the next attempt: %v", err)
	}
}

// upTo migrates a schema with the named files alone, and so leaves it at the version of an older program.
func upTo(t *testing.T, conn *pgx.Conn, names ...string) {
	t.Helper()
	old := fstest.MapFS{}
	for _, name := range append(names, "shared/reader.sql") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		old[name] = &fstest.MapFile{Data: text}
	}
	m, err := migrate.NewMigrator(t.Context(), conn, "schema_version")
	if err != nil {
		t.Fatal(err)
	}
	m.Data["schema"] = pgx.Identifier{schemaOf(t, conn.Config().ConnString())}.Sanitize()
	if err := m.LoadMigrations(old); err != nil {
		t.Fatal(err)
	}
	if err := m.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAnOlderSchemaKeepsItsHistory(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	conn := connect(t, dsn)
	upTo(t, conn, "001_record.sql")
	if v := version(t, conn); v != 1 {
		t.Fatalf("the older schema is at version %d", v)
	}
	_, err := conn.Exec(t.Context(), `insert into run (id, last_op, workspace, intent, owner, token, state, started)
		values ('01run', gen_random_uuid(), '/w', 'i', 'o', 1, 'queued', now())`)
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if v := version(t, conn); v != latest(t) {
		t.Errorf("version %d, want %d", v, latest(t))
	}
	if d, err := db.Run(t.Context(), "01run"); err != nil || d.Workspace != "/w" {
		t.Errorf("the run is %+v, %v", d.RunRow, err)
	}
	if plan, _, err := db.Plan(t.Context(), "01run"); plan != nil || err != nil {
		t.Errorf("its plan is %q, %v", plan, err)
	}
	views, err := db.Views(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	nothing := func([]query.Column) error { return nil }
	for _, v := range views { // old and new ones, as the reader
		if err := db.Query(t.Context(), "select count(*) from "+v.Name, nothing, func([]*string) error { return nil }); err != nil {
			t.Errorf("read %s: %v", v.Name, err)
		}
	}
}

// A record that predates the tables of names contains rows with every state, verdict and kind.
func TestTheNamesOfAnOlderRecordAreKnown(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.Schema(t))
	old, err := filepath.Glob("00[1-9]_*.sql")
	if err != nil {
		t.Fatal(err)
	}
	upTo(t, conn, old...)
	// The check constraints of the old schema tell which names existed.
	for _, sql := range []string{
		`create table named as select c.conname, m[1] as name
			from pg_constraint c, regexp_matches(pg_get_constraintdef(c.oid), $q$'([a-z_]+)'::text$q$, 'g') m
			where c.connamespace = current_schema()::regnamespace and c.conname in ('run_state_check', 'gate_verdict_check', 'model_call_kind_check')
				and m[1] not in ('pr_open', 'self_review', 'ci_watch', 'reviewing')`,
		`insert into run (id, last_op, workspace, intent, owner, token, state, started)
			select name, gen_random_uuid(), '/w', 'i', 'o', 1, name, now() from named where conname = 'run_state_check'`,
		`update run set ended = now(), verdict = 'pass' where state in ('promoted', 'done', 'rejected', 'conflict', 'failed', 'cancelled')`,
		`insert into run_state (run, n, state, token) select id, 1, state, 1 from run`,
		`insert into candidate (run, n, verdict, digest, diff, thought, edits, skipped, holds)
			select 'done', row_number() over (), name, '', '', '', '[]', '[]', '[]' from named where conname = 'gate_verdict_check'`,
		`insert into gate select run, n, 1, 'g', verdict, 1, 0, 0, '', '', '', 0 from candidate`,
		`insert into model_call (op, run, step, attempt, vendor, model, key_id, purpose, template, digest, request, tokens_in, in_estimated,
				tokens_out, out_estimated, tokens_cached, tokens_reason, cost, priced, duration, begun, kind)
			select gen_random_uuid(), 'done', 's', 1, 'v', 'm', '', 'PP', '', '', '', 0, false, 0, false, 0, 0, 0, false, 0, now(), name
			from named where conname = 'model_call_kind_check'`,
		`drop table named`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if err := migrations.Up(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]int{
		`select count(*) from run r join state s on s.name = r.state`:      13,
		`select count(*) from gate g join verdict v on v.name = g.verdict`: 9,
		`select count(*) from model_call join call_error on name = kind`:   13,
		`select sum(ended_badly)::int from v_funnel_daily`:                 4,
		`select count(*) from v_failure_taxonomy`:                          4,
	} {
		var got int
		if err := conn.QueryRow(t.Context(), sql).Scan(&got); err != nil || got != want {
			t.Errorf("%s gives %d, %v, want %d", sql, got, err, want)
		}
	}
}

func TestTheFirstSchemaOfThePathIsUsed(t *testing.T) {
	t.Parallel()
	first, second := storetest.Schema(t), storetest.Schema(t)
	if err := migrations.Up(t.Context(), connect(t, second)); err != nil {
		t.Fatal(err)
	}
	// A schema later in the search_path is migrated already. That is no reason to leave the first one empty.
	conn := connect(t, along(t, first, schemaOf(t, first)+","+schemaOf(t, second)))
	if v := version(t, conn); v != 0 {
		t.Errorf("the first schema is empty, yet at version %d", v)
	}
	if err := migrations.Up(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	var schema string
	if err := conn.QueryRow(t.Context(), `select relnamespace::regnamespace::text from pg_class where oid = 'run'::regclass`).Scan(&schema); err != nil || schema != schemaOf(t, first) {
		t.Errorf("the tables are in %q, want %q (%v)", schema, schemaOf(t, first), err)
	}
}

func TestAPathThatNamesNoSchemaIsRefused(t *testing.T) {
	t.Parallel()
	conn := connect(t, along(t, storetest.Schema(t), "no_such_schema"))
	if err := migrations.Up(t.Context(), conn); !errors.Is(err, migrations.ErrNoSchema) {
		t.Errorf("got %v, want ErrNoSchema", err)
	}
}

func TestASchemaOfAnyNameIsMigrated(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	conn := connect(t, dsn)
	odd := `"Odd.%s é ` + schemaOf(t, dsn) + `"`
	t.Cleanup(func() {
		if _, err := conn.Exec(context.WithoutCancel(t.Context()), "drop schema "+odd+" cascade"); err != nil {
			t.Error(err)
		}
	})
	if _, err := conn.Exec(t.Context(), "create schema "+odd); err != nil {
		t.Fatal(err)
	}
	own := connect(t, along(t, dsn, odd))
	for range 2 {
		if err := migrations.Up(t.Context(), own); err != nil {
			t.Fatal(err)
		}
	}
	if v := version(t, own); v != latest(t) {
		t.Errorf("version %d, want %d", v, latest(t))
	}
}

// schemaOf returns the search path of a test's URL.
func schemaOf(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("search_path")
}

// along returns the URL with another search path.
func along(t *testing.T, dsn, path string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", path)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // Postgres reads a plus sign literally
	return u.String()
}

// The schema that tests work in equals the one that Up makes: tables, columns, views, functions, triggers, rights and version.
func TestAFilledSchemaIsAMigratedOne(t *testing.T) {
	t.Parallel()
	up, filled := connect(t, storetest.Schema(t)), connect(t, storetest.Schema(t))
	if err := migrations.Up(t.Context(), up); err != nil {
		t.Fatal(err)
	}
	if err := migrations.Fill(t.Context(), filled); err != nil {
		t.Fatal(err)
	}
	if v := version(t, filled); v != latest(t) {
		t.Errorf("it is at version %d", v)
	}
	for _, question := range []string{
		`select string_agg(concat_ws(' ', c.relname, c.relkind, c.relacl is null, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attnum), E'\n' order by c.relname, a.attnum)
			from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped where c.relnamespace = current_schema()::regnamespace`,
		`select string_agg(viewname || ' ' || definition, E'\n' order by viewname) from pg_views where schemaname = current_schema()`,
		`select string_agg(pg_get_constraintdef(oid), E'\n' order by conname) from pg_constraint where connamespace = current_schema()::regnamespace`,
		`select string_agg(proname || ' ' || prosrc, E'\n' order by proname) from pg_proc where pronamespace = current_schema()::regnamespace`,
		`select string_agg(tgname, E'\n' order by tgname) from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relnamespace = current_schema()::regnamespace and not tgisinternal`,
	} {
		var texts [2]*string
		for i, conn := range []*pgx.Conn{up, filled} {
			var own, text string
			if err := conn.QueryRow(t.Context(), "select current_schema(), coalesce(("+question+"), '')").Scan(&own, &text); err != nil {
				t.Fatalf("%s: %v", question, err)
			}
			text = strings.ReplaceAll(text, own, "SCHEMA")
			texts[i] = &text
		}
		if *texts[0] == "" || *texts[0] != *texts[1] {
			t.Errorf("%s: migrated\n%s\nfilled\n%s", question, *texts[0], *texts[1])
		}
	}
}
