package store_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
)

// entries returns an entry of a run for each subject, with the current time.
func entries(id string, subjects ...string) (list []run.Entry) {
	for _, s := range subjects {
		list = append(list, run.Entry{Run: id, Kind: run.StateEntry, Actor: "agent", Subject: s, Detail: map[string]any{"note": "\x00"}, At: time.Now()})
	}
	return list
}

func TestEventsAreOnlyEverAdded(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	for _, id := range []string{"01run", "02run"} {
		must(t, db.Create(t.Context(), record(id)))
		must(t, db.AppendEntries(t.Context(), entries(id, "one", "two")))
	}
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	for _, sql := range []string{
		`update event set subject = 'x'`, `update event set run = run where false or run = '01run'`,
		`delete from event`, `delete from event where run = '02run'`, `truncate event`, `truncate run cascade`,
		`insert into event (op, n, run, at, kind, actor, subject, detail) select op, n, run, at, kind, actor, subject, detail from event
			on conflict (op, n) do update set subject = 'x'`,
		`set session_replication_role = replica; delete from event`, `set session_replication_role = replica; truncate event`,
	} {
		_, err := conn.Exec(t.Context(), sql)
		if err == nil || !strings.Contains(err.Error(), "only ever added") {
			t.Errorf("%s: %v", sql, err)
		}
		_, err = conn.Exec(t.Context(), `reset session_replication_role`)
		must(t, err)
	}
	if got := value(t, url, `select run || subject from event order by id`); got != "01runone\n01runtwo\n02runone\n02runtwo" {
		t.Errorf("left are %s", got)
	}
	// Entries are deleted with their run, as when old runs are removed.
	_, err = conn.Exec(t.Context(), `delete from run where id = '01run'`)
	must(t, err)
	if got := value(t, url, `select run || subject from event order by id`); got != "02runone\n02runtwo" {
		t.Errorf("with one run removed, left are %s", got)
	}
}

// The database provides the time; the process only says how long ago something was. No entry is earlier than the previous one.
func TestTheTimesOfEventsAreThoseOfTheDatabase(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	list := entries("01run", "an hour ago", "now", "an hour ago, and late")
	list[0].At = list[0].At.Add(-time.Hour)
	must(t, db.AppendEntries(t.Context(), list[:2]))
	list[2].At = list[0].At
	must(t, db.AppendEntries(t.Context(), list[2:]))
	rows, err := db.Events(t.Context(), "01run", "", 0)
	must(t, err)
	d, err := db.Run(t.Context(), "01run")
	must(t, err)
	if len(rows) != 3 || rows[1].At.Sub(rows[0].At) < time.Hour || !rows[2].At.Equal(rows[1].At) || rows[1].At.Before(d.States[0].At) {
		t.Errorf("the times are %+v", rows)
	}
	if rows[0].Subject != "an hour ago" || rows[0].Kind != run.StateEntry || rows[0].Actor != "agent" || string(rows[0].Detail) != "{\"note\": \"\uFFFD\"}" || rows[0].Seconds != 0 {
		t.Errorf("the first is %+v", rows[0])
	}
}

func TestALogIsReadInParts(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	var want []run.Entry
	for range 1001 {
		want = append(want, entries("01run", "s")...)
	}
	want[7].Kind = run.EngineEntry
	must(t, db.AppendEntries(t.Context(), want))
	must(t, db.AppendEntries(t.Context(), nil))
	first, err := db.Events(t.Context(), "01run", "", 0)
	must(t, err)
	rest, err := db.Events(t.Context(), "01run", "", first[len(first)-1].Number)
	must(t, err)
	engine, err := db.Events(t.Context(), "01run", run.EngineEntry, 0)
	must(t, err)
	other, err := db.Events(t.Context(), "01", "", 0)
	must(t, err)
	if len(first) != 1000 || len(rest) != 1 || len(engine) != 1 || len(other) != 0 || engine[0].Number != first[7].Number {
		t.Errorf("read %d, %d, %d, %d", len(first), len(rest), len(engine), len(other))
	}
	bad := entries("01run", "s")
	bad[0].Kind = "other"
	if err := db.AppendEntries(t.Context(), append(entries("01run", "s"), bad...)); err == nil {
		t.Error("a kind that there is not was kept")
	}
	if last, err := db.Events(t.Context(), "01run", "", rest[0].Number); err != nil || len(last) != 0 {
		t.Errorf("half of what was refused is there: %v, %v", last, err)
	}
}

// Entries of a run that has been removed, even at this moment, and an invalid number do not affect the other entries of the batch.
func TestABadEntryLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	for _, id := range []string{"01run", "02run"} {
		must(t, db.Create(t.Context(), record(id)))
	}
	list := append(entries("00gone", "gone"), append(entries("01run", "one"), entries("02run", "two")...)...)
	list[2].Detail = map[string]any{"cost": math.NaN()}
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	tx, err := conn.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), `delete from run where id = '01run'`)
	must(t, err)
	kept := make(chan error, 1)
	go func() { kept <- db.AppendEntries(t.Context(), list) }()
	// Wait until the write blocks on the run that is being deleted.
	for value(t, url, fmt.Sprintf(`select count(*) from pg_stat_activity where %d = any(pg_blocking_pids(pid))`, conn.PgConn().PID())) == "0" && len(kept) == 0 {
	}
	must(t, tx.Commit(t.Context()))
	must(t, <-kept)
	if got := value(t, url, `select concat_ws(' ', run, subject, detail) from event`); got != `02run two {"unreadable": "json: unsupported value: NaN"}` {
		t.Errorf("kept is %s", got)
	}
}

func TestThePasswordOfTheDatabaseIsKnown(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	if secret := db.Secret(); secret == "" || !strings.Contains(url, secret) {
		t.Errorf("the password has %d characters", len(secret))
	}
	var _ run.LogStore = (*store.DB)(nil)
}

// Neither waits for the other, although an entry refers to the run and the run's own writes lock its row.
func TestTheLogOfARunAndItsOtherWritesDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	must(t, db.Create(t.Context(), record("01run")))
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	for _, lock := range []string{`select from run for key share`, `update run set beat = clock_timestamp()`} {
		tx, err := conn.Begin(t.Context())
		must(t, err)
		_, err = tx.Exec(t.Context(), lock)
		must(t, err)
		if strings.HasPrefix(lock, "select") { // like a write to the log in progress
			must(t, db.Advance(t.Context(), "01run", 1, run.Verifying, "", ""))
		} else { // like another write of the run
			must(t, db.AppendEntries(t.Context(), entries("01run", "s")))
		}
		must(t, tx.Commit(t.Context()))
	}
	if got := value(t, url, `select concat_ws(' ', r.state, e.subject) from run r join event e on e.run = r.id`); got != "verifying s" {
		t.Errorf("recorded is %q", got)
	}
}
