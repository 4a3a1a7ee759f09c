package store_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/migrations"
	"agent/orchestrator/store"
	"agent/orchestrator/store/query"
	"agent/orchestrator/store/storetest"
)

// table runs a query and returns its column names and rows as lines; ∅ stands for null.
func table(ctx context.Context, db query.Runner, sql string) ([]string, error) {
	var lines []string
	err := db.Query(ctx, sql, func(columns []query.Column) error {
		var head []string
		for _, c := range columns {
			head = append(head, c.Name+" "+c.Type)
		}
		lines = append(lines, strings.Join(head, "|"))
		return nil
	}, func(values []*string) error {
		var line []string
		for _, v := range values {
			if v == nil {
				line = append(line, "∅")
			} else {
				line = append(line, *v)
			}
		}
		lines = append(lines, strings.Join(line, "|"))
		return nil
	})
	return lines, err
}

func TestAQueryGivesTextInOrder(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	for sql, want := range map[string][]string{
		`select run, state, ended from v_runs`:                           {"run text|state text|ended timestamp with time zone", "01run|queued|∅"},
		` select 1 as a, 'x' as a, null as "A b" ; `:                     {"a integer|a text|A b text", "1|x|∅"},
		"values (1.50, true), (2, false) -- with a comment":              {"column1 numeric|column2 boolean", "1.50|true", "2|false"},
		`select n from generate_series(1, 3) n order by n desc`:          {"n integer", "3", "2", "1"},
		`with w as (select array['a', null] as list) select * from w`:    {"list text[]", "{a,NULL}"},
		`select run from v_runs where false`:                             {"run text"},
		`table v_promotions`:                                             {"run text|status text|undo_of text|approved_by text|at timestamp with time zone|workspace text|intent text|files bigint"},
		`select $tag$;$tag$ as semicolon, E'\n' as line, '%' as "perc%"`: {"semicolon text|line text|perc% text", ";|\n|%"},
	} {
		got, err := table(t.Context(), db.Runner, sql)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q, %v\nwant %q", sql, got, err, want)
		}
	}
}

func TestAReaderReadsViewsAndNothingElse(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	if role, err := db.Role(t.Context()); err != nil || role != migrations.Reader {
		t.Fatalf("the reader is %q, %v; these tests need a server on which the user may make roles", role, err)
	}
	for sql, hint := range map[string]string{
		`select * from run`:                  "only views",
		`select content from blob`:           "only views",
		`select data from cache`:             "only views",
		`select pg_read_file('/etc/passwd')`: "only views",
		`select set_config('role', 'none', true), pg_read_file('/etc/passwd')`: "`agent sql`",
		`select set_config('session_authorization', 'default', false)`:         "`agent sql`",
		`select set_config('transaction_read_only', 'off', true)`:              "`agent sql`",
		`select lo_create(0)`:                                            "SELECT",
		`insert into run (id) values ('x') returning id`:                 "SELECT",
		`with gone as (delete from run returning id) select * from gone`: "SELECT",
		`update run set state = 'done'`:                                  "SELECT",
		`drop view v_runs`:                                               "SELECT",
		`create table mine as select 1`:                                  "SELECT",
		`do $$ begin execute 'reset role'; end $$`:                       "SELECT",
		`copy (select 1) to program 'true'`:                              "SELECT",
		`reset role`:                                                     "SELECT",
		`explain select 1`:                                               "SELECT",
		`select 1; drop table run`:                                       "correct the statement",
		`select 1) as q(c1); drop table run; --`:                         "correct the statement",
		`select reader_query($$select array['1']$$)`:                     "",
		`select no_such_column from v_runs`:                              "`agent sql` alone lists the views",
		``:                                                               "SELECT",
		`select`:                                                         "SELECT",
	} {
		got, err := table(t.Context(), db.Runner, sql)
		if hint == "" { // harmless: the reader stays the same
			if err != nil {
				t.Errorf("%s: %v", sql, err)
			}
			continue
		}
		refused, ok := errors.AsType[*query.QueryError](err)
		if !ok || !strings.Contains(refused.Hint, hint) {
			t.Errorf("%s: got %q, %v, want a refusal with %q", sql, got, err, hint)
		}
	}
	if got, err := table(t.Context(), db.Runner, `select run, state from v_runs`); err != nil || len(got) != 2 || got[1] != "01run|queued" {
		t.Errorf("after all that: %q, %v", got, err)
	}
}

func TestAnErrorNamesItsPlace(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	_, err := table(t.Context(), db.Runner, `select run, nothing from v_runs`)
	refused, ok := errors.AsType[*query.QueryError](err)
	if !ok || refused.Position != 13 || !strings.Contains(refused.Message, "nothing") {
		t.Errorf("got %+v", err)
	}
}

func TestAQueryLeavesNothingOnItsConnection(t *testing.T) {
	t.Parallel()
	db, dsn := storetest.New(t)
	_, err := table(t.Context(), db.Runner, `select pg_advisory_lock(4711), set_config('search_path', 'pg_catalog', false)`)
	must(t, err)
	if got, err := table(t.Context(), db.Runner, `select count(*) from v_runs`); err != nil || got[1] != "0" {
		t.Errorf("the next query: %q, %v", got, err)
	}
	// The server releases the lock when the connection ends, which is a moment after the client closed it.
	conn, err := pgx.Connect(t.Context(), dsn)
	must(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), `set lock_timeout = '30s'; select pg_advisory_lock(4711)`)
	must(t, err)
}

func TestAQueryStopsWhenItsReaderHasEnough(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	enough := errors.New("enough")
	rows := 0
	err := db.Query(t.Context(), `select n from generate_series(1, 100000) n`, func([]query.Column) error { return nil },
		func([]*string) error {
			if rows++; rows == 10 {
				return enough
			}
			return nil
		})
	if err != enough || rows != 10 {
		t.Errorf("got %v after %d rows", err, rows)
	}
	err = db.Query(t.Context(), `select 1 where false`, func([]query.Column) error { return enough }, nil)
	if err != enough {
		t.Errorf("an error of the head: got %v", err)
	}
}

func TestManyRowsAreStreamed(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	rows := 0
	must(t, db.Query(t.Context(), `select n, repeat('x', 1000) from generate_series(1, 50000) n`,
		func([]query.Column) error { return nil }, func(values []*string) error {
			if rows++; *values[0] != fmt.Sprint(rows) {
				t.Fatalf("row %d is %s", rows, *values[0])
			}
			return nil
		}))
	if rows != 50000 {
		t.Errorf("%d rows", rows)
	}
}

func TestAQueryHasATimeLimit(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	got, err := table(t.Context(), db.Runner, `select current_setting('statement_timeout'), current_setting('transaction_read_only')`)
	if err != nil || got[1] != "30s|on" {
		t.Errorf("limits %q, %v", got, err)
	}
	_, err = table(t.Context(), db.WithLimit(time.Millisecond), `select pg_sleep(60)`)
	if refused, ok := errors.AsType[*query.QueryError](err); !ok || !strings.Contains(refused.Message, "stopped after") {
		t.Errorf("got %v", err)
	}
}

// A user without the right to create roles, as on a shared server, still has a readable history.
func TestAUserWithoutRolesReadsAsItself(t *testing.T) {
	t.Parallel()
	dsn := plainUser(t)
	db, err := store.Open(t.Context(), dsn)
	must(t, err)
	defer db.Close()
	must(t, db.Create(t.Context(), record("01run")))
	role, err := db.Role(t.Context())
	must(t, err)
	if role == migrations.Reader {
		t.Errorf("the reader is %s, which this user may not be", role)
	}
	if got, err := table(t.Context(), db.Runner, `select run from v_runs`); err != nil || got[1] != "01run" {
		t.Errorf("read %q, %v", got, err)
	}
	_, err = table(t.Context(), db.Runner, `with gone as (delete from run returning id) select * from gone`)
	if _, ok := errors.AsType[*query.QueryError](err); !ok {
		t.Errorf("a write: got %v", err)
	}
}

// plainUser creates a user that owns one schema and has no other rights, and returns its URL.
func plainUser(t *testing.T) string {
	t.Helper()
	dsn := storetest.Schema(t)
	u, err := url.Parse(dsn)
	must(t, err)
	name := u.Query().Get("search_path") + "_user"
	admin, err := pgx.Connect(t.Context(), dsn)
	must(t, err)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if _, err := admin.Exec(ctx, "drop owned by "+name+" cascade; drop role "+name); err != nil {
			t.Error(err)
		}
		admin.Close(ctx)
	})
	_, err = admin.Exec(t.Context(), fmt.Sprintf(`create role %[1]s login password 'plain'; grant usage, create on schema %[2]s to %[1]s`,
		name, u.Query().Get("search_path")))
	must(t, err)
	u.User = url.UserPassword(name, "plain")
	return u.String()
}

// TestOnlyTheCacheIsWrittenUnhurried checks that the connection that wrote the cache waits for the disk again in its next statement.
func TestOnlyTheCacheIsWrittenUnhurried(t *testing.T) {
	t.Parallel()
	_, address := storetest.New(t)
	db, err := store.Open(t.Context(), address+"&pool_max_conns=1")
	must(t, err)
	defer db.Close()
	must(t, db.Save(t.Context(), "k", []byte("value")))
	got, err := table(t.Context(), db.Runner, `select current_setting('synchronous_commit')`)
	if err != nil || len(got) != 2 || got[1] != "on" {
		t.Errorf("synchronous_commit is %q, %v", got, err)
	}
}
